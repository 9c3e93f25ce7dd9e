//! As many voxels as a register has lanes, and the passes over their samples that every method
//! shares.

use fimbria_compute::math::{exp_finite, ln_finite};
use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use super::scratch::Arrays;
use crate::dti::recipe::{Floor, N_PARAMS, Recipe};
use crate::dti::tables::{N_TENSOR, Tables};

/// Predicted logarithms are kept within this, so that weights and sums of squares stay finite;
/// a signal e^40 times its mean, or that much below, has no meaning.
pub(super) const LARGEST_LOG: f32 = 40.0;
/// The smallest mean or scaled sample: a normal number whose square is still one.
pub(super) const SMALLEST: f32 = 1e-18;
/// The largest mean, likewise.
pub(super) const LARGEST_MEAN: f32 = 1.0 / SMALLEST;

/// ln S0 (of samples over their mean) and the tensor in µm²/ms.
pub(super) type Params<S> = [Lanes<S>; N_PARAMS];

/// The samples of a batch: row `v` begins at `v * stride`.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
}

impl<'a> Samples<'a> {
    #[inline(always)]
    fn volumes(self) -> impl Iterator<Item = &'a [f32]> {
        self.data.chunks(self.stride)
    }
}

/// What is known of a batch before any fit. Samples are divided by their mean, which centres
/// their logarithms: `f32` then keeps about 1e-7 of each.
#[derive(Clone, Copy)]
pub(super) struct Batch<S: Simd> {
    pub(super) simd: S,
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

impl<S: Simd> Batch<S> {
    /// Surveys the samples, and writes them over their mean, and their logarithms, to `arrays`.
    #[inline(always)]
    pub(super) fn new(
        simd: S,
        samples: Samples<'_>,
        tables: &Tables,
        recipe: &Recipe,
        arrays: &mut Arrays<'_>,
    ) -> Self {
        let splat = |x: f32| Lanes::new(simd, x);
        let (mut sum, mut least, mut largest) =
            (splat(0.0), splat(f32::INFINITY), splat(f32::NEG_INFINITY));
        for row in samples.volumes() {
            let s = Lanes::load(simd, row);
            sum = sum + s;
            least = s.min(least);
            largest = s.max(largest);
        }
        let mean = sum / tables.n_volumes() as f32;
        let good = splat(SMALLEST).less(mean) & mean.less(splat(LARGEST_MEAN));
        let mean = Lanes::select(good, mean, splat(1.0));
        let scale = Lanes::select(good, splat(1.0) / mean, splat(0.0));
        let mut batch = Self { simd, mean, scale, floor: splat(1.0), raised: splat(0.0), good };
        let floor = match recipe.floor {
            Floor::SmallestPositive if least.at_most(splat(0.0)).any() => {
                batch.smallest_positive(samples)
            }
            Floor::SmallestPositive => least * scale,
            Floor::Absolute(least) => scale * least as f32,
            Floor::OfLargest(fraction) => largest * scale * fraction as f32,
            Floor::OfS0(fraction) => batch.fraction_of_s0(samples, fraction as f32, tables, arrays),
        };
        batch.floor = Lanes::select(good, floor.max(splat(SMALLEST)), splat(1.0));
        if (least * scale).less(batch.floor).any() {
            batch.raised = batch.count_raised(samples);
        }
        batch.write(samples, recipe, arrays);
        batch
    }

    #[inline(always)]
    pub(super) fn splat(&self, x: f32) -> Lanes<S> {
        Lanes::new(self.simd, x)
    }

    /// The sample over the mean; meaningless in bad lanes.
    #[inline(always)]
    fn relative(&self, row: &[f32]) -> Lanes<S> {
        Lanes::load(self.simd, row) * self.scale
    }

    #[inline(always)]
    fn smallest_positive(&self, samples: Samples<'_>) -> Lanes<S> {
        let mut smallest = self.splat(f32::INFINITY);
        for row in samples.volumes() {
            let x = self.relative(row);
            let positive = Lanes::select(self.splat(0.0).less(x), x, smallest);
            smallest = positive.min(smallest);
        }
        smallest
    }

    /// FSL's floor: a fraction of S0 or of the mean, whichever is more, S0 from an ordinary fit
    /// in which ln S = 0 where S <= 0.
    #[inline(always)]
    fn fraction_of_s0(
        &self,
        samples: Samples<'_>,
        fraction: f32,
        tables: &Tables,
        arrays: &mut Arrays<'_>,
    ) -> Lanes<S> {
        let one = self.splat(1.0);
        let unit_log = ln_finite(Lanes::select(self.good, self.scale, one));
        let out = arrays.logs.chunks_exact_mut(Lanes::<S>::LANES);
        for (row, y) in samples.volumes().zip(out) {
            let x = self.relative(row);
            let log = ln_finite(x.max(self.splat(SMALLEST)));
            Lanes::select(self.splat(0.0).less(x), log, unit_log).store(y);
        }
        let s0 = exp_finite(clamp(self.ordinary(tables, arrays)[0]));
        s0.max(one) * fraction
    }

    #[inline(always)]
    fn count_raised(&self, samples: Samples<'_>) -> Lanes<S> {
        let (zero, one) = (self.splat(0.0), self.splat(1.0));
        let mut raised = zero;
        for row in samples.volumes() {
            raised = raised + Lanes::select(self.relative(row).less(self.floor), one, zero);
        }
        Lanes::select(self.good, raised, zero)
    }

    /// Writes samples and logarithms.
    #[inline(always)]
    fn write(&self, samples: Samples<'_>, recipe: &Recipe, arrays: &mut Arrays<'_>) {
        let n = Lanes::<S>::LANES;
        let out = arrays.samples.chunks_exact_mut(n).zip(arrays.logs.chunks_exact_mut(n));
        for (row, (x, y)) in samples.volumes().zip(out) {
            let measured = self.relative(row);
            let raised = self.raise(measured);
            if recipe.floor_nonlinear { raised } else { measured }.store(x);
            ln_finite(raised).store(y);
        }
    }

    /// The ordinary least-squares fit of the logarithms.
    #[inline(always)]
    pub(super) fn ordinary(&self, tables: &Tables, arrays: &Arrays<'_>) -> Params<S> {
        let mut p = [self.splat(0.0); N_PARAMS];
        let volumes = tables.pseudo_inverse.iter();
        for (c, y) in volumes.zip(arrays.logs.chunks_exact(Lanes::<S>::LANES)) {
            let y = Lanes::load(self.simd, y);
            for k in 0..N_PARAMS {
                p[k] = y.mul_add(self.splat(c[k]), p[k]);
            }
        }
        p
    }

    /// The measured sample as it enters the logarithm.
    #[inline(always)]
    pub(super) fn raise(&self, x: Lanes<S>) -> Lanes<S> {
        x.max(self.floor)
    }

    /// The root mean square of S - Ŝ, in input units.
    #[inline(always)]
    pub(super) fn residual(
        &self,
        samples: Samples<'_>,
        tables: &Tables,
        p: &Params<S>,
    ) -> Lanes<S> {
        let mut sum = self.splat(0.0);
        for (x, row) in tables.rows.iter().zip(samples.volumes()) {
            let predicted = exp_finite(predict(x, p));
            let r = Lanes::load(self.simd, row).mul_add(self.scale, -predicted);
            sum = r.mul_add(r, sum);
        }
        (sum / tables.n_volumes() as f32).sqrt() * self.mean
    }
}

/// The predicted logarithm of one sample.
#[inline(always)]
pub(super) fn predict<S: Simd>(x: &[f32; N_TENSOR], p: &Params<S>) -> Lanes<S> {
    let mut log = p[0];
    for k in 0..N_TENSOR {
        log = p[k + 1].mul_add(log.splat(x[k]), log);
    }
    clamp(log)
}

#[inline(always)]
pub(super) fn clamp<S: Simd>(log: Lanes<S>) -> Lanes<S> {
    log.max(log.splat(-LARGEST_LOG)).min(log.splat(LARGEST_LOG))
}
