//! Samples between regions.

use fimbria_compute::comm::Comm;

use crate::counts::Joined;
use crate::sample::Sample;
use crate::tally::sums::add_up;

/// How many samples that start in one region reach another.
#[derive(Clone, Debug)]
pub struct NetworkMatrix {
    n: usize,
    counts: Vec<u64>,
    steps: Vec<u64>,
}

impl NetworkMatrix {
    /// Of `n` regions.
    pub fn new(n: usize) -> Self {
        Self { n, counts: vec![0; n * n], steps: vec![0; n * n] }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        let row = sample.seed.region as usize * self.n;
        for (region, steps) in sample.network.iter().enumerate() {
            if let Some(steps) = steps {
                self.counts[row + region] += 1;
                self.steps[row + region] += u64::from(*steps);
            }
        }
    }

    /// Adds what a device has counted.
    pub(super) fn add_counts(&mut self, counts: &Joined) {
        for (at, samples, steps) in counts.entries() {
            self.counts[at] += u64::from(samples);
            self.steps[at] += steps;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.steps.iter_mut().zip(&other.steps).for_each(|(a, b)| *a += b);
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        add_up(comm, &mut self.counts);
        add_up(comm, &mut self.steps);
    }

    /// Number of regions.
    pub fn len(&self) -> usize {
        self.n
    }

    /// True without regions.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Samples from `from` that reach `to`.
    pub fn count(&self, from: usize, to: usize) -> u64 {
        self.counts[from * self.n + to]
    }

    /// Sum of the steps at which they reach it.
    pub fn steps(&self, from: usize, to: usize) -> u64 {
        self.steps[from * self.n + to]
    }
}
