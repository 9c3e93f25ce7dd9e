use fimbria_compute::Progress;
use fimbria_compute::operator::{LinearOperator, VectorSpace};

use super::{Failure, Problem, Solution, SolveError, Step, Stop, Vector, Watch};
use crate::OrthantSpace;
use crate::groups::GroupPenalty;

/// Iterations whose objectives a step is measured by.
const REMEMBERED: usize = 5;
/// Steps are shortened so often at most: beyond that rounding decides.
const MOST_TRIES: usize = 40;
/// A step must lower the objective by this share of what its length promises.
const PROMISED: f64 = 1e-4;
/// What rounding in f32 does to an objective.
const ROUNDING: f64 = 1e-7;

/// Proximal gradient steps of Barzilai and Borwein's length (SpaRSA: Wright, Nowak and Figueiredo,
/// IEEE Trans Signal Process 57, 2479 (2009)), for what [`sbb`](super::sbb) and
/// [`conjugate`](super::conjugate) do not minimise: ½‖M x - b‖² + ⟨c, x⟩ and a penalty on groups,
/// which is not smooth where a group loses its weights.
///
/// A step goes against the gradient, then to the point nearby that the penalty likes best; it
/// becomes shorter until the objective is below the worst of the last five. That takes one product
/// with M and one with M'. How far the optimum is says the step of length 1 (columns have norm 1),
/// which vanishes there and nowhere else. The penalty is the host's business: weights are few
/// beside the entries of a product.
///
/// `watch` hears of every iteration. The solution's x is the last; the objective of this method
/// need not fall in every step.
///
/// # Errors
/// [`SolveError`].
pub fn proximal<A>(
    problem: &Problem<'_, A>,
    penalty: &GroupPenalty<'_>,
    start: Vector<A>,
    stop: &Stop,
    progress: &dyn Progress,
    watch: &mut dyn FnMut(&Step, &Vector<A>),
) -> Result<Solution<Vector<A>>, SolveError<Failure<A>>>
where
    A: LinearOperator,
    A::Domain: OrthantSpace,
{
    let failed = SolveError::Operator;
    let (operator, space) = (problem.operator, problem.operator.domain());
    let zeros = || space.zeros().map_err(failed);
    let mut shrink = Shrink { space, penalty, host: vec![0.0; space.len()] };
    let (mut x, mut g, mut tried, mut g_tried) = (start, zeros()?, zeros()?, zeros()?);
    let mut step = zeros()?;
    problem.gradient(&tried, &mut g_tried).map_err(failed)?;
    let scale = shrink.full_step(&tried, &g_tried, &mut step).map_err(failed)?;
    let charge = shrink.value(&x).map_err(failed)?;
    let mut objective = problem.gradient(&x, &mut g).map_err(failed)? + charge;
    let mut watched = Watch::new(stop, scale, objective, progress);
    watched.after(objective)?;
    // The curvature along the first step.
    let norm = shrink.full_step(&x, &g, &mut step).map_err(failed)?;
    let squares = operator.normal(&step, &mut g_tried).map_err(failed)?;
    let mut curvature = steepness(squares, norm * norm);
    let mut products = [3, 3];
    let mut last = vec![objective];
    let mut iteration = 0;
    loop {
        iteration += 1;
        let norm = shrink.full_step(&x, &g, &mut step).map_err(failed)?;
        if let Some(reason) = watched.before(iteration, norm) {
            let gradient = watched.relative(norm);
            let iterations = iteration - 1;
            return Ok(Solution { x, objective, gradient, iterations, products, reason });
        }
        let worst = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut tries = 0;
        let moved = loop {
            tries += 1;
            space.copy(&x, &mut tried).map_err(failed)?;
            space.axpy(-curvature.recip() as f32, &g, &mut tried).map_err(failed)?;
            let charge = shrink.apply(&mut tried, curvature.recip()).map_err(failed)?;
            objective = problem.gradient(&tried, &mut g_tried).map_err(failed)? + charge;
            products = products.map(|p| p + 1);
            space.copy(&tried, &mut step).map_err(failed)?;
            space.axpy(-1.0, &x, &mut step).map_err(failed)?;
            let moved = space.dot(&step, &step).map_err(failed)?;
            let enough = worst - 0.5 * PROMISED * curvature * moved + ROUNDING * worst.abs();
            // A NaN is no reason to go on either; it is found below.
            if objective <= enough || !objective.is_finite() || tries == MOST_TRIES {
                break moved;
            }
            curvature *= 2.0;
        };
        // The gradient's change along the step, which is the curvature there.
        space.scale(-1.0, &mut g).map_err(failed)?;
        space.axpy(1.0, &g_tried, &mut g).map_err(failed)?;
        curvature = steepness(space.dot(&step, &g).map_err(failed)?, moved);
        std::mem::swap(&mut x, &mut tried);
        std::mem::swap(&mut g, &mut g_tried);
        watched.after(objective)?;
        watch(&Step { iteration, objective, gradient: watched.relative(norm) }, &x);
        if last.len() == REMEMBERED {
            last.remove(0);
        }
        last.push(objective);
    }
}

/// ‖M s‖² over ‖s‖², within reason: 1 where there is no step to tell by.
fn steepness(squares: f64, moved: f64) -> f64 {
    let curvature = squares / moved;
    if curvature.is_finite() { curvature.clamp(1e-6, 1e9) } else { 1.0 }
}

/// The penalty, on vectors wherever they are.
struct Shrink<'a, S> {
    space: &'a S,
    penalty: &'a GroupPenalty<'a>,
    host: Vec<f32>,
}

impl<S: VectorSpace> Shrink<'_, S> {
    fn value(&mut self, x: &S::Vector) -> Result<f64, S::Error> {
        self.space.download(x, &mut self.host)?;
        Ok(self.penalty.value(&self.host))
    }

    /// Takes `x` to the point nearby that the penalty times `step` likes best; gives the penalty
    /// there.
    fn apply(&mut self, x: &mut S::Vector, step: f64) -> Result<f64, S::Error> {
        self.space.download(x, &mut self.host)?;
        self.penalty.shrink(&mut self.host, step);
        *x = self.space.upload(&self.host)?;
        Ok(self.penalty.value(&self.host))
    }

    /// The step of length 1 from `x` into `step`, and its norm.
    fn full_step(
        &mut self,
        x: &S::Vector,
        g: &S::Vector,
        step: &mut S::Vector,
    ) -> Result<f64, S::Error> {
        self.space.copy(x, step)?;
        self.space.axpy(-1.0, g, step)?;
        self.apply(step, 1.0)?;
        self.space.axpy(-1.0, x, step)?;
        Ok(self.space.dot(step, step)?.sqrt())
    }
}
