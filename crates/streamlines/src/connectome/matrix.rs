//! Counting streamlines between nodes.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::{AssignedNodes, Nodes};
use crate::{LookUp, MapAlong, Statistic, Streamlines, arc_length_mm};

/// What the weights of edges are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeScale {
    /// That of each streamline by its length, mm; one of no length does not count.
    pub by_length: bool,
    /// That of an edge by the mean number of voxels of its two nodes.
    pub by_volume: bool,
}

/// What is made of the values of an edge's streamlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeStatistic {
    /// Their sum by weights.
    Sum,
    /// Their mean by weights.
    #[default]
    Mean,
    /// The least, whatever they weigh.
    Least,
    /// The largest, whatever they weigh.
    Largest,
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
    lengths_mm: Edges,
    weights_per_mm: Vec<f64>,
    along: Vec<(MapAlong, Edges)>,
    assigned: u64,
    total: u64,
}

/// A value of each edge, made of one of each streamline.
#[derive(Clone, Debug)]
struct Edges {
    of: EdgeStatistic,
    values: Vec<f64>,
    /// Of the streamlines that have one.
    weights: Vec<f64>,
}

impl Edges {
    fn new(of: EdgeStatistic, nodes: usize) -> Self {
        let none = match of {
            EdgeStatistic::Sum | EdgeStatistic::Mean => 0.0,
            EdgeStatistic::Least => f64::INFINITY,
            EdgeStatistic::Largest => f64::NEG_INFINITY,
        };
        Self { of, values: vec![none; nodes * nodes], weights: vec![0.0; nodes * nodes] }
    }

    fn add(&mut self, at: usize, value: f64, weight: f64) {
        let sum = &mut self.values[at];
        match self.of {
            EdgeStatistic::Sum | EdgeStatistic::Mean => *sum += weight * value,
            EdgeStatistic::Least => *sum = sum.min(value),
            EdgeStatistic::Largest => *sum = sum.max(value),
        }
        self.weights[at] += weight;
    }

    /// 0 where there is none.
    fn value(&self, at: usize) -> f64 {
        let value = match self.of {
            EdgeStatistic::Mean => self.values[at] / self.weights[at],
            _ => self.values[at],
        };
        if value.is_finite() { value } else { 0.0 }
    }
}

impl Connectome {
    /// No streamlines yet.
    pub fn new(nodes: &Nodes) -> Self {
        Self::along(nodes, Vec::new(), EdgeStatistic::default())
    }

    /// No streamlines yet, along which maps are looked up; of their means and of lengths edges have this.
    pub fn along(nodes: &Nodes, maps: Vec<MapAlong>, of: EdgeStatistic) -> Self {
        let n = nodes.len();
        let zeros = vec![0.0; n * n];
        Self {
            n,
            voxels: nodes.voxels().into_iter().map(f64::from).collect(),
            along: maps.into_iter().map(|map| (map, Edges::new(of, n))).collect(),
            counts: zeros.clone(),
            weights: zeros.clone(),
            lengths_mm: Edges::new(of, n),
            weights_per_mm: zeros,
            assigned: 0,
            total: 0,
        }
    }

    /// Adds the streamlines of a chunk, each with its weight (`None`: 1 each), and gives the nodes of each.
    ///
    /// # Panics
    /// Where there is not a weight for each streamline, or `nodes` are others.
    pub fn add(
        &mut self,
        nodes: &Nodes,
        chunk: &Streamlines,
        weights: Option<&[f64]>,
        workers: &Workers,
    ) -> Vec<AssignedNodes> {
        assert_eq!(nodes.len(), self.n, "the nodes this matrix was made for");
        assert!(weights.is_none_or(|w| w.len() == chunk.len()), "a weight per streamline");
        let one = |index: usize| {
            let points = chunk.points(index);
            let of = nodes.assigned(points);
            let is_assigned = of.pairs(|_, _| ());
            let mean = |map: &MapAlong| map.statistic(points, LookUp::Linear, Statistic::Mean);
            let values = is_assigned.then(|| {
                let means = self.along.iter().map(|(map, _)| mean(map)).collect::<Vec<_>>();
                (arc_length_mm(points), means)
            });
            (of, values)
        };
        let all: Vec<_> = workers.install(|| (0..chunk.len()).into_par_iter().map(one).collect());
        self.total += chunk.len() as u64;
        let added = all.into_iter().enumerate().map(|(index, (of, values))| {
            let Some((length_mm, means)) = values else { return of };
            let weight = weights.map_or(1.0, |w| w[index]);
            of.pairs(|a, b| {
                let at = a * self.n + b;
                self.counts[at] += 1.0;
                self.weights[at] += weight;
                self.lengths_mm.add(at, length_mm, weight);
                if length_mm > 0.0 {
                    self.weights_per_mm[at] += weight / length_mm;
                }
                for ((_, edges), mean) in self.along.iter_mut().zip(&means) {
                    if let Some(mean) = mean {
                        edges.add(at, *mean, weight);
                    }
                }
            });
            self.assigned += 1;
            of
        });
        added.collect()
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

    /// Length in mm per pair of nodes, by default the weighted mean, 0 where nothing connects them, row-major.
    pub fn lengths_mm(&self) -> Vec<f64> {
        self.mirrored(|at| self.lengths_mm.value(at))
    }

    /// For each map the same of its means along streamlines, 0 where nothing that has one connects, row-major.
    pub fn means_along(&self) -> Vec<Vec<f64>> {
        self.along.iter().map(|(_, edges)| self.mirrored(|at| edges.value(at))).collect()
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
        assert!((matrix.lengths_mm()[1] - mean).abs() < 1e-12);
        assert_eq!(matrix.lengths_mm()[8], 0.0);
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
        let mut matrix =
            Connectome::along(&nodes, vec![MapAlong::new(map).unwrap()], EdgeStatistic::Mean);
        matrix.add(&nodes, &lines, Some(&[1.0, 2.0]), &Workers::new(2).unwrap());
        assert_eq!(matrix.means_along(), [[0.0, 4.0, 4.0, 0.0]]);
    }

    #[test]
    fn edges_have_the_statistic_of_their_streamlines() {
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, 0.0, 2.0] };
        let nodes = Nodes::new(&image, Assignment::ExactLabel).unwrap();
        let mut lines = Streamlines::default();
        lines.push(&[[0.0; 3], [2.0, 0.0, 0.0]]);
        lines.push(&[[0.0; 3], [0.0, 3.0, 0.0], [2.0, 0.0, 0.0]]);
        let long = 3.0 + 13.0f64.sqrt();
        for (of, expected) in [
            (EdgeStatistic::Sum, 2.0 + 3.0 * long),
            (EdgeStatistic::Mean, (2.0 + 3.0 * long) / 4.0),
            (EdgeStatistic::Least, 2.0),
            (EdgeStatistic::Largest, long),
        ] {
            let mut matrix = Connectome::along(&nodes, Vec::new(), of);
            let met = matrix.add(&nodes, &lines, Some(&[1.0, 3.0]), &Workers::new(1).unwrap());
            assert_eq!(met, vec![AssignedNodes::Ends([Some(0), Some(1)]); 2]);
            assert_eq!(matrix.lengths_mm(), [0.0, expected, expected, 0.0], "{of:?}");
        }
    }
}
