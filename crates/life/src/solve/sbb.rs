use fimbria_compute::Progress;
use fimbria_compute::operator::{LinearOperator, VectorSpace as _};

use super::{Failure, Problem, Solution, SolveError, Step, Stop, Vector};
use crate::OrthantSpace;

/// The subspace Barzilai-Borwein method for non-negative least squares (Kim, Sra and Dhillon,
/// Optim Methods Softw 28, 1012 (2013)) in the form that LiFE uses: steps along the gradient whose
/// length comes from the gradient before, alternating between the two rules of Barzilai and
/// Borwein, then projection; no line search.
///
/// Elements held at zero (x = 0 and g > 0) are left out of the vectors that the lengths are
/// computed from. `watch` hears of every iteration. The solution's x is the last, which is not
/// always the best: the objective of this method need not fall in every step.
///
/// # Errors
/// [`SolveError`].
pub fn sbb<A>(
    problem: &Problem<'_, A>,
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
    let (mut x, mut old, mut back) = (start, zeros()?, zeros()?);
    let (mut g, mut objective, mut watched) = problem.begin(&x, stop, progress)?;
    space.copy(&g, &mut old).map_err(failed)?;
    let mut products = [2, 2];
    let mut iteration = 0;
    loop {
        iteration += 1;
        let norm = problem.projected(&x, &g, &mut back).map_err(failed)?;
        if let Some(reason) = watched.before(iteration, norm) {
            let gradient = watched.relative(norm);
            let iterations = iteration - 1;
            return Ok(Solution { x, objective, gradient, iterations, products, reason });
        }
        space.hold(&x, &g, &mut old).map_err(failed)?;
        let step = if iteration % 2 == 0 {
            let squares = operator.squares(&old).map_err(failed)?;
            products[0] += 1;
            space.dot(&old, &old).map_err(failed)? / squares
        } else {
            let squares = operator.normal(&old, &mut back).map_err(failed)?;
            products = products.map(|p| p + 1);
            space.hold(&x, &g, &mut back).map_err(failed)?;
            squares / space.dot(&back, &back).map_err(failed)?
        };
        // 0 / 0 where the gradient before has nothing left: there is nowhere to go along it.
        let step = if step.is_finite() { step } else { 0.0 };
        space.axpy(-step as f32, &g, &mut x).map_err(failed)?;
        space.project_nonnegative(&mut x).map_err(failed)?;
        space.copy(&g, &mut old).map_err(failed)?;
        objective = problem.gradient(&x, &mut g).map_err(failed)?;
        products = products.map(|p| p + 1);
        watched.after(objective)?;
        watch(&Step { iteration, objective, gradient: watched.relative(norm) }, &x);
    }
}
