//! Newton's method on the sphere, kept to ascending: from near a maximum to the maximum.

use fimbria_compute::Real;
use fimbria_compute::math::rsqrt_finite;

use crate::unrolled::{Form, inner, times};

/// A curvature is negative if it lies below this, in units of the curvatures' size; what lies
/// nearer to zero is a ridge or a plateau in single precision.
pub(crate) const STRICT: f32 = -1e-3;
/// Where it is not, this much of their size is what the steps climb by.
pub(crate) const DAMPING: f32 = 0.1;
/// The first bound of a step, radians, and what it shrinks by when a step went down.
pub(crate) const RADIUS: f32 = 0.3;
pub(crate) const SHRINK: f32 = 0.25;
/// A loss of value that rounding explains, for forms of largest value 1 to 2.
pub(crate) const NOISE: f32 = 4e-6;
/// Below any determinant that matters; keeps divisions finite.
pub(crate) const TINY: f32 = 1e-30;

/// Where ascents are, one in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climber<R> {
    /// The unit vector to look at next.
    pub(crate) x: [R; 3],
    /// The last one that was an ascent, and its value.
    pub(crate) back: [R; 3],
    pub(crate) value: R,
    /// Steps are no longer than this.
    pub(crate) radius: R,
}

/// What one step found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<R: Real> {
    /// The last step was shorter than the tolerance: the ascent is over.
    pub(crate) at_rest: R::Flags,
    /// And it was a Newton step at a negative definite Hessian: a true maximum.
    pub(crate) certified: R::Flags,
}

/// One step of every ascent on the forms `a`. Where it ends at rest, `x` and `value` are those of
/// the maximum.
#[inline(always)]
pub(crate) fn step<F: Form, R: Real>(a: &[R], from: &mut Climber<R>, tolerance: f32) -> Outcome<R> {
    let x = from.x;
    let zero = x[0].splat(0.0);
    let b = F::contract(a, &x);
    let bx = times(&b, &x);
    let value = inner(&x, &bx);

    // Back where the last step went down, with a shorter leash.
    let up = (from.value - NOISE).at_most(value);
    let radius = R::select(up, from.radius, from.radius * SHRINK);

    // Gradient and Hessian of f / m in the tangent plane.
    let (u, v) = across(&x);
    let slope = [inner(&u, &bx), inner(&v, &bx)];
    let (bu, bv) = (times(&b, &u), times(&b, &v));
    let m1 = x[0].splat((F::ORDER - 1) as f32);
    let uu = inner(&u, &bu).mul_add(m1, -value);
    let vv = inner(&v, &bv).mul_add(m1, -value);
    let uv = inner(&u, &bv) * m1;

    // Its larger eigenvalue decides whether Newton's step may be taken as it is.
    let mean = (uu + vv) * 0.5;
    let half = (uu - vv) * 0.5;
    let spread = half.mul_add(half, uv * uv).sqrt();
    let top = mean + spread;
    let size = mean.abs() + spread;
    let strict = top.less(size * STRICT);
    let shift = R::select(strict, zero, size.mul_add(zero.splat(DAMPING), top));
    let (p, q) = (shift - uu, shift - vv);
    let determinant = p.mul_add(q, -(uv * uv)).max(zero.splat(TINY));
    let inverse = zero.splat(1.0) / determinant;
    let s = q.mul_add(slope[0], uv * slope[1]) * inverse;
    let t = p.mul_add(slope[1], uv * slope[0]) * inverse;
    let length2 = s.mul_add(s, t * t);
    let long = (radius * radius).less(length2);
    let cut = radius * rsqrt_finite(length2.max(zero.splat(TINY)));
    let scale = R::select(long, cut, zero.splat(1.0));
    let (s, t) = (s * scale, t * scale);

    let moved = [
        t.mul_add(v[0], s.mul_add(u[0], x[0])),
        t.mul_add(v[1], s.mul_add(u[1], x[1])),
        t.mul_add(v[2], s.mul_add(u[2], x[2])),
    ];
    let inverse = rsqrt_finite(inner(&moved, &moved));

    let at_rest = up & length2.at_most(zero.splat(tolerance * tolerance));
    // To second order in the step, of which the Hessian takes half of what the slope gives; and
    // the slope of f is m times that of f / m.
    let gain = s.mul_add(slope[0], t * slope[1]) * (0.5 * F::ORDER as f32);
    for i in 0..3 {
        let next = moved[i] * inverse;
        from.x[i] = R::select(up, next, from.back[i]);
        from.back[i] = R::select(up, x[i], from.back[i]);
    }
    from.value = R::select(at_rest, value + gain, R::select(up, value, from.value));
    from.radius = radius;
    Outcome { at_rest, certified: at_rest & strict }
}

/// Two unit vectors across the unit vector `x` and each other (Duff et al. 2017, JCGT 6:1).
#[inline(always)]
fn across<R: Real>(x: &[R; 3]) -> ([R; 3], [R; 3]) {
    let one = x[0].splat(1.0);
    let sign = R::select(x[2].less(one.splat(0.0)), -one, one);
    let a = -(sign / x[2].mul_add(sign, one));
    let b = x[0] * x[1] * a;
    (
        [(sign * x[0] * x[0]).mul_add(a, one), sign * b, -(sign * x[0])],
        [b, (x[1] * x[1]).mul_add(a, sign), -x[1]],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unrolled::Order4;

    /// The fourth power of the inner product with `axis`.
    fn fourth_power(axis: [f32; 3]) -> Vec<f32> {
        let mut entries = Vec::new();
        for i in 0..3 {
            for j in i..3 {
                for k in j..3 {
                    for l in k..3 {
                        entries.push(axis[i] * axis[j] * axis[k] * axis[l]);
                    }
                }
            }
        }
        entries
    }

    #[test]
    fn an_ascent_ends_at_the_axis_of_a_fourth_power() {
        let a = fourth_power([0.6, 0.0, 0.8]);
        let start = [0.48, 0.6, 0.64];
        let mut climber =
            Climber { x: start, back: start, value: f32::NEG_INFINITY, radius: RADIUS };
        let rested = (0..20).find(|_| step::<Order4, f32>(&a, &mut climber, 1e-3).certified);
        assert!(rested.is_some());
        // Rounding of the gradient over the curvature, a few ε.
        let error = (climber.x[0] - 0.6).abs() + climber.x[1].abs() + (climber.x[2] - 0.8).abs();
        assert!(error < 1e-6, "{error}");
        assert!((climber.value - 1.0).abs() < 1e-6, "{}", climber.value);
    }

    #[test]
    fn a_ridge_is_not_certified() {
        // (x² + y²)²: every direction of the equator is a maximum, none is strict.
        let mut a = vec![0.0; 15];
        (a[0], a[3], a[10]) = (1.0, 1.0 / 3.0, 1.0);
        let start = [0.8, 0.0, 0.6];
        let mut climber =
            Climber { x: start, back: start, value: f32::NEG_INFINITY, radius: RADIUS };
        for _ in 0..100 {
            assert!(!step::<Order4, f32>(&a, &mut climber, 1e-3).certified);
        }
        assert!(climber.x[2].abs() < 1e-5, "{:?}", climber.x);
    }
}
