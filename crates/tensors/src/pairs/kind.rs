//! Maximum, minimum or saddle.

use super::Kind;
use crate::problem::{Local, Problem};
use crate::starts::on_half_sphere;
use crate::tangent::tangent_basis;
use fimbria_compute::dense::jacobi;
use fimbria_compute::dense::vector::{dot, normalise};

/// Eigenvalues of the projected Hessian up to this, relative to A's norm, count as 0.
pub(crate) const SINGULAR: f64 = 1e-6;

/// What the projected Hessian at a pair says.
pub(crate) struct Certificate {
    pub(crate) kind: Kind,
    /// Number of negative eigenvalues.
    pub(crate) index: usize,
    /// Some eigenvalue is 0 to the tolerance.
    pub(crate) degenerate: bool,
}

/// Classifies the eigenvector `x` to which `local` belongs, of tensors with norms near 1.
pub(crate) fn certify(problem: Problem<'_>, x: &[f64], local: &Local) -> Certificate {
    let tangents = x.len() - 1;
    let (values, _) = jacobi::eigen(&local.projected_hessian(x), tangents);
    let index = values.iter().filter(|&&value| value < 0.0).count();
    let degenerate = values.iter().any(|value| value.abs() <= SINGULAR);
    let kind = if degenerate {
        kind_nearby(problem, x, local.lambda)
    } else if index == tangents {
        Kind::Maximum
    } else if index == 0 {
        Kind::Minimum
    } else {
        Kind::Saddle
    };
    Certificate { kind, index, degenerate }
}

/// The kind by the values of λ on small spheres around x.
fn kind_nearby(problem: Problem<'_>, x: &[f64], lambda: f64) -> Kind {
    /// Radii in radians: at the smallest, a term of fourth order still is 1e-6 of the whole.
    const RADII: [f64; 3] = [0.03, 0.1, 0.2];
    /// Differences that count as none; what is left of a flat pair's own error.
    const SAME: f64 = 1e-9;
    let n = x.len();
    let basis = tangent_basis(x);
    let tangents = n - 1;
    let mut local = Local::default();
    let (mut above, mut below) = (false, false);
    let directions = on_half_sphere(32 * tangents, tangents);
    for weights in directions.chunks_exact(tangents) {
        for radius in RADII {
            for sign in [1.0, -1.0] {
                let along = |k: usize| -> f64 {
                    basis.chunks_exact(n).zip(weights).map(|(u, w)| u[k] * w).sum()
                };
                let mut near: Vec<f64> = (0..n).map(|k| x[k] + sign * radius * along(k)).collect();
                normalise(&mut near);
                problem.evaluate(&near, &mut local);
                above |= local.lambda > lambda + SAME;
                below |= local.lambda < lambda - SAME;
            }
        }
    }
    match (above, below) {
        (false, _) => Kind::Maximum,
        (true, false) => Kind::Minimum,
        (true, true) => Kind::Saddle,
    }
}

/// Turns x so that it represents its pair: of odd order λ >= 0, otherwise its component of largest
/// magnitude positive.
pub(crate) fn choose_sign(order: usize, lambda: &mut f64, x: &mut [f64]) {
    let largest =
        x.iter().fold(0.0, |largest: f64, &x| if x.abs() > largest.abs() { x } else { largest });
    let even = order.is_multiple_of(2);
    let turn = if even || *lambda == 0.0 { largest < 0.0 } else { *lambda < 0.0 };
    if turn {
        x.iter_mut().for_each(|x| *x = -*x);
    }
    if !even {
        *lambda = lambda.abs();
    }
}

/// The sine of the angle between two unit vectors, x and -x counting as one where `either_sign`.
pub(crate) fn sine_between(a: &[f64], b: &[f64], either_sign: bool) -> f64 {
    let cosine = dot(a, b);
    if cosine < 0.0 && !either_sign {
        return 1.0;
    }
    // The part of b across a: exact where the angle is small and its cosine rounds to 1.
    let across = a.iter().zip(b).map(|(a, b)| (b - cosine * a).powi(2));
    across.sum::<f64>().sqrt()
}
