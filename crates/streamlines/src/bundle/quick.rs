//! Streamlines that lie together: QuickBundles (Garyfallidis et al. 2012, Front. Neurosci. 6, 175).
//!
//! Each streamline joins the cluster with the nearest centroid, where that is nearer than a threshold, and begins
//! one of its own otherwise; the centroid is the mean of its streamlines, each counted from the end that lies nearer.
//! Their distance is the mean of the distances of their nodes, from whichever end it is less (MDF).

use fimbria_compute::Workers;
use rayon::prelude::*;

use crate::Streamlines;
use crate::edit::{along, evenly};

/// A streamline of as many nodes as all.
type Line = Vec<[f32; 3]>;

/// Streamlines of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Their mean, scanner RAS+ mm.
    pub centroid: Line,
    /// How many they are.
    pub size: u32,
}

/// Clusters as they grow.
///
/// The mean node of a streamline is no farther from that of another than the streamlines are from each other, so
/// that most clusters are passed over by three numbers.
#[derive(Clone, Debug)]
pub struct QuickBundles {
    threshold_mm: f64,
    nodes: usize,
    clusters: Vec<Cluster>,
    /// The mean node of each centroid, an axis each.
    middles: [Vec<f32>; 3],
}

/// What single precision may make of a distance in a head, mm, and then some.
const SLACK_MM: f32 = 1e-3;

/// Mean nodes that are compared together, without a branch.
const TOGETHER: usize = 32;

impl QuickBundles {
    /// None yet. Streamlines have so many nodes, and what is as far from all centroids as the threshold begins a
    /// cluster.
    pub fn new(threshold_mm: f64, nodes: usize) -> Self {
        Self { threshold_mm, nodes, clusters: Vec::new(), middles: Default::default() }
    }

    /// The clusters, in the order of their first streamlines.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// Adds the streamlines of a chunk and says which cluster each is of; `None` of one without points, or not finite.
    pub fn add(&mut self, chunk: &Streamlines, workers: &Workers) -> Vec<Option<u32>> {
        let line = |index: usize| self.line(chunk.points(index));
        let lines: Vec<_> =
            workers.install(|| (0..chunk.len()).into_par_iter().map(line).collect());
        lines.into_iter().map(|line| line.map(|line| self.add_line(&line))).collect()
    }

    fn line(&self, points: &[[f32; 3]]) -> Option<Line> {
        let places = evenly(points, self.nodes);
        let is_finite = points.iter().flatten().all(|x| x.is_finite());
        let line = || places.iter().map(|place| along(points, *place)).collect();
        (is_finite && !places.is_empty()).then(line)
    }

    fn add_line(&mut self, line: &[[f32; 3]]) -> u32 {
        let Some((at, is_turned)) = self.nearest(line) else {
            self.clusters.push(Cluster { centroid: line.to_vec(), size: 1 });
            let middle = middle(line);
            (0..3).for_each(|axis| self.middles[axis].push(middle[axis]));
            return (self.clusters.len() - 1) as u32;
        };
        let Cluster { centroid, size } = &mut self.clusters[at];
        let (before, after) = (*size as f32, (*size + 1) as f32);
        for (k, mean) in centroid.iter_mut().enumerate() {
            let node = line[if is_turned { line.len() - 1 - k } else { k }];
            (0..3).for_each(|axis| mean[axis] = (mean[axis] * before + node[axis]) / after);
        }
        *size += 1;
        let middle = middle(centroid);
        (0..3).for_each(|axis| self.middles[axis][at] = middle[axis]);
        at as u32
    }

    /// The cluster that a streamline joins, and whether from its other end; the first of equals.
    fn nearest(&self, line: &[[f32; 3]]) -> Option<(usize, bool)> {
        let here = middle(line);
        let [x, y, z] = &self.middles;
        let (mut best, mut best_mm) = (None, self.threshold_mm);
        for first in (0..x.len()).step_by(TOGETHER) {
            let some = first..(first + TOGETHER).min(x.len());
            let mut squares = [f32::INFINITY; TOGETHER];
            let of = x[some.clone()].iter().zip(&y[some.clone()]).zip(&z[some]);
            for (square, ((x, y), z)) in squares.iter_mut().zip(of) {
                let off = [x - here[0], y - here[1], z - here[2]];
                *square = off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
            }
            for (k, square) in squares.iter().enumerate() {
                let may_be_near = |mm: f64| *square < (mm as f32 + SLACK_MM).powi(2);
                if !may_be_near(best_mm) {
                    continue;
                }
                let centroid = &self.clusters[first + k].centroid;
                for is_turned in [false, true] {
                    let mm = distance(centroid, line, is_turned, best_mm);
                    if mm < best_mm {
                        (best, best_mm) = (Some((first + k, is_turned)), mm);
                    }
                }
            }
        }
        best
    }
}

fn middle(line: &[[f32; 3]]) -> [f32; 3] {
    let sum = |axis: usize| line.iter().map(|node| node[axis]).sum::<f32>();
    [0, 1, 2].map(|axis| sum(axis) / line.len() as f32)
}

/// The mean distance of nodes; somewhere from `most_mm` on where it is no less.
fn distance(centroid: &[[f32; 3]], line: &[[f32; 3]], is_turned: bool, most_mm: f64) -> f64 {
    let n = line.len();
    let (mut sum, most) = (0.0, most_mm * n as f64);
    for (k, mean) in centroid.iter().enumerate() {
        let node = line[if is_turned { n - 1 - k } else { k }];
        let off = [mean[0] - node[0], mean[1] - node[1], mean[2] - node[2]];
        sum += f64::from((off[0] * off[0] + off[1] * off[1] + off[2] * off[2]).sqrt());
        if sum >= most {
            break;
        }
    }
    sum / n as f64
}

#[cfg(test)]
mod tests {
    use fimbria_testing::Noise;

    use super::*;

    /// The paper's words: all centroids are looked at, and all distances made whole.
    fn plainly(lines: &[Line], threshold_mm: f64) -> (Vec<u32>, Vec<Cluster>) {
        let (mut of, mut clusters) = (Vec::new(), Vec::<Cluster>::new());
        for line in lines {
            let turned: Line = line.iter().rev().copied().collect();
            let ways = clusters.iter().enumerate().flat_map(|(at, cluster)| {
                [&turned, line].map(|way| (distance(&cluster.centroid, way, false, 1e30), at, way))
            });
            let nearest = ways.min_by(|a, b| a.0.total_cmp(&b.0));
            match nearest.filter(|(mm, ..)| *mm < threshold_mm) {
                Some((_, at, way)) => {
                    let way = way.clone();
                    let Cluster { centroid, size } = &mut clusters[at];
                    let n = *size as f32;
                    for (mean, node) in centroid.iter_mut().zip(way) {
                        (0..3).for_each(|a| mean[a] = (mean[a] * n + node[a]) / (n + 1.0));
                    }
                    *size += 1;
                    of.push(at as u32);
                }
                None => {
                    of.push(clusters.len() as u32);
                    clusters.push(Cluster { centroid: line.clone(), size: 1 });
                }
            }
        }
        (of, clusters)
    }

    #[test]
    fn clusters_are_those_of_looking_at_every_centroid() {
        let mut draws = Noise(3);
        let (mut chunk, mut lines) = (Streamlines::default(), Vec::new());
        for k in 0..2000 {
            let from: [f64; 3] = std::array::from_fn(|_| 60.0 * draws.uniform());
            let by: [f64; 3] = std::array::from_fn(|_| 30.0 * draws.normal());
            let point = |i: u32| {
                let t = f64::from(if k % 2 == 0 { i } else { 11 - i }) / 11.0;
                std::array::from_fn(|a| (from[a] + by[a] * t) as f32)
            };
            lines.push((0..12).map(point).collect::<Line>());
            chunk.push(&lines[k]);
        }
        for threshold_mm in [5.0, 15.0, 40.0] {
            let mut quick = QuickBundles::new(threshold_mm, 12);
            // Straight lines of twelve points stay what they are but for the rounding of places.
            let lines: Vec<Line> = lines.iter().map(|line| quick.line(line).unwrap()).collect();
            let of = quick.add(&chunk, &Workers::new(2).unwrap());
            let (plain, clusters) = plainly(&lines, threshold_mm);
            assert_eq!(of, plain.into_iter().map(Some).collect::<Vec<_>>(), "{threshold_mm}");
            assert_eq!(quick.clusters(), clusters);
            assert!(clusters.len() > 5 && clusters.len() < 2000);
        }
    }

    #[test]
    fn a_streamline_from_the_other_end_joins_and_the_mean_has_one_direction() {
        let mut chunk = Streamlines::default();
        chunk.push(&[[0.0; 3], [10.0, 0.0, 0.0]]);
        chunk.push(&[[10.0, 2.0, 0.0], [0.0, 2.0, 0.0]]);
        chunk.push(&[[0.0, 0.0, 50.0], [10.0, 0.0, 50.0]]);
        chunk.push(&[]);
        let mut quick = QuickBundles::new(5.0, 3);
        let of = quick.add(&chunk, &Workers::new(1).unwrap());
        assert_eq!(of, [Some(0), Some(0), Some(1), None]);
        let Cluster { centroid, size } = &quick.clusters()[0];
        assert_eq!((&centroid[..], *size), (&[[0., 1., 0.], [5., 1., 0.], [10., 1., 0.]][..], 2));
    }
}
