//! Voxels of known neurites, for the tests of NODDI and the example that measures it.

use fimbria_fitting::lm::Model;
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::noddi::{Dispersed, Tissue, covariates};

pub(crate) const S0: f64 = 900.0;

/// icvf, od and isovf of 8 x 7 x 4 voxels: all of a grid.
pub(crate) fn truth(voxel: usize) -> [f64; 3] {
    let [i, j, k] = [voxel % 8, voxel / 8 % 7, voxel / 56];
    let odi = [0.04, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8][j];
    [0.1 + 0.8 / 7.0 * i as f64, odi, 0.2 * k as f64]
}

/// The mean direction of a voxel, unit: all over the sphere.
pub(crate) fn direction(voxel: usize) -> [f64; 3] {
    let z = 2.0 * ((voxel as f64 * 0.754_877_666) % 1.0) - 1.0;
    let (angle, r) = (voxel as f64 * 2.399_963_23, f64::sqrt(1.0 - z * z));
    [r * angle.cos(), r * angle.sin(), z]
}

/// A series of `copies` times those voxels: `noisy` makes the measured signal of the true one.
pub(crate) fn series(
    table: &GradientTable,
    tissue: Tissue,
    copies: usize,
    mut noisy: impl FnMut(f64) -> f64,
) -> (Image, Mask) {
    let grid = Grid { dims: [8, 7, 4 * copies], ras_from_vox: Affine::IDENTITY };
    let (n, mut image) = (grid.len(), Image::zeros(grid, table.len()));
    for volume in 0..table.len() {
        let b = 1e-3 * table.b_s_per_mm2[volume];
        let known = covariates::<18>(tissue, b, table.dirs_ras[volume]);
        for voxel in 0..n {
            let [f, odi, v] = truth(voxel % 224);
            // The first axis is all that the signal takes of a frame without tangents.
            let mut axes = [0.0; 9];
            axes[..3].copy_from_slice(&direction(voxel));
            let p = [S0, f, odi, v, 0.0, 0.0, if tissue.has_still() { 0.1 } else { 0.0 }];
            let signal: f64 = Dispersed::<18>.signal(&p, &known, &axes);
            image.data[volume * n + voxel] = noisy(signal) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..n as u32).collect() })
}

/// Of icvf, od and isovf: mean difference from the truth, and root mean square.
pub(crate) fn errors(fit: &Fitted) -> [[f64; 2]; 3] {
    std::array::from_fn(|k| {
        let image = &fit.maps[k].image;
        let differences: Vec<f64> = (image.data.iter().enumerate())
            .map(|(voxel, &value)| f64::from(value) - truth(voxel % 224)[k])
            .filter(|difference| difference.is_finite())
            .collect();
        let mean = |of: &dyn Fn(f64) -> f64| {
            differences.iter().map(|&d| of(d)).sum::<f64>() / differences.len() as f64
        };
        [mean(&|d| d), mean(&|d| d * d).sqrt()]
    })
}
