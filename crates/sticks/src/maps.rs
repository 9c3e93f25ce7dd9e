//! The maps of what is known of voxels beside their sticks.

use fimbria_image::{Image, MapSpec, Mask, StatusCounts};
use fimbria_models::FittedMap;

use crate::chunk::VoxelResult;
use crate::{Diffusivity, Noise, Offset, SticksOptions};

/// The maps of all voxels, and what became of them.
pub(crate) fn maps(
    mask: &Mask,
    results: &[VoxelResult],
    options: &SticksOptions,
) -> (Vec<FittedMap>, StatusCounts) {
    let map = |spec: MapSpec, value: &(dyn Fn(&VoxelResult) -> f32 + Sync)| {
        let mut image = Image::zeros(mask.grid, 1);
        for (&voxel, result) in mask.voxels.iter().zip(results) {
            image.data[voxel as usize] = value(result);
        }
        FittedMap { spec, image }
    };
    let mut counts = StatusCounts::default();
    for result in results {
        counts.add(result.status);
    }
    let mut all = vec![
        map(
            MapSpec::scalar("mean_dsamples", "mm^2/s", "mean diffusivity of the samples, mm²/s"),
            &|r| r.scalars.d,
        ),
        map(
            MapSpec::scalar("std_dsamples", "mm^2/s", "standard deviation of the same, mm²/s"),
            &|r| r.scalars.d_deviation,
        ),
        map(MapSpec::scalar("mean_S0samples", "arbitrary", "mean S0, input units"), &|r| {
            r.scalars.s0
        }),
    ];
    if options.diffusivity != Diffusivity::Single {
        all.push(map(
            MapSpec::scalar("mean_d_stdsamples", "mm^2/s", "mean spread of diffusivities, mm²/s"),
            &|r| r.scalars.spread,
        ));
    }
    if options.diffusivity == Diffusivity::Zeppelin {
        all.push(map(
            MapSpec::scalar("mean_Rsamples", "", "mean ratio of diffusivity across to along"),
            &|r| r.scalars.ratio,
        ));
    }
    if options.offset != Offset::None {
        all.push(map(
            MapSpec::scalar("mean_f0samples", "", "mean fraction without attenuation"),
            &|r| r.scalars.offset,
        ));
    }
    if options.noise == Noise::Rician {
        all.push(map(
            MapSpec::scalar("mean_tausamples", "", "mean 1/variance of the noise, input units"),
            &|r| r.scalars.precision,
        ));
    }
    all.push(map(
        MapSpec::scalar("acceptance", "", "share of proposals after burn-in that were taken"),
        &|r| r.acceptance,
    ));
    all.push(map(
        MapSpec::scalar(
            "effective_samples",
            "",
            "least effective number of samples of S0, d and the fraction of the first fibre",
        ),
        &|r| r.scalars.effective,
    ));
    all.push(map(MapSpec::status(), &|r| r.status.code()));
    (all, counts)
}
