//! The maximum of a function on the sphere nearest to a direction, for as many functions side by side
//! as registers have lanes.
//!
//! Newton's method on the sphere: a form of degree d contracted d - 2 times with u is a quadratic form
//! Q, from which come the value u'Qu, the gradient d Qu and the second derivatives d(d - 1)Q. In the
//! plane across u the Hessian of the function on the sphere is d(d - 1)Q less d times the value
//! (Absil, Mahony, Sepulchre 2008, section 6.4). Where it is not that of a maximum, it is shifted until
//! it is, and no step is longer than [`LONGEST`], so that the ascent stays on the hill it is on.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::field::MAX_TERMS;
use super::form::monomials;
use crate::step::dot;

/// Particles side by side, whatever the width of registers.
pub(super) const SIDE_BY_SIDE: usize = 16;

/// Longest step, as the tangent of its angle.
pub(super) const LONGEST: f32 = 0.2;

/// Forms to look at, and where to start: `[term][particle]`, without multiplicities.
pub(super) struct Ascents {
    pub(super) entries: Box<[[f32; SIDE_BY_SIDE]; MAX_TERMS]>,
    pub(super) dir: [[f32; SIDE_BY_SIDE]; 3],
    /// What is there after a step.
    pub(super) value: [f32; SIDE_BY_SIDE],
    /// How far the step went.
    pub(super) step: [f32; SIDE_BY_SIDE],
}

impl Default for Ascents {
    fn default() -> Self {
        Self {
            entries: Box::new([[0.0; SIDE_BY_SIDE]; MAX_TERMS]),
            dir: [[0.0; SIDE_BY_SIDE]; 3],
            value: [0.0; SIDE_BY_SIDE],
            step: [0.0; SIDE_BY_SIDE],
        }
    }
}

impl Ascents {
    /// Takes forms, `[particle][term]`.
    #[inline(always)]
    pub(super) fn take<const TERMS: usize>(&mut self, forms: &[[f32; MAX_TERMS]; SIDE_BY_SIDE]) {
        for lane in (0..SIDE_BY_SIDE).step_by(4) {
            for term in (0..const { TERMS.next_multiple_of(4) }).step_by(4) {
                let mut four = [[0.0; 4]; 4];
                for i in 0..4 {
                    four[i].copy_from_slice(&forms[lane + i][term..term + 4]);
                }
                for (i, four) in transposed(four).iter().enumerate() {
                    self.entries[term + i][lane..lane + 4].copy_from_slice(four);
                }
            }
        }
    }

    /// Takes every direction a step of Newton's method nearer to the maximum nearest to it.
    #[inline(always)]
    pub(super) fn climb<S: Simd, const ORDER: usize, const TERMS: usize>(&mut self, simd: S) {
        for at in (0..SIDE_BY_SIDE).step_by(Lanes::<S>::LANES) {
            let mut dir = [Lanes::new(simd, 0.0); 3];
            for (axis, from) in dir.iter_mut().zip(&self.dir) {
                *axis = Lanes::load(simd, &from[at..]);
            }
            let quadratic = match ORDER {
                4 => self.contracted::<S, 2, 6>(simd, dir, at),
                6 => self.contracted::<S, 4, 15>(simd, dir, at),
                8 => self.contracted::<S, 6, 28>(simd, dir, at),
                10 => self.contracted::<S, 8, 45>(simd, dir, at),
                // No other is made.
                _ => self.contracted::<S, 10, 66>(simd, dir, at),
            };
            let next = ascended(quadratic, dir, ORDER as f32);
            for (axis, to) in next.dir.iter().zip(&mut self.dir) {
                axis.store(&mut to[at..]);
            }
            next.value.store(&mut self.value[at..]);
            next.step.store(&mut self.step[at..]);
        }
    }

    /// What is left of forms, from a lane on, after all but two contractions with `u`: xx xy xz yy yz zz.
    /// They are sums over the FEW monomials of degree LESS, that of the forms less two.
    #[inline(always)]
    fn contracted<S: Simd, const LESS: usize, const FEW: usize>(
        &self,
        simd: S,
        u: [Lanes<S>; 3],
        lane: usize,
    ) -> [Lanes<S>; 6] {
        let weights = const { weights::<LESS, FEW>() };
        let monomials = monomials::<Lanes<S>, LESS, FEW>(u);
        let mut sums = [u[0].splat(0.0); 6];
        // The entry with j times y and k times z stands at s(s + 1)/2 + k for s = j + k.
        let mut at = 0;
        for s in 0..=LESS {
            for _ in 0..=s {
                let weight = monomials[at] * weights[at];
                let [y, yy] = [at + s + 1, at + 2 * s + 3];
                let entries = [at, y, y + 1, yy, yy + 1, yy + 2];
                for i in 0..6 {
                    let entry = Lanes::load(simd, &self.entries[entries[i]][lane..]);
                    sums[i] = entry.mul_add(weight, sums[i]);
                }
                at += 1;
            }
        }
        sums
    }
}

/// Columns of rows.
#[inline(always)]
fn transposed(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    // In registers, which the compiler does not find by itself.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has these instructions, which touch no memory.
    unsafe {
        use std::arch::x86_64::*;
        let [a, b, c, d] = rows.map(bytemuck::cast::<_, __m128>);
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (high_ab, high_cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [
            _mm_movelh_ps(ab, cd),
            _mm_movehl_ps(cd, ab),
            _mm_movelh_ps(high_ab, high_cd),
            _mm_movehl_ps(high_cd, high_ab),
        ]
        .map(bytemuck::cast)
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
}

struct Ascended<R> {
    dir: [R; 3],
    /// There, by the parabola of the step.
    value: R,
    /// How far it went.
    step: R,
}

/// One step of Newton's method from `u`, given the form contracted with it to a quadratic one.
#[inline(always)]
fn ascended<R: Real>(quadratic: [R; 6], u: [R; 3], order: f32) -> Ascended<R> {
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
    let over = value.splat(-1.0) / b.neg_mul_add(b, a * c);
    let step = [(c * slope[0] - b * slope[1]) * over, (a * slope[1] - b * slope[0]) * over];
    let length = step[0].mul_add(step[0], step[1] * step[1]).sqrt();
    let kept = (length.splat(LONGEST) / length.max(length.splat(LONGEST))).min(length.splat(1.0));
    let (dp, dq) = (step[0] * kept, step[1] * kept);
    let mut moved = u;
    for k in 0..3 {
        moved[k] = p[k].mul_add(dp, q[k].mul_add(dq, u[k]));
    }
    let scale = value.splat(1.0) / dot(moved, moved).sqrt();
    let rise = slope[0].mul_add(dp, slope[1] * dq);
    Ascended {
        dir: [moved[0] * scale, moved[1] * scale, moved[2] * scale],
        value: rise.mul_add(rise.splat(0.5), value),
        step: length,
    }
}

/// How often each monomial of this degree comes in that power of x + y + z.
pub(super) const fn weights<const DEGREE: usize, const N: usize>() -> [f32; N] {
    let mut all = [0.0; N];
    let (mut s, mut at) = (0, 0);
    while s <= DEGREE {
        let mut k = 0;
        while k <= s {
            // degree! / ((degree - s)! (s - k)! k!), by products that leave no rest.
            let (mut number, mut i) = (1, 0);
            while i < s {
                number = number * (DEGREE - i) / (i + 1);
                i += 1;
            }
            i = 0;
            while i < k {
                number = number * (s - i) / (i + 1);
                i += 1;
            }
            all[at] = number as f32;
            at += 1;
            k += 1;
        }
        s += 1;
    }
    all
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
    [
        [one + sign * t[0] * t[0] * a, sign * b, sign * t[0] * -1.0],
        [b, sign + t[1] * t[1] * a, t[1] * -1.0],
    ]
}
