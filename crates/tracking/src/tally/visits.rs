//! How many samples visit each voxel.

use std::array::from_fn;

use fimbria_compute::comm::Comm;

use crate::Space;
use crate::counts::Joined;
use crate::sample::Sample;
use crate::tally::sums::{STRETCH, add_up};

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
    /// Sums over samples of the products of components of the step that first led there; empty
    /// where not wanted.
    products: Vec<[i64; 6]>,
    current: u32,
    visited: Vec<Visited>,
}

/// Products of components are counted in units of 2^-32: as whole numbers they add up to the same
/// whatever the order.
pub(crate) const PRODUCT_UNITS: f64 = 4_294_967_296.0;

/// Which components are multiplied.
pub(crate) const PRODUCTS: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

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
            products: Vec::new(),
            current: 0,
            visited: Vec::new(),
        }
    }

    pub(super) fn counts_distances(&self) -> bool {
        !self.steps.is_empty()
    }

    pub(super) fn counts_orientations(&self) -> bool {
        !self.products.is_empty()
    }

    /// Adds what a device has counted of visits and steps.
    pub(super) fn add_counts(&mut self, counts: &Joined) {
        for (voxel, samples, steps) in counts.entries() {
            self.cells[voxel].count += samples;
            if let Some(sum) = self.steps.get_mut(voxel) {
                *sum += steps;
            }
        }
    }

    /// Adds what a device has counted of orientations, low words of each product of all voxels, then high ones.
    pub(super) fn add_products(&mut self, words: &[u32]) {
        let n = self.products.len().max(1);
        for (product, sums) in words.chunks(2 * n).enumerate() {
            let (low, high) = sums.split_at(n.min(sums.len()));
            for ((voxel, low), high) in self.products.iter_mut().zip(low).zip(high) {
                voxel[product] += (u64::from(*low) | u64::from(*high) << 32) as i64;
            }
        }
    }

    /// Orientations are counted too.
    pub fn count_orientations(&mut self) {
        self.products = vec![[0; 6]; self.cells.len()];
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
        for (half, voxels) in sample.halves().into_iter().zip(sample.voxels(space)) {
            let mut before = None;
            for (steps, voxel) in voxels {
                if voxel == before {
                    continue;
                }
                before = voxel;
                let Some(voxel) = voxel else { continue };
                let cell = &mut self.cells[voxel as usize];
                if cell.last == self.current {
                    continue;
                }
                cell.last = self.current;
                cell.count += 1;
                self.visited.push(Visited { voxel, steps: steps as u32 });
                if let Some(sum) = self.steps.get_mut(voxel as usize) {
                    *sum += steps as u64;
                }
                if let Some(sums) = self.products.get_mut(voxel as usize)
                    && steps > 0
                {
                    add_products(space, half[steps - 1], half[steps], sums);
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
        for (a, b) in self.products.iter_mut().flatten().zip(other.products.iter().flatten()) {
            *a += b;
        }
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        for cells in self.cells.chunks_mut(STRETCH) {
            let mut counts: Vec<u64> = cells.iter().map(|cell| u64::from(cell.count)).collect();
            add_up(comm, &mut counts);
            cells.iter_mut().zip(counts).for_each(|(cell, count)| cell.count = count as u32);
        }
        add_up(comm, &mut self.steps);
        for products in self.products.as_flattened_mut().chunks_mut(STRETCH) {
            comm.sum_i64(products);
        }
    }

    /// Starts counting anew.
    pub fn clear(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.count = 0);
        self.steps.fill(0);
        self.products.fill([0; 6]);
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True without voxels.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Samples that visit a voxel (radiological index).
    pub fn count(&self, voxel: usize) -> u32 {
        self.cells[voxel].count
    }

    /// Sum over those samples of the steps from the seed at their first visit.
    pub fn steps(&self, voxel: usize) -> u64 {
        self.steps.get(voxel).copied().unwrap_or(0)
    }

    /// Sum over samples of the dyad v v' of the step that first led into a voxel (radiological
    /// index), v of unit length in radiological axes; the seed's own visit has none.
    pub fn orientation(&self, voxel: usize) -> [[f64; 3]; 3] {
        let mut dyad = [[0.0; 3]; 3];
        let sums = self.products.get(voxel).copied().unwrap_or_default();
        for ((i, j), sum) in PRODUCTS.into_iter().zip(sums) {
            dyad[i][j] = sum as f64 / PRODUCT_UNITS;
            dyad[j][i] = dyad[i][j];
        }
        dyad
    }
}

fn add_products(space: &Space, from: [f32; 3], to: [f32; 3], sums: &mut [i64; 6]) {
    let spacing = space.grid().ras_from_vox.spacing();
    let v: [f64; 3] = from_fn(|a| f64::from(to[a] - from[a]) * spacing[a]);
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        for (sum, (i, j)) in sums.iter_mut().zip(PRODUCTS) {
            *sum += (v[i] / length * (v[j] / length) * PRODUCT_UNITS).round() as i64;
        }
    }
}
