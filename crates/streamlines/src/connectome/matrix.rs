//! Counting streamlines between nodes.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Nodes;
use crate::{Streamlines, arc_length_mm};

/// How many streamlines connect each pair of nodes and how long they are.
///
/// Matrices are symmetric, rows in the order of [`Nodes::labels`]. A streamline counts when both
/// its ends have a node; one from a node to itself counts on the diagonal. Sums are made in file
/// order, so they do not depend on chunks or threads.
#[derive(Clone, Debug)]
pub struct Connectome {
    n: usize,
    weights: Vec<f64>,
    weighted_lengths_mm: Vec<f64>,
    assigned: u64,
    total: u64,
}

impl Connectome {
    /// No streamlines yet.
    pub fn new(nodes: &Nodes) -> Self {
        let n = nodes.len();
        let zeros = vec![0.0; n * n];
        Self { n, weights: zeros.clone(), weighted_lengths_mm: zeros, assigned: 0, total: 0 }
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
            Some((nodes.at(*first)?, nodes.at(*last)?, arc_length_mm(points)))
        };
        let pairs: Vec<_> =
            workers.install(|| (0..chunk.len()).into_par_iter().map(pair).collect());
        self.total += chunk.len() as u64;
        for (index, pair) in pairs.into_iter().enumerate() {
            let Some((a, b, length_mm)) = pair else { continue };
            let weight = weights.map_or(1.0, |w| w[index]);
            let at = a.min(b) * self.n + a.max(b);
            self.weights[at] += weight;
            self.weighted_lengths_mm[at] += weight * length_mm;
            self.assigned += 1;
        }
    }

    /// Streamlines with a node at both ends, and all of them.
    pub fn assigned_of_total(&self) -> (u64, u64) {
        (self.assigned, self.total)
    }

    /// Sum of weights per pair of nodes (number of streamlines where none were given), row-major.
    pub fn weights(&self) -> Vec<f64> {
        self.mirrored(|at| self.weights[at])
    }

    /// Weighted mean length in mm per pair of nodes, 0 where nothing connects them, row-major.
    pub fn mean_lengths_mm(&self) -> Vec<f64> {
        self.mirrored(|at| match self.weights[at] {
            0.0 => 0.0,
            weight => self.weighted_lengths_mm[at] / weight,
        })
    }

    fn mirrored(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let n = self.n;
        (0..n * n).map(|at| value((at / n).min(at % n) * n + (at / n).max(at % n))).collect()
    }
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
}
