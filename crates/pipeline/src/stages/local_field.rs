//! A field to be mapped, with what is known of its voxels.

use fimbria_image::{Grid, Image, Mask};
use fimbria_qsm::variation::Guidance;
use fimbria_qsm::{Geometry, Shape};

/// A field and everything that its inversion depends on.
pub struct LocalField {
    /// The grid.
    pub grid: Grid,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// In ppm, every voxel of the grid.
    pub field_ppm: Vec<f32>,
    /// Where the field is none in ppm but relative: what it was multiplied by, to be as large as one, and
    /// what the map is divided by.
    pub relative: Option<f64>,
    /// The voxels to solve for.
    pub mask: Mask,
    /// The shape of each.
    pub shapes: Vec<Shape>,
    /// What diffusion knows of each, where fibre directions are given.
    pub guidance: Option<Guidance>,
    /// The weight of every voxel of the grid.
    pub weights: Option<Vec<f32>>,
    /// The magnitude of every voxel of the grid.
    pub magnitude: Option<Vec<f32>>,
    /// The voxels to solve for once more by themselves.
    pub reliable: Option<Mask>,
    /// A map to compare with, ppm, every voxel of the grid.
    pub truth_ppm: Option<Vec<f32>>,
    /// B0 in tesla, where it is known.
    pub b0_tesla: Option<f64>,
    /// The echo time in which the field turned the phase, in seconds, where it is known.
    pub echo_time_s: Option<f64>,
}

impl LocalField {
    /// The volume of the values of its voxels, 0 elsewhere.
    pub(super) fn volume_of(&self, values: &[f32]) -> Image {
        let mut volume = Image::zeros(self.grid, 1);
        let voxels = self.mask.voxels.iter().zip(values);
        voxels.for_each(|(&voxel, value)| volume.data[voxel as usize] = *value);
        volume
    }

    /// The same of some of its voxels alone.
    pub(super) fn only(&self, some: &Mask) -> Self {
        let is_kept: Vec<bool> =
            self.mask.voxels.iter().map(|v| some.voxels.binary_search(v).is_ok()).collect();
        fn kept<T: Copy>(values: &[T], is_kept: &[bool]) -> Vec<T> {
            let pairs = values.iter().zip(is_kept);
            pairs.filter(|(_, kept)| **kept).map(|(value, _)| *value).collect()
        }
        let guidance = self.guidance.as_ref().map(|guidance| Guidance {
            fa: kept(&guidance.fa, &is_kept),
            images: guidance.images.iter().map(|image| kept(image, &is_kept)).collect(),
        });
        Self {
            grid: self.grid,
            geometry: self.geometry,
            field_ppm: self.field_ppm.clone(),
            relative: self.relative,
            mask: some.clone(),
            shapes: kept(&self.shapes, &is_kept),
            guidance,
            weights: self.weights.clone(),
            magnitude: self.magnitude.clone(),
            reliable: None,
            truth_ppm: None,
            b0_tesla: self.b0_tesla,
            echo_time_s: self.echo_time_s,
        }
    }
}
