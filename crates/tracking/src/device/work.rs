//! What a device does of a job, and what is left to the threads.

use super::labels::RegionBits;
use super::places::Places;
use super::plan::{Load, MemoryPlan, Shortage};
use crate::Space;
use crate::needs::{Countable, Needs, Points};
use crate::tally::PRODUCTS;
use crate::tracking::Tracking;

/// What devices do of a job: they make streamlines, judge them unless a surface or a warp is among what decides, and
/// count what is counted by whole numbers.
pub(crate) struct Work<'a> {
    pub(crate) tracking: Tracking<'a>,
    /// The regions; `None` where the threads judge.
    pub(crate) regions: Option<RegionBits>,
    /// What is counted; `None` where the threads count.
    pub(crate) counts: Option<Counted>,
    /// Voxels whose visits are handed back of every sample; where something is counted.
    pub(crate) places: Option<Places>,
    /// Of which samples points are handed back.
    pub(crate) points: Points,
    /// Regions of seeds.
    pub(crate) n_regions: usize,
    /// Runs that are looked through, [`LOOK_BACK`] but for tests.
    pub(crate) look_back: usize,
}

/// Runs of a streamline that are looked through for a voxel it may have been in; of more its voxels are entered in a
/// table. By counting reads and writes: up to 128 runs are looked through by 10 a run, with a table they take 5,
/// half of them scattered; looking through 256 runs takes 35 a run, through 5,000 2,000.
pub(crate) const LOOK_BACK: usize = 128;

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) distances: bool,
    pub(crate) network: bool,
    pub(crate) orientations: bool,
}

/// Whether devices judge streamlines: where no surface and no warp is among what decides, and the regions are not
/// too many.
pub(crate) fn can_judge(tracking: &Tracking<'_>) -> bool {
    RegionBits::fit(tracking.rules, &[]) && !is_warped(tracking.space)
}

fn is_warped(space: &Space) -> bool {
    space.affines().is_none() && !space.is_that_of_samples()
}

impl<'a> Work<'a> {
    /// Of a job whose collectors ask for `needs`, on devices of which all have double precision or not; `None` where
    /// there are no devices, for which nothing is made.
    pub(crate) fn new(
        tracking: &Tracking<'a>,
        needs: Option<&Needs<'_>>,
        has_double: bool,
    ) -> Self {
        let Tracking { space, rules, seeds, .. } = *tracking;
        let bits = |targets| {
            let n_voxels = space.grid().len();
            (!is_warped(space)).then(|| RegionBits::new(rules, targets, n_voxels)).flatten()
        };
        let counts = needs.and_then(|needs| needs.counts).and_then(|wanted| {
            let Countable { distances, network, orientations, targets, .. } = wanted;
            let asks = wanted.elsewhere.is_some() || wanted.places.iter().any(Option::is_some);
            let places = if asks { Some(Places::new(&wanted, space.grid().len())?) } else { None };
            let counted = Counted { distances, network, orientations };
            let bits = if orientations && !has_double { None } else { bits(targets) };
            Some((counted, places, bits?))
        });
        let (counts, places, regions) = match counts {
            Some((counted, places, bits)) => (Some(counted), places, Some(bits)),
            None => (None, None, needs.and_then(|_| bits(&[]))),
        };
        let points = match (&regions, counts) {
            (None, _) => Points::All,
            (Some(_), None) => needs.map_or(Points::Kept, |needs| needs.points.max(Points::Kept)),
            (Some(_), Some(_)) => needs.map_or(Points::None, |needs| needs.points),
        };
        let n_regions = seeds.iter().map(|seed| seed.region as usize + 1).max().unwrap_or(0);
        let look_back = LOOK_BACK;
        Self { tracking: *tracking, regions, counts, places, points, n_regions, look_back }
    }

    /// The same, where threads judge and count: devices need no memory for regions and counts then.
    pub(crate) fn of_points_alone(&self) -> Self {
        let Self { tracking, n_regions, look_back, .. } = *self;
        let points = Points::All;
        Self { tracking, regions: None, counts: None, places: None, points, n_regions, look_back }
    }

    /// True where the threads draw starts: only they know warps.
    pub(crate) fn starts_are_given(&self) -> bool {
        is_warped(self.tracking.space)
    }

    /// Numbers of each run of points in one voxel: the voxel, the steps to it where somebody asks them, and the step
    /// that leads there where orientations are counted.
    pub(super) fn run_words(&self) -> usize {
        match self.counts {
            None => 0,
            Some(counted) if counted.orientations => 5,
            Some(counted) if counted.distances || self.n_targets() > 0 || self.places.is_some() => {
                2
            }
            Some(_) => 1,
        }
    }

    /// The same on the other grid.
    pub(super) fn run_words_elsewhere(&self) -> usize {
        let elsewhere = self.places.as_ref().and_then(|places| places.elsewhere.as_ref());
        if elsewhere.is_some() { 2 } else { 0 }
    }

    /// Numbers that products of components take.
    pub(super) fn product_words(&self) -> usize {
        let counts = self.counts.is_some_and(|counted| counted.orientations);
        if counts { 2 * PRODUCTS.len() * self.tracking.space.grid().len() } else { 0 }
    }

    /// Slots of the table of a streamline of the most runs, twice as many as these; 0 where they are looked through.
    pub(super) fn table_slots(&self) -> usize {
        let most = 2 * self.tracking.propagation.half_points() as usize;
        if self.counts.is_some() && most > self.look_back {
            (2 * most).next_power_of_two()
        } else {
            0
        }
    }

    pub(super) fn n_network(&self) -> usize {
        self.regions.as_ref().map_or(0, |bits| bits.n_network)
    }

    pub(super) fn n_targets(&self) -> usize {
        self.regions.as_ref().map_or(0, |bits| bits.n_targets)
    }

    /// Seeds in a launch of samples.
    pub(super) fn seeds_of(&self, samples: std::ops::Range<u64>) -> std::ops::Range<usize> {
        let n = u64::from(self.tracking.n_samples).max(1);
        (samples.start / n) as usize..samples.end.div_ceil(n) as usize
    }

    /// Numbers that visits take.
    pub(super) fn visit_words(&self) -> usize {
        let per_voxel = match self.counts {
            None => 0,
            Some(counted) if counted.distances => 3,
            Some(_) => 1,
        };
        per_voxel * self.tracking.space.grid().len()
    }

    /// Numbers that pairs of regions take.
    pub(super) fn network_words(&self) -> usize {
        let counts = self.counts.is_some_and(|counted| counted.network);
        if counts { 3 * self.n_network() * self.n_network() } else { 0 }
    }

    /// How its launches, `in_hand` at a time or where memory is short one, share `bytes` of memory with the field, in
    /// buffers of `largest` bytes at most.
    ///
    /// # Errors
    /// Where the field or a single sample does not fit.
    pub(crate) fn plan(
        &self,
        in_hand: usize,
        bytes: u64,
        largest: u64,
    ) -> Result<MemoryPlan, Shortage> {
        let Tracking { field, propagation, .. } = self.tracking;
        let (half, load) = (propagation.half_points(), self.load());
        MemoryPlan::of_several(field.size(), half, &load, in_hand, bytes, largest)
    }

    /// What memory it takes beside the field.
    fn load(&self) -> Load {
        let Tracking { seeds, propagation, n_samples, .. } = self.tracking;
        let half = u64::from(propagation.half_points());
        let word = size_of::<u32>() as u64;
        let labels = self.regions.as_ref().map_or(0, |bits| bits.values.len());
        let marks = |at: usize| self.places.as_ref().map_or(0, |places| places.marks[at].len());
        let fixed = [2 * seeds.len(), 3 * seeds.len(), labels, marks(0), marks(1)];
        let of_launch = [self.visit_words(), self.network_words(), self.product_words()];
        // How many it meets on each grid, where it returns, and where the lists of these begin.
        let of_places = 3 * word + 2 * size_of::<u64>() as u64;
        let starts = if self.starts_are_given() { 3 } else { 0 };
        // Two seeds of a launch may have few of their samples in it.
        let of_targets = 3 * self.n_targets() as u64;
        Load {
            fixed: fixed.map(|words| word * words as u64),
            of_launch: of_launch.map(|words| word * words as u64),
            of_edges: 2 * of_targets * word,
            table: self.table_slots() as u64 * word,
            per_sample: [
                if self.points == Points::None { 0 } else { 2 * half * 3 * word },
                2 * half * self.run_words() as u64 * word,
                2 * half * self.run_words_elsewhere() as u64 * word,
                if propagation.loop_check { 4 * half * word } else { 0 },
                (self.n_network() as u64 + starts) * word,
                of_targets.div_ceil(u64::from(n_samples).max(1)) * word,
                // Ends, kept ones and first points.
                8 * word + word + 2 * size_of::<u64>() as u64,
                if self.places.is_some() { of_places } else { 0 },
            ],
            reads_points: self.points != Points::None,
            reads_met: self.places.is_some(),
        }
    }
}
