//! The acquisition of Palombo et al. (2014), "GPU-parallelized model fitting for realtime
//! non-Gaussian diffusion NMR parametric imaging": a fixed mouse brain at 7 T, 128x128x16 voxels,
//! 5 unweighted volumes and 10 b-values from 100 to 8000 s/mm² along the same 30 directions.

use fimbria_compute::{Progress, Workers};
use fimbria_image::GradientTable;

use crate::anatomy::Anatomy;
use crate::crossing::sampled;
use crate::render::{Noise, per_direction, render};
use crate::signal::{Kurtosis, Stretched};
use crate::{Diffusivities, PhantomError, Placement, Subject, Truth, TruthMap, spread_directions};

/// Number of directions.
pub const DIRECTIONS: usize = 30;
/// The b-values, in s/mm². The paper gives their number and their range.
pub const B_VALUES_S_PER_MM2: [f64; 10] =
    [100.0, 300.0, 600.0, 1000.0, 1500.0, 2000.0, 3000.0, 4500.0, 6000.0, 8000.0];
/// Number of unweighted volumes, which come first.
const UNWEIGHTED: usize = 5;

/// Diffusivities of fixed tissue. Together with [`WITHIN`] they keep b D K below 3 up to the
/// largest b, where the signal of the kurtosis law would rise again.
const FIXED_TISSUE: Diffusivities =
    Diffusivities { axial: 0.30e-3, radial: 0.10e-3, grey: 0.22e-3, fluid: 0.0 };
/// Kurtosis of each compartment by itself.
const WITHIN: f32 = 0.5;

/// The law that every direction follows exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerDirection {
    /// ln S/S0 = -b D + b² D² K / 6.
    #[default]
    Kurtosis,
    /// ln S/S0 = -A b^gamma.
    Stretched,
}

/// What [`protocol`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolSpec {
    /// The grid.
    pub placement: Placement,
    /// The law of the signal.
    pub law: PerDirection,
    /// Unweighted white-matter signal over the standard deviation of the noise in either part of
    /// the complex signal; infinite for no noise.
    pub snr: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// Points per axis at which voxels on a boundary are sampled, 1 to 16.
    pub samples_per_axis: usize,
}

impl Default for ProtocolSpec {
    /// The paper's grid (field of view 6 cm, slices of 0.75 mm), kurtosis, SNR 50.
    fn default() -> Self {
        Self {
            placement: Placement {
                dims: [128, 128, 16],
                voxel_mm: [60.0 / 128.0, 60.0 / 128.0, 0.75],
                tilt_deg: [0.0; 3],
                x_right_to_left: true,
            },
            law: PerDirection::Kurtosis,
            snr: 50.0,
            seed: 1,
            samples_per_axis: 4,
        }
    }
}

/// Makes a fixed brain (that of [`crossing`](crate::crossing) without fluid)
/// under the paper's protocol.
///
/// | truth | volumes | content |
/// |---|---|---|
/// | `dirs`, `fractions`, `count`, `S0` | | as in [`crossing`](crate::crossing) |
/// | `D`, `K` | 30 | of each direction, in the order of the table; D in mm²/s (kurtosis law) |
/// | `MK` | 1 | mean of `K` |
/// | `A`, `gamma` | 30 | of each direction; A^(1/gamma) in mm²/s (stretched law) |
/// | `Mgamma` | 1 | mean of `gamma` |
///
/// # Errors
/// [`PhantomError`] where the specification is out of range, memory is short or the user stops it.
pub fn protocol(
    spec: &ProtocolSpec,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Subject, PhantomError> {
    spec.placement.check_head()?;
    let dirs_ras = spread_directions(DIRECTIONS);
    let gradients = table(&dirs_ras);
    let noise = Noise::new(spec.snr, spec.seed)?;
    let (place, samples) = (&spec.placement, spec.samples_per_axis);
    let tissue = sampled(&Anatomy::fixed(), place, &FIXED_TISSUE, samples, workers, progress)?;
    let mask = tissue.mask.clone();
    let map = |name, description, image| TruthMap { name, description, image };
    let (dwi, maps) = match spec.law {
        PerDirection::Kurtosis => {
            let law = Kurtosis { diffusivities: FIXED_TISSUE, within: WITHIN };
            let [d, k, mk] = per_direction(&tissue, &dirs_ras, workers, |voxel, dir| {
                let [d, k] = law.cumulants(voxel, dir);
                [1e-3 * d, k]
            })?;
            let maps = vec![
                map("D", "diffusivity of each direction, mm2/s", d),
                map("K", "kurtosis of each direction", k),
                map("MK", "kurtosis, mean over directions", mk),
            ];
            (render(&tissue, &law, &gradients, &noise, workers, progress)?, maps)
        }
        PerDirection::Stretched => {
            let law = Stretched { diffusivities: FIXED_TISSUE };
            let [a, gamma, mean] = per_direction(&tissue, &dirs_ras, workers, |voxel, dir| {
                let [d, gamma] = law.exponents(voxel, dir);
                [(1e-3 * d).powf(gamma), gamma]
            })?;
            let maps = vec![
                map("A", "A of each direction, exp(-A b^gamma), A^(1/gamma) in mm2/s", a),
                map("gamma", "stretching exponent of each direction", gamma),
                map("Mgamma", "stretching exponent, mean over directions", mean),
            ];
            (render(&tissue, &law, &gradients, &noise, workers, progress)?, maps)
        }
    };
    let mut truth = Truth::of_tissue(tissue, noise.sigma());
    truth.maps.extend(maps);
    Ok(Subject { dwi, gradients, mask, truth })
}

/// The unweighted volumes, then all directions at each b.
fn table(dirs_ras: &[[f64; 3]]) -> GradientTable {
    let unweighted = (0..UNWEIGHTED).map(|_| (0.0, [0.0; 3]));
    let weighted = B_VALUES_S_PER_MM2.iter().flat_map(|&b| dirs_ras.iter().map(move |&g| (b, g)));
    let (b_s_per_mm2, dirs_ras) = unweighted.chain(weighted).unzip();
    GradientTable { b_s_per_mm2, dirs_ras, b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD }
}
