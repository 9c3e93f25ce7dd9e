//! Fitted coefficients to maps, one voxel per SIMD lane.

use fimbria_compute::math::{exp_finite, ln_finite};
use fimbria_compute::{Lanes, Real};
use fimbria_fitting::linear::Rows;
use fimbria_image::{MapKind, MapSpec};
use pulp::{Simd, WithSimd};

use super::measures::{GA_EXPONENT_SCALE, GA_SCALE, MeasureTables};

/// Diffusivities inside fits are in µm²/ms.
const MM2_PER_S: f32 = 1e-3;

/// The maps of a form with `n_entries` unique entries, in the order of their rows.
pub(super) fn specs(order: usize, n_entries: usize) -> Vec<MapSpec> {
    vec![
        MapSpec::of_kind(
            "hot",
            MapKind::Form(order),
            n_entries,
            "mm^2/s",
            "unique entries of the diffusivity as a homogeneous form of the direction, \
             lexicographic (x..x x..y x..z ... z..z), in scanner RAS axes, mm²/s",
        ),
        MapSpec::scalar("MD", "mm^2/s", "mean diffusivity over all directions, mm²/s"),
        MapSpec::scalar("GA", "", "generalised anisotropy, 0 to 1"),
        MapSpec::scalar("variance", "", "variance of the diffusivity over its generalised trace"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        MapSpec::residual(),
        MapSpec::status(),
    ]
}

/// Turns rows of results into rows of maps.
pub(super) struct MapVoxels<'a> {
    pub(super) tables: &'a MeasureTables,
    pub(super) rows: Rows,
    pub(super) stride: usize,
    pub(super) n: usize,
    pub(super) results: &'a [f32],
    pub(super) maps: &'a mut [f32],
}

impl WithSimd for MapVoxels<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tables, rows, stride, n, results, maps } = self;
        let n_entries = tables.mean.len();
        for first in (0..n).step_by(Lanes::<S>::LANES) {
            let len = Lanes::<S>::LANES.min(n - first);
            let load =
                |row: usize| Lanes::load_partial(simd, &results[row * stride + first..][..len]);
            let mut store = |row: usize, value: Lanes<S>| {
                value.store_partial(&mut maps[row * stride + first..][..len]);
            };
            let mut mean = Lanes::new(simd, 0.0);
            for (k, &factor) in tables.mean.iter().enumerate() {
                let entry = load(rows.coefficient(k));
                mean = entry.mul_add(entry.splat(factor), mean);
                store(k, entry * MM2_PER_S);
            }
            let mut square = Lanes::new(simd, 0.0);
            for terms in &tables.deviations {
                let mut sum = Lanes::new(simd, 0.0);
                for &(k, factor) in terms {
                    sum = load(rows.coefficient(k)).mul_add(sum.splat(factor), sum);
                }
                square = sum.mul_add(sum, square);
            }
            let (variance, anisotropy) = normalised(mean, square);
            store(n_entries, mean * MM2_PER_S);
            store(n_entries + 1, anisotropy);
            store(n_entries + 2, variance);
            store(n_entries + 3, load(Rows::AMPLITUDE));
            store(n_entries + 4, load(rows.residual()));
            store(n_entries + 5, load(rows.outcome()));
        }
    }
}

/// Variance and anisotropy of D over its generalised trace, from mean and variance of D; zero where
/// the mean is not positive.
#[inline(always)]
fn normalised<R: Real>(mean: R, square: R) -> (R, R) {
    let zero = mean.splat(0.0);
    let positive = mean.splat(SMALLEST_MEAN).less(mean);
    let trace = R::select(positive, mean * 3.0, mean.splat(1.0));
    let variance = R::select(positive, square / (trace * trace), zero);
    let exponent = mean.splat(1.0) / (variance * GA_EXPONENT_SCALE + 1.0) + 1.0;
    let scaled = (variance * GA_SCALE).max(mean.splat(SMALLEST_SCALED)).min(mean.splat(1e9));
    let power = exp_finite(ln_finite(scaled) * exponent);
    let anisotropy = mean.splat(1.0) - mean.splat(1.0) / (power + 1.0);
    (variance, R::select(positive & mean.splat(SMALLEST_SCALED).less(scaled), anisotropy, zero))
}

/// A mean diffusivity below this, µm²/ms, is noise: nothing is measured in its unit.
const SMALLEST_MEAN: f32 = 1e-6;
/// Below this GA is zero to rounding, and the logarithm stays finite.
const SMALLEST_SCALED: f32 = 1e-12;
