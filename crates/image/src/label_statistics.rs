//! A map summed up over each region of a segmentation.

use rayon::prelude::*;

/// The values of one map in one region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelStatistics {
    /// Voxels of the region.
    pub voxels: usize,
    /// Those of them with a value; all else is of these.
    pub n: usize,
    /// Mean; NaN of no value, as all others.
    pub mean: f64,
    /// Standard deviation, divided by n - 1; NaN of one value.
    pub sd: f64,
    /// Percentiles 5, 25, 50 (the median), 75 and 95: between two values by their distance.
    pub percentiles: [f64; 5],
}

impl LabelStatistics {
    /// Which percentiles there are.
    pub const PERCENTS: [u8; 5] = [5, 25, 50, 75, 95];

    /// Of a region of so many `voxels` with these finite values, which are sorted.
    fn new(voxels: usize, values: &mut [f32]) -> Self {
        values.sort_unstable_by(f32::total_cmp);
        let n = values.len();
        let sum =
            |term: &dyn Fn(f64) -> f64| values.iter().map(|v| term(f64::from(*v))).sum::<f64>();
        let mean = sum(&|value| value) / n as f64;
        let squares = sum(&|value| (value - mean).powi(2));
        let percentile = |percent: u8| {
            let place = f64::from(percent) / 100.0 * n.saturating_sub(1) as f64;
            let at = |place: f64| values.get(place as usize).map_or(f64::NAN, |v| f64::from(*v));
            let (below, above) = (at(place.floor()), at(place.ceil()));
            below + (above - below) * place.fract()
        };
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { f64::NAN };
        Self { voxels, n, mean, sd, percentiles: Self::PERCENTS.map(percentile) }
    }
}

/// Statistics of `values` over the voxels of each of `labels`, ascending numbers. `label_of` and
/// `values` have a value for each voxel of one grid; a label that is none of `labels` is passed
/// over, as is a value that is not finite, or whose voxel `has_value` does not hold for.
///
/// Regions are dealt to the pool of threads that the caller is in.
pub fn label_statistics(
    labels: &[u32],
    label_of: &[f32],
    values: &[f32],
    has_value: impl Fn(usize) -> bool,
) -> Vec<LabelStatistics> {
    let mut regions = vec![(0, Vec::new()); labels.len()];
    for (voxel, (&label, &value)) in label_of.iter().zip(values).enumerate() {
        if let Ok(region) = labels.binary_search(&(label as u32))
            && label > 0.0
        {
            let (voxels, values) = &mut regions[region];
            *voxels += 1;
            if value.is_finite() && has_value(voxel) {
                values.push(value);
            }
        }
    }
    let statistics =
        regions.into_par_iter().map(|(n, mut values)| LabelStatistics::new(n, &mut values));
    statistics.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_region_has_the_statistics_of_its_own_finite_values() {
        // Region 7 has 1 2 4 9 and what is none; 3 has one value; 5 none.
        let label_of = [7.0, 7.0, 3.0, 0.0, 7.0, 7.0, 7.0, 5.0, 7.0];
        let values = [4.0, 1.0, 6.0, 100.0, 9.0, 2.0, f32::NAN, f32::INFINITY, 50.0];
        let all = label_statistics(&[3, 5, 7], &label_of, &values, |voxel| voxel != 8);
        let [one, none, four] = all[..] else { panic!("{all:?}") };
        assert_eq!((four.voxels, four.n, four.mean), (6, 4, 4.0));
        // Squares of -3 -2 0 5: 38 over 3.
        assert_eq!(four.sd, (38.0_f64 / 3.0).sqrt());
        // Places 0.15, 0.75, 1.5, 2.25, 2.85 among four values.
        let expected = [1.15, 1.75, 3.0, 5.25, 8.25];
        for (percentile, expected) in four.percentiles.into_iter().zip(expected) {
            assert!((percentile - expected).abs() < 1e-12, "{percentile} {expected}");
        }
        assert_eq!((one.n, one.mean, one.percentiles), (1, 6.0, [6.0; 5]));
        assert!(one.sd.is_nan());
        assert_eq!((none.voxels, none.n), (1, 0));
        assert!(none.mean.is_nan() && none.percentiles.iter().all(|p| p.is_nan()));
    }
}
