//! How many samples visit each voxel.

use crate::Space;
use crate::sample::Sample;

/// A voxel that a sample visits, at its first visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visited {
    /// Radiological index.
    pub voxel: u32,
    /// Steps from the seed.
    pub steps: u32,
}

/// How many samples visit each voxel, each counted once, and how far from their seeds.
///
/// A voxel remembers the last sample that visited it, so that nothing has to be cleared between
/// samples and no list has to be searched.
pub struct Visits {
    cells: Vec<Cell>,
    /// Sum over samples of steps from the seed at the first visit; empty where not wanted.
    steps: Vec<u64>,
    current: u32,
    visited: Vec<Visited>,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    last: u32,
    count: u32,
}

impl Visits {
    pub(super) fn new(voxels: usize, distances: bool) -> Self {
        Self {
            cells: vec![Cell::default(); voxels],
            steps: vec![0; if distances { voxels } else { 0 }],
            current: 0,
            visited: Vec::new(),
        }
    }

    /// Counts the voxels of a sample and lists them.
    #[inline]
    pub(super) fn add(&mut self, space: &Space, sample: &Sample<'_>) {
        self.visited.clear();
        if self.current == u32::MAX {
            self.cells.iter_mut().for_each(|cell| cell.last = 0);
            self.current = 0;
        }
        self.current += 1;
        let (first, second) = sample.points.split_at(sample.n_first);
        for half in [first, second] {
            let mut before = None;
            for (steps, pos) in half.iter().enumerate() {
                let voxel = space.voxel(*pos);
                // Most points are in the voxel of the one before.
                if voxel == before {
                    continue;
                }
                before = voxel;
                let Some(voxel) = voxel else { continue };
                let cell = &mut self.cells[voxel as usize];
                if cell.last != self.current {
                    cell.last = self.current;
                    cell.count += 1;
                    let steps = steps as u32;
                    self.visited.push(Visited { voxel, steps });
                    if let Some(sum) = self.steps.get_mut(voxel as usize) {
                        *sum += u64::from(steps);
                    }
                }
            }
        }
    }

    /// The voxels of the sample added last.
    pub(super) fn visited(&self) -> &[Visited] {
        &self.visited
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (a, b) in self.cells.iter_mut().zip(&other.cells) {
            a.count += b.count;
        }
        for (a, b) in self.steps.iter_mut().zip(&other.steps) {
            *a += b;
        }
    }

    /// Starts counting anew.
    pub fn clear(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.count = 0);
        self.steps.fill(0);
    }

    /// Samples that visit a voxel (radiological index).
    pub fn count(&self, voxel: usize) -> u32 {
        self.cells[voxel].count
    }

    /// Sum over those samples of the steps from the seed at their first visit.
    pub fn steps(&self, voxel: usize) -> u64 {
        self.steps.get(voxel).copied().unwrap_or(0)
    }
}
