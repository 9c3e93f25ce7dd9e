//! iLSQR: least squares that are stopped early, and then the streaks that they leave taken off.
//!
//! 1. χ₁ makes ‖W (D χ - b)‖ small by LSQR, b the field inside the mask, D the dipole, χ free in the whole
//!    volume. W is small where the Laplacian of b is large, so that strong sources do not spoil the rest.
//! 2. A fast map, in which D is hardly more than its sign, says where boundaries are (`boundaries`).
//! 3. A map χₛ that has only frequencies of the cone |D| < limit, of which the field says next to nothing,
//!    makes Σ ‖Wₐ ∂ₐ(χ₁ - χₛ)‖² over the axes a small, again by LSQR: between boundaries a map is flat. Wₐ is
//!    0 on boundaries, and where one of the two voxels is outside the mask.
//!
//! The map is χ₁ - χₛ. Both problems are solved by the conjugate gradients of [`solver`](crate::solver),
//! whose iterates are those of LSQR (Paige and Saunders, ACM Trans Math Softw 8, 1982, section 7.1).
//!
//! Li et al., NeuroImage 108, 2015, with its percentiles. What it ends the least squares by, a tolerance of
//! 0.01 of LSQR, is here the gradient's part of its first.

mod boundaries;
mod on_device;
mod operators;
#[cfg(test)]
mod tests;

use fimbria_compute::device::{Device, DeviceSpace};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{Backend, HostSpace, Progress, Workers};

use self::boundaries::{Boundaries, ramp};
pub(crate) use self::on_device::filters_source;
use self::on_device::{DeviceAtUnknowns, DeviceCone, DeviceDipole};
use self::operators::{AtUnknowns, NoPenalty, OfCone, WeightedDipole};
use crate::device::{DeviceOperatorError, where_it_gains};
use crate::fourier::{KSpace, at};
use crate::solver::{Iteration, Method, Objective, Solver, Stopped, StoppingRule, run};
use crate::variation::check_field;
use crate::{Edges, FieldModel, Laplacian, QsmError};

/// Percentiles of the size of the field's Laplacian between which W falls from 1 to 0.
const OF_LAPLACIAN: [f64; 2] = [0.60, 0.999];

/// How streaks are taken off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ilsqr {
    /// |D| below which the field says next to nothing: above 0 and below 2/3.
    pub limit: f64,
    /// Iterations of each of the two problems at most.
    pub iterations: usize,
    /// Each ends where its gradient is at or below this part of its first.
    pub tolerance: f64,
}

impl Default for Ilsqr {
    fn default() -> Self {
        Self { limit: 0.1, iterations: 50, tolerance: 1e-2 }
    }
}

/// A map, and how it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct IlsqrMap {
    /// The susceptibility of each unknown, in the unit of the field.
    pub chi: Vec<f32>,
    /// The field of the map of the whole volume at each unknown, in its unit.
    pub field: Vec<f32>,
    /// Every iteration, those of the streaks after those of the map: `data` is ‖W (D χ - b)‖², then
    /// Σ ‖Wₐ ∂ₐ(χ₁ - χₛ)‖².
    pub log: Vec<Iteration>,
    /// Iterations of the map.
    pub of_map: usize,
    /// Whether both had come to the tolerance.
    pub has_settled: bool,
}

/// The map of the unknowns of `model`, which are its receivers too, whose field there is `field`, with
/// a weight for each; the least squares on the first device of `on`, or on its threads where there is none or
/// it fails, which `progress` is told.
///
/// # Errors
/// Where lengths differ, numbers are not finite, a parameter is out of its range, the volume cannot be
/// transformed, or `progress` says to stop.
pub fn invert_ilsqr(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    how: Ilsqr,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<IlsqrMap, QsmError> {
    let workers = on.workers;
    let device = where_it_gains(on, model.geometry.dims).devices.first();
    check_field(model, field, weights)?;
    if !(how.limit > 0.0 && how.limit < 2.0 / 3.0) {
        let (name, value) = ("limit", how.limit);
        return Err(QsmError::Parameter { name, value, rule: "it is above 0 and below 2/3" });
    }
    let space = KSpace::new(&model.geometry, workers)?;
    let places = space.places(&model.geometry, &model.unknowns);
    let weights = data_weights(model, field, weights, workers)?;
    let data: Vec<f32> = field.iter().zip(&weights).map(|(b, w)| b * w).collect();
    let unknowns = AtUnknowns::new(&space, &places);
    let dipole = WeightedDipole::new(&space, &places, weights);
    let there = |device: &Device| DeviceDipole::new(&dipole, device);
    let first = LeastSquares { data: &data, less: None, unknowns: &unknowns, how, progress }
        .solve(&dipole, device, there)?;
    let mut chi = first.x;
    let boundaries = Boundaries::new(&space, &places, field);
    let of_cone = OfCone::new(&space, boundaries, how.limit as f32);
    let slopes = of_cone.slopes(&chi);
    let there = |device: &Device| DeviceCone::new(&of_cone, device);
    let with_streaks = at(&places, &chi);
    let less = Some(&*with_streaks);
    let second = LeastSquares { data: &slopes, less, unknowns: &unknowns, how, progress }
        .solve(&of_cone, device, there)?;
    let streaks = second.x;
    let (of_map, has_settled) = (first.log.len(), first.has_settled && second.has_settled);
    let later =
        second.log.into_iter().map(|step| Iteration { number: of_map + step.number, ..step });
    let log = first.log.into_iter().chain(later).collect();
    chi.iter_mut().zip(&streaks).for_each(|(chi, streak)| *chi -= streak);
    let mut field = space.forward(&chi);
    space.each(&mut field, |k, x| *x *= space.dipole[k]);
    let field = at(&places, &space.back(field));
    Ok(IlsqrMap { chi: at(&places, &chi), field, log, of_map, has_settled })
}

/// W of each unknown, times what is given.
fn data_weights(
    model: &FieldModel,
    field: &[f32],
    given: Option<&[f32]>,
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    // Neighbours outside the mask do not count: there the field is not known.
    let laplacian = Laplacian::new(model, Edges::Free, workers);
    let mut bends = vec![0.0; model.geometry.len()];
    laplacian.apply(&field.to_vec(), &mut bends).map_err(QsmError::space)?;
    let bends: Vec<f32> = at(&model.unknowns, &bends).into_iter().map(f32::abs).collect();
    let by = ramp(&bends, OF_LAPLACIAN);
    let weight = |(i, bend): (usize, &f32)| by(*bend) * given.map_or(1.0, |given| given[i]);
    Ok(bends.iter().enumerate().map(weight).collect())
}

/// How ‖A x - b‖ is made small, from x = 0.
struct LeastSquares<'a, 'w> {
    data: &'a [f32],
    /// What x is taken off, at the unknowns: the map of the log; where there is nothing, x is the map.
    less: Option<&'a [f32]>,
    unknowns: &'a AtUnknowns<'a, 'w>,
    how: Ilsqr,
    progress: &'a dyn Progress,
}

/// What it came to.
struct Found {
    x: Vec<f32>,
    log: Vec<Iteration>,
    has_settled: bool,
}

impl<'w> LeastSquares<'_, 'w> {
    /// Of the operator that `there` makes of a device or, where there is none or it fails, of `here`.
    fn solve<A, B>(
        &self,
        here: &A,
        device: Option<&Device>,
        there: impl FnOnce(&Device) -> Result<B, DeviceOperatorError>,
    ) -> Result<Found, QsmError>
    where
        A: LinearOperator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
        B: LinearOperator<Domain = DeviceSpace, Range = DeviceSpace>,
    {
        if let Some(device) = device {
            let on_device = || -> Result<_, DeviceOperatorError> {
                let domain = DeviceSpace::new(device, here.domain().len())?;
                let nothing = NoPenalty::new(domain, DeviceSpace::new(device, 0)?);
                Ok((there(device)?, nothing, DeviceAtUnknowns::new(self.unknowns, device)?))
            };
            match on_device() {
                Ok((operator, nothing, unknowns)) => match self.run(&operator, &nothing, &unknowns)
                {
                    Err(QsmError::Space(error)) => self.tell(&error),
                    done => return done,
                },
                Err(error) => self.tell(&error.to_string()),
            }
        }
        let workers = self.unknowns.domain().workers();
        let of = |len| HostSpace::new(workers, len);
        self.run(here, &NoPenalty::new(of(here.domain().len()), of(0)), self.unknowns)
    }

    fn tell(&self, error: &str) {
        self.progress.warn(&format!("{error}; the threads do the work"));
    }

    fn run<A, U, S>(
        &self,
        operator: &A,
        nothing: &NoPenalty<S>,
        unknowns: &U,
    ) -> Result<Found, QsmError>
    where
        S: VectorSpace,
        A: LinearOperator<Domain = S, Range = S>,
        U: Operator<Domain = S, Range = S>,
    {
        let objective = Objective::new(operator, nothing, self.data, 1.0)?;
        let mut solver = Solver::new(&objective, Method::Cgls, None)?;
        let rule = StoppingRule {
            iterations: self.how.iterations,
            relative_change: 0.0,
            relative_gradient: self.how.tolerance,
            discrepancy: None,
        };
        let range = unknowns.range();
        let less = self.less.map(|map| range.upload(map)).transpose().map_err(QsmError::space)?;
        let mut map = range.zeros().map_err(QsmError::space)?;
        let mut rms = |x: &S::Vector| -> Result<f64, S::Error> {
            unknowns.apply(x, &mut map)?;
            if let Some(less) = &less {
                range.axpy(-1.0, less, &mut map)?;
            }
            Ok((range.dot(&map, &map)? / range.len().max(1) as f64).sqrt())
        };
        let mut log = Vec::new();
        let stopped = run(&mut solver, &rule, self.progress, |step, solver| {
            log.push(Iteration { rms: rms(solver.unknowns()).map_err(QsmError::space)?, ..*step });
            Ok(())
        })?;
        Ok(Found { x: solver.x()?, log, has_settled: stopped != Stopped::Iterations })
    }
}
