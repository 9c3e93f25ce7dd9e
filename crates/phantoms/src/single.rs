//! Tensor maps of the voxels that one tensor describes, and the angles where fibres cross.

use fimbria_image::Image;

use crate::tissue::{COMPARTMENTS, FIBRES, GREY, Tissue};
use crate::zeros::zeros;
use crate::{Diffusivities, PhantomError, TruthMap};

/// `angle`, `FA`, `MD` and `V1` as [`crossing`](crate::crossing) describes them, NaN where they
/// have no meaning.
pub(crate) fn single_compartment_maps(
    tissue: &Tissue,
    diffusivities: &Diffusivities,
) -> Result<Vec<TruthMap>, PhantomError> {
    let grid = tissue.s0.grid;
    let unknown = |n_volumes| {
        let mut image = zeros(grid, n_volumes)?;
        image.data.fill(f32::NAN);
        Ok::<_, PhantomError>(image)
    };
    let (mut angle, mut fa, mut md, mut v1) = (unknown(1)?, unknown(1)?, unknown(1)?, unknown(3)?);
    for voxel in tissue.mask.voxels.iter().map(|&v| v as usize) {
        if tissue.fractions.volume(1)[voxel] > 0.0 {
            let (a, b) =
                (direction(&tissue.dirs_ras, 0, voxel), direction(&tissue.dirs_ras, 1, voxel));
            let cosine: f64 = (0..3).map(|i| f64::from(a[i]) * f64::from(b[i])).sum();
            angle.data[voxel] = cosine.abs().min(1.0).acos().to_degrees() as f32;
        }
        if let Some(compartment) = only_compartment(&tissue.fractions, voxel) {
            let (mean, anisotropy) = mean_and_anisotropy(diffusivities, compartment);
            (md.data[voxel], fa.data[voxel]) = (mean as f32, anisotropy as f32);
            if compartment < FIBRES {
                for (axis, c) in direction(&tissue.dirs_ras, 0, voxel).into_iter().enumerate() {
                    v1.volume_mut(axis)[voxel] = c;
                }
            }
        }
    }
    let map = |name, description, image| TruthMap { name, description, image };
    Ok(vec![
        map("angle", "angle between the two largest fibres, degrees, NaN with fewer", angle),
        map("FA", "fractional anisotropy of unmixed voxels, NaN elsewhere", fa),
        map("MD", "mean diffusivity of unmixed voxels, mm2/s, NaN elsewhere", md),
        map("V1", "direction of voxels of one fibre, scanner axes, NaN elsewhere", v1),
    ])
}

fn direction(dirs: &Image, fibre: usize, voxel: usize) -> [f32; 3] {
    std::array::from_fn(|axis| dirs.volume(3 * fibre + axis)[voxel])
}

/// The compartment that fills a voxel alone, where one does.
fn only_compartment(fractions: &Image, voxel: usize) -> Option<usize> {
    // Fractions are rounded to f32; one sub-voxel sample of anything else is at least 1e-4.
    (0..COMPARTMENTS).find(|&k| fractions.volume(k)[voxel] > 1.0 - 1e-6)
}

/// MD in mm²/s and FA of a compartment.
fn mean_and_anisotropy(d: &Diffusivities, compartment: usize) -> (f64, f64) {
    if compartment >= FIBRES {
        return (if compartment == GREY { d.grey } else { d.fluid }, 0.0);
    }
    let size = (d.axial * d.axial + 2.0 * d.radial * d.radial).sqrt();
    let anisotropy = if size > 0.0 { (d.axial - d.radial).abs() / size } else { 0.0 };
    ((d.axial + 2.0 * d.radial) / 3.0, anisotropy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anisotropy_is_one_for_sticks_and_zero_for_balls() {
        let stick = Diffusivities { radial: 0.0, ..Diffusivities::default() };
        assert_eq!(mean_and_anisotropy(&stick, 0).1, 1.0);
        let ball = Diffusivities { radial: 1.7e-3, ..Diffusivities::default() };
        assert_eq!(mean_and_anisotropy(&ball, 0).1, 0.0);
        // FA = sqrt(3/2) |deviator| / |tensor|, written out for 1.7, 0.3, 0.3.
        let (mean, fa) = mean_and_anisotropy(&Diffusivities::default(), 0);
        let m = 2.3 / 3.0f64;
        let deviator = ((1.7 - m).powi(2) + 2.0 * (0.3 - m).powi(2)).sqrt();
        let expected = (1.5f64).sqrt() * deviator / (1.7f64.powi(2) + 2.0 * 0.09).sqrt();
        assert!((fa - expected).abs() < 1e-12 && (mean - m * 1e-3).abs() < 1e-12);
    }
}
