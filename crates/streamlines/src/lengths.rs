//! How long streamlines are.

use crate::Streamlines;

/// Length of the polyline through `points`, in their unit; 0 for fewer than two.
pub fn arc_length_mm(points: &[[f32; 3]]) -> f64 {
    /// Roots that are taken together.
    const TOGETHER: usize = 16;
    // From 0.0: the sum of no numbers at all is -0.0.
    let (mut sum, mut roots) = (0.0, [0.0; TOGETHER]);
    for first in (0..points.len().saturating_sub(1)).step_by(TOGETHER) {
        let some = &points[first..points.len().min(first + TOGETHER + 1)];
        let pairs = some.iter().zip(&some[1..]);
        roots.iter_mut().zip(pairs).for_each(|(root, (from, to))| *root = square(from, to));
        roots.iter_mut().for_each(|root| *root = root.sqrt());
        sum = roots[..some.len() - 1].iter().fold(sum, |sum, root| sum + root);
    }
    sum
}

/// The square of how far two points are apart.
fn square(from: &[f32; 3], to: &[f32; 3]) -> f64 {
    (0..3).map(|a| f64::from(to[a] - from[a]).powi(2)).sum()
}

/// How far two points are apart, in their unit.
pub(crate) fn distance_mm(from: &[f32; 3], to: &[f32; 3]) -> f64 {
    square(from, to).sqrt()
}

/// Lengths of many streamlines, in mm. Four bytes per streamline are held, for the median.
#[derive(Clone, Debug, Default)]
pub struct LengthStatistics {
    lengths_mm: Vec<f32>,
    sum: f64,
    sum_of_squares: f64,
}

impl LengthStatistics {
    /// Adds the streamlines of a chunk.
    pub fn add(&mut self, chunk: &Streamlines) {
        for points in chunk.iter() {
            let length = arc_length_mm(points);
            self.lengths_mm.push(length as f32);
            self.sum += length;
            self.sum_of_squares += length * length;
        }
    }

    /// Number of streamlines.
    pub fn count(&self) -> usize {
        self.lengths_mm.len()
    }

    /// Mean; NaN without streamlines, as all that follow.
    pub fn mean(&self) -> f64 {
        self.sum / self.count() as f64
    }

    /// Standard deviation over n - 1; NaN for fewer than two.
    pub fn standard_deviation(&self) -> f64 {
        let n = self.count() as f64;
        if n < 2.0 {
            return f64::NAN;
        }
        ((self.sum_of_squares - self.sum * self.sum / n).max(0.0) / (n - 1.0)).sqrt()
    }

    /// Shortest, median and longest.
    pub fn min_median_max(&self) -> [f64; 3] {
        let mut sorted = self.lengths_mm.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let n = sorted.len();
        if n == 0 {
            return [f64::NAN; 3];
        }
        let median = (f64::from(sorted[(n - 1) / 2]) + f64::from(sorted[n / 2])) / 2.0;
        [f64::from(sorted[0]), median, f64::from(sorted[n - 1])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_three_known_lengths() {
        let mut lines = Streamlines::default();
        lines.push(&[[0.0; 3], [3.0, 4.0, 0.0], [3.0, 4.0, 1.0]]);
        lines.push(&[[5.0; 3]]);
        lines.push(&[[0.0; 3], [0.0, 0.0, 3.0]]);
        let mut statistics = LengthStatistics::default();
        statistics.add(&lines);
        assert_eq!(statistics.count(), 3);
        assert_eq!(statistics.mean(), 3.0);
        assert_eq!(statistics.standard_deviation(), 3.0);
        assert_eq!(statistics.min_median_max(), [0.0, 3.0, 6.0]);
    }
}
