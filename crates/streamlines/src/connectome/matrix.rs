//! Counting streamlines between nodes.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Nodes;
use crate::{MapAlong, Streamlines, arc_length_mm};

/// What the weights of edges are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeScale {
    /// That of each streamline by its length, mm; one of no length does not count.
    pub by_length: bool,
    /// That of an edge by the mean number of voxels of its two nodes.
    pub by_volume: bool,
}

/// How many streamlines connect each pair of nodes, how long they are, and what maps are along them.
///
/// Matrices are symmetric, rows in the order of [`Nodes::labels`]. A streamline counts when both
/// its ends have a node; one from a node to itself counts on the diagonal. Sums are made in file
/// order, so they do not depend on chunks or threads.
#[derive(Clone, Debug)]
pub struct Connectome {
    n: usize,
    /// Voxels of each node.
    voxels: Vec<f64>,
    counts: Vec<f64>,
    weights: Vec<f64>,
    weighted_lengths_mm: Vec<f64>,
    weights_per_mm: Vec<f64>,
    along: Vec<Along>,
    assigned: u64,
    total: u64,
}

/// A map, the sums of its weighted means along streamlines, and the weights of those that have one.
#[derive(Clone, Debug)]
struct Along {
    map: MapAlong,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Connectome {
    /// No streamlines yet.
    pub fn new(nodes: &Nodes) -> Self {
        Self::along(nodes, Vec::new())
    }

    /// No streamlines yet, along which maps are looked up.
    pub fn along(nodes: &Nodes, maps: Vec<MapAlong>) -> Self {
        let n = nodes.len();
        let zeros = vec![0.0; n * n];
        let along = maps.into_iter().map(|map| {
            let (values, weights) = (zeros.clone(), zeros.clone());
            Along { map, values, weights }
        });
        Self {
            n,
            voxels: nodes.voxels().into_iter().map(f64::from).collect(),
            along: along.collect(),
            counts: zeros.clone(),
            weights: zeros.clone(),
            weighted_lengths_mm: zeros.clone(),
            weights_per_mm: zeros,
            assigned: 0,
            total: 0,
        }
    }

    /// Adds the streamlines of a chunk, each with its weight (`None`: 1 each).
    ///
    /// # Panics
    /// Where there is not a weight for each streamline, or `nodes` are others.
    pub fn add(
        &mut self,
        nodes: &Nodes,
        chunk: &Streamlines,
        weights: Option<&[f64]>,
        workers: &Workers,
    ) {
        assert_eq!(nodes.len(), self.n, "the nodes this matrix was made for");
        assert!(weights.is_none_or(|w| w.len() == chunk.len()), "a weight per streamline");
        let pair = |index: usize| {
            let points = chunk.points(index);
            let (first, last) = (points.first()?, points.last()?);
            let (a, b) = (nodes.at(*first)?, nodes.at(*last)?);
            let means = self.along.iter().map(|along| along.map.mean(points)).collect::<Vec<_>>();
            Some((a, b, arc_length_mm(points), means))
        };
        let pairs: Vec<_> =
            workers.install(|| (0..chunk.len()).into_par_iter().map(pair).collect());
        self.total += chunk.len() as u64;
        for (index, pair) in pairs.into_iter().enumerate() {
            let Some((a, b, length_mm, means)) = pair else { continue };
            let weight = weights.map_or(1.0, |w| w[index]);
            let at = a.min(b) * self.n + a.max(b);
            self.counts[at] += 1.0;
            self.weights[at] += weight;
            self.weighted_lengths_mm[at] += weight * length_mm;
            if length_mm > 0.0 {
                self.weights_per_mm[at] += weight / length_mm;
            }
            for (along, mean) in self.along.iter_mut().zip(means) {
                let Some(mean) = mean else { continue };
                along.values[at] += weight * mean;
                along.weights[at] += weight;
            }
            self.assigned += 1;
        }
    }

    /// Streamlines with a node at both ends, and all of them.
    pub fn assigned_of_total(&self) -> (u64, u64) {
        (self.assigned, self.total)
    }

    /// Number of streamlines per pair of nodes, row-major.
    pub fn counts(&self) -> Vec<f64> {
        self.mirrored(|at| self.counts[at])
    }

    /// Sum of weights per pair of nodes (number of streamlines where none were given), row-major.
    pub fn weights(&self) -> Vec<f64> {
        self.mirrored(|at| self.weights[at])
    }

    /// The same, divided.
    pub fn scaled_weights(&self, scale: EdgeScale) -> Vec<f64> {
        let weights = if scale.by_length { &self.weights_per_mm } else { &self.weights };
        self.mirrored(|at| match scale.by_volume {
            true => weights[at] * 2.0 / (self.voxels[at / self.n] + self.voxels[at % self.n]),
            false => weights[at],
        })
    }

    /// Weighted mean length in mm per pair of nodes, 0 where nothing connects them, row-major.
    pub fn mean_lengths_mm(&self) -> Vec<f64> {
        self.mirrored(|at| mean(self.weighted_lengths_mm[at], self.weights[at]))
    }

    /// For each map the weighted mean over streamlines of its means along them, 0 where nothing that
    /// has one connects, row-major.
    pub fn means_along(&self) -> Vec<Vec<f64>> {
        let of = |along: &Along| self.mirrored(|at| mean(along.values[at], along.weights[at]));
        self.along.iter().map(of).collect()
    }

    fn mirrored(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let n = self.n;
        (0..n * n).map(|at| value((at / n).min(at % n) * n + (at / n).max(at % n))).collect()
    }
}

fn mean(sum: f64, weight: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { sum / weight }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectome::Assignment;
    use fimbria_image::{Affine, Grid, Image};

    #[test]
    fn pairs_lengths_and_weights_are_summed() {
        let grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, 0.0, 2.0, 9.0] };
        let nodes = Nodes::new(&image, Assignment::ExactLabel).unwrap();
        let mut lines = Streamlines::default();
        lines.push(&[[0.0; 3], [2.0, 0.0, 0.0]]);
        lines.push(&[[2.0, 0.0, 0.0], [2.0, 4.0, 0.0], [0.0; 3]]); // back, by a detour
        lines.push(&[[3.0, 0.0, 0.0]]);
        lines.push(&[[0.0; 3], [1.0, 0.0, 0.0]]); // ends at no node
        lines.push(&[]);
        let workers = Workers::new(2).unwrap();
        let mut matrix = Connectome::new(&nodes);
        matrix.add(&nodes, &lines, Some(&[1.0, 3.0, 0.5, 7.0, 7.0]), &workers);
        assert_eq!(matrix.assigned_of_total(), (3, 5));
        assert_eq!(matrix.weights(), [0., 4., 0., 4., 0., 0., 0., 0., 0.5]);
        let detour = 4.0 + 20.0f64.sqrt();
        let mean = (2.0 + 3.0 * detour) / 4.0;
        assert!((matrix.mean_lengths_mm()[1] - mean).abs() < 1e-12);
        assert_eq!(matrix.mean_lengths_mm()[8], 0.0);
    }

    #[test]
    fn weights_are_divided_by_lengths_and_volumes() {
        let grid = Grid { dims: [5, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, 1.0, 0.0, 2.0, 9.0] };
        let nodes = Nodes::new(&image, Assignment::ExactLabel).unwrap();
        let mut lines = Streamlines::default();
        lines.push(&[[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
        lines.push(&[[0.0; 3], [3.0, 1.0, 0.0], [3.0, 0.0, 0.0]]);
        lines.push(&[[4.0, 0.0, 0.0]]);
        let mut matrix = Connectome::new(&nodes);
        matrix.add(&nodes, &lines, Some(&[3.0, 1.0, 1.0]), &Workers::new(1).unwrap());
        let scaled = |by_length, by_volume| {
            let all = matrix.scaled_weights(EdgeScale { by_length, by_volume });
            [all[1], all[8]]
        };
        let per_mm = 3.0 / 2.0 + 1.0 / (1.0 + 10.0_f64.sqrt());
        assert_eq!(scaled(false, false), [4.0, 1.0]);
        assert_eq!(scaled(true, false), [per_mm, 0.0]);
        // Two voxels and one; one and itself.
        assert_eq!(scaled(false, true), [4.0 * 2.0 / 3.0, 1.0]);
        assert_eq!(scaled(true, true), [per_mm * 2.0 / 3.0, 0.0]);
    }

    #[test]
    fn a_map_is_averaged_over_what_an_edge_is_made_of() {
        let grid = Grid { dims: [4, 2, 1], ras_from_vox: Affine::IDENTITY };
        let labels = vec![1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0];
        let nodes = Nodes::new(&Image { grid, n_volumes: 1, data: labels }, Assignment::ExactLabel);
        let nodes = nodes.unwrap();
        // 2 in the first row of voxels, 5 in the second; nothing beside it.
        let map = Image { grid, n_volumes: 1, data: [[2.0; 4], [5.0; 4]].concat() };
        let mut lines = Streamlines::default();
        lines.push(&[[0.0; 3], [3.0, 0.0, 0.0]]);
        lines.push(&[[3.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
        let mut matrix = Connectome::along(&nodes, vec![MapAlong::new(map).unwrap()]);
        matrix.add(&nodes, &lines, Some(&[1.0, 2.0]), &Workers::new(2).unwrap());
        assert_eq!(matrix.means_along(), [[0.0, 4.0, 4.0, 0.0]]);
    }
}
