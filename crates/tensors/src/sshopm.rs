//! SS-HOPM, the shifted symmetric higher-order power method, in scalar `f64`.
//!
//! x ← ±(A xᵐ⁻¹ + α x), normalised, with + for α >= 0 and - for α < 0 (Ballard, Kolda and Plantenga,
//! Figure 1; Kolda and Mayo 2011, SIAM J. Matrix Anal. Appl. 32:1095). A large enough shift makes
//! A xᵐ + α (xᵀx)^(m/2) convex (or concave): λ then never decreases (increases), and the limit is a
//! local maximum (minimum) of A xᵐ on the sphere. Saddles are never reached.
//!
//! # How large a shift
//! |α| > β(A) = (m - 1) max ρ(A xᵐ⁻²) over unit vectors x suffices for every start, with ρ the
//! spectral radius. That maximum is of |A xᵐ⁻² y²| over unit x and y; a symmetric multilinear form
//! attains its norm with all arguments equal (Banach 1938), hence β(A) = (m - 1) max |λ|, which
//! [`bound`] uses. (The published (m - 1) Σ |a| over all nᵐ entries needs no search, but is so large
//! that convergence takes hundreds of iterations.) The adaptive shift (Kolda
//! and Mayo 2014, 35:1563) is the least one that makes the form convex where x is.

use crate::problem::{Derivatives, Form};
use crate::starts::on_half_sphere;
use fimbria_compute::dense::jacobi;
use fimbria_compute::dense::vector::normalise;

/// Which extremes are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// Local maxima of λ on the sphere.
    Maximum,
    /// Local minima.
    Minimum,
}

impl Extremum {
    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::Maximum => 1.0,
            Self::Minimum => -1.0,
        }
    }
}

/// The shift α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// The same in every iteration: maxima where it is >= 0, minima below.
    Fixed(f64),
    /// The least that makes the form convex (concave) at x, by [`MARGIN`].
    Adaptive(Extremum),
}

/// What the smallest eigenvalue of (m - 1) A xᵐ⁻² + α I is kept above by the adaptive shift, relative
/// to the largest magnitude of A's entries (Kolda and Mayo's τ / m).
pub const MARGIN: f64 = 1e-6;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// λ has converged when it changes by no more than this, relative to the largest magnitude of
    /// A's entries.
    pub tolerance: f64,
    /// Give up after so many iterations.
    pub max_iterations: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { tolerance: 1e-15, max_iterations: 1000 }
    }
}

/// Where an iteration ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterated {
    /// A xᵐ at the end.
    pub lambda: f64,
    /// The unit vector at the end.
    pub x: Vec<f64>,
    /// Iterations made.
    pub iterations: usize,
    /// Whether λ converged; otherwise `x` is wherever the last iteration led.
    pub converged: bool,
}

/// Iterates from the unit vector `start` until λ converges.
///
/// # Panics
/// Where `start` does not have n components.
pub fn sshopm(form: Form<'_>, start: &[f64], shift: Shift, stopping: Stopping) -> Iterated {
    let scale = largest(form.entries());
    let m1 = (form.order() - 1) as f64;
    let mut at = Derivatives::default();
    iterate(start, stopping, scale, |x, next| {
        form.evaluate(x, &mut at);
        let (sign, alpha) = match shift {
            Shift::Fixed(alpha) => (if alpha >= 0.0 { 1.0 } else { -1.0 }, alpha),
            Shift::Adaptive(extremum) => {
                let sign = extremum.sign();
                at.hessian.iter_mut().for_each(|h| *h *= sign * m1);
                let least = jacobi::eigen(&at.hessian, x.len()).0[0];
                (sign, sign * f64::max(0.0, MARGIN * scale - least))
            }
        };
        for (next, (gradient, x)) in next.iter_mut().zip(at.gradient.iter().zip(x)) {
            *next = sign * (gradient + alpha * x);
        }
        at.value
    })
}

/// The loop of SS-HOPM and of its generalised form: `step` gives λ at x and the next x, not yet
/// normalised.
pub(crate) fn iterate(
    start: &[f64],
    stopping: Stopping,
    scale: f64,
    mut step: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Iterated {
    let mut x = start.to_vec();
    let mut next = x.clone();
    let mut lambda = step(&x, &mut next);
    for iteration in 1..=stopping.max_iterations {
        if !normalise(&mut next) {
            return Iterated { lambda, x, iterations: iteration - 1, converged: false };
        }
        x.copy_from_slice(&next);
        let before = std::mem::replace(&mut lambda, step(&x, &mut next));
        if (lambda - before).abs() <= stopping.tolerance * scale {
            return Iterated { lambda, x, iterations: iteration, converged: true };
        }
    }
    Iterated { lambda, x, iterations: stopping.max_iterations, converged: false }
}

/// β(A) = (m - 1) max |λ|, with the largest |λ| that `starts` searches for maxima and as many for
/// minima reach; below the true value only where all of them miss it.
pub fn bound(form: Form<'_>, starts: usize) -> f64 {
    let mut radius: f64 = 0.0;
    for start in on_half_sphere(starts, form.dimension()).chunks_exact(form.dimension()) {
        for extremum in [Extremum::Maximum, Extremum::Minimum] {
            let found = sshopm(form, start, Shift::Adaptive(extremum), Stopping::default());
            radius = radius.max(found.lambda.abs());
        }
    }
    (form.order() as f64 - 1.0) * radius
}

/// The largest magnitude.
pub(crate) fn largest(entries: &[f64]) -> f64 {
    entries.iter().fold(0.0, |max, a| max.max(a.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::tables::Chain;
    use crate::testing::KOFIDIS_REGALIA;

    fn with_form<R>(use_it: impl FnOnce(Form<'_>) -> R) -> R {
        let chain = Chain::new(Layout::new(4, 3).unwrap());
        use_it(Form::new(&chain, &KOFIDIS_REGALIA))
    }

    fn runs(shift: Shift) -> Vec<Iterated> {
        with_form(|form| {
            let starts = on_half_sphere(60, 3);
            starts.chunks_exact(3).map(|x| sshopm(form, x, shift, Stopping::default())).collect()
        })
    }

    /// The λ reached, to four digits, without repetition.
    fn reached(runs: &[Iterated]) -> Vec<i64> {
        assert!(runs.iter().all(|run| run.converged));
        let mut lambdas: Vec<_> =
            runs.iter().map(|run| (run.lambda * 1e4).round() as i64).collect();
        lambdas.sort_unstable();
        lambdas.dedup();
        lambdas
    }

    #[test]
    fn a_large_shift_of_either_sign_reaches_all_maxima_or_minima_and_nothing_else() {
        assert_eq!(reached(&runs(Shift::Fixed(3.3))), [3633, 8169, 8893]);
        assert_eq!(reached(&runs(Shift::Fixed(-3.3))), [-10954, -5629, -451]);
    }

    #[test]
    fn the_adaptive_shift_reaches_the_same() {
        assert_eq!(reached(&runs(Shift::Adaptive(Extremum::Maximum))), [3633, 8169, 8893]);
        assert_eq!(reached(&runs(Shift::Adaptive(Extremum::Minimum))), [-10954, -5629, -451]);
    }

    #[test]
    fn without_shift_the_example_of_kofidis_and_regalia_does_not_converge() {
        assert!(runs(Shift::Fixed(0.0)).iter().all(|run| !run.converged));
    }

    #[test]
    fn lambda_never_decreases_above_the_bound() {
        with_form(|form| {
            let beta = bound(form, 30);
            // Published to four digits: 3 times the spectral radius 1.0954.
            assert!((beta - 3.2860550967).abs() < 1e-9, "{beta}");
            let start = [0.6, 0.0, 0.8];
            let one = Stopping { tolerance: 0.0, max_iterations: 1 };
            let mut x = start.to_vec();
            let mut before = f64::NEG_INFINITY;
            for _ in 0..100 {
                let step = sshopm(form, &x, Shift::Fixed(beta), one);
                // Rounding of a sum of 15 terms below 1.
                assert!(step.lambda >= before - 1e-15, "{} after {before}", step.lambda);
                (before, x) = (step.lambda, step.x);
            }
        });
    }
}
