//! Small symmetric systems, one per lane.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{LaneFlags, Lanes, Real};
use pulp::Simd;

/// L with L Lᵀ = M, and the reciprocals of its diagonal.
pub(super) struct Factor<S: Simd, const P: usize> {
    lower: [[Lanes<S>; P]; P],
    inverse: [Lanes<S>; P],
    /// Where a pivot was rounding (the factor is then without meaning).
    pub(super) singular: LaneFlags<S>,
}

impl<S: Simd, const P: usize> Factor<S, P> {
    /// Factors the lower triangle `m`, with 1 on the diagonal and 0 beside it where `held`.
    #[inline(always)]
    pub(super) fn new(m: &[[Lanes<S>; P]; P], held: &[LaneFlags<S>; P], least: f32) -> Self {
        let (one, zero) = (m[0][0].splat(1.0), m[0][0].splat(0.0));
        let mut lower = *m;
        let mut inverse = [one; P];
        let mut singular = one.less(zero);
        for j in 0..P {
            for i in j..P {
                let mut sum = if i == j {
                    Lanes::select(held[j], one, lower[j][j])
                } else {
                    Lanes::select(held[i] | held[j], zero, lower[i][j])
                };
                if i == j {
                    let diagonal = sum * least;
                    for k in 0..j {
                        sum = lower[j][k].neg_mul_add(lower[j][k], sum);
                    }
                    let good = diagonal.less(sum);
                    singular = singular | !good;
                    inverse[j] = rsqrt_finite(Lanes::select(good, sum, one));
                } else {
                    for k in 0..j {
                        sum = lower[i][k].neg_mul_add(lower[j][k], sum);
                    }
                    lower[i][j] = sum * inverse[j];
                }
            }
        }
        Self { lower, inverse, singular }
    }

    /// x of M x = b.
    #[inline(always)]
    pub(super) fn solve(&self, b: &[Lanes<S>; P]) -> [Lanes<S>; P] {
        let mut x = *b;
        for j in 0..P {
            for k in 0..j {
                x[j] = self.lower[j][k].neg_mul_add(x[k], x[j]);
            }
            x[j] = x[j] * self.inverse[j];
        }
        for back in 0..P {
            let j = P - 1 - back;
            for i in j + 1..P {
                x[j] = self.lower[i][j].neg_mul_add(x[i], x[j]);
            }
            x[j] = x[j] * self.inverse[j];
        }
        x
    }
}
