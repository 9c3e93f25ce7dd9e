//! Values of a map along a bundle.

use super::OneSpread;

/// Distances below this, in standard deviations, count as this: a streamline that is the core itself would have all the
/// weight.
pub const NEAREST: f64 = 0.01;

/// Weighted mean and spread of a map at each node.
///
/// A streamline of weight s at distance d from the core weighs s / max(d, [`NEAREST`]) there.
#[derive(Clone, Debug)]
pub struct Profile {
    nodes: Vec<(OneSpread, u64)>,
}

/// A point of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilePoint {
    /// Weighted mean; NaN without streamlines.
    pub mean: f64,
    /// Weighted standard deviation about it, over the sum of weights; NaN without streamlines.
    pub sd: f64,
    /// Streamlines with a value there.
    pub n: u64,
}

impl Profile {
    /// Of so many nodes, without streamlines.
    pub fn new(n: usize) -> Self {
        Self { nodes: vec![(OneSpread::default(), 0); n] }
    }

    /// Adds the value of a streamline of weight `weight` at node `k`, `distance` standard deviations from the core; one
    /// that is not finite is none.
    pub fn add(&mut self, k: usize, value: f64, distance: f64, weight: f64) {
        if value.is_finite() && weight > 0.0 {
            let (spread, n) = &mut self.nodes[k];
            spread.add(value, weight / distance.max(NEAREST));
            *n += 1;
        }
    }

    /// The points, from the start of the bundle on.
    pub fn points(&self) -> impl ExactSizeIterator<Item = ProfilePoint> + '_ {
        self.nodes.iter().map(|(spread, n)| match n {
            0 => ProfilePoint { mean: f64::NAN, sd: f64::NAN, n: 0 },
            _ => ProfilePoint { mean: spread.mean(), sd: spread.standard_deviation(), n: *n },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_streamlines_count_for_more_and_missing_values_for_nothing() {
        let mut profile = Profile::new(2);
        profile.add(0, 1.0, 1.0, 1.0);
        profile.add(0, 4.0, 2.0, 1.0);
        profile.add(0, f64::NAN, 0.1, 1.0);
        profile.add(0, 100.0, 0.1, 0.0);
        let points: Vec<_> = profile.points().collect();
        // (1 + 4 / 2) / 1.5, and ((1 - 2)² + (4 - 2)² / 2) / 1.5.
        assert!((points[0].mean - 2.0).abs() < 1e-12);
        assert!((points[0].sd - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((points[0].n, points[1].n), (2, 0));
        assert!(points[1].mean.is_nan());
    }

    #[test]
    fn a_streamline_on_the_core_has_a_weight_that_is_a_number() {
        let mut profile = Profile::new(1);
        profile.add(0, 1.0, 0.0, 1.0);
        profile.add(0, 2.0, 0.0, 1.0);
        assert!((profile.points().next().unwrap().mean - 1.5).abs() < 1e-12);
    }
}
