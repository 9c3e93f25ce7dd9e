//! Reference series and how maps are held against another program's.

use std::path::{Path, PathBuf};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::gradients::{TableOptions, find_beside};
use fimbria_image::{BvecFrame, GradientTable, Image, Mask, OpenOptions, StoredImage, read_mask};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, DtiOptions, fit};

/// The folder of reference data, where there is one.
pub(crate) fn refdata() -> Option<PathBuf> {
    let folder = std::env::var_os("FIMBRIA_REFDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/refdata"),
        PathBuf::from,
    );
    folder.is_dir().then_some(folder)
}

/// A series with its table and mask.
pub(crate) struct Series {
    pub(crate) dwi: StoredImage,
    pub(crate) gradients: GradientTable,
    pub(crate) mask: Mask,
}

impl Series {
    pub(crate) fn read(dwi: &Path, mask: &Path) -> Self {
        let dwi = StoredImage::open(dwi, &OpenOptions::default()).unwrap();
        let read = find_beside(dwi.path())
            .unwrap()
            .read(BvecFrame::Fsl, &dwi.grid().ras_from_vox, &TableOptions::default())
            .unwrap();
        let mask = read_mask(mask, dwi.grid()).unwrap();
        Self { dwi, gradients: read.table, mask }
    }

    pub(crate) fn fit(&self, options: &DtiOptions) -> Fitted {
        let workers = Workers::new(0).unwrap();
        let on = Backend::cpu(&workers);
        fit(&self.dwi, &self.mask, &self.gradients, None, options, &on, &Silent).unwrap()
    }
}

/// Two fits of the same voxels; ours is in scanner axes, theirs turned to them.
pub(crate) struct Pair<'a> {
    pub(crate) mask: &'a Mask,
    pub(crate) ours: &'a Fitted,
    pub(crate) theirs: &'a dyn Fn(DtiMap) -> Image,
}

impl Pair<'_> {
    /// Share of voxels in which the differences of a map, as `error` of (ours, theirs) measures
    /// them, are beyond `limit`; and the largest.
    pub(crate) fn beyond(
        &self,
        map: DtiMap,
        limit: f64,
        error: impl Fn(&[f64], &[f64], u32) -> f64,
    ) -> (f64, f64) {
        let (a, b) = (self.ours.map(map).unwrap(), (self.theirs)(map));
        assert_eq!((a.n_volumes, a.grid.dims), (b.n_volumes, b.grid.dims), "{map:?}");
        let (mut count, mut worst) = (0, 0.0f64);
        for &voxel in &self.mask.voxels {
            let of = |image: &Image| -> Vec<f64> {
                (0..image.n_volumes).map(|v| f64::from(image.volume(v)[voxel as usize])).collect()
            };
            let error = error(&of(a), &of(&b), voxel);
            if error.is_nan() || error > limit {
                count += 1;
            }
            worst = worst.max(error);
        }
        (count as f64 / self.mask.len() as f64, worst)
    }

    /// The smallest gap between the eigenvalue of a vector map and its neighbours, mm²/s.
    pub(crate) fn gap(&self, map: DtiMap, voxel: u32) -> f64 {
        let l = [DtiMap::L1, DtiMap::L2, DtiMap::L3]
            .map(|m| f64::from(self.ours.map(m).unwrap().data[voxel as usize]));
        match map {
            DtiMap::V1 => l[0] - l[1],
            DtiMap::V2 => (l[0] - l[1]).min(l[1] - l[2]),
            _ => l[1] - l[2],
        }
    }
}

/// |a - b|.
pub(crate) fn absolute(a: &[f64], b: &[f64], _: u32) -> f64 {
    (a[0] - b[0]).abs()
}

/// |a - b| / |b|.
pub(crate) fn relative(a: &[f64], b: &[f64], _: u32) -> f64 {
    (a[0] - b[0]).abs() / b[0].abs()
}

/// Degrees between two axes.
pub(crate) fn angle(a: &[f64], b: &[f64]) -> f64 {
    let cross: f64 = (0..3)
        .map(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            (a[j] * b[k] - a[k] * b[j]).powi(2)
        })
        .sum();
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    cross.sqrt().atan2(dot.abs()).to_degrees()
}
