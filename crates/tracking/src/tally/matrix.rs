//! Matrices of samples: probtrackx2's matrices 1, 2 and 3.

use fimbria_compute::comm::Comm;

use crate::Space;
use crate::locations::Locations;
use crate::met::Met;
use crate::sample::Sample;
use crate::tally::pairs::Pairs;
use crate::tally::visits::Visited;

/// How many samples of each seed pass through each other seed's voxel, or cross the surface beside
/// its vertex: matrix 1.
pub struct SeedMatrix<'a> {
    seeds: Passed<'a>,
    least_points: usize,
    pairs: Pairs,
}

impl<'a> SeedMatrix<'a> {
    /// Of these seeds, from samples of `least_points` points or more.
    pub fn new(seeds: &'a Locations, least_points: usize) -> Self {
        Self { seeds: Passed::new(seeds), least_points, pairs: Pairs::default() }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>, visited: &[Visited]) {
        if sample.points.len() < self.least_points {
            return;
        }
        let from = sample.seed_index as u32;
        for v in visited {
            for to in self.seeds.locations.at(v.voxel).filter(|to| *to != from) {
                self.pairs.add(from, to, u64::from(v.steps));
            }
        }
        self.seeds.begin();
        self.seeds.cross(sample);
        for (to, steps) in self.seeds.met.iter().filter(|(to, _)| *to != from) {
            self.pairs.add(from, *to, steps.unsigned_abs());
        }
    }

    /// Adds a sample that a device has counted.
    pub(super) fn add_met(&mut self, met: &Met<'_>) {
        if met.n_points < self.least_points {
            return;
        }
        let from = met.seed_index as u32;
        for (voxel, steps) in met.first_visits() {
            for to in self.seeds.locations.at(voxel).filter(|to| *to != from) {
                self.pairs.add(from, to, steps);
            }
        }
    }

    /// Where samples pass.
    pub(super) fn places(&self) -> &'a Locations {
        self.seeds.locations
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.pairs.merge(other.pairs);
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        self.pairs.gather(comm);
    }

    /// Samples from seed (row) to seed (column), and the steps they take.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}

/// How many samples of each seed pass through each voxel of another, usually coarser grid: matrix 2.
pub struct VoxelMatrix<'a> {
    /// The other grid, as if the seeds' were that of samples.
    grid: &'a Space,
    columns: &'a Locations,
    /// The last sample that visited each column, as no sample counts twice.
    last: Vec<u64>,
    current: u64,
    pairs: Pairs,
}

impl<'a> VoxelMatrix<'a> {
    /// `grid` takes seed voxels to voxels of the columns' grid by
    /// [`from_samples`](Space::from_samples).
    pub fn new(grid: &'a Space, columns: &'a Locations) -> Self {
        Self { grid, columns, last: vec![0; columns.len()], current: 0, pairs: Pairs::default() }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        self.current += 1;
        for half in sample.halves() {
            let mut before = None;
            for (steps, pos) in (0..).zip(half) {
                let voxel = self.grid.voxel(self.grid.from_samples(*pos));
                if voxel == before {
                    continue;
                }
                before = voxel;
                let Some(voxel) = voxel else { continue };
                for column in self.columns.at(voxel) {
                    let last = &mut self.last[column as usize];
                    if std::mem::replace(last, self.current) != self.current {
                        self.pairs.add(sample.seed_index as u32, column, steps);
                    }
                }
            }
        }
    }

    /// Adds a sample that a device has counted.
    pub(super) fn add_met(&mut self, met: &Met<'_>) {
        for (voxel, steps) in met.elsewhere() {
            for column in self.columns.at(voxel) {
                self.pairs.add(met.seed_index as u32, column, steps);
            }
        }
    }

    /// The other grid, and where samples pass on it.
    pub(super) fn places(&self) -> (&'a Space, &'a Locations) {
        (self.grid, self.columns)
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.pairs.merge(other.pairs);
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        self.pairs.gather(comm);
    }

    /// Samples from seed (row) to place (column), and the steps they take.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}

/// How many samples pass through both of two places, wherever they start: matrix 3. Without columns
/// of their own, each pair of rows is counted once, above the diagonal.
pub struct PlaceMatrix<'a> {
    space: &'a Space,
    rows: Passed<'a>,
    columns: Option<Passed<'a>>,
    least_points: usize,
    pairs: Pairs,
}

/// Places, and which of them a sample has passed at what distance from its seed along itself.
struct Passed<'a> {
    locations: &'a Locations,
    last: Vec<u64>,
    current: u64,
    met: Vec<(u32, i64)>,
}

impl<'a> Passed<'a> {
    fn new(locations: &'a Locations) -> Self {
        Self { locations, last: vec![0; locations.len()], current: 0, met: Vec::new() }
    }

    fn begin(&mut self) {
        self.current += 1;
        self.met.clear();
    }

    fn meet(&mut self, space: &Space, sample: &Sample<'_>) {
        self.begin();
        self.cross(sample);
        for (half, sign) in sample.halves().into_iter().zip([1, -1]) {
            // The seed point itself does not count.
            for (steps, pos) in (0..).zip(half).skip(1) {
                let Some(voxel) = space.voxel(*pos) else { continue };
                for place in self.locations.at(voxel) {
                    let last = &mut self.last[place as usize];
                    if std::mem::replace(last, self.current) != self.current {
                        self.met.push((place, sign * steps));
                    }
                }
            }
        }
    }

    /// The same of a sample that a device has counted, which has met each voxel once.
    fn take(&mut self, met: &Met<'_>) {
        let Self { locations, met: places, .. } = self;
        places.clear();
        for (voxel, steps) in met.after_the_seed() {
            places.extend(locations.at(voxel).map(|place| (place, steps)));
        }
    }

    /// Adds the vertices whose surfaces a sample crosses.
    fn cross(&mut self, sample: &Sample<'_>) {
        let Self { locations, last, current, met } = self;
        locations.crossed(sample.halves(), |place, steps| {
            if std::mem::replace(&mut last[place as usize], *current) != *current {
                met.push((place, steps));
            }
        });
    }
}

impl<'a> PlaceMatrix<'a> {
    /// Between `rows`, or from `rows` to `columns`, from samples of `least_points` points or more.
    pub fn new(
        space: &'a Space,
        rows: &'a Locations,
        columns: Option<&'a Locations>,
        least_points: usize,
    ) -> Self {
        let columns = columns.map(Passed::new);
        Self { space, rows: Passed::new(rows), columns, least_points, pairs: Pairs::default() }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        if sample.points.len() < self.least_points {
            return;
        }
        self.rows.meet(self.space, sample);
        if let Some(columns) = &mut self.columns {
            columns.meet(self.space, sample);
        }
        self.join();
    }

    /// Adds a sample that a device has counted.
    pub(super) fn add_met(&mut self, met: &Met<'_>) {
        if met.n_points < self.least_points {
            return;
        }
        self.rows.take(met);
        if let Some(columns) = &mut self.columns {
            columns.take(met);
        }
        self.join();
    }

    /// Counts every pair of places that were met.
    fn join(&mut self) {
        let rows = &self.rows.met;
        match &self.columns {
            Some(columns) => {
                for (row, at) in rows {
                    for (column, to) in &columns.met {
                        self.pairs.add(*row, *column, at.abs_diff(*to));
                    }
                }
            }
            None => {
                for (i, (a, at)) in rows.iter().enumerate() {
                    for (b, to) in &rows[..i] {
                        self.pairs.add(*a.min(b), *a.max(b), at.abs_diff(*to));
                    }
                }
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.pairs.merge(other.pairs);
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        self.pairs.gather(comm);
    }

    /// Rows, and columns of their own.
    pub(super) fn places(&self) -> [Option<&'a Locations>; 2] {
        [Some(self.rows.locations), self.columns.as_ref().map(|columns| columns.locations)]
    }

    /// Samples through row and column, and the steps between.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}
