//! What shapes proposals, learnt from the state of each chain.

use fimbria_compute::math::sincos_turns;

use super::chain::Chain;
use super::pack::Pack;
use super::passes::product;
use crate::options::MOST_FIBRES;
use crate::rules::{DIFFERENCE, JOINT_WIDTH, LEAST_PIVOT, LEAST_SINE, LEAST_SQUARES};
use crate::slots::{MOST_CHANGED, PRECISION, RATIO, S0, SPREAD, theta};

/// L, w and c of [`rules`](crate::rules).
pub(crate) struct Learnt<R> {
    pub(super) factor: [[R; MOST_CHANGED]; MOST_CHANGED],
    pub(super) sine: [R; MOST_FIBRES],
    pub(super) shear: [R; MOST_FIBRES],
}

impl<R: Pack> Learnt<R> {
    #[inline(always)]
    pub(super) fn none(zero: R) -> Self {
        Self {
            factor: [[zero; MOST_CHANGED]; MOST_CHANGED],
            sine: [zero; MOST_FIBRES],
            shear: [zero; MOST_FIBRES],
        }
    }

    /// L⁻ᵀz for the first `n` of `z`.
    #[inline(always)]
    pub(super) fn shape(&self, z: [R; MOST_CHANGED], n: usize) -> [R; MOST_CHANGED] {
        let mut x = z;
        for k in (0..n).rev() {
            for t in k + 1..n {
                x[k] = self.factor[t][k].neg_mul_add(x[t], x[k]);
            }
            x[k] = x[k] / self.factor[k][k];
        }
        x
    }
}

impl<R: Pack> Chain<'_, R> {
    #[inline(always)]
    pub(super) fn learn(&mut self) {
        self.difference();
        let square = self.factorise();
        let n = self.constants.n;
        let with_ball = product(&self.m, &self.ball);
        for fibre in 0..self.constants.n_fibres {
            let with_stick = product(&self.m, &self.sticks[fibre * n..][..n]);
            let share = (with_stick - with_ball) / square.max(self.value(LEAST_SQUARES as f32));
            self.learnt.shear[fibre] = -(self.p[S0] * share);
            let sine = sincos_turns(self.p[theta(fibre)]).0.abs();
            self.learnt.sine[fibre] = sine.max(self.value(LEAST_SINE as f32));
        }
    }

    /// Slopes of the signal by what the joint move changes.
    #[inline(always)]
    fn difference(&mut self) {
        let n = self.constants.n;
        let per = self.p[S0] * (1.0 / DIFFERENCE) as f32;
        for k in 1..self.constants.joint.len() {
            let mut p = self.p;
            let slot = self.constants.joint[k];
            let per = if slot == SPREAD { per * p[SPREAD] } else { per };
            p[slot] = p[slot] + DIFFERENCE as f32;
            self.all_columns(&p);
            let Self { m, new_m, slopes, .. } = self;
            let slopes = &mut slopes[(k - 1) * n..][..n];
            for (slope, (new, old)) in slopes.iter_mut().zip(new_m.iter().zip(&*m)) {
                *slope = (*new - *old) * per;
            }
        }
    }

    /// Slopes by the `k`-th parameter of the joint move.
    #[inline(always)]
    fn slope(&self, k: usize) -> &[R] {
        let n = self.constants.n;
        if k == 0 { &self.m } else { &self.slopes[(k - 1) * n..][..n] }
    }

    /// How wide the joint move is in a slot where the data tell nothing.
    #[inline(always)]
    fn width(&self, slot: usize) -> R {
        self.value(if slot == RATIO { self.constants.ratio.1 } else { JOINT_WIDTH as f32 })
    }

    /// L, of the slopes; gives Σ m².
    #[inline(always)]
    fn factorise(&mut self) -> R {
        let constants = self.constants;
        let precision = if self.is_rician {
            self.p[PRECISION]
        } else {
            self.value(constants.n as f32) / self.misfit
        };
        let mut square = self.value(0.0);
        let mut factor = self.learnt.factor;
        for i in 0..constants.joint.len() {
            for k in 0..=i {
                let sum = product(self.slope(i), self.slope(k));
                if i == 0 {
                    square = sum;
                }
                let mut all = sum * precision;
                if i == k {
                    let width = self.width(constants.joint[i]);
                    all = all + self.value(1.0) / (width * width);
                }
                let mut left = all;
                for t in 0..k {
                    left = factor[i][t].neg_mul_add(factor[k][t], left);
                }
                factor[i][k] = if i == k {
                    left.max(all * LEAST_PIVOT as f32).sqrt()
                } else {
                    left / factor[k][k]
                };
            }
        }
        self.learnt.factor = factor;
        square
    }
}
