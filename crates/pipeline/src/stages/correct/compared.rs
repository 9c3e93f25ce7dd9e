//! How volumes agree before and after: numbers that do not come from what placed them.

use fimbria_compute::Workers;
use fimbria_image::{GradientTable, Image, Mask};
use fimbria_models::quality::{SeriesQuality, VolumeQuality};
use serde::Serialize;
use serde_json::Value;

/// How well the volumes of a series agree. Missing where there are too few to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Agreement {
    /// Correlation of each volume with the nearest direction of its shell: the median.
    neighbour_correlation: Option<f64>,
    /// Correlation of each volume with what its neighbours in q-space predict: the median.
    predicted_correlation: Option<f64>,
    /// How far each volume lies from what its neighbours predict, mm: the median and the largest.
    displacement_mm: Option<[f64; 2]>,
    /// Mean over standard deviation of the unweighted volumes: the median over the mask.
    b0_tsnr: Option<f64>,
}

impl Agreement {
    pub(super) fn new(
        series: &Image,
        table: &GradientTable,
        mask: &Mask,
        workers: &Workers,
    ) -> Self {
        let volumes = SeriesQuality::new(series, table, mask, None, workers).volumes;
        let all = |of: fn(&VolumeQuality) -> Option<f64>| volumes.iter().filter_map(of).collect();
        let displaced: Vec<f64> = all(|volume| volume.displacement_mm);
        let most = displaced.iter().copied().fold(0.0, f64::max);
        Self {
            neighbour_correlation: median(all(|volume| volume.near)),
            predicted_correlation: median(all(|volume| volume.alike)),
            displacement_mm: median(displaced).map(|middle| [middle, most]),
            b0_tsnr: b0_tsnr(series, table, mask),
        }
    }

    /// What records call two of them, as `before` and `after`.
    pub(super) const RESULT: &str = "agreement";

    /// Two of them in words, as records have them.
    pub(super) fn in_words(before: &Value, after: &Value) -> String {
        let pair = |(what, key, digits): (&str, &str, usize)| {
            let (before, after) = (before[key].as_f64()?, after[key].as_f64()?);
            Some(format!("{what} {before:.digits$} to {after:.digits$}"))
        };
        let pairs = [
            ("correlation of neighbours", "neighbour_correlation", 4),
            ("with their prediction", "predicted_correlation", 4),
            ("tSNR of unweighted volumes", "b0_tsnr", 1),
        ];
        pairs.into_iter().filter_map(pair).collect::<Vec<_>>().join(", ")
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn b0_tsnr(series: &Image, table: &GradientTable, mask: &Mask) -> Option<f64> {
    let b0s: Vec<&[f32]> =
        (0..series.n_volumes).filter(|v| table.is_b0(*v)).map(|v| series.volume(v)).collect();
    let n = b0s.len() as f64;
    let ratio = |&voxel: &u32| {
        let values = b0s.iter().map(|volume| f64::from(volume[voxel as usize]));
        let mean = values.clone().sum::<f64>() / n;
        let square = values.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (square > 0.0).then(|| mean / square.sqrt())
    };
    if b0s.len() < 2 { None } else { median(mask.voxels.iter().filter_map(ratio).collect()) }
}
