//! Samples of each seed that reach targets.

use crate::sample::Sample;
use crate::space::Region;
use crate::tally::Visited;

/// How many samples of each seed reach each target, and after how many steps.
pub struct Targets<'a> {
    regions: &'a [Region],
    /// `[target][seed]`.
    counts: Vec<Vec<u32>>,
    steps: Vec<Vec<u64>>,
}

impl<'a> Targets<'a> {
    /// Of `n_seeds` seeds.
    pub fn new(regions: &'a [Region], n_seeds: usize) -> Self {
        Self {
            regions,
            counts: vec![vec![0; n_seeds]; regions.len()],
            steps: vec![vec![0; n_seeds]; regions.len()],
        }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>, visited: &[Visited]) {
        for (target, region) in self.regions.iter().enumerate() {
            let hit = visited.iter().find(|v| v.steps > 0 && region.holds(Some(v.voxel)));
            if let Some(hit) = hit {
                self.counts[target][sample.seed_index] += 1;
                self.steps[target][sample.seed_index] += u64::from(hit.steps);
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (a, b) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *a += b;
        }
        for (a, b) in self.steps.iter_mut().flatten().zip(other.steps.iter().flatten()) {
            *a += b;
        }
    }

    /// The targets.
    pub fn regions(&self) -> &[Region] {
        self.regions
    }

    /// Samples of each seed that reach a target.
    pub fn counts(&self, target: usize) -> &[u32] {
        &self.counts[target]
    }

    /// Sums of the steps at which they first do.
    pub fn steps(&self, target: usize) -> &[u64] {
        &self.steps[target]
    }
}
