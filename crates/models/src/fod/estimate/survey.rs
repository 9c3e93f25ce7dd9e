//! What is known of every voxel before any deconvolution: its tensor and the means of its shells.

use fimbria_compute::dense::vec3::unit;
use fimbria_compute::{Backend, Progress};
use fimbria_image::{GradientTable, Image, Mask, SignalSource, Status};
use rayon::prelude::*;

use crate::dti::{self, DtiMap, DtiOptions};
use crate::fod::FodError;
use crate::fod::shells::Shelled;

/// Voxels of which a thread reads the samples at a time.
const TILE: usize = 256;
/// A voxel whose mean signal is below this fraction of the bright ones' holds no tissue.
const DARK: f64 = 0.1;
/// The quantile that stands for the bright ones.
const BRIGHT: f64 = 0.95;

/// The voxels of the mask that hold tissue.
pub(super) struct Survey {
    /// b of the shells in s/mm².
    pub(super) b_s_per_mm2: Vec<f64>,
    pub(super) voxels: Vec<SurveyedVoxel>,
}

/// One voxel.
#[derive(Clone, Debug)]
pub(super) struct SurveyedVoxel {
    /// Linear index.
    pub(super) voxel: u32,
    pub(super) fa: f64,
    /// First eigenvector of the tensor, scanner axes.
    pub(super) axis_ras: [f64; 3],
    /// Mean of the samples of each shell.
    pub(super) means: Vec<f64>,
}

impl Survey {
    pub(super) fn new(
        signals: &dyn SignalSource,
        mask: &Mask,
        gradients: &GradientTable,
        shelled: &Shelled,
        on: &Backend<'_>,
        progress: &dyn Progress,
    ) -> Result<Self, FodError> {
        let maps = vec![DtiMap::Fa, DtiMap::V1];
        let options = DtiOptions { maps, ..DtiOptions::default() };
        let tensors = dti::fit(signals, mask, gradients, None, &options, on, progress)?;
        let map = |map: DtiMap| tensors.map(map.name());
        let (Some(fa), Some(v1), Some(status)) =
            (map(DtiMap::Fa), map(DtiMap::V1), map(DtiMap::Status))
        else {
            return Ok(Self { b_s_per_mm2: Vec::new(), voxels: Vec::new() });
        };
        progress.check()?;
        let settled = [Status::Fitted, Status::NegativeDiffusion].map(Status::code);
        let good: Vec<u32> = mask
            .voxels
            .iter()
            .copied()
            .filter(|&v| settled.contains(&status.data[v as usize]))
            .filter(|&v| fa.data[v as usize] <= 1.0)
            .collect();
        let of_tile = |tile: &[u32]| -> Vec<SurveyedVoxel> {
            let mut samples = vec![0.0; gradients.len() * tile.len()];
            signals.gather(tile, tile.len(), &mut samples);
            let surveyed = tile.iter().enumerate().filter_map(|(lane, &voxel)| {
                let mean = |shell: &fimbria_image::gradients::Shell| {
                    let sample = |&v: &usize| f64::from(samples[v * tile.len() + lane]);
                    shell.volumes.iter().map(sample).sum::<f64>() / shell.volumes.len() as f64
                };
                Some(SurveyedVoxel {
                    voxel,
                    fa: f64::from(fa.data[voxel as usize]),
                    axis_ras: unit(vector(v1, voxel))?,
                    means: shelled.shells.iter().map(mean).collect(),
                })
            });
            surveyed.collect()
        };
        let mut voxels: Vec<SurveyedVoxel> =
            on.workers.install(|| good.par_chunks(TILE).flat_map_iter(of_tile).collect());
        let bright = quantile(voxels.iter().map(|v| v.means[0]).collect(), BRIGHT);
        voxels.retain(|v| v.means[0] > DARK * bright && v.means.iter().all(|&m| m > 0.0));
        let b_s_per_mm2 = shelled.shells.iter().map(|shell| shell.b_s_per_mm2).collect();
        Ok(Self { b_s_per_mm2, voxels })
    }
}

fn vector(image: &Image, voxel: u32) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(image.volume(k)[voxel as usize]))
}

/// The value below which this fraction of the numbers lies; 0 of none.
pub(super) fn quantile(mut numbers: Vec<f64>, fraction: f64) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let place = (fraction * (numbers.len() - 1) as f64).round() as usize;
    *numbers.select_nth_unstable_by(place, f64::total_cmp).1
}
