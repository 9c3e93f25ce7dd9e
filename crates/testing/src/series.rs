//! A series on disk.

use std::path::Path;

use fimbria_image::gradients::{TableOptions, find_beside};
use fimbria_image::{BvecFrame, GradientTable, Mask, OpenOptions, StoredImage, read_mask};

/// A series with its table and mask.
pub struct Series {
    /// The series.
    pub dwi: StoredImage,
    /// Its gradients, from FSL files beside it.
    pub gradients: GradientTable,
    /// The voxels to fit.
    pub mask: Mask,
}

impl Series {
    /// The series in `dwi`, with the FSL files beside it, and a mask.
    pub fn read(dwi: &Path, mask: &Path) -> Self {
        let dwi = StoredImage::open(dwi, &OpenOptions::default()).unwrap();
        let read = find_beside(dwi.path())
            .unwrap()
            .read(BvecFrame::Fsl, &dwi.grid().ras_from_vox, &TableOptions::default())
            .unwrap();
        let mask = read_mask(mask, dwi.grid()).unwrap();
        Self { dwi, gradients: read.table, mask }
    }
}

/// Degrees between two axes.
pub fn angle(a: &[f64], b: &[f64]) -> f64 {
    let cross: f64 = (0..3)
        .map(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            (a[j] * b[k] - a[k] * b[j]).powi(2)
        })
        .sum();
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    cross.sqrt().atan2(dot.abs()).to_degrees()
}
