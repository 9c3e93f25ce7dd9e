//! A solver on a system: on all of it, or in rounds on ever fewer streamlines.

use std::cell::Cell;

use fimbria_compute::comm::Comm;
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{LinearOperator as _, VectorSpace};
use fimbria_compute::{Backend, Progress};

use crate::groups::GroupPenalty;
use crate::solve::{Problem, Reason, Solution, SolveError, Step, Stop, conjugate, proximal, sbb};
use crate::weigh::{Method, System, Watch, WeighOptions, Weights};
use crate::{
    Blocks, DeviceProduct, LifeError, OrthantSpace, PartialProduct, Shared, ThreadedProduct,
};

/// What the parts of a run share.
pub(crate) struct Run<'a> {
    pub(crate) system: &'a System,
    pub(crate) options: &'a WeighOptions,
    pub(crate) on: &'a Backend<'a>,
    /// What makes products, as long as it can.
    pub(crate) device: Cell<Option<&'a Device>>,
    pub(crate) comm: &'a dyn Comm,
    pub(crate) progress: &'a dyn Progress,
}

/// What is added to ½‖M x - y‖².
#[derive(Clone, Copy, Default)]
pub(crate) struct Penalties<'a> {
    /// c of ⟨c, x⟩: L1.
    pub(crate) linear: Option<&'a [f32]>,
    /// On groups.
    pub(crate) groups: Option<&'a GroupPenalty<'a>>,
}

impl Penalties<'_> {
    /// All of them at `x`.
    pub(crate) fn value(&self, x: &[f32]) -> f64 {
        let terms = |c: &[f32]| -> f64 {
            c.iter().zip(x).map(|(c, x)| f64::from(*c) * f64::from(*x)).sum()
        };
        self.linear.map_or(0.0, terms) + self.groups.map_or(0.0, |groups| groups.value(x))
    }
}

impl Run<'_> {
    /// c of the L1 penalty, by column.
    pub(crate) fn penalty(&self) -> Result<Option<Vec<f32>>, LifeError> {
        if self.options.l1 == 0.0 {
            return Ok(None);
        }
        let System { blocks, factors, .. } = self.system;
        let zero = vec![0.0; factors.len()];
        let (g, _) = self.gradient(blocks, &zero)?;
        // With penalty λ on weights, weights stay zero where -g <= λ factor.
        let all = g.iter().zip(factors).filter(|(_, factor)| **factor > 0.0);
        let least = all.map(|(g, factor)| -g / factor).fold(0.0_f32, f32::max);
        let share = self.options.l1 as f32;
        Ok(Some(factors.iter().map(|factor| share * least * factor).collect()))
    }

    /// The penalty on groups, where there is one.
    pub(crate) fn group_penalty(
        &self,
        linear: Option<&[f32]>,
    ) -> Result<Option<GroupPenalty<'_>>, LifeError> {
        let Some(grouped) = &self.options.groups else { return Ok(None) };
        if !(grouped.share >= 0.0 && grouped.share.is_finite()) {
            return Err(LifeError::Penalty(grouped.share));
        }
        let factors = &self.system.factors;
        let penalties = Penalties { linear, groups: None };
        let (g, _) = self.gradient_with(penalties, &vec![0.0; factors.len()])?;
        Ok(Some(GroupPenalty::new(grouped, factors, &g)))
    }

    /// Conjugate gradients on the columns that matter: those with weight, and those whose weight
    /// would rise. Then a look at all of them, which says how far the whole is and who comes in,
    /// and so on.
    pub(crate) fn in_rounds(
        &self,
        start: Vec<f32>,
        penalties: Penalties<'_>,
        watch: Watch<'_>,
    ) -> Result<Weights, LifeError> {
        /// Each round comes this much closer, so that little is spent on columns that leave later.
        const CLOSER: f64 = 0.05;
        /// Columns below this share of their number are worth a system of their own.
        const WORTH: f64 = 0.7;
        const MOST_ROUNDS: usize = 30;
        let System { blocks, .. } = self.system;
        let (n, stop) = (self.system.unknowns(), self.options.stop);
        let scale = {
            let (g, _) = self.gradient_with(penalties, &vec![0.0; n])?;
            norm(g.iter().map(|g| g.min(0.0)))
        };
        let (mut x, mut iterations, mut products, mut rounds) = (start, 0, [1, 1], 0);
        let mut reason = Reason::Optimal;
        loop {
            let (g, objective) = self.gradient_with(penalties, &x)?;
            products = products.map(|p| p + 1);
            let kept: Vec<bool> = x.iter().zip(&g).map(|(x, g)| *x > 0.0 || *g < 0.0).collect();
            let projected = norm(g.iter().zip(&kept).map(|(g, k)| if *k { *g } else { 0.0 }));
            let gradient = if scale > 0.0 { projected / scale } else { 0.0 };
            let is_optimal = gradient <= stop.gradient;
            let rest = stop.max_iterations.saturating_sub(iterations);
            if is_optimal || rest == 0 || rounds == MOST_ROUNDS || reason == Reason::Stalled {
                let reason = match (is_optimal, rest) {
                    (true, _) => Reason::Optimal,
                    (false, 0) => Reason::Iterations,
                    _ => Reason::Stalled,
                };
                let found = Solution { x, objective, gradient, iterations, products, reason };
                return Ok(self.system.weights(found, rounds, penalties));
            }
            let aim = (CLOSER * gradient).max(0.3 * stop.gradient);
            let stop = Stop { max_iterations: rest, gradient: aim, ..stop };
            let columns: Vec<usize> = (0..n).filter(|&f| kept[f]).collect();
            let some = if (columns.len() as f64) < WORTH * n as f64 {
                Some(blocks.restricted(&kept, self.on.workers)?)
            } else {
                None
            };
            let columns = if some.is_some() { columns } else { (0..n).collect() };
            let pick = |v: &[f32]| -> Vec<f32> { columns.iter().map(|&f| v[f]).collect() };
            let mut heard = |step: &Step, at: &dyn Fn() -> Vec<f32>| {
                let step = Step { iteration: iterations + step.iteration, ..*step };
                watch(&step, &|| self.system.weights_of(&columns, &at()));
            };
            let (system, linear) = (some.as_ref().unwrap_or(blocks), penalties.linear.map(pick));
            let of_some = Penalties { linear: linear.as_deref(), groups: None };
            let found = self.solve(system, pick(&x), of_some, &stop, &mut heard)?;
            x.fill(0.0);
            columns.iter().zip(&found.x).for_each(|(&f, v)| x[f] = *v);
            iterations += found.iterations;
            products = std::array::from_fn(|i| products[i] + found.products[i]);
            reason = found.reason;
            rounds += 1;
        }
    }

    /// The gradient of ½‖M x - y‖² + ⟨c, x⟩, and that objective.
    fn gradient_with(
        &self,
        penalties: Penalties<'_>,
        x: &[f32],
    ) -> Result<(Vec<f32>, f64), LifeError> {
        let (mut g, squares) = self.gradient(&self.system.blocks, x)?;
        for (g, c) in g.iter_mut().zip(penalties.linear.unwrap_or_default()) {
            *g += c;
        }
        Ok((g, 0.5 * squares + penalties.value(x)))
    }

    /// M'(M x - y) and ‖M x - y‖².
    fn gradient(&self, blocks: &Blocks, x: &[f32]) -> Result<(Vec<f32>, f64), LifeError> {
        let System { dictionary, data, .. } = self.system;
        match self.by_device(blocks, |product| self.gradient_of(product, x, data))? {
            Some(found) => Ok(found),
            None => {
                let product = ThreadedProduct::new(blocks, dictionary, self.on.workers);
                self.gradient_of(&product, x, data)
            }
        }
    }

    /// What `work` comes to with the products of the device; `None` where the threads have to do it: where
    /// there is none, or it is full, or fails. It is not asked again then.
    fn by_device<T>(
        &self,
        blocks: &Blocks,
        work: impl FnOnce(&DeviceProduct) -> Result<T, LifeError>,
    ) -> Result<Option<T>, LifeError> {
        let Some(device) = self.device.get() else { return Ok(None) };
        let give_up = |error: DeviceError, what: &str| {
            self.device.set(None);
            self.progress.warn(&format!("{error}; the threads {what}"));
            Ok(None)
        };
        match DeviceProduct::new(device, blocks, &self.system.dictionary) {
            Ok(product) => match work(&product) {
                // Of several processes the others wait in the middle of a sum: nothing begins again.
                Err(LifeError::Device(error)) if self.comm.size() == 1 => {
                    give_up(error, "begin again")
                }
                done => done.map(Some),
            },
            Err(LifeError::Device(error)) => give_up(error, "do the work"),
            Err(error) => Err(error),
        }
    }

    fn gradient_of<A>(
        &self,
        product: &A,
        x: &[f32],
        data: &[f32],
    ) -> Result<(Vec<f32>, f64), LifeError>
    where
        A: PartialProduct,
        A::Domain: OrthantSpace,
        LifeError: From<<A::Domain as VectorSpace>::Error>,
    {
        let shared = Shared::new(product, self.comm);
        let space = product.domain();
        let mut g = space.zeros()?;
        let squares = shared.gradient(&space.upload(x)?, &product.range().upload(data)?, &mut g)?;
        let mut host = vec![0.0; space.len()];
        space.download(&g, &mut host)?;
        Ok((host, squares))
    }

    pub(crate) fn solve(
        &self,
        blocks: &Blocks,
        start: Vec<f32>,
        penalties: Penalties<'_>,
        stop: &Stop,
        heard: Watch<'_>,
    ) -> Result<Solution<Vec<f32>>, LifeError> {
        let dictionary = &self.system.dictionary;
        let by_device = self.by_device(blocks, |product| {
            self.solve_on(product, &start, penalties, stop, &mut *heard)
        })?;
        match by_device {
            Some(found) => Ok(found),
            None => {
                let product = ThreadedProduct::new(blocks, dictionary, self.on.workers);
                self.solve_on(&product, &start, penalties, stop, heard)
            }
        }
    }

    fn solve_on<A>(
        &self,
        product: &A,
        start: &[f32],
        penalties: Penalties<'_>,
        stop: &Stop,
        heard: Watch<'_>,
    ) -> Result<Solution<Vec<f32>>, LifeError>
    where
        A: PartialProduct,
        A::Domain: OrthantSpace,
        LifeError: From<<A::Domain as VectorSpace>::Error>,
    {
        let shared = Shared::new(product, self.comm);
        let space = product.domain();
        let data = product.range().upload(&self.system.data)?;
        let linear = penalties.linear.map(|c| space.upload(c)).transpose()?;
        let problem = Problem { operator: &shared, data: &data, linear: linear.as_ref() };
        let start = space.upload(start)?;
        let down = |x: &<A::Domain as VectorSpace>::Vector| {
            let mut host = vec![0.0; space.len()];
            space.download(x, &mut host).map(|()| host)
        };
        let mut watch = |step: &Step, x: &<A::Domain as VectorSpace>::Vector| {
            // A device that fails here fails again, and loudly, in the next product.
            heard(step, &|| down(x).unwrap_or_default());
        };
        let progress = self.progress;
        let solved = match (self.options.method, penalties.groups) {
            (_, Some(groups)) => proximal(&problem, groups, start, stop, progress, &mut watch),
            (Method::Conjugate, None) => conjugate(&problem, start, stop, progress, &mut watch),
            (Method::Sbb, None) => sbb(&problem, start, stop, progress, &mut watch),
        };
        let solved = solved.map_err(|error| match error {
            SolveError::Operator(error) => LifeError::from(error),
            SolveError::NotFinite(objective) => LifeError::NotFinite(objective),
            SolveError::Interrupted(interrupted) => LifeError::Interrupted(interrupted),
        })?;
        let x = down(&solved.x)?;
        let Solution { objective, gradient, iterations, products, reason, .. } = solved;
        Ok(Solution { x, objective, gradient, iterations, products, reason })
    }
}

/// The root of the sum of squares.
fn norm(values: impl Iterator<Item = f32>) -> f64 {
    values.map(|v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}
