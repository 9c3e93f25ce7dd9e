//! Slices that lost their signal.

use serde::Serialize;

/// A slice that is darker than its prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Its volume.
    pub volume: usize,
    /// The slice of the measured volume.
    pub slice: usize,
    /// How far its mean residual lies from those of its shell, in their standard deviations.
    pub z: f64,
    /// Its signal over that predicted.
    pub left: f64,
}

/// Residuals of a volume, added up by the slice that they were measured in.
#[derive(Clone, Debug)]
pub(crate) struct SliceSums {
    pub residual: Vec<f64>,
    pub predicted: Vec<f64>,
    pub voxels: Vec<usize>,
}

impl SliceSums {
    pub(crate) fn new(slices: usize) -> Self {
        let zeros = vec![0.0; slices];
        Self { residual: zeros.clone(), predicted: zeros, voxels: vec![0; slices] }
    }
}

/// Slices with fewer voxels say nothing.
const FEWEST_VOXELS: usize = 60;
/// Standard deviations.
const LEAST_Z: f64 = 4.0;
/// A slice that lost less of its signal is no dropped one: where directions are few, errors of the prediction are 0.16 of a slice.
const LEAST_LOST: f64 = 0.2;

/// The slices of these volumes, which are of one shell, that lost signal.
pub(crate) fn outliers(sums: &[(usize, SliceSums)]) -> Vec<Outlier> {
    // Means over voxels have standard deviations as the square roots of their numbers.
    let each = || {
        sums.iter().flat_map(|(volume, sums)| {
            let of = move |slice: usize| {
                let n = sums.voxels[slice];
                let is_used = n >= FEWEST_VOXELS && sums.predicted[slice] > 0.0;
                let part = sums.residual[slice] / sums.predicted[slice];
                is_used.then_some((*volume, slice, sums.residual[slice] / (n as f64).sqrt(), part))
            };
            (0..sums.voxels.len()).filter_map(of)
        })
    };
    let values: Vec<f64> = each().map(|(.., value, _)| value).collect();
    let Some(middle) = median(values.clone()) else { return Vec::new() };
    let Some(spread) = median(values.iter().map(|v| (v - middle).abs()).collect()) else {
        return Vec::new();
    };
    let sigma = 1.4826 * spread;
    each()
        .map(|(volume, slice, value, part)| Outlier {
            volume,
            slice,
            z: (value - middle) / sigma,
            left: 1.0 + part,
        })
        .filter(|found| found.z < -LEAST_Z && found.left < 1.0 - LEAST_LOST)
        .collect()
}

/// Whether a point at `z`, voxels, is made of a dropped slice.
pub(crate) fn touches(dropped: &[bool], z: f64) -> bool {
    let [low, high] = [z.floor(), z.ceil()].map(|k| k.max(0.0) as usize);
    let is = |k: usize| dropped.get(k).copied().unwrap_or(false);
    is(low) || is(high)
}

pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use fimbria_testing::Noise;

    use super::*;

    #[test]
    fn a_dropped_slice_is_found_and_no_other() {
        let mut random = Noise(5);
        let volume = |volume: usize| {
            let mut sums = SliceSums::new(20);
            for slice in 0..20 {
                sums.voxels[slice] = 100 + 30 * slice;
                let n = sums.voxels[slice] as f64;
                sums.predicted[slice] = 80.0 * n;
                sums.residual[slice] = 10.0 * n.sqrt() * random.normal();
            }
            (volume, sums)
        };
        let mut sums: Vec<_> = (0..30).map(volume).collect();
        assert_eq!(outliers(&sums), []);
        sums[7].1.residual[11] = -0.5 * sums[7].1.predicted[11];
        let found = outliers(&sums);
        assert_eq!((found.len(), found[0].volume, found[0].slice), (1, 7, 11));
        assert!((found[0].left - 0.5).abs() < 1e-12);
    }
}
