//! The arithmetic of one step, for one particle or several side by side: the oracle and the fast
//! tracker run these same operations in the same order.

use fimbria_compute::Real;

use crate::SampleChoice;
use crate::field::{Stick, floor};

/// The lattice corner that probabilistic interpolation chooses: along each axis the voxel above
/// with the chance of the distance from the one below.
#[inline(always)]
pub(crate) fn corner<R: Real>(pos: [R; 3], u: [R; 3]) -> [R; 3] {
    [corner_along(pos[0], u[0]), corner_along(pos[1], u[1]), corner_along(pos[2], u[2])]
}

#[inline(always)]
fn corner_along<R: Real>(x: R, u: R) -> R {
    let (zero, one) = (x.splat(0.0), x.splat(1.0));
    let below = floor(x);
    let distance = x - below;
    // Where x is whole there is no voxel above.
    let above = u.at_most(distance) & zero.less(distance);
    below + R::select(above, one, zero)
}

/// Index of the sample, as a whole number.
#[inline(always)]
pub(crate) fn sample_index<R: Real>(choice: SampleChoice, n_samples: usize, u: R) -> R {
    let n = n_samples as f32;
    match choice {
        SampleChoice::Uniform => floor(u * n).min(u.splat(n - 1.0)),
        SampleChoice::HalfWeightEnds => floor(u * (n - 1.0) + 0.5),
    }
}

#[inline(always)]
pub(crate) fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// What is known of the fibre that will be followed while others are looked at.
#[derive(Clone, Copy)]
pub(crate) struct Nearest<R: Real> {
    pub(crate) stick: Stick<R>,
    best: R,
}

impl<R: Real> Nearest<R> {
    /// Fibre 1, unless a better one comes: one above the threshold that is less than 90 degrees
    /// from `dir`.
    #[inline(always)]
    pub(crate) fn first(stick: Stick<R>, dir: [R; 3], threshold: f32) -> Self {
        let cos = dot(stick.dir, dir).abs();
        let counts = cos.splat(threshold).less(stick.fraction) & stick.has_direction;
        Self { stick, best: R::select(counts, cos, cos.splat(0.0)) }
    }

    #[inline(always)]
    pub(crate) fn or(self, stick: Stick<R>, dir: [R; 3], threshold: f32) -> Self {
        let cos = dot(stick.dir, dir).abs();
        let better =
            cos.splat(threshold).less(stick.fraction) & stick.has_direction & self.best.less(cos);
        Self { stick: chosen(better, stick, self.stick), best: R::select(better, cos, self.best) }
    }
}

/// `mask ? yes : no`.
#[inline(always)]
pub(crate) fn chosen<R: Real>(mask: R::Flags, yes: Stick<R>, no: Stick<R>) -> Stick<R> {
    Stick {
        dir: select3(mask, yes.dir, no.dir),
        fraction: R::select(mask, yes.fraction, no.fraction),
        has_direction: (mask & yes.has_direction) | (!mask & no.has_direction),
    }
}

#[inline(always)]
pub(crate) fn select3<R: Real>(mask: R::Flags, yes: [R; 3], no: [R; 3]) -> [R; 3] {
    [R::select(mask, yes[0], no[0]), R::select(mask, yes[1], no[1]), R::select(mask, yes[2], no[2])]
}

/// `sign * v`, with the sign of `cos`: negative unless `cos` is above zero.
#[inline(always)]
pub(crate) fn along<R: Real>(v: [R; 3], cos: R) -> [R; 3] {
    let forwards = cos.splat(0.0).less(cos);
    select3(forwards, v, [-v[0], -v[1], -v[2]])
}

/// `pos + dir * scale`, axis by axis.
#[inline(always)]
pub(crate) fn moved<R: Real>(pos: [R; 3], dir: [R; 3], scale: [f32; 3]) -> [R; 3] {
    [
        dir[0].mul_add(pos[0].splat(scale[0]), pos[0]),
        dir[1].mul_add(pos[1].splat(scale[1]), pos[1]),
        dir[2].mul_add(pos[2].splat(scale[2]), pos[2]),
    ]
}

/// The direction halfway between `v` and the one of ±`ahead` on its side.
#[inline(always)]
pub(crate) fn halfway<R: Real>(v: [R; 3], ahead: [R; 3]) -> [R; 3] {
    let ahead = along(ahead, dot(v, ahead));
    let sum = [v[0] + ahead[0], v[1] + ahead[1], v[2] + ahead[2]];
    let scale = v[0].splat(1.0) / dot(sum, sum).sqrt();
    [sum[0] * scale, sum[1] * scale, sum[2] * scale]
}
