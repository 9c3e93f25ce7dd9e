//! What is counted over samples.

mod matrix;
mod network;
mod pairs;
mod sums;
mod targets;
mod visits;

pub use matrix::{PlaceMatrix, SeedMatrix, VoxelMatrix};
pub use network::NetworkMatrix;
pub use pairs::{Pair, Pairs};
pub use targets::Targets;
pub(crate) use visits::{PRODUCT_UNITS, PRODUCTS};
pub use visits::{Visited, Visits};

use fimbria_compute::comm::Comm;
use sums::add_up;

use crate::counts::Counts;
use crate::locations::Locations;
use crate::met::Met;
use crate::needs::{Countable, Needs, Points};
use crate::sample::{Collect, Sample};
use crate::{EndReason, Space};

/// Everything that was asked to be counted. Counts are whole numbers, so those of several threads
/// add up to the same whatever the order.
pub struct Tally<'a> {
    space: &'a Space,
    /// Samples kept, per seed region.
    pub kept: Vec<u64>,
    /// Samples made.
    pub made: u64,
    /// Halves by why they ended, in the order of [`EndReason::ALL`].
    pub ends: [u64; EndReason::ALL.len()],
    /// Points of all halves kept.
    pub points: u64,
    /// Visits of voxels.
    pub visits: Visits,
    /// Samples that reach each target, per seed.
    pub targets: Option<Targets<'a>>,
    /// Visits of the samples that reach each target.
    pub target_paths: Vec<Visits>,
    /// Samples from region to region.
    pub network: Option<NetworkMatrix>,
    /// Samples from seed to seed.
    pub matrix1: Option<SeedMatrix<'a>>,
    /// Samples from seed to voxels of another grid.
    pub matrix2: Option<VoxelMatrix<'a>>,
    /// Samples from place to place.
    pub matrix3: Option<PlaceMatrix<'a>>,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet, for seeds in `n_regions` regions; distances are counted where
    /// `distances` says so.
    pub fn new(space: &'a Space, n_regions: usize, distances: bool) -> Self {
        Self {
            space,
            kept: vec![0; n_regions],
            made: 0,
            ends: [0; EndReason::ALL.len()],
            points: 0,
            visits: Visits::new(space.grid().len(), distances),
            targets: None,
            target_paths: Vec::new(),
            network: None,
            matrix1: None,
            matrix2: None,
            matrix3: None,
        }
    }

    /// Counts the visits of the samples that reach each target too, as all visits are.
    pub fn count_target_paths(&mut self, orientations: bool) {
        let (voxels, distances) = (self.space.grid().len(), self.visits.counts_distances());
        let n_targets = self.targets.as_ref().map_or(0, |targets| targets.regions().len());
        self.target_paths = (0..n_targets)
            .map(|_| {
                let mut visits = Visits::new(voxels, distances);
                if orientations {
                    visits.count_orientations();
                }
                visits
            })
            .collect();
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: Self) {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.kept, &other.kept);
        add(&mut self.ends, &other.ends);
        self.made += other.made;
        self.points += other.points;
        self.visits.merge(other.visits);
        if let (Some(a), Some(b)) = (&mut self.targets, other.targets) {
            a.merge(b);
        }
        for (a, b) in self.target_paths.iter_mut().zip(other.target_paths) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.network, other.network) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.matrix1, other.matrix1) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.matrix2, other.matrix2) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.matrix3, other.matrix3) {
            a.merge(b);
        }
    }

    /// Adds what the other processes counted, each in a tally of the same things: afterwards the
    /// first has all. What is left in the others is of no use.
    pub fn gather(&mut self, comm: &dyn Comm) {
        if comm.size() == 1 {
            return;
        }
        add_up(comm, &mut self.kept);
        add_up(comm, &mut self.ends);
        let mut sums = [self.made, self.points];
        add_up(comm, &mut sums);
        [self.made, self.points] = sums;
        self.visits.gather(comm);
        if let Some(targets) = &mut self.targets {
            targets.gather(comm);
        }
        self.target_paths.iter_mut().for_each(|paths| paths.gather(comm));
        if let Some(network) = &mut self.network {
            network.gather(comm);
        }
        if let Some(matrix) = &mut self.matrix1 {
            matrix.gather(comm);
        }
        if let Some(matrix) = &mut self.matrix2 {
            matrix.gather(comm);
        }
        if let Some(matrix) = &mut self.matrix3 {
            matrix.gather(comm);
        }
    }

    /// What it asks for: no points where a device counts all that is counted here.
    pub fn needs(&self) -> Needs<'_> {
        let [rows, columns] = self.matrix3.as_ref().map_or([None; 2], PlaceMatrix::places);
        let places = [self.matrix1.as_ref().map(SeedMatrix::places), rows, columns];
        let elsewhere = self.matrix2.as_ref().map(VoxelMatrix::places);
        // Devices know no surfaces, and whose visits are counted apart only the threads do.
        let all = places.into_iter().flatten().chain(elsewhere.map(|(_, columns)| columns));
        let counts = Countable {
            distances: self.visits.counts_distances(),
            network: self.network.is_some(),
            orientations: self.visits.counts_orientations(),
            targets: self.targets.as_ref().map_or(&[][..], Targets::regions),
            places,
            returns: self.matrix3.is_some(),
            elsewhere,
        };
        let counted = self.target_paths.is_empty() && all.into_iter().all(Locations::are_voxels);
        Needs { points: Points::None, counts: counted.then_some(counts) }
    }

    /// Adds what a sample that a device has counted has met.
    pub fn add_met(&mut self, met: &Met<'_>) {
        if let Some(matrix) = &mut self.matrix1 {
            matrix.add_met(met);
        }
        if let Some(matrix) = &mut self.matrix2 {
            matrix.add_met(met);
        }
        if let Some(matrix) = &mut self.matrix3 {
            matrix.add_met(met);
        }
    }

    /// Adds what a device has counted.
    pub fn add_counts(&mut self, counts: &Counts) {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.kept, &counts.kept);
        add(&mut self.ends, &counts.ends);
        self.made += counts.made;
        self.points += counts.points;
        self.visits.add_counts(&counts.visits);
        self.visits.add_products(&counts.products);
        if let Some(targets) = &mut self.targets {
            targets.add_counts(&counts.targets, counts.seeds.clone());
        }
        if let Some(network) = &mut self.network {
            network.add_counts(&counts.network);
        }
    }

    /// Counts one sample.
    pub fn add(&mut self, sample: &Sample<'_>) {
        self.made += 1;
        for end in sample.ends {
            self.ends[end as usize - 1] += 1;
        }
        if !sample.kept {
            return;
        }
        self.kept[sample.seed.region as usize] += 1;
        self.points += sample.points.len() as u64;
        self.visits.add(self.space, sample);
        let visited = self.visits.visited();
        if let Some(targets) = &mut self.targets {
            let paths = &mut self.target_paths;
            targets.add(self.space, sample, visited, |target| {
                if let Some(paths) = paths.get_mut(target) {
                    paths.add(self.space, sample);
                }
            });
        }
        if let Some(network) = &mut self.network {
            network.add(sample);
        }
        if let Some(matrix) = &mut self.matrix1 {
            matrix.add(sample, visited);
        }
        if let Some(matrix) = &mut self.matrix2 {
            matrix.add(sample);
        }
        if let Some(matrix) = &mut self.matrix3 {
            matrix.add(sample);
        }
    }
}

impl Collect for Tally<'_> {
    type Block = ();

    fn sample(&mut self, sample: &Sample<'_>) {
        self.add(sample);
    }

    fn needs(&self) -> Needs<'_> {
        self.needs()
    }

    fn counted(&mut self, counts: &Counts) {
        self.add_counts(counts);
    }

    fn met(&mut self, met: &Met<'_>) {
        self.add_met(met);
    }

    fn end_block(&mut self) {}
}
