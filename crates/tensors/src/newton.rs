//! Newton's method for eigenpairs, which finds saddles as well as extremes.
//!
//! At a unit vector x with λ = A xᵐ / B xᵐ and r = A xᵐ⁻¹ - λ B xᵐ⁻¹, the step (d, δ) solves
//! J d - δ B xᵐ⁻¹ = -r, xᵀd = 0, with J the [`Local::jacobian`]; then x ← (x + d) normalised. Near
//! any pair whose projected Hessian is regular it converges quadratically (for B = E this is the
//! orthogonal Newton correction method of Jaffe, Weiss and Nadler 2018).

use crate::problem::{Local, Problem};
use fimbria_compute::dense::lu::solve;
use fimbria_compute::dense::vector::{norm, normalise};

/// Longest step, about 30 degrees: far from any pair, Newton's steps may point anywhere, and long
/// ones would lose the neighbourhood the start was chosen for.
const LONGEST_STEP: f64 = 0.5;

/// Iterations from a start. Converging ones need about ten; where the Hessian is singular at the
/// pair (flat to order k) convergence is linear with rate 1 - 1/k, which this allows for.
const MAX_ITERATIONS: usize = 80;

/// Iterates from the unit vector `x` until the residual is at most `tolerance`, and says whether
/// it got there; `local` then belongs to `x`.
pub fn newton(problem: Problem<'_>, x: &mut [f64], tolerance: f64, local: &mut Local) -> bool {
    problem.evaluate(x, local);
    for _ in 0..MAX_ITERATIONS {
        if norm(&local.residual) <= tolerance {
            return true;
        }
        if !step(x, local) {
            return false;
        }
        problem.evaluate(x, local);
    }
    norm(&local.residual) <= tolerance
}

/// Takes a pair to the last digit: steps on while the residual decreases; `local` then belongs to
/// `x`.
pub fn polish(problem: Problem<'_>, x: &mut [f64], local: &mut Local) {
    problem.evaluate(x, local);
    let mut best = (norm(&local.residual), x.to_vec());
    for _ in 0..8 {
        if best.0 == 0.0 || !step(x, local) {
            break;
        }
        problem.evaluate(x, local);
        let residual = norm(&local.residual);
        if residual.is_nan() || residual >= best.0 {
            break;
        }
        best = (residual, x.to_vec());
    }
    x.copy_from_slice(&best.1);
    problem.evaluate(x, local);
}

/// One step from x; false, and x as it was, where the system is singular.
fn step(x: &mut [f64], local: &Local) -> bool {
    let n = x.len();
    let rows = n + 1;
    let mut matrix = vec![0.0; rows * rows];
    let mut rhs = vec![0.0; rows];
    for i in 0..n {
        matrix[i * rows..i * rows + n].copy_from_slice(&local.jacobian[i * n..(i + 1) * n]);
        matrix[i * rows + n] = -local.metric[i];
        matrix[n * rows + i] = x[i];
        rhs[i] = -local.residual[i];
    }
    if !solve(&mut matrix, &mut rhs) {
        return false;
    }
    let d = &rhs[..n];
    let length = norm(d);
    if !length.is_finite() {
        return false;
    }
    let shortened = if length > LONGEST_STEP { LONGEST_STEP / length } else { 1.0 };
    x.iter_mut().zip(d).for_each(|(x, d)| *x += shortened * d);
    // |x + d| >= 1, because d is orthogonal to x.
    normalise(x)
}
