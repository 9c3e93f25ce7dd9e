//! The maps of FSL 6.0.0's dtifit on a real series, from the reference data.

#![allow(clippy::print_stdout)]

use crate::reference::{Pair, absolute, fitted, relative};
use fimbria_image::frames::turn_vectors;
use fimbria_image::{BvecFrame, Image, read_image};
use fimbria_models::dti::{Compat, DtiMap, DtiOptions, Method};
use fimbria_testing::{Series, angle, refdata};

/// The acceptance rule of the reference: for 99.9 % of the voxels.
const STRAYS: f64 = 0.001;

#[test]
fn ordinary_fits_are_those_of_dtifit() {
    let Some(fsl) = refdata("fsl") else { return };
    let inputs = fsl.join("inputs/dwi_real");
    let series = Series::read(&inputs.join("data.nii.gz"), &inputs.join("nodif_brain_mask.nii.gz"));
    assert_eq!(series.mask.len(), 2872);
    let ours = fitted(
        &series,
        &DtiOptions { method: Method::Ols, compat: Some(Compat::Fsl), ..DtiOptions::default() },
    );
    let theirs = |map: DtiMap| -> Image {
        let name = format!("cases/dtifit_real_ols/dti_{}.nii.gz", map.name());
        let mut image = read_image(fsl.join(name)).unwrap();
        if image.n_volumes == 3 {
            let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
            turn_vectors(&mut image, &turn);
        }
        image
    };
    let pair = Pair { mask: &series.mask, ours: &ours, theirs: &theirs };
    let mut failures = Vec::new();
    let mut judge = |map: DtiMap, limit: f64, (strays, worst): (f64, f64)| {
        println!(
            "{}: largest difference {worst:.2e}, {:.3} % beyond {limit}",
            map.name(),
            100.0 * strays
        );
        if strays > STRAYS {
            failures.push(map);
        }
    };
    judge(DtiMap::Fa, 1e-5, pair.beyond(DtiMap::Fa, 1e-5, absolute));
    for map in [DtiMap::L1, DtiMap::L2, DtiMap::L3, DtiMap::Md] {
        judge(map, 1e-8, pair.beyond(map, 1e-8, absolute));
    }
    judge(DtiMap::Mo, 1e-4, pair.beyond(DtiMap::Mo, 1e-4, absolute));
    judge(DtiMap::S0, 1e-5, pair.beyond(DtiMap::S0, 1e-5, relative));
    for map in [DtiMap::V1, DtiMap::V2, DtiMap::V3] {
        let turn = |a: &[f64], b: &[f64], voxel: u32| {
            if pair.gap(map, voxel) > 1e-5 { angle(a, b) } else { 0.0 }
        };
        judge(map, 0.1, pair.beyond(map, 0.1, turn));
    }
    assert!(failures.is_empty(), "beyond the acceptance rule: {failures:?}");
}
