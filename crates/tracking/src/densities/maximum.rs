//! The maximum of a function on the sphere nearest to a direction, for as many functions side by side
//! as registers have lanes.
//!
//! Newton's method on the sphere: a form of degree d contracted d - 2 times with u is a quadratic form
//! Q, from which come the value u'Qu, the gradient d Qu and the second derivatives d(d - 1)Q. In the
//! plane across u the Hessian of the function on the sphere is d(d - 1)Q less d times the value
//! (Absil, Mahony, Sepulchre 2008, section 6.4). Where it is not that of a maximum, it is shifted until
//! it is, and no step is longer than [`LONGEST`], so that the ascent stays on the hill it is on.

use fimbria_compute::{Flags as _, Lanes, Real};
use pulp::Simd;

use super::field::MAX_TERMS;
use crate::step::{dot, select3};

/// Particles side by side, whatever the width of registers.
pub(super) const SIDE_BY_SIDE: usize = 16;

/// Longest step, as the tangent of its angle.
const LONGEST: f32 = 0.2;

/// Steps, the last of which hardly moves.
const MAX_STEPS: usize = 16;

/// A step this short is the last one: it is square in the error of the next.
const SHORT: f32 = 1e-3;

/// Forms to look at, and where to start: `[term][particle]`, without multiplicities.
pub(super) struct Ascents {
    pub(super) entries: Box<[[f32; SIDE_BY_SIDE]; MAX_TERMS]>,
    pub(super) dir: [[f32; SIDE_BY_SIDE]; 3],
    pub(super) value: [f32; SIDE_BY_SIDE],
}

impl Default for Ascents {
    fn default() -> Self {
        Self {
            entries: Box::new([[0.0; SIDE_BY_SIDE]; MAX_TERMS]),
            dir: [[0.0; SIDE_BY_SIDE]; 3],
            value: [0.0; SIDE_BY_SIDE],
        }
    }
}

impl Ascents {
    /// Takes every direction to the maximum nearest to it, and finds the value there.
    #[inline(always)]
    pub(super) fn climb<S: Simd, const ORDER: usize, const TERMS: usize>(&mut self, simd: S) {
        for at in (0..SIDE_BY_SIDE).step_by(Lanes::<S>::LANES) {
            let zero = Lanes::new(simd, 0.0);
            let mut entries = [zero; TERMS];
            for (entry, from) in entries.iter_mut().zip(&*self.entries) {
                *entry = Lanes::load(simd, &from[at..]);
            }
            let mut dir = [zero; 3];
            for (axis, from) in dir.iter_mut().zip(&self.dir) {
                *axis = Lanes::load(simd, &from[at..]);
            }
            let mut goes_on = zero.equals(zero);
            for _ in 0..MAX_STEPS {
                let next = ascended::<Lanes<S>, ORDER, TERMS>(&entries, dir);
                dir = select3(goes_on, next.dir, dir);
                goes_on = goes_on & zero.splat(SHORT).less(next.step);
                if !goes_on.any() {
                    break;
                }
            }
            let quadratic = contracted::<Lanes<S>, ORDER, TERMS>(&entries, dir);
            dot(dir, times(quadratic, dir)).store(&mut self.value[at..]);
            for (axis, to) in dir.iter().zip(&mut self.dir) {
                axis.store(&mut to[at..]);
            }
        }
    }
}

struct Ascended<R> {
    dir: [R; 3],
    /// How far it went.
    step: R,
}

/// One step of Newton's method.
#[inline(always)]
fn ascended<R: Real, const ORDER: usize, const TERMS: usize>(
    entries: &[R; TERMS],
    u: [R; 3],
) -> Ascended<R> {
    let order = ORDER as f32;
    let quadratic = contracted::<R, ORDER, TERMS>(entries, u);
    let along = times(quadratic, u);
    let value = dot(u, along);
    let [p, q] = across(u);
    let (of_p, of_q) = (times(quadratic, p), times(quadratic, q));
    let slope = [dot(p, along) * order, dot(q, along) * order];
    let second = order * (order - 1.0);
    let (mut a, b, mut c) = (
        dot(p, of_p).mul_add(value.splat(second), value * -order),
        dot(p, of_q) * second,
        dot(q, of_q).mul_add(value.splat(second), value * -order),
    );
    // The larger eigenvalue is taken below zero.
    let half = (a - c) * 0.5;
    let largest = (a + c) * 0.5 + half.mul_add(half, b * b).sqrt();
    let least = value.abs() * (0.2 * order) + f32::MIN_POSITIVE;
    let shift = (largest + least).max(value.splat(0.0));
    (a, c) = (a - shift, c - shift);
    let over = value.splat(-1.0) / a.mul_add(c, -(b * b));
    let step = [(c * slope[0] - b * slope[1]) * over, (a * slope[1] - b * slope[0]) * over];
    let length = step[0].mul_add(step[0], step[1] * step[1]).sqrt();
    let kept = (length.splat(LONGEST) / length.max(length.splat(LONGEST))).min(length.splat(1.0));
    let (dp, dq) = (step[0] * kept, step[1] * kept);
    let mut moved = u;
    for k in 0..3 {
        moved[k] = p[k].mul_add(dp, q[k].mul_add(dq, u[k]));
    }
    let scale = value.splat(1.0) / dot(moved, moved).sqrt();
    Ascended { dir: [moved[0] * scale, moved[1] * scale, moved[2] * scale], step: length }
}

/// What is left of a form, given by its unique entries, after all but two contractions with `u`:
/// xx xy xz yy yz zz.
#[inline(always)]
fn contracted<R: Real, const ORDER: usize, const TERMS: usize>(
    entries: &[R; TERMS],
    u: [R; 3],
) -> [R; 6] {
    let mut left = *entries;
    for order in (2..ORDER).rev() {
        // The entry with j times y and k times z stands at s(s + 1)/2 + k for s = j + k.
        let mut at = 0;
        for s in 0..=order {
            for _ in 0..=s {
                left[at] =
                    u[0].mul_add(left[at], u[1].mul_add(left[at + s + 1], u[2] * left[at + s + 2]));
                at += 1;
            }
        }
    }
    [left[0], left[1], left[2], left[3], left[4], left[5]]
}

/// A symmetric matrix times a vector.
#[inline(always)]
fn times<R: Real>([xx, xy, xz, yy, yz, zz]: [R; 6], v: [R; 3]) -> [R; 3] {
    [dot([xx, xy, xz], v), dot([xy, yy, yz], v), dot([xz, yz, zz], v)]
}

/// Two directions across `t`, and across each other (Duff et al. 2017).
#[inline(always)]
fn across<R: Real>(t: [R; 3]) -> [[R; 3]; 2] {
    let one = t[2].splat(1.0);
    let sign = R::select(t[2].less(one.splat(0.0)), one.splat(-1.0), one);
    let a = one.splat(-1.0) / (sign + t[2]);
    let b = t[0] * t[1] * a;
    [[one + sign * t[0] * t[0] * a, sign * b, -(sign * t[0])], [b, sign + t[1] * t[1] * a, -t[1]]]
}
