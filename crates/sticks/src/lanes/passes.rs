//! The loops over measurements: what a proposal changes, and what is kept of it.
//!
//! Slices are taken out of the chain before each loop: their places then stay in registers, which
//! the compiler cannot know of vectors behind a reference that it writes through.

use super::bessel::ln_i0e;
use super::chain::Chain;
use super::pack::Pack;
use crate::options::MOST_FIBRES;
use crate::rules::PARTIAL_SUMS;
use crate::slots::{MOST, OFFSET, PRECISION, S0, fraction};

/// What the misfit of a measurement depends on beside its signal.
#[derive(Clone, Copy)]
struct Misfit<R> {
    is_rician: bool,
    s0: R,
    tau: R,
}

impl<R: Pack> Misfit<R> {
    /// Adds what a measurement `y` leaves, given its signal `m` at unit S0.
    #[inline(always)]
    fn add(&self, part: &mut R, y: R, m: R) {
        let residual = self.s0.neg_mul_add(m, y);
        if self.is_rician {
            let energy = residual * residual * (self.tau * 0.5);
            *part = *part + (energy - ln_i0e(self.tau * (self.s0 * m) * y));
        } else {
            *part = residual.mul_add(residual, *part);
        }
    }
}

/// √b g of measurement `i` times `v`.
#[inline(always)]
fn along<R: Pack>(root: &[Vec<f32>; 3], i: usize, v: [R; 3]) -> R {
    let [x, y, z] = root;
    let part = v[1].mul_add(v[1].splat(y[i]), v[0] * x[i]);
    v[2].mul_add(v[2].splat(z[i]), part)
}

/// The sum of all parts.
#[inline(always)]
fn halved<R: Pack>(parts: &mut [R; PARTIAL_SUMS]) -> R {
    let mut reach = PARTIAL_SUMS / 2;
    while reach > 0 {
        for k in 0..reach {
            parts[k] = parts[k] + parts[k + reach];
        }
        reach /= 2;
    }
    parts[0]
}

/// Σ a b over measurements.
#[inline(always)]
pub(super) fn product<R: Pack>(a: &[R], b: &[R]) -> R {
    let mut parts = [a[0].splat(0.0); PARTIAL_SUMS];
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        parts[i % PARTIAL_SUMS] = a.mul_add(*b, parts[i % PARTIAL_SUMS]);
    }
    halved(&mut parts)
}

impl<R: Pack> Chain<'_, R> {
    #[inline(always)]
    fn misfit_of(&self, p: &[R; MOST]) -> Misfit<R> {
        Misfit { is_rician: self.is_rician, s0: p[S0], tau: p[PRECISION] }
    }

    #[inline(always)]
    fn begin_sum(&mut self) {
        self.parts = [self.value(0.0); PARTIAL_SUMS];
    }

    #[inline(always)]
    fn sum(&mut self, p: &[R; MOST]) -> R {
        let sum = halved(&mut self.parts);
        self.finish_misfit(p, sum)
    }

    /// Another S0 or noise level.
    #[inline(always)]
    pub(super) fn same_columns(&mut self, p: &[R; MOST]) -> R {
        self.begin_sum();
        let misfit = self.misfit_of(p);
        let Self { y, m, parts, .. } = self;
        let n = y.len();
        let m = &m[..n];
        for i in 0..n {
            misfit.add(&mut parts[i % PARTIAL_SUMS], y[i], m[i]);
        }
        self.sum(p)
    }

    /// More of the fraction that no weighting attenuates, less of the ball.
    #[inline(always)]
    pub(super) fn more_offset(&mut self, more: R, p: &[R; MOST]) -> R {
        self.begin_sum();
        let misfit = self.misfit_of(p);
        let Self { y, m, ball, parts, .. } = self;
        let n = y.len();
        let (m, ball) = (&m[..n], &ball[..n]);
        for i in 0..n {
            let m = more.neg_mul_add(ball[i] - 1.0, m[i]);
            misfit.add(&mut parts[i % PARTIAL_SUMS], y[i], m);
        }
        self.sum(p)
    }

    #[inline(always)]
    pub(super) fn keep_offset(&mut self, more: R) {
        let Self { m, ball, .. } = self;
        for (m, ball) in m.iter_mut().zip(&*ball) {
            *m = more.neg_mul_add(*ball - 1.0, *m);
        }
    }

    /// More of a stick, less of the ball.
    #[inline(always)]
    pub(super) fn more_stick(&mut self, fibre: usize, more: R, p: &[R; MOST]) -> R {
        self.begin_sum();
        let misfit = self.misfit_of(p);
        let Self { y, m, ball, sticks, parts, .. } = self;
        let n = y.len();
        let (m, ball, stick) = (&m[..n], &ball[..n], &sticks[fibre * n..][..n]);
        for i in 0..n {
            let m = more.mul_add(stick[i] - ball[i], m[i]);
            misfit.add(&mut parts[i % PARTIAL_SUMS], y[i], m);
        }
        self.sum(p)
    }

    #[inline(always)]
    pub(super) fn keep_stick(&mut self, fibre: usize, more: R) {
        let Self { m, ball, sticks, .. } = self;
        let n = m.len();
        let (ball, stick) = (&ball[..n], &sticks[fibre * n..][..n]);
        for i in 0..n {
            m[i] = more.mul_add(stick[i] - ball[i], m[i]);
        }
    }

    /// Another direction of a stick.
    #[inline(always)]
    pub(super) fn one_column(&mut self, fibre: usize, p: &[R; MOST]) -> R {
        self.begin_sum();
        let misfit = self.misfit_of(p);
        let (curve, v, f) = (self.curve(p), self.direction_of(p, fibre), p[fraction(fibre)]);
        let Self { constants, y, b, m, sticks, new_sticks, parts, .. } = self;
        let n = y.len();
        let (b, m, old) = (&b[..n], &m[..n], &sticks[fibre * n..][..n]);
        let new = &mut new_sticks[..n];
        for i in 0..n {
            let along = along(&constants.root, i, v);
            let stick = curve.stick(b[i], along * along);
            new[i] = stick;
            let m = f.mul_add(stick - old[i], m[i]);
            misfit.add(&mut parts[i % PARTIAL_SUMS], y[i], m);
        }
        self.sum(p)
    }

    #[inline(always)]
    pub(super) fn keep_column(&mut self, fibre: usize, take: R::Flags) {
        let f = R::select(take, self.p[fraction(fibre)], self.value(0.0));
        let Self { m, sticks, new_sticks, .. } = self;
        let n = m.len();
        let (stick, new) = (&mut sticks[fibre * n..][..n], &new_sticks[..n]);
        for i in 0..n {
            m[i] = f.mul_add(new[i] - stick[i], m[i]);
            stick[i] = R::select(take, new[i], stick[i]);
        }
    }

    /// Another diffusivity: everything anew.
    #[inline(always)]
    pub(super) fn all_columns(&mut self, p: &[R; MOST]) -> R {
        self.begin_sum();
        let (curve, misfit) = (self.curve(p), self.misfit_of(p));
        let n_fibres = self.constants.n_fibres;
        let mut v = [[self.value(0.0); 3]; MOST_FIBRES];
        let mut rest = self.value(1.0) - p[OFFSET];
        for fibre in 0..n_fibres {
            v[fibre] = self.direction_of(p, fibre);
            rest = rest - p[fraction(fibre)];
        }
        let Self { constants, y, b, new_ball, new_m, new_sticks, parts, .. } = self;
        let n = y.len();
        let (b, balls, ms) = (&b[..n], &mut new_ball[..n], &mut new_m[..n]);
        let sticks = &mut new_sticks[..n * n_fibres];
        for i in 0..n {
            let ball = curve.ball(b[i]);
            balls[i] = ball;
            let mut m = ball.mul_add(rest, p[OFFSET]);
            for fibre in 0..n_fibres {
                let along = along(&constants.root, i, v[fibre]);
                let stick = curve.stick(b[i], along * along);
                sticks[fibre * n + i] = stick;
                m = p[fraction(fibre)].mul_add(stick, m);
            }
            ms[i] = m;
            misfit.add(&mut parts[i % PARTIAL_SUMS], y[i], m);
        }
        self.sum(p)
    }

    #[inline(always)]
    pub(super) fn keep_columns(&mut self, take: R::Flags) {
        let Self { m, ball, sticks, new_m, new_ball, new_sticks, .. } = self;
        for (old, new) in [(m, &*new_m), (ball, &*new_ball), (sticks, &*new_sticks)] {
            for (old, new) in old.iter_mut().zip(new) {
                *old = R::select(take, *new, *old);
            }
        }
    }
}
