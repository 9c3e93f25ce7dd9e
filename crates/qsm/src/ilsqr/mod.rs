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
mod operators;
#[cfg(test)]
mod tests;

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};
use fimbria_compute::{HostSpace, Progress, Workers};

use self::boundaries::{Boundaries, ramp};
use self::operators::{NoPenalty, OfCone, WeightedDipole};
use crate::fourier::{KSpace, at};
use crate::solver::{Iteration, Method, Objective, Solver, Stopped, StoppingRule, run};
use crate::variation::{check_field, rms};
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
/// a weight for each.
///
/// # Errors
/// Where lengths differ, numbers are not finite, a parameter is out of its range, the volume cannot be
/// transformed, or `progress` says to stop.
pub fn invert_ilsqr(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    how: Ilsqr,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<IlsqrMap, QsmError> {
    check_field(model, field, weights)?;
    if !(how.limit > 0.0 && how.limit < 2.0 / 3.0) {
        let (name, value) = ("limit", how.limit);
        return Err(QsmError::Parameter { name, value, rule: "it is above 0 and below 2/3" });
    }
    let space = KSpace::new(&model.geometry, workers)?;
    let places = space.places(&model.geometry, &model.unknowns);
    let mut log = Vec::new();
    let weights = data_weights(model, field, weights, workers)?;
    let data: Vec<f32> = field.iter().zip(&weights).map(|(b, w)| b * w).collect();
    let dipole = WeightedDipole::new(&space, &places, weights);
    let mut told = |step: &Iteration, chi: &[f32]| {
        let rms = rms(places.iter().map(|&place| chi[place as usize]));
        log.push(Iteration { rms, ..*step });
    };
    let (mut chi, first) = least_squares(&dipole, &data, how, workers, progress, &mut told)?;
    let boundaries = Boundaries::new(&space, &places, field);
    let (streaks, second) = streaks(&space, boundaries, &chi, how, progress, |step, streaks| {
        let left = places.iter().map(|&place| chi[place as usize] - streaks[place as usize]);
        let number = first.iterations + step.number;
        log.push(Iteration { number, rms: rms(left), ..*step });
    })?;
    chi.iter_mut().zip(&streaks).for_each(|(chi, streak)| *chi -= streak);
    let mut of_map = space.forward(&chi);
    space.each(&mut of_map, |k, x| *x *= space.dipole[k]);
    Ok(IlsqrMap {
        chi: at(&places, &chi),
        field: at(&places, &space.back(of_map)),
        log,
        of_map: first.iterations,
        has_settled: first.has_settled && second.has_settled,
    })
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

/// χₛ of the map `chi` of the whole volume.
fn streaks(
    space: &KSpace<'_>,
    boundaries: Boundaries,
    chi: &[f32],
    how: Ilsqr,
    progress: &dyn Progress,
    mut told: impl FnMut(&Iteration, &[f32]),
) -> Result<(Vec<f32>, End), QsmError> {
    let of_cone = OfCone::new(space, boundaries, how.limit as f32);
    let slopes = of_cone.slopes(chi);
    least_squares(&of_cone, &slopes, how, space.workers(), progress, &mut told)
}

/// How many iterations there were, and whether they came to the tolerance.
#[derive(Clone, Copy)]
struct End {
    iterations: usize,
    has_settled: bool,
}

/// Makes ‖A x - b‖ small from x = 0, as far as `how` says; `told` hears of every iteration and its x.
fn least_squares<'w, A>(
    operator: &A,
    data: &[f32],
    how: Ilsqr,
    workers: &'w Workers,
    progress: &dyn Progress,
    told: &mut impl FnMut(&Iteration, &[f32]),
) -> Result<(Vec<f32>, End), QsmError>
where
    A: LinearOperator + Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    let nothing = NoPenalty::new(operator.domain().len(), workers);
    let objective = Objective::new(operator, &nothing, data, 1.0)?;
    let mut solver = Solver::new(&objective, Method::Cgls, None)?;
    let rule = StoppingRule {
        iterations: how.iterations,
        relative_change: 0.0,
        relative_gradient: how.tolerance,
        discrepancy: None,
    };
    let stopped = run(&mut solver, &rule, progress, |step, solver| {
        told(step, &solver.x()?);
        Ok(())
    })?;
    let end = End { iterations: solver.number(), has_settled: stopped != Stopped::Iterations };
    Ok((solver.x()?, end))
}
