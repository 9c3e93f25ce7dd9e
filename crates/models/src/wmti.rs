//! White-matter tract integrity (Fieremans, Jensen, Helpern 2011): what the kurtosis of a bundle of parallel
//! axons says of the water inside and outside of them.
//!
//! The fraction of axonal water is Kmax / (Kmax + 3). Along a direction with diffusivity D and kurtosis K the
//! water outside diffuses with D (1 + √(K Kmax) / 3) and that inside with D (1 - √(K / Kmax)); tensors of
//! both are fitted to these along 100 directions.

use fimbria_compute::{Backend, HostError, Lanes, Progress, Real as _, SimdLevel};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Status, Window};
use fimbria_tensors::starts::half_sphere;
use pulp::{Simd, WithSimd};

use crate::Fitted;
use crate::dki::form::{N_D, N_W, quadratic_terms, quartic_terms};
use crate::dki::{self, DkiError, DkiMap, DkiOptions};
use crate::dti::lanes::eigen::Deviator;
use crate::dti::lanes::stretch::Stretch;
use crate::voxelwise::{Job, Stacked, Tile, VoxelFit};

/// Directions that the two tensors are fitted to.
const N_DIRECTIONS: usize = 100;
/// A voxel of one bundle has at least this linearity, at most this planarity and sphericity.
const ALIGNED: [f32; 3] = [0.4, 0.2, 0.35];
/// Kurtoses below this say nothing of axons.
const LEAST_KURTOSIS: f32 = 1e-3;
/// µm²/ms in mm²/s.
const MM2_PER_S: f32 = 1e-3;

/// The maps of a kurtosis fit that the others are made of, in the order of their rows.
const TAKEN: [DkiMap; 4] = [DkiMap::Tensor, DkiMap::Kurtosis, DkiMap::Kmax, DkiMap::Status];
/// Those that are handed on.
const KEPT: [DkiMap; 7] =
    [DkiMap::Ad, DkiMap::Rd, DkiMap::Md, DkiMap::Ak, DkiMap::Kfa, DkiMap::S0, DkiMap::Residual];

/// The maps made of a kurtosis fit.
fn own_maps() -> Vec<MapSpec> {
    let share = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 1.0]))
    };
    let diffusivity =
        |name: &'static str, about: &'static str| MapSpec::scalar(name, "mm^2/s", about);
    vec![
        share("AWF", "axonal water fraction, Kmax / (Kmax + 3)"),
        diffusivity("axonalD", "diffusivity inside axons, the trace of their tensor, mm²/s"),
        diffusivity("ADE", "axial diffusivity outside axons, mm²/s"),
        diffusivity("RDE", "radial diffusivity outside axons, mm²/s"),
        MapSpec::scalar("tortuosity", "", "ADE / RDE").within(Window::Fixed([1.0, 5.0])),
        diffusivity("trace", "sum of the three diffusivities of the tissue, mm²/s"),
        share(
            "aligned",
            "1 where the tensor is that of one bundle (linearity 0.4 and more, planarity at most 0.2, \
             sphericity at most 0.35), 0 where the other maps have no such meaning",
        ),
    ]
}

/// The maps of a fit, in order.
pub fn maps() -> Vec<MapSpec> {
    let kept = KEPT.into_iter().map(DkiMap::spec);
    own_maps().into_iter().chain(kept).chain([MapSpec::status()]).collect()
}

/// Fits kurtosis in every voxel of `mask` and makes of it the maps `AWF`, `axonalD`, `ADE`, `RDE`,
/// `tortuosity`, `trace`, `aligned`; then those of the kurtosis fit that belong to them, and `status`.
/// What of `options` chooses maps is not used.
///
/// # Errors
/// [`DkiError`], as [`dki::fit`] has them.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &DkiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, DkiError> {
    let wanted = DkiOptions { maps: [&TAKEN[..3], &KEPT].concat(), ..options.clone() };
    let mut kurtosis = dki::fit(signals, mask, gradients, &wanted, on, progress)?;
    let taken = TAKEN.iter().filter_map(|map| kurtosis.map(map));
    let inputs = Stacked(taken.map(|map| map as &dyn SignalSource).collect());
    let job = Job { name: "fitting tissue of bundles", inputs: &inputs, mask, progress };
    let workers = Backend { devices: &[], ..*on };
    let Fitted { mut maps, status, seconds, .. } = job.run(&Bundles::new(), &workers)?;
    let of_status = maps.pop();
    maps.extend(kurtosis.maps.drain(TAKEN.len() - 1..).filter(|map| map.spec.name != "status"));
    maps.extend(of_status);
    Ok(Fitted { maps, status, seconds: kurtosis.seconds + seconds, ..kurtosis })
}

/// Directions, and what makes tensors of values along them.
struct Bundles {
    /// What entries of D and of W are multiplied by along each direction.
    terms: Vec<([f32; N_D], [f32; N_W])>,
    /// What each entry of a tensor takes of the value along each direction: (XᵀX)⁻¹Xᵀ.
    solving: Vec<[f32; N_D]>,
}

impl Bundles {
    fn new() -> Self {
        let directions = half_sphere(N_DIRECTIONS);
        let rows: Vec<[f64; N_D]> = directions.iter().map(|&g| quadratic_terms(g)).collect();
        let mut normal = [[0.0; N_D]; N_D];
        for row in &rows {
            for (i, entry) in normal.iter_mut().enumerate() {
                for (sum, x) in entry.iter_mut().zip(row) {
                    *sum += row[i] * x;
                }
            }
        }
        // Directions all over the sphere determine a tensor.
        let inverse = fimbria_compute::dense::lu::inverse(normal.as_flattened(), N_D);
        let inverse = inverse.unwrap_or_default();
        let of_row = |row: &[f64; N_D]| {
            let entry = |i: usize| inverse[i * N_D..][..N_D].iter().zip(row).map(|(a, b)| a * b);
            std::array::from_fn(|i| entry(i).sum::<f64>() as f32)
        };
        let terms = |&g: &[f64; 3]| {
            (quadratic_terms(g).map(|t| t as f32), quartic_terms(g).map(|t| t as f32))
        };
        Self {
            terms: directions.iter().map(terms).collect(),
            solving: rows.iter().map(of_row).collect(),
        }
    }
}

impl VoxelFit for Bundles {
    fn maps(&self) -> Vec<MapSpec> {
        own_maps().into_iter().chain([MapSpec::status()]).collect()
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows, .. } = tile;
        simd.run(OfTile { bundles: self, n: voxels.len(), stride, inputs, rows });
        Ok(())
    }
}

struct OfTile<'a> {
    bundles: &'a Bundles,
    n: usize,
    stride: usize,
    inputs: &'a [f32],
    rows: &'a mut [f32],
}

impl WithSimd for OfTile<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = Lanes::<S>::LANES;
        for offset in (0..self.n).step_by(lanes) {
            let n = lanes.min(self.n - offset);
            self.write(simd, Stretch { stride: self.stride, offset, n });
        }
    }
}

impl OfTile<'_> {
    /// The maps of a register of voxels.
    #[inline(always)]
    fn write<S: Simd>(&mut self, simd: S, place: Stretch) {
        let load = |row: usize| place.load(simd, self.inputs, row);
        let status = load(N_D + N_W + 1);
        let (zero, one) = (status.splat(0.0), status.splat(1.0));
        let mut d = [zero; N_D];
        for (k, entry) in d.iter_mut().enumerate() {
            *entry = load(k) * (1.0 / MM2_PER_S);
        }
        let mut w = [zero; N_W];
        for (k, entry) in w.iter_mut().enumerate() {
            *entry = load(N_D + k);
        }
        let largest = load(N_D + N_W);
        let kurtosis = largest.max(zero.splat(LEAST_KURTOSIS));
        let [inside, outside] = self.compartments(simd, &d, &w, kurtosis);

        let deviator = Deviator::new(d);
        let (l, _) = deviator.eigen();
        let trace = deviator.mean * 3.0;
        let (within, _) = Deviator::new(inside).eigen();
        let (beside, _) = Deviator::new(outside).eigen();
        let radial = (beside[1] + beside[2]) * 0.5;
        let [linearity, planarity, sphericity] = ALIGNED.map(|limit| trace * limit);
        let aligned = linearity.at_most(l[0] - l[1])
            & ((l[1] - l[2]) * 2.0).at_most(planarity)
            & (l[2] * 3.0).at_most(sphericity);
        let to_mm2 = zero.splat(MM2_PER_S);
        let values = [
            largest / (largest + zero.splat(3.0)),
            (within[0] + within[1] + within[2]) * to_mm2,
            beside[0] * to_mm2,
            radial * to_mm2,
            beside[0] / radial.max(zero.splat(1e-6)),
            trace * to_mm2,
            Lanes::select(aligned, one, zero),
        ];
        // Status 7 says that some maps are not defined: those of voxels without a kurtosis.
        let fitted = zero.less(status)
            & (status.at_most(status.splat(Status::NotConverged.code()))
                | zero.splat(Status::Singular.code()).less(status));
        let has = fitted & zero.splat(LEAST_KURTOSIS).less(largest);
        let nan = zero.splat(f32::NAN);
        for (row, value) in values.into_iter().enumerate() {
            let value = if row < 5 { Lanes::select(has, value, nan) } else { value };
            place.store(self.rows, row, Lanes::select(fitted, value, zero));
        }
        let undefined = status.splat(Status::Undefined.code());
        let of_fitted = Lanes::select(has, status, undefined);
        place.store(self.rows, values.len(), Lanes::select(fitted, of_fitted, status));
    }

    /// The tensors inside and outside of axons, µm²/ms.
    #[inline(always)]
    fn compartments<S: Simd>(
        &self,
        simd: S,
        d: &[Lanes<S>; N_D],
        w: &[Lanes<S>; N_W],
        largest: Lanes<S>,
    ) -> [[Lanes<S>; N_D]; 2] {
        let zero = largest.splat(0.0);
        let mean = (d[0] + d[3] + d[5]) * (1.0 / 3.0);
        let root = largest.sqrt();
        let (outer, inner) = (root * (1.0 / 3.0), largest.splat(1.0) / root);
        let mut tensors = [[zero; N_D]; 2];
        for ((quadratic, quartic), solving) in self.bundles.terms.iter().zip(&self.bundles.solving)
        {
            let mut along = zero;
            for k in 0..N_D {
                along = d[k].mul_add(Lanes::new(simd, quadratic[k]), along);
            }
            let mut form = zero;
            for k in 0..N_W {
                form = w[k].mul_add(Lanes::new(simd, quartic[k]), form);
            }
            // D √K is MD √W(n).
            let scaled = mean * form.max(zero).sqrt();
            let values = [scaled.neg_mul_add(inner, along).max(zero), scaled.mul_add(outer, along)];
            for (tensor, value) in tensors.iter_mut().zip(values) {
                for k in 0..N_D {
                    tensor[k] = value.mul_add(Lanes::new(simd, solving[k]), tensor[k]);
                }
            }
        }
        tensors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sticks along x of diffusivity `da` and a share f, in water with axial and radial diffusivities: to second
    /// order in b a voxel with these D and W (both µm²/ms and without unit).
    fn bundle(f: f32, da: f32, de: [f32; 2]) -> ([f32; N_D], [f32; N_W], f32) {
        let axial = f * da + (1.0 - f) * de[0];
        let radial = (1.0 - f) * de[1];
        let mean = (axial + 2.0 * radial) / 3.0;
        // 3 times the variance of the two diffusivities along a direction with c = cos²:
        // f (1 - f) (c da - c de∥ - (1 - c) de⊥)², of which the entries by powers of x².
        let (p, q) = (da - de[0], -de[1]);
        let factor = 3.0 * f * (1.0 - f) / (mean * mean);
        let mut w = [0.0; N_W];
        // (p x² + q (y² + z²))²: the full tensor's entries are the coefficients over their number.
        w[0] = factor * p * p;
        (w[3], w[5]) = (factor * p * q / 3.0, factor * p * q / 3.0);
        (w[10], w[14]) = (factor * q * q, factor * q * q);
        w[12] = factor * q * q / 3.0;
        let kmax = factor * q * q * mean * mean / (radial * radial);
        ([axial, 0.0, 0.0, radial, 0.0, radial], w, kmax)
    }

    #[test]
    fn the_tissue_of_a_bundle_comes_back_from_its_kurtosis() {
        let stride = 16;
        let mut inputs = vec![0.0; (N_D + N_W + 2) * stride];
        let truth = |voxel: usize| {
            let f = 0.45 + 0.02 * voxel as f32;
            // Inside diffusion along the axons is slower than outside: of the two solutions that of the paper.
            (f, 0.6 + 0.02 * voxel as f32, [2.2, 0.4])
        };
        for voxel in 0..stride {
            let (f, da, de) = truth(voxel);
            let (d, w, kmax) = bundle(f, da, de);
            let rows = d.iter().map(|d| d * MM2_PER_S).chain(w).chain([kmax, 1.0]);
            for (row, value) in rows.enumerate() {
                inputs[row * stride + voxel] = value;
            }
        }
        let bundles = Bundles::new();
        let mut rows = vec![0.0; 8 * stride];
        let (n, rows_of) = (stride, &mut rows[..]);
        SimdLevel::best().run(OfTile {
            bundles: &bundles,
            n,
            stride,
            inputs: &inputs,
            rows: rows_of,
        });
        for voxel in 0..stride {
            let (f, da, de) = truth(voxel);
            let at = |row: usize| rows[row * stride + voxel];
            assert!((at(0) - f).abs() < 1e-4, "AWF {} {f}", at(0));
            // f32; directions where both diffusivities are the same have a square root of rounding.
            assert!((at(1) / MM2_PER_S - da).abs() < 5e-3, "Da {} {da}", at(1));
            assert!((at(2) / MM2_PER_S - de[0]).abs() < 5e-3, "{} {de:?}", at(2));
            assert!((at(3) / MM2_PER_S - de[1]).abs() < 5e-3, "{} {de:?}", at(3));
            assert!((at(4) - de[0] / de[1]).abs() < 2e-2);
            assert_eq!((at(6), at(7)), (1.0, Status::Fitted.code()));
        }
    }
}
