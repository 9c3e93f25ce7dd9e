//! The middle of a bundle, and how far from it streamlines are.

use fimbria_image::frames::inverse;

/// Sums over the streamlines of a bundle, node by node.
#[derive(Clone, Debug)]
pub struct CoreSums {
    /// Near the mean, so that sums of squares lose no digits.
    around: Vec<[f64; 3]>,
    weight: f64,
    first: Vec<[f64; 3]>,
    second: Vec<[[f64; 3]; 3]>,
}

impl CoreSums {
    /// None yet, of a bundle whose mean is near these nodes.
    pub fn around(nodes: &[[f64; 3]]) -> Self {
        let n = nodes.len();
        Self {
            around: nodes.to_vec(),
            weight: 0.0,
            first: vec![[0.0; 3]; n],
            second: vec![[[0.0; 3]; 3]; n],
        }
    }

    /// Adds a streamline of so many nodes, as often as its weight says.
    pub fn add(&mut self, nodes: &[[f64; 3]], weight: f64) {
        self.weight += weight;
        for (k, node) in nodes.iter().enumerate() {
            let off: [f64; 3] = std::array::from_fn(|a| node[a] - self.around[k][a]);
            for i in 0..3 {
                self.first[k][i] += weight * off[i];
                for j in 0..3 {
                    self.second[k][i][j] += weight * off[i] * off[j];
                }
            }
        }
    }

    /// Mean and covariance of what was added.
    pub fn core(&self) -> Core {
        let of = |k: usize| {
            let mean: [f64; 3] = std::array::from_fn(|a| self.first[k][a] / self.weight);
            let covariance: [[f64; 3]; 3] = std::array::from_fn(|i| {
                std::array::from_fn(|j| self.second[k][i][j] / self.weight - mean[i] * mean[j])
            });
            let place = std::array::from_fn(|a| self.around[k][a] + mean[a]);
            (place, precision(covariance))
        };
        Core { nodes: (0..self.around.len()).map(of).collect() }
    }
}

/// The inverse of a covariance. A bundle that is flat somewhere has one that is singular: a millionth of the mean
/// variance is added everywhere, which no streamline off the plane would notice. `None` of a point.
fn precision(mut covariance: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    /// Coordinates of a head are single precision: what varies less than this (mm²) does not vary.
    const POINT: f64 = 1e-9;
    let mean = (0..3).map(|a| covariance[a][a]).sum::<f64>() / 3.0;
    if mean.is_nan() || mean <= POINT {
        return None;
    }
    for (a, row) in covariance.iter_mut().enumerate() {
        row[a] += 1e-6 * mean;
    }
    inverse(&covariance)
}

/// A mean, and the inverse of the covariance about it.
type Node = ([f64; 3], Option<[[f64; 3]; 3]>);

/// Mean and spread of a bundle at each node.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    nodes: Vec<Node>,
}

impl Core {
    /// The mean of node `k`, scanner RAS+ mm.
    pub fn mean(&self, k: usize) -> [f64; 3] {
        self.nodes[k].0
    }

    /// Distance of a place from the mean of node `k`, in standard deviations in its direction (Mahalanobis). 0 where
    /// all streamlines have that node in one place.
    pub fn distance(&self, k: usize, place: [f64; 3]) -> f64 {
        let (mean, precision) = &self.nodes[k];
        let Some(precision) = precision else { return 0.0 };
        let off: [f64; 3] = std::array::from_fn(|a| place[a] - mean[a]);
        let square: f64 =
            (0..3).map(|i| off[i] * (0..3).map(|j| precision[i][j] * off[j]).sum::<f64>()).sum();
        square.max(0.0).sqrt()
    }

    /// The largest distance of a streamline's nodes.
    pub fn farthest(&self, nodes: &[[f64; 3]]) -> f64 {
        let of = |(k, node): (usize, &[f64; 3])| self.distance(k, *node);
        nodes.iter().enumerate().map(of).fold(0.0, f64::max)
    }
}

/// Mean and standard deviation of one number of each streamline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneSpread {
    weight: f64,
    mean: f64,
    squares: f64,
}

impl OneSpread {
    /// Adds a value as often as its weight says.
    pub fn add(&mut self, value: f64, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        self.weight += weight;
        let off = value - self.mean;
        self.mean += off * weight / self.weight;
        self.squares += weight * off * (value - self.mean);
    }

    /// The mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation, over n; 0 of nothing.
    pub fn standard_deviation(&self) -> f64 {
        if self.weight > 0.0 { (self.squares.max(0.0) / self.weight).sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_standard_deviations_along_the_axes_of_the_spread() {
        // ± 2 along x, ± 1 along y, ± 0.5 along z: variances 4/3, 1/3, 1/12 over six streamlines.
        let mut sums = CoreSums::around(&[[100.0; 3]]);
        for (axis, by) in [(0, 2.0), (1, 1.0), (2, 0.5)] {
            for sign in [-1.0, 1.0] {
                let mut node = [101.0, 99.0, 100.5];
                node[axis] += sign * by;
                sums.add(&[node], 1.0);
            }
        }
        let core = sums.core();
        assert_eq!(core.mean(0), [101.0, 99.0, 100.5]);
        let at = |x: f64, y: f64, z: f64| core.distance(0, [101.0 + x, 99.0 + y, 100.5 + z]);
        // The millionth that is added is of the mean variance, 7/12: 3.5e-6 of the least.
        assert!((at(2.0, 0.0, 0.0) - 3f64.sqrt()).abs() < 1e-5);
        assert!((at(0.0, 1.0, 0.0) - 3f64.sqrt()).abs() < 1e-5);
        assert!((at(2.0, 1.0, 0.5) - 3.0).abs() < 1e-5);
        assert_eq!(at(0.0, 0.0, 0.0), 0.0);
    }

    #[test]
    fn a_flat_bundle_has_distances_and_a_point_none() {
        let mut sums = CoreSums::around(&[[0.0; 3]; 2]);
        for x in [-1.0, 1.0] {
            sums.add(&[[x, 0.0, 0.0], [5.0; 3]], 1.0);
        }
        let core = sums.core();
        assert!((core.distance(0, [1.0, 0.0, 0.0]) - 1.0).abs() < 1e-6);
        assert!(core.distance(0, [1.0, 0.1, 0.0]) > 100.0);
        assert_eq!(core.distance(1, [9.0; 3]), 0.0);
    }

    #[test]
    fn a_weight_counts_as_so_many_streamlines() {
        let (mut one, mut three) = (OneSpread::default(), OneSpread::default());
        for value in [1.0, 5.0, 5.0, 5.0] {
            one.add(value, 1.0);
        }
        three.add(1.0, 1.0);
        three.add(5.0, 3.0);
        assert!((one.mean() - 4.0).abs() < 1e-12 && (three.mean() - 4.0).abs() < 1e-12);
        assert!((one.standard_deviation() - 3f64.sqrt()).abs() < 1e-12);
        assert!((three.standard_deviation() - 3f64.sqrt()).abs() < 1e-12);
    }
}
