//! GEAP, the adaptive shifted power method for pairs A xᵐ⁻¹ = λ B xᵐ⁻¹ with B positive definite
//! (Kolda and Mayo 2014, SIAM J. Matrix Anal. Appl. 35:1563), in scalar `f64`.
//!
//! The pairs are the critical points of λ(x) = A xᵐ / B xᵐ. SS-HOPM is applied to f(x) = λ(x) ‖x‖ᵐ:
//! with r = A xᵐ⁻¹ - λ B xᵐ⁻¹ and ‖x‖ = 1, ∇f / m = r / B xᵐ + λ x, so that
//! x ← ±(r + (λ + α) B xᵐ x), normalised.

use crate::layout::Layout;
use crate::newton::polish;
use crate::problem::{Form, Local, Problem};
use crate::sshopm::{Extremum, Iterated, MARGIN, Shift, Stopping, iterate, largest};
use crate::starts::on_half_sphere;
use crate::tables::Chain;
use fimbria_compute::dense::{cholesky, jacobi};

/// Iterates from the unit vector `start` until λ converges; with B = none this is
/// [`sshopm`](crate::sshopm::sshopm).
///
/// The tolerance of λ is relative to the largest magnitude of A's entries over that of B's.
///
/// # Panics
/// Where `start` does not have n components.
pub fn geap(problem: Problem<'_>, start: &[f64], shift: Shift, stopping: Stopping) -> Iterated {
    let of_b = problem.b.map_or(1.0, |b| largest(b.entries()));
    let scale = largest(problem.a.entries()) / of_b;
    let m = problem.a.order() as f64;
    let mut at = Local::default();
    iterate(start, stopping, scale, |x, next| {
        problem.evaluate(x, &mut at);
        let (sign, alpha) = match shift {
            Shift::Fixed(alpha) => (if alpha >= 0.0 { 1.0 } else { -1.0 }, alpha),
            Shift::Adaptive(extremum) => {
                let sign = extremum.sign();
                let hessian = hessian_over_m(&at, x, m, sign);
                let least = jacobi::eigen(&hessian, x.len()).0[0];
                (sign, sign * f64::max(0.0, MARGIN * scale - least))
            }
        };
        let along = (at.lambda + alpha) * at.weight;
        for (next, (r, x)) in next.iter_mut().zip(at.residual.iter().zip(x)) {
            *next = sign * (r + along * x);
        }
        at.lambda
    })
}

/// `sign` times the second derivative of f, over m:
/// ((m-1)/b)(A xᵐ⁻² - λ B xᵐ⁻²) - (m/b²)(b₁ rᵀ + r b₁ᵀ) + (m/b)(r xᵀ + x rᵀ) + λ (I + (m-2) x xᵀ),
/// with b = B xᵐ and b₁ = B xᵐ⁻¹. For B = E that is (m-1) A xᵐ⁻², whose derivation differs: the
/// [`Local::jacobian`] of E holds only what acts on the tangent space.
fn hessian_over_m(at: &Local, x: &[f64], m: f64, sign: f64) -> Vec<f64> {
    let n = x.len();
    if at.of_b.hessian.is_empty() {
        return at.of_a.hessian.iter().map(|h| sign * (m - 1.0) * h).collect();
    }
    let Local { lambda, residual: r, metric: b1, weight: b, jacobian, .. } = at;
    let mut hessian = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            let identity = f64::from(u8::from(i == j));
            let value = jacobian[i * n + j] / b - m / (b * b) * (b1[i] * r[j] + r[i] * b1[j])
                + m / b * (r[i] * x[j] + x[i] * r[j])
                + lambda * (identity + (m - 2.0) * x[i] * x[j]);
            hessian.push(sign * value);
        }
    }
    hessian
}

/// The unique entries of sym(D ⊗ D) of order 4, from those of a symmetric matrix D of n rows: the
/// tensor whose form is (xᵀDx)². Entry ijkl is (D_ij D_kl + D_ik D_jl + D_il D_jk) / 3.
///
/// # Panics
/// Where there are not n (n + 1) / 2 entries, or there is no layout of order 4 and dimension n.
pub fn symmetric_square(d: &[f64], dimension: usize) -> Vec<f64> {
    let matrix = Layout::new(2, dimension).expect("a dimension small enough for order 4");
    let square = Layout::new(4, dimension).expect("a dimension small enough for order 4");
    assert_eq!(d.len(), matrix.len(), "unique entries of D");
    let at = |i: usize, j: usize| d[matrix.place(&[i, j])];
    let entry = |class: Vec<usize>| {
        let [i, j, k, l] = class[..] else { unreachable!("classes of order 4 have 4 indices") };
        (at(i, j) * at(k, l) + at(i, k) * at(j, l) + at(i, l) * at(j, k)) / 3.0
    };
    square.index_classes().map(entry).collect()
}

/// The least and the greatest of something, and the unit vectors that attain them.
#[derive(Clone, Debug, PartialEq)]
pub struct Extremes {
    /// The least value.
    pub smallest: f64,
    /// Where it is attained.
    pub x_smallest: Vec<f64>,
    /// The greatest value.
    pub largest: f64,
    /// Where it is attained.
    pub x_largest: Vec<f64>,
}

/// The extremes of A x⁴ / (xᵀDx)² over directions x in 3 dimensions: with the kurtosis tensor W for
/// A (15 unique entries) and a positive definite diffusion tensor D (6), times the squared mean
/// diffusivity, those of the apparent kurtosis.
///
/// `starts` points of the half sphere are followed up and down; none where D is not positive
/// definite or a number is not finite.
///
/// # Panics
/// Where `chain` is not of order 4 and dimension 3.
pub fn extremes_over_square(
    chain: &Chain,
    a: &[f64; 15],
    d: &[f64; 6],
    starts: usize,
) -> Option<Extremes> {
    let [xx, xy, xz, yy, yz, zz] = *d;
    cholesky::factor(&[xx, xy, xz, xy, yy, yz, xz, yz, zz], 3, 0.0)?;
    let square = symmetric_square(d, 3);
    if !a.iter().chain(&square).all(|entry| entry.is_finite()) {
        return None;
    }
    let problem = Problem { a: Form::new(chain, a), b: Some(Form::new(chain, &square)) };
    // Polishing does the last digits.
    let stopping = Stopping { tolerance: 1e-9, max_iterations: 200 };
    let mut local = Local::default();
    let mut best: [Option<(f64, Vec<f64>)>; 2] = [None, None];
    for start in on_half_sphere(starts, 3).chunks_exact(3) {
        for (best, extremum) in best.iter_mut().zip([Extremum::Minimum, Extremum::Maximum]) {
            let found = geap(problem, start, Shift::Adaptive(extremum), stopping);
            let sign = extremum.sign();
            if best.as_ref().is_none_or(|(lambda, _)| sign * found.lambda > sign * lambda) {
                *best = Some((found.lambda, found.x));
            }
        }
    }
    let polished = |best: Option<(f64, Vec<f64>)>| {
        let (lambda, mut x) = best?;
        let unpolished = x.clone();
        polish(problem, &mut x, &mut local);
        // Newton's method stays at the extreme unless that is degenerate.
        let near = (local.lambda - lambda).abs() <= 1e-6 * lambda.abs().max(f64::MIN_POSITIVE);
        Some(if near { (local.lambda, x) } else { (lambda, unpolished) })
    };
    let [smallest, largest] = best.map(polished);
    let ((smallest, x_smallest), (largest, x_largest)) = (smallest?, largest?);
    Some(Extremes { smallest, x_smallest, largest, x_largest })
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;

    use super::*;
    use crate::general;
    use crate::pairs::{PairFinder, Search};
    use crate::testing::{KOFIDIS_REGALIA, random_entries, random_unit};

    #[test]
    fn the_square_of_a_matrix_is_the_square_of_its_form() {
        for n in 1..5 {
            let (matrix, square) = (Layout::new(2, n).unwrap(), Layout::new(4, n).unwrap());
            let (d, x) = (random_entries(n as u64, matrix.len()), random_unit(5, n));
            let expected = general::form(&matrix, &d, &x).powi(2);
            let got = general::form(&square, &symmetric_square(&d, n), &x);
            assert!((got - expected).abs() < 1e-14, "{got} {expected}");
        }
    }

    #[test]
    fn without_b_it_is_ss_hopm() {
        let chain = Chain::new(Layout::new(4, 3).unwrap());
        let a = Form::new(&chain, &KOFIDIS_REGALIA);
        let e = symmetric_square(&[1.0, 0.0, 0.0, 1.0, 0.0, 1.0], 3);
        let start = [0.6, 0.48, 0.64];
        let stopping = Stopping { tolerance: 0.0, max_iterations: 12 };
        for shift in [
            Shift::Fixed(2.0),
            Shift::Fixed(-3.0),
            Shift::Adaptive(Extremum::Maximum),
            Shift::Adaptive(Extremum::Minimum),
        ] {
            let expected = crate::sshopm::sshopm(a, &start, shift, stopping);
            for b in [None, Some(Form::new(&chain, &e))] {
                let got = geap(Problem { a, b }, &start, shift, stopping);
                for (got, expected) in got.x.iter().zip(&expected.x) {
                    // Twelve iterations of a few roundings each; none contracts by less than 1/10.
                    assert!((got - expected).abs() < 1e-12, "{shift:?}: {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn extremes_over_a_square_are_the_largest_and_smallest_generalised_pairs() {
        let chain = Chain::new(Layout::new(4, 3).unwrap());
        let finder = PairFinder::new(4, 3).unwrap();
        for seed in 0..10 {
            let a: [f64; 15] = std::array::from_fn(|i| random_entries(seed, 15)[i]);
            let d = [1.7, 0.1, -0.2, 0.6, 0.05, 0.3 + 0.1 * seed as f64];
            let square = symmetric_square(&d, 3);
            let found = finder.find(&a, Some(&square), 0, &Search::default(), &Silent).unwrap();
            let extremes = extremes_over_square(&chain, &a, &d, 32).unwrap();
            let (first, last) = (&found.pairs[0], &found.pairs[found.pairs.len() - 1]);
            assert!((extremes.largest - first.lambda).abs() < 1e-11 * first.lambda.abs());
            assert!((extremes.smallest - last.lambda).abs() < 1e-11 * last.lambda.abs());
        }
    }

    #[test]
    fn an_indefinite_diffusion_tensor_has_no_extremes() {
        let chain = Chain::new(Layout::new(4, 3).unwrap());
        let d = [1.0, 0.0, 0.0, -0.1, 0.0, 1.0];
        assert_eq!(extremes_over_square(&chain, &KOFIDIS_REGALIA, &d, 8), None);
    }
}
