//! What is known of a register of problems before any fit.

use fimbria_compute::math::{exp_finite, ln_finite};
use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use crate::linear::Floor;

/// Predicted logarithms are kept within this, so that weights and sums of squares stay finite;
/// a sample e^40 times its mean, or that much below, has no meaning.
pub(super) const LARGEST_LOG: f32 = 40.0;
/// The smallest mean or scaled sample: a normal number whose square is still one.
pub(super) const SMALLEST: f32 = 1e-18;
/// The largest mean, likewise.
pub(super) const LARGEST_MEAN: f32 = 1.0 / SMALLEST;

/// The samples of a register of problems: row `i` begins at `i * stride`.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
}

impl<'a> Samples<'a> {
    /// Those of the lanes from `lane` on.
    #[inline(always)]
    pub(super) fn from(self, lane: usize) -> Self {
        Self { data: &self.data[lane..], ..self }
    }

    #[inline(always)]
    pub(super) fn rows(self) -> impl Iterator<Item = &'a [f32]> {
        self.data.chunks(self.stride)
    }
}

/// How samples enter the fit. They are divided by their mean, which centres their logarithms:
/// `f32` then keeps about 1e-7 of each.
#[derive(Clone, Copy)]
pub(super) struct Survey<S: Simd> {
    /// The mean sample; 1 in bad lanes.
    pub(super) mean: Lanes<S>,
    /// Its reciprocal; 0 in bad lanes.
    pub(super) scale: Lanes<S>,
    /// Scaled samples are at least this where they enter a logarithm.
    floor: Lanes<S>,
    /// How many were raised.
    pub(super) raised: Lanes<S>,
    /// Lanes whose samples are finite and have a positive mean.
    pub(super) good: LaneFlags<S>,
}

impl<S: Simd> Survey<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, samples: Samples<'_>, n_samples: usize, floor: Floor) -> Self {
        let splat = |x: f32| Lanes::new(simd, x);
        let (mut sum, mut least, mut largest) =
            (splat(0.0), splat(f32::INFINITY), splat(f32::NEG_INFINITY));
        for row in samples.rows() {
            let s = Lanes::load(simd, row);
            sum = sum + s;
            least = s.min(least);
            largest = s.max(largest);
        }
        let mean = sum / n_samples as f32;
        let good = splat(SMALLEST).less(mean) & mean.less(splat(LARGEST_MEAN));
        let mean = Lanes::select(good, mean, splat(1.0));
        let scale = Lanes::select(good, splat(1.0) / mean, splat(0.0));
        let mut survey = Self { mean, scale, floor: splat(1.0), raised: splat(0.0), good };
        let floor = match floor {
            Floor::SmallestPositive if least.at_most(splat(0.0)).any() => {
                survey.smallest_positive(simd, samples)
            }
            Floor::SmallestPositive => least * scale,
            Floor::Absolute(least) => scale * least as f32,
            Floor::OfLargest(fraction) => largest * scale * fraction as f32,
        };
        survey.floor = Lanes::select(good, floor.max(splat(SMALLEST)), splat(1.0));
        if (least * scale).less(survey.floor).any() {
            survey.raised = survey.count_raised(simd, samples);
        }
        survey
    }

    #[inline(always)]
    fn smallest_positive(&self, simd: S, samples: Samples<'_>) -> Lanes<S> {
        let mut smallest = Lanes::new(simd, f32::INFINITY);
        for row in samples.rows() {
            let x = Lanes::load(simd, row) * self.scale;
            let positive = Lanes::select(x.splat(0.0).less(x), x, smallest);
            smallest = positive.min(smallest);
        }
        smallest
    }

    #[inline(always)]
    fn count_raised(&self, simd: S, samples: Samples<'_>) -> Lanes<S> {
        let (zero, one) = (Lanes::new(simd, 0.0), Lanes::new(simd, 1.0));
        let mut raised = zero;
        for row in samples.rows() {
            let low = (Lanes::load(simd, row) * self.scale).less(self.floor);
            raised = raised + Lanes::select(low, one, zero);
        }
        Lanes::select(self.good, raised, zero)
    }

    /// The sample over the mean, as it enters the logarithm.
    #[inline(always)]
    pub(super) fn raise(&self, sample: Lanes<S>) -> Lanes<S> {
        (sample * self.scale).max(self.floor)
    }

    /// Its logarithm.
    #[inline(always)]
    pub(super) fn log(&self, sample: Lanes<S>) -> Lanes<S> {
        ln_finite(self.raise(sample))
    }
}

/// A predicted logarithm within bounds.
#[inline(always)]
pub(super) fn clamp<S: Simd>(log: Lanes<S>) -> Lanes<S> {
    log.max(log.splat(-LARGEST_LOG)).min(log.splat(LARGEST_LOG))
}

/// The sample of a predicted logarithm.
#[inline(always)]
pub(super) fn exp<S: Simd>(log: Lanes<S>) -> Lanes<S> {
    exp_finite(clamp(log))
}
