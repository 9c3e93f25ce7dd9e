//! A solver on a system: on all of it, or in rounds on ever fewer streamlines.

use fimbria_compute::Progress;
use fimbria_compute::comm::Comm;
use fimbria_compute::operator::LinearOperator as _;

use crate::groups::GroupPenalty;
use crate::solve::{Problem, Reason, Solution, SolveError, Step, Stop, conjugate, proximal, sbb};
use crate::weigh::{Method, System, Watch, WeighOptions, Weights};
use crate::{DealtProduct, LifeError, Shared};

/// What the parts of a run share.
pub(crate) struct Run<'a, 's> {
    pub(crate) system: &'s System,
    pub(crate) options: &'a WeighOptions,
    /// What makes all products of the run.
    pub(crate) product: &'a mut DealtProduct<'s>,
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

impl<'a> Run<'a, '_> {
    /// c of the L1 penalty, by column.
    pub(crate) fn penalty(&self) -> Result<Option<Vec<f32>>, LifeError> {
        if self.options.l1 == 0.0 {
            return Ok(None);
        }
        let factors = &self.system.factors;
        let (g, _) = self.gradient(&vec![0.0; factors.len()])?;
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
    ) -> Result<Option<GroupPenalty<'a>>, LifeError> {
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
        &mut self,
        start: Vec<f32>,
        penalties: Penalties<'_>,
        watch: Watch<'_>,
    ) -> Result<Weights, LifeError> {
        /// Each round comes this much closer, so that little is spent on columns that leave later.
        const CLOSER: f64 = 0.05;
        /// Columns below this share of their number are worth a system of their own.
        const WORTH: f64 = 0.7;
        const MOST_ROUNDS: usize = 30;
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
            let is_worth_it = (columns.len() as f64) < WORTH * n as f64;
            self.product.restrict(is_worth_it.then_some(&kept));
            let columns = if is_worth_it { columns } else { (0..n).collect() };
            let pick = |v: &[f32]| -> Vec<f32> { columns.iter().map(|&f| v[f]).collect() };
            let mut heard = |step: &Step, at: &dyn Fn() -> Vec<f32>| {
                let step = Step { iteration: iterations + step.iteration, ..*step };
                watch(&step, &|| self.system.weights_of(&columns, &at()));
            };
            let linear = penalties.linear.map(pick);
            let of_some = Penalties { linear: linear.as_deref(), groups: None };
            let found = self.solve(pick(&x), of_some, &stop, &mut heard)?;
            self.product.restrict(None);
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
        let (mut g, squares) = self.gradient(x)?;
        for (g, c) in g.iter_mut().zip(penalties.linear.unwrap_or_default()) {
            *g += c;
        }
        Ok((g, 0.5 * squares + penalties.value(x)))
    }

    /// M'(M x - y) and ‖M x - y‖².
    fn gradient(&self, x: &[f32]) -> Result<(Vec<f32>, f64), LifeError> {
        let shared = Shared::new(&*self.product, self.comm);
        let mut g = vec![0.0; x.len()];
        let squares = shared.gradient(&x.to_vec(), &self.system.data, &mut g)?;
        Ok((g, squares))
    }

    /// A solver on the columns that the product has.
    pub(crate) fn solve(
        &self,
        start: Vec<f32>,
        penalties: Penalties<'_>,
        stop: &Stop,
        heard: Watch<'_>,
    ) -> Result<Solution<Vec<f32>>, LifeError> {
        let shared = Shared::new(&*self.product, self.comm);
        let linear = penalties.linear.map(<[f32]>::to_vec);
        let problem =
            Problem { operator: &shared, data: &self.system.data, linear: linear.as_ref() };
        let mut watch = |step: &Step, x: &Vec<f32>| heard(step, &|| x.clone());
        let progress = self.progress;
        let solved = match (self.options.method, penalties.groups) {
            (_, Some(groups)) => proximal(&problem, groups, start, stop, progress, &mut watch),
            (Method::Conjugate, None) => conjugate(&problem, start, stop, progress, &mut watch),
            (Method::Sbb, None) => sbb(&problem, start, stop, progress, &mut watch),
        };
        solved.map_err(|error| match error {
            SolveError::Operator(error) => LifeError::from(error),
            SolveError::NotFinite(objective) => LifeError::NotFinite(objective),
            SolveError::Interrupted(interrupted) => LifeError::Interrupted(interrupted),
        })
    }
}

/// The root of the sum of squares.
fn norm(values: impl Iterator<Item = f32>) -> f64 {
    values.map(|v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}
