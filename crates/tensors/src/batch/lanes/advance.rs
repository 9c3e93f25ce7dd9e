//! One iteration of SS-HOPM.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::Shift;
use super::pair::{Pair, Registers};
use crate::unrolled::{Form, inner, times};

/// How much more convex than not at all the adaptive shift makes the form, relative to the largest
/// magnitude of its entries; as the oracle's [`MARGIN`](crate::sshopm::MARGIN).
pub(in crate::batch) const MARGIN: f32 = crate::sshopm::MARGIN as f32;
/// The square of a length below which a vector has no direction; x then stays as it is.
pub(in crate::batch) const NO_LENGTH: f32 = 1e-30;

/// A way to make an iteration's products.
pub(super) trait Advance: Send + Sync {
    /// How many starts go on together: enough independent chains of multiply-adds that none waits.
    type Registers<S: Simd>: Registers<S>;

    /// λ at the unit vector `x`, and the next one; `margin` is what the adaptive shift keeps the
    /// smallest curvature above.
    fn advance<F: Form, R: Real>(a: &[R], x: &[R; 3], shift: Shift, margin: R) -> (R, [R; 3]);
}

/// The paper's products.
pub(super) struct Plain;
/// Shared products.
pub(super) struct Shared;

impl Advance for Plain {
    // Its terms are independent of each other.
    type Registers<S: Simd> = Lanes<S>;

    #[inline(always)]
    fn advance<F: Form, R: Real>(a: &[R], x: &[R; 3], shift: Shift, _: R) -> (R, [R; 3]) {
        let y = F::plain_vector(a, x);
        let lambda = F::plain_value(a, x);
        let alpha = if let Shift::Fixed(alpha) = shift { alpha } else { 0.0 };
        (lambda, next(x, &y, lambda.splat(alpha), lambda.splat(1.0_f32.copysign(alpha))))
    }
}

impl Advance for Shared {
    // Six entries each.
    type Registers<S: Simd> = Pair<Lanes<S>>;

    #[inline(always)]
    fn advance<F: Form, R: Real>(a: &[R], x: &[R; 3], shift: Shift, margin: R) -> (R, [R; 3]) {
        let b = F::contract(a, x);
        let y = times(&b, x);
        let lambda = inner(x, &y);
        let (alpha, sign) = match shift {
            Shift::Fixed(alpha) => (lambda.splat(alpha), 1.0_f32.copysign(alpha)),
            Shift::Adaptive => {
                let curvature = lambda.splat(1.0 - F::ORDER as f32);
                let alpha = smallest_eigenvalue(&b).mul_add(curvature, margin);
                (alpha.max(lambda.splat(0.0)), 1.0)
            }
        };
        (lambda, next(x, &y, alpha, lambda.splat(sign)))
    }
}

/// `sign` (y + αx), of unit length.
#[inline(always)]
fn next<R: Real>(x: &[R; 3], y: &[R; 3], shift: R, sign: R) -> [R; 3] {
    let moved = [shift.mul_add(x[0], y[0]), shift.mul_add(x[1], y[1]), shift.mul_add(x[2], y[2])];
    let length2 = inner(&moved, &moved);
    let some = shift.splat(NO_LENGTH).less(length2);
    let scale = sign * rsqrt_finite(length2);
    [
        R::select(some, moved[0] * scale, x[0]),
        R::select(some, moved[1] * scale, x[1]),
        R::select(some, moved[2] * scale, x[2]),
    ]
}

/// Of a symmetric matrix xx xy xz yy yz zz: the smallest root of x³ - 3x - 2r, where r is half the
/// determinant of its deviator over that one's size.
#[inline(always)]
pub(crate) fn smallest_eigenvalue<R: Real>(b: &[R; 6]) -> R {
    let zero = b[0].splat(0.0);
    let mean = (b[0] + b[3] + b[5]) * (1.0 / 3.0);
    let (xx, yy, zz) = (b[0] - mean, b[3] - mean, b[5] - mean);
    let (xy, xz, yz) = (b[1], b[2], b[4]);
    let diagonal = zz.mul_add(zz, yy.mul_add(yy, xx * xx));
    let off = yz.mul_add(yz, xz.mul_add(xz, xy * xy));
    let size2 = off.mul_add(zero.splat(2.0), diagonal) * (1.0 / 6.0);
    let inverse = rsqrt_finite(size2.max(zero.splat(NO_LENGTH)));
    let size = size2 * inverse;
    let determinant = xx.mul_add(
        yz.neg_mul_add(yz, yy * zz),
        xy.neg_mul_add(xz.neg_mul_add(yz, xy * zz), xz * yy.neg_mul_add(xz, xy * yz)),
    );
    let r = determinant * inverse * inverse * inverse * 0.5;
    let r = r.min(zero.splat(1.0)).max(zero.splat(-1.0));
    // The root that lies apart, √3 to 2 in magnitude: a cubic in |r|, within 1e-3, then Newton.
    let t = r.abs();
    let x = t.polynomial([0.018_887_11, -0.081_762_01, 0.330_808_33, 1.732_123_8]);
    let x2 = x * x;
    let apart = x - (x2 - 3.0).mul_add(x, t * -2.0) / ((x2 - 1.0) * 3.0);
    // Where it is the positive one, the smallest is one of the other two.
    let pair = apart.neg_mul_add(apart * 3.0, zero.splat(12.0)).max(zero).sqrt();
    let root = R::select(zero.less(r), (apart + pair) * 0.5, apart);
    root.neg_mul_add(size, mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_eigenvalue_is_that_of_the_matrix() {
        // R diag(l) R' for a rotation about (1, 2, 3) by one radian, in closed form.
        let axis = [1.0, 2.0, 3.0].map(|x: f64| x / 14.0_f64.sqrt());
        let (s, c) = 1.0_f64.sin_cos();
        let [x, y, z] = axis;
        let v = 1.0 - c;
        let r = [
            [c + x * x * v, x * y * v - z * s, x * z * v + y * s],
            [y * x * v + z * s, c + y * y * v, y * z * v - x * s],
            [z * x * v - y * s, z * y * v + x * s, c + z * z * v],
        ];
        for l in [[1.0, 2.0, 3.0], [-1.0, -1.0, 2.0], [0.5, 4.0, 4.0], [1.0, 1.0, 1.0], [0.0; 3]] {
            let at = |i: usize, j: usize| (0..3).map(|k| r[i][k] * l[k] * r[j][k]).sum::<f64>();
            let b = [at(0, 0), at(0, 1), at(0, 2), at(1, 1), at(1, 2), at(2, 2)];
            let found = f64::from(smallest_eigenvalue(&b.map(|x| x as f32)));
            // The square root of rounding, where two eigenvalues agree.
            assert!((found - l[0]).abs() < 2e-3 * (l[2] - l[0]) + 1e-6, "{l:?}: {found}");
        }
    }
}
