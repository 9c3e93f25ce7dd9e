//! Samples from each seed to each other seed: probtrackx2's matrix 1.

use std::collections::HashMap;

use crate::sample::Sample;
use crate::tally::Visited;

/// How many samples of each seed pass through each other seed's voxel.
pub struct SeedMatrix<'a> {
    /// The seed in each voxel plus 1, by radiological index.
    seed_plus_1: &'a [u32],
    least_points: usize,
    counts: HashMap<(u32, u32), (u64, u64)>,
}

impl<'a> SeedMatrix<'a> {
    /// Of the seeds in `seed_plus_1`, from samples of `least_points` points or more.
    pub fn new(seed_plus_1: &'a [u32], least_points: usize) -> Self {
        Self { seed_plus_1, least_points, counts: HashMap::new() }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>, visited: &[Visited]) {
        if sample.points.len() < self.least_points {
            return;
        }
        let from = sample.seed_index as u32;
        for v in visited {
            let Some(to) = self.seed_plus_1[v.voxel as usize].checked_sub(1) else { continue };
            if to != from {
                let (count, steps) = self.counts.entry((from, to)).or_default();
                *count += 1;
                *steps += u64::from(v.steps);
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (pair, (count, steps)) in other.counts {
            let mine = self.counts.entry(pair).or_default();
            mine.0 += count;
            mine.1 += steps;
        }
    }

    /// Row, column, count and sum of steps of every pair there is, by column, then row.
    pub fn entries(&self) -> Vec<(u32, u32, u64, u64)> {
        let entry = |(&(row, column), &(count, steps))| (row, column, count, steps);
        let mut entries: Vec<_> = self.counts.iter().map(entry).collect();
        entries.sort_unstable_by_key(|(row, column, ..)| (*column, *row));
        entries
    }
}
