//! How maps are held against another program's.

use std::process::{Command, Stdio};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, DtiOptions, fit};
use fimbria_testing::Series;

/// Fits tensors to a whole series.
pub(crate) fn fitted(series: &Series, options: &DtiOptions) -> Fitted {
    let workers = Workers::new(0).unwrap();
    let on = Backend::cpu(&workers);
    let Series { dwi, gradients, mask } = series;
    fit(dwi, mask, gradients, None, options, &on, &Silent).unwrap()
}

/// True where the command ran and succeeded; a peer that is missing or refuses is no failure of
/// ours.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
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
