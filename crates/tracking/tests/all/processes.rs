//! Several processes make what one makes, to the bit.

use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Interrupted, Silent, SimdLevel, Workers};
use fimbria_streamlines::Streamlines;
use fimbria_tracking::{
    Collect, Deal, Lines, Locations, NetworkMatrix, Parcel, PlaceMatrix, Propagation, Region,
    Rules, Sample, Seed, SeedMatrix, Space, Tally, Targets, Tracking, VoxelMatrix, track_among,
};

use crate::bend::{field, seeds, slab};
use fimbria_testing::as_processes;

/// Everything that can be counted, and the streamlines.
struct Both<'a>(Tally<'a>, Lines);

impl Collect for Both<'_> {
    type Block = Streamlines;
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.add(sample);
        self.1.sample(sample);
    }
    fn end_block(&mut self) -> Streamlines {
        self.1.end_block()
    }
}

impl Parcel for Both<'_> {
    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
    fn pack(block: Streamlines) -> Vec<u8> {
        Lines::pack(block)
    }
    fn unpack(bytes: &[u8]) -> Streamlines {
        Lines::unpack(bytes)
    }
}

struct Case {
    space: Space,
    seeds: Vec<Seed>,
    rules: Rules,
    regions: Vec<Region>,
    seed_places: Locations,
    places: Locations,
}

impl Case {
    fn new() -> Self {
        let space = Space::same(*field(&Workers::new(1).unwrap()).grid());
        let regions = vec![slab(&space, "a", 3, 6), slab(&space, "b", 8, 12)];
        let mut seeds = seeds(&space);
        let n = seeds.len();
        seeds[n / 2..].iter_mut().for_each(|seed| seed.region = 1);
        Self {
            seed_places: Locations::of_seeds(&space, &seeds, &[]),
            places: Locations::of_regions(&space, &regions),
            rules: Rules { network: regions.clone(), ..Rules::default() },
            space,
            seeds,
            regions,
        }
    }

    fn tally(&self) -> Tally<'_> {
        let mut tally = Tally::new(&self.space, 2, true);
        tally.visits.count_orientations();
        tally.targets = Some(Targets::new(&self.regions, self.seeds.len()));
        tally.network = Some(NetworkMatrix::new(2));
        tally.matrix1 = Some(SeedMatrix::new(&self.seed_places, 2));
        tally.matrix2 = Some(VoxelMatrix::new(&self.space, &self.places));
        tally.matrix3 = Some(PlaceMatrix::new(&self.space, &self.places, None, 2));
        tally
    }

    /// What a process gets, on threads as many as its rank says.
    fn made(&self, comm: &dyn Comm, devices: &[Device], deal: Deal) -> (Streamlines, Found) {
        let workers = Workers::new(1 + comm.rank() % 2).unwrap();
        let field = field(&workers);
        let tracking = Tracking {
            field: &field,
            space: &self.space,
            propagation: &Propagation { max_points: 300, ..Propagation::default() },
            rules: &self.rules,
            seeds: &self.seeds,
            n_samples: 2,
            jitter_mm: 0.4,
            rng_seed: 5,
        };
        let on = Backend { comm, ..Backend::new(&workers, devices) };
        let (mut lines, mut tally) =
            (Streamlines::with_columns(&[], &Lines::columns()), self.tally());
        let new = || Both(self.tally(), Lines::new(&self.space));
        let made = track_among(&tracking, on, deal, &Silent, new, |block| {
            lines.append(&block);
            Ok::<(), Interrupted>(())
        });
        made.unwrap().collectors.into_iter().for_each(|part| tally.merge(part.0));
        tally.gather(comm);
        (lines, found(self, &tally))
    }
}

type Found = Vec<u64>;

/// Every number of a tally.
fn found(case: &Case, tally: &Tally<'_>) -> Found {
    let mut all = [&tally.kept[..], &tally.ends, &[tally.made, tally.points]].concat();
    for voxel in 0..case.space.grid().len() {
        all.push(tally.visits.count(voxel).into());
        all.push(tally.visits.steps(voxel));
        all.extend(tally.visits.orientation(voxel).as_flattened().iter().map(|x| x.to_bits()));
    }
    if let (Some(targets), Some(network)) = (&tally.targets, &tally.network) {
        for region in 0..2 {
            all.extend(targets.counts(region).iter().map(|n| u64::from(*n)));
            all.extend(targets.steps(region));
            let to = |to| [network.count(region, to), network.steps(region, to)];
            all.extend([to(0), to(1)].as_flattened());
        }
    }
    let (one, two, three) = (&tally.matrix1, &tally.matrix2, &tally.matrix3);
    let pairs = [
        one.as_ref().map(SeedMatrix::pairs),
        two.as_ref().map(VoxelMatrix::pairs),
        three.as_ref().map(PlaceMatrix::pairs),
    ];
    for pairs in pairs.into_iter().flatten() {
        let numbers =
            |e: fimbria_tracking::Pair| [e.row.into(), e.column.into(), e.samples, e.steps];
        all.extend(pairs.entries().into_iter().flat_map(numbers));
    }
    all
}

const SMALL: Deal = Deal { block: 64, launch: 256 };

#[test]
fn any_number_of_processes_makes_the_same_streamlines_and_counts() {
    let case = Case::new();
    let (lines, counts) = case.made(&Solo, &[], Deal::default());
    assert!(lines.len() > 100, "too little to see");
    // Blocks for all of them, and one block for one of them alone.
    for deal in [SMALL, Deal::default()] {
        for size in [1, 2, 3, 5] {
            let mut made = as_processes(size, |comm| case.made(comm, &[], deal)).into_iter();
            let first = made.next().unwrap();
            assert!(first.0 == lines, "{size} processes, {deal:?}: other streamlines");
            assert!(first.1 == counts, "{size} processes, {deal:?}: other counts");
            assert!(made.all(|(lines, _)| lines.is_empty()), "only the first hands them on");
        }
    }
}

#[test]
fn processes_on_devices_and_on_threads_make_the_same_together() {
    if !SimdLevel::best().fuses() {
        fimbria_testing::skipped("this processor does not fuse multiply-adds");
        return;
    }
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let case = Case::new();
    let alone = case.made(&Solo, &[], Deal::default());
    let made = as_processes(3, |comm| {
        let devices = if comm.rank() == 1 { &[] } else { std::slice::from_ref(&device) };
        case.made(comm, devices, SMALL)
    });
    assert!(made[0] == alone);
}
