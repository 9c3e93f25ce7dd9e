//! Samples of each seed that reach targets.

use std::ops::Range;

use fimbria_compute::comm::Comm;

use crate::Space;
use crate::counts::Joined;
use crate::region::{Region, Step, steps_of};
use crate::sample::Sample;
use crate::tally::Visited;
use crate::tally::sums::add_up;

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

    /// Counts a sample, and hands over the numbers of the targets that it reaches.
    pub(super) fn add(
        &mut self,
        space: &Space,
        sample: &Sample<'_>,
        visited: &[Visited],
        mut each: impl FnMut(usize),
    ) {
        // The seed point itself does not count, but whoever is in its voxel later, as most are after
        // their first step, is in a target around it.
        let start = visited.first().filter(|v| v.steps == 0).map(|v| v.voxel);
        let again = |half: &[[f32; 3]]| half.iter().skip(1).position(|p| space.voxel(*p) == start);
        let back = if start.is_some() && self.regions.iter().any(|region| region.holds(start)) {
            sample.halves().into_iter().find_map(again).map(|points| points as u32 + 1)
        } else {
            None
        };
        for (target, region) in self.regions.iter().enumerate() {
            let hit = visited.iter().find(|v| v.steps > 0 && region.holds(Some(v.voxel)));
            let back = back.filter(|_| region.holds(start));
            let crossed = first_crossing(region, sample);
            let steps = [hit.map(|hit| hit.steps), back, crossed].into_iter().flatten().min();
            if let Some(steps) = steps {
                self.counts[target][sample.seed_index] += 1;
                self.steps[target][sample.seed_index] += u64::from(steps);
                each(target);
            }
        }
    }

    /// Adds what a device has counted of the samples of some seeds.
    pub(super) fn add_counts(&mut self, counts: &Joined, seeds: Range<usize>) {
        for (at, samples, steps) in counts.entries() {
            let (target, seed) = (at / seeds.len(), seeds.start + at % seeds.len());
            self.counts[target][seed] += samples;
            self.steps[target][seed] += steps;
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

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        for counts in &mut self.counts {
            let mut sums: Vec<u64> = counts.iter().map(|count| u64::from(*count)).collect();
            add_up(comm, &mut sums);
            counts.iter_mut().zip(sums).for_each(|(count, sum)| *count = sum as u32);
        }
        self.steps.iter_mut().for_each(|steps| add_up(comm, steps));
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

/// Steps from the seed to where a sample first meets a surface.
fn first_crossing(region: &Region, sample: &Sample<'_>) -> Option<u32> {
    region.mesh()?;
    let meets = |step: &Step| region.is_met(step);
    let halves = sample.halves().into_iter();
    halves
        .filter_map(|half| steps_of(half).position(|step| meets(&step)))
        .min()
        .map(|at| at as u32 + 1)
}
