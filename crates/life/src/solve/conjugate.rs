use fimbria_compute::Progress;
use fimbria_compute::operator::{LinearOperator, VectorSpace as _};

use super::{Failure, Problem, Solution, SolveError, Step, Stop, Vector};
use crate::OrthantSpace;

/// Iterations after which the gradient is computed anew: updates of it in f32 drift.
const REFRESH: usize = 25;

/// Conjugate gradients on the faces of the orthant (Dostál's MPRGP, in the variant of Kružík and
/// others (2020) that projects conjugate steps instead of taking gradient steps of fixed length).
///
/// As long as the gradient within the face x > 0 outweighs that across its bounds, steps are
/// conjugate within the face; a step that would leave the orthant is projected, which adds to the
/// elements at zero and begins anew. Otherwise a step across the bounds lets elements go from
/// zero. Within the optimal face this is the method of conjugate gradients, so that the optimum is
/// reached to rounding. One product with M and one with M' an iteration, two where a step is
/// projected.
///
/// `watch` hears of every iteration.
///
/// # Errors
/// [`SolveError`].
pub fn conjugate<A>(
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
    let (mut x, mut p, mut ap) = (start, zeros()?, zeros()?);
    let (mut free, mut chopped, mut tried) = (zeros()?, zeros()?, zeros()?);
    let (mut g, mut objective, mut watched) = problem.begin(&x, stop, progress)?;
    let mut products = [2, 2];
    let (mut iteration, mut since_refresh, mut begin) = (0, 0, true);
    loop {
        iteration += 1;
        let norm = problem.projected(&x, &g, &mut chopped).map_err(failed)?;
        if let Some(reason) = watched.before(iteration, norm) {
            if since_refresh > 0 {
                // What was updated step by step is checked before it is believed.
                objective = problem.gradient(&x, &mut g).map_err(failed)?;
                products = products.map(|p| p + 1);
                (since_refresh, begin) = (0, true);
                let norm = problem.projected(&x, &g, &mut chopped).map_err(failed)?;
                if watched.before(iteration, norm).is_none() {
                    iteration -= 1;
                    continue;
                }
            }
            let gradient =
                watched.relative(problem.projected(&x, &g, &mut chopped).map_err(failed)?);
            let iterations = iteration - 1;
            return Ok(Solution { x, objective, gradient, iterations, products, reason });
        }
        space.copy(&g, &mut free).map_err(failed)?;
        space.restrict_to_face(&x, &mut free).map_err(failed)?;
        let in_face = space.dot(&free, &free).map_err(failed)?;
        let across = (norm * norm - in_face).max(0.0);
        if across > in_face {
            // Across the bounds: -β is not negative, so that any step stays in the orthant.
            space.axpy(-1.0, &free, &mut chopped).map_err(failed)?;
            let squares = operator.normal(&chopped, &mut ap).map_err(failed)?;
            products = products.map(|p| p + 1);
            let slope = space.dot(&chopped, &g).map_err(failed)?;
            let step = slope / squares;
            space.axpy(-step as f32, &chopped, &mut x).map_err(failed)?;
            space.axpy(-step as f32, &ap, &mut g).map_err(failed)?;
            objective -= 0.5 * step * slope;
            begin = true;
            since_refresh += 1;
        } else {
            if begin {
                space.copy(&free, &mut p).map_err(failed)?;
                begin = false;
            }
            let squares = operator.normal(&p, &mut ap).map_err(failed)?;
            products = products.map(|p| p + 1);
            let slope = space.dot(&p, &g).map_err(failed)?;
            let step = slope / squares;
            let longest = space.longest_step(&x, &p).map_err(failed)?;
            if step <= longest {
                space.axpy(-step as f32, &p, &mut x).map_err(failed)?;
                space.project_nonnegative(&mut x).map_err(failed)?;
                space.axpy(-step as f32, &ap, &mut g).map_err(failed)?;
                objective -= 0.5 * step * slope;
                // The next direction is conjugate to p: φ - (φ'Ap / p'Ap) p.
                space.copy(&g, &mut free).map_err(failed)?;
                space.restrict_to_face(&x, &mut free).map_err(failed)?;
                let gamma = space.dot(&free, &ap).map_err(failed)? / squares;
                space.scale(-gamma as f32, &mut p).map_err(failed)?;
                space.axpy(1.0, &free, &mut p).map_err(failed)?;
                space.restrict_to_face(&x, &mut p).map_err(failed)?;
                since_refresh += 1;
            } else {
                space.copy(&x, &mut tried).map_err(failed)?;
                space.axpy(-step as f32, &p, &mut tried).map_err(failed)?;
                space.project_nonnegative(&mut tried).map_err(failed)?;
                let reached = problem.gradient(&tried, &mut ap).map_err(failed)?;
                products = products.map(|p| p + 1);
                if reached <= objective {
                    std::mem::swap(&mut x, &mut tried);
                    std::mem::swap(&mut g, &mut ap);
                    objective = reached;
                } else {
                    // Projection may climb; the way to the bound never does.
                    // (A little more, so that the element that ends it is zero after rounding.)
                    let step = longest * (1.0 + 1e-6);
                    space.axpy(-step as f32, &p, &mut x).map_err(failed)?;
                    space.project_nonnegative(&mut x).map_err(failed)?;
                    objective = problem.gradient(&x, &mut g).map_err(failed)?;
                    products = products.map(|p| p + 1);
                }
                (since_refresh, begin) = (0, true);
            }
        }
        if since_refresh >= REFRESH {
            objective = problem.gradient(&x, &mut g).map_err(failed)?;
            products = products.map(|p| p + 1);
            since_refresh = 0;
        }
        watched.after(objective)?;
        watch(&Step { iteration, objective, gradient: watched.relative(norm) }, &x);
    }
}
