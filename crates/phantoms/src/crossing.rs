//! A head with crossing bundles, for everything that looks for fibres.

use fimbria_compute::{Progress, Workers};

use crate::anatomy::Anatomy;
use crate::placement::unit_mm;
use crate::render::{Noise, mean_over_directions, render};
use crate::signal::{GaussianMixture, Kurtosis};
use crate::single::single_compartment_maps;
use crate::tissue::Tissue;
use crate::{
    Acquisition, Diffusivities, PhantomError, Placement, Subject, Truth, TruthMap,
    spread_directions,
};

/// What [`crossing`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossingSpec {
    /// The grid.
    pub placement: Placement,
    /// The volumes.
    pub acquisition: Acquisition,
    /// Diffusivities of the compartments.
    pub diffusivities: Diffusivities,
    /// Unweighted white-matter signal over the standard deviation of the noise in either part of
    /// the complex signal; infinite for no noise.
    pub snr: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// Points per axis at which voxels on a boundary are sampled, 1 to 16.
    pub samples_per_axis: usize,
}

impl Default for CrossingSpec {
    /// 2.5 mm voxels on a slightly oblique grid, the default acquisition and diffusivities, SNR 30.
    fn default() -> Self {
        Self {
            placement: Placement {
                dims: [60, 72, 56],
                voxel_mm: [2.5; 3],
                tilt_deg: [6.0, -4.0, 10.0],
                x_right_to_left: true,
            },
            acquisition: Acquisition::default(),
            diffusivities: Diffusivities::default(),
            snr: 30.0,
            seed: 1,
            samples_per_axis: 4,
        }
    }
}

/// Makes a head with a long straight bundle that others cross at 30, 45, 60, 75 and 90 degrees,
/// bending bundles, a threefold crossing, fibres that fan out between them, a cortex of grey matter,
/// and fluid in ventricles and around the brain.
///
/// Signals are sums over compartments, S = S0 Σ f_k exp(-b g'D_k g), each fibre an axially
/// symmetric tensor; fractions are of the unweighted signal, at bundle edges from sub-voxel
/// samples.
///
/// | truth | volumes | content |
/// |---|---|---|
/// | `dirs` | 9 | unit directions of up to 3 fibres, largest fraction first, scanner axes, 0 = none |
/// | `fractions` | 5 | signal fractions at b = 0: the fibres, grey matter, fluid; sum 1 in the mask |
/// | `count` | 1 | number of fibres |
/// | `S0` | 1 | unweighted signal without noise |
/// | `angle` | 1 | angle between the two largest fibres, degrees; NaN with fewer |
/// | `FA`, `MD` | 1 | of voxels of a single compartment, MD in mm²/s; NaN elsewhere |
/// | `V1` | 3 | fibre direction of voxels of a single fibre, scanner axes; NaN elsewhere |
/// | `MK` | 1 | mean over directions of the mixture's kurtosis at b = 0; 0 outside the mask |
///
/// # Errors
/// [`PhantomError`] where the specification is out of range, memory is short or the user stops it.
pub fn crossing(
    spec: &CrossingSpec,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Subject, PhantomError> {
    spec.placement.check_head()?;
    let gradients = spec.acquisition.gradients()?;
    let noise = Noise::new(spec.snr, spec.seed)?;
    let law = GaussianMixture(spec.diffusivities);
    let anatomy = Anatomy::living();
    let tissue = sampled(
        &anatomy,
        &spec.placement,
        &spec.diffusivities,
        spec.samples_per_axis,
        workers,
        progress,
    )?;
    let dwi = render(&tissue, &law, &gradients, &noise, workers, progress)?;
    let mask = tissue.mask.clone();
    let single = single_compartment_maps(&tissue, &spec.diffusivities)?;
    let kurtosis = mean_kurtosis(&tissue, &spec.diffusivities, workers)?;
    let mut truth = Truth::of_tissue(tissue, noise.sigma());
    truth.maps.extend(single);
    truth.maps.push(kurtosis);
    Ok(Subject { dwi, gradients, mask, truth })
}

/// The kurtosis of compartments that are each Gaussian, averaged over directions.
fn mean_kurtosis(
    tissue: &Tissue,
    diffusivities: &Diffusivities,
    workers: &Workers,
) -> Result<TruthMap, PhantomError> {
    // Their mean is within 1 % of the integral over the sphere.
    const DIRECTIONS: usize = 60;
    let law = Kurtosis { diffusivities: *diffusivities, within: 0.0 };
    let dirs_ras = spread_directions(DIRECTIONS);
    let image = mean_over_directions(tissue, &dirs_ras, workers, |voxel, dir_ras| {
        let [_, kurtosis] = law.cumulants(voxel, dir_ras);
        kurtosis
    })?;
    Ok(TruthMap {
        name: "MK",
        description: "mean kurtosis of the mixture at b = 0, a pure number",
        image,
    })
}

/// The composition of every voxel of a placed anatomy, after checking what it depends on.
pub(crate) fn sampled(
    anatomy: &Anatomy,
    placement: &Placement,
    diffusivities: &Diffusivities,
    samples_per_axis: usize,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Tissue, PhantomError> {
    diffusivities.check()?;
    let valid = (1..=16).contains(&samples_per_axis);
    PhantomError::require(valid, "samples per axis", samples_per_axis, "1 to 16")?;
    let grid = placement.grid()?;
    let unit_mm = unit_mm(&grid, anatomy);
    Tissue::sample(anatomy, unit_mm, grid, samples_per_axis, workers, progress)
}
