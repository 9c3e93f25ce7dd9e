//! What devices judge and count is what the threads do, to the last number, and no more comes back than is asked
//! for.

use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::philox::Philox;
use fimbria_compute::{Backend, Interrupted, Silent, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, Grid, Mask};
use fimbria_tracking::{
    Collect, Counts, Deal, EndReason, Field, Judgement, Locations, Met, Needs, NetworkMatrix, Pair,
    PlaceMatrix, Points, Propagation, Region, Rules, Sample, Seed, SeedMatrix, Space, Tally,
    Targets, Tracking, VoxelMatrix, Waypoints, track_on,
};

use crate::bend::{Everything, Seen, field, seeds, slab};
use crate::several_devices::devices;

/// Chunks so small that seeds are cut in two, and several devices get some.
const SMALL: Deal = Deal { block: 64, launch: 211 };

/// A tally, the points of those that it is handed, and how many it had to count itself.
struct Watched<'a> {
    tally: Tally<'a>,
    points: Points,
    handed: u64,
    seen: Everything,
}

impl Collect for Watched<'_> {
    type Block = (u64, Vec<Seen>);

    fn sample(&mut self, sample: &Sample<'_>) {
        self.handed += 1;
        self.tally.add(sample);
        self.counted_sample(sample);
    }

    fn needs(&self) -> Needs<'_> {
        Needs { points: self.points, ..self.tally.needs() }
    }

    fn counted(&mut self, counts: &Counts) {
        self.tally.add_counts(counts);
    }

    fn met(&mut self, met: &Met<'_>) {
        self.tally.add_met(met);
    }

    fn counted_sample(&mut self, sample: &Sample<'_>) {
        if self.points == Points::All || (self.points == Points::Kept && sample.kept) {
            self.seen.sample(sample);
            // Of a half that is not kept no points come back, where nobody asks for them.
            if let (Points::Kept, Some(seen)) = (self.points, self.seen.0.last_mut()) {
                seen.n_made = seen.points.len();
            }
        }
    }

    fn end_block(&mut self) -> Self::Block {
        (std::mem::take(&mut self.handed), self.seen.end_block())
    }
}

struct Case {
    workers: Workers,
    field: Field,
    space: Space,
    seeds: Vec<Seed>,
    propagation: Propagation,
    rules: Rules,
    targets: Vec<Region>,
    network: bool,
    matrices: Option<Matrices>,
}

/// What matrices are made of.
struct Matrices {
    seeds: Locations,
    rows: Locations,
    columns: Option<Locations>,
    /// Another grid, and places on it.
    elsewhere: Space,
    there: Locations,
    /// Only samples of as many points count.
    least_points: usize,
}

impl Case {
    /// On the grid of the samples, or elsewhere, from two regions.
    fn new(propagation: Propagation, is_elsewhere: bool) -> Self {
        let workers = Workers::new(2).unwrap();
        let field = field(&workers);
        let mut space = Space::same(*field.grid());
        if is_elsewhere {
            let ras_from_vox =
                Affine([[1.3, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.7]]);
            let grid = Grid { dims: [20, 17, 13], ras_from_vox };
            space = Space::scanner(grid, field.grid()).unwrap();
        }
        let mut seeds = seeds(&space);
        let n = seeds.len();
        seeds[n / 2..].iter_mut().for_each(|seed| seed.region = 1);
        let (rules, targets, network) = (Rules::default(), Vec::new(), false);
        Self { workers, field, space, seeds, propagation, rules, targets, network, matrices: None }
    }

    fn slab(&self, from: usize, to: usize) -> Region {
        slab(&self.space, "slab", from, to)
    }

    /// What is counted, in order what is handed back, and how many samples were handed in to be counted.
    fn on(&self, devices: &[Device], points: Points) -> (Vec<u64>, Vec<Seen>, u64) {
        let tracking = Tracking {
            field: &self.field,
            space: &self.space,
            propagation: &self.propagation,
            rules: &self.rules,
            seeds: &self.seeds,
            n_samples: 2,
            jitter_mm: 0.4,
            rng_seed: 5,
        };
        let tally = || {
            let mut tally = Tally::new(&self.space, 2, true);
            if !self.targets.is_empty() {
                tally.targets = Some(Targets::new(&self.targets, self.seeds.len()));
            }
            tally.network = self.network.then(|| NetworkMatrix::new(2));
            if let Some(of) = &self.matrices {
                tally.visits.count_orientations();
                let (space, least) = (&self.space, of.least_points);
                tally.matrix1 = Some(SeedMatrix::new(&of.seeds, least));
                tally.matrix2 = Some(VoxelMatrix::new(&of.elsewhere, &of.there));
                tally.matrix3 = Some(PlaceMatrix::new(space, &of.rows, of.columns.as_ref(), least));
            }
            tally
        };
        let new = || Watched { tally: tally(), points, handed: 0, seen: Everything::default() };
        let (mut seen, mut handed) = (Vec::new(), 0);
        let on = Backend::new(&self.workers, devices);
        let each = |(n, block): (u64, Vec<Seen>)| {
            handed += n;
            seen.extend(block);
            Ok::<(), Interrupted>(())
        };
        let parts = track_on(&tracking, on, SMALL, &Silent, new, each).unwrap();
        let mut sum = tally();
        parts.collectors.into_iter().for_each(|part| sum.merge(part.tally));
        (numbers(&sum), seen, handed)
    }

    /// Judged and counted on devices it is the same, with nothing for the threads.
    fn check(&self, devices: &[Device], points: Points) -> Vec<u64> {
        let (expected, expected_seen, _) = self.on(&[], points);
        let (counted, seen, handed) = self.on(devices, points);
        assert_eq!(handed, 0, "samples were left to the threads");
        assert_eq!(counted, expected, "{:?}", self.rules);
        assert!(seen == expected_seen, "{:?}, {points:?}", self.rules);
        expected
    }
}

/// Directions at random: streamlines go round and round.
fn tangle(workers: &Workers) -> Field {
    let grid = *field(workers).grid();
    let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
    let mut samples = StickSamples::empty(mask, 1, 2).unwrap();
    let random = Philox::new(3);
    for (at, stick) in (0..).zip(&mut samples.sticks) {
        let v = random.at(at, 0).map(|word| f64::from(word as i32));
        *stick = PackedStick::new([v[0], v[1], v[2]].map(|x| x / f64::from(i32::MAX)), 0.5);
    }
    Field::new(samples, workers)
}

/// Where in [`numbers`] visits begin: made, points, kept of two regions, ends.
const FIRST_VISIT: usize = 4 + EndReason::ALL.len();

/// Everything that a tally holds.
fn numbers(tally: &Tally<'_>) -> Vec<u64> {
    let mut all = vec![tally.made, tally.points];
    all.extend(&tally.kept);
    all.extend(tally.ends);
    for voxel in 0..tally.visits.len() {
        all.extend([u64::from(tally.visits.count(voxel)), tally.visits.steps(voxel)]);
    }
    if let Some(targets) = &tally.targets {
        for target in 0..targets.regions().len() {
            all.extend(targets.counts(target).iter().map(|count| u64::from(*count)));
            all.extend(targets.steps(target));
        }
    }
    if let (Some(one), Some(two), Some(three)) = (&tally.matrix1, &tally.matrix2, &tally.matrix3) {
        for voxel in 0..tally.visits.len() {
            all.extend(tally.visits.orientation(voxel).as_flattened().iter().map(|x| x.to_bits()));
        }
        for pairs in [one.pairs(), two.pairs(), three.pairs()] {
            let entries = pairs.entries();
            assert!(entries.len() > 500, "{}", entries.len());
            for Pair { row, column, samples, steps } in entries {
                all.extend([u64::from(row), u64::from(column), samples, steps]);
            }
        }
    }
    if let Some(network) = &tally.network {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            all.extend([network.count(from, to), network.steps(from, to)]);
        }
    }
    all
}

/// Streamlines that turn often, and come back to where they have been.
fn wandering() -> Propagation {
    Propagation { min_cos: -1.0, max_points: 600, step_mm: 0.3, ..Propagation::default() }
}

#[test]
fn visits_are_counted_once_a_streamline_however_often_it_comes_back() {
    let Some(devices) = devices(&[DeviceOptions::default(); 2]) else { return };
    for is_elsewhere in [false, true] {
        for loop_check in [false, true] {
            let mut case = Case::new(Propagation { loop_check, ..wandering() }, is_elsewhere);
            case.field = tangle(&case.workers);
            let numbers = case.check(&devices, Points::None);
            // Hundreds of points each, and a few voxels.
            let visits: u64 =
                (0..case.space.grid().len()).map(|at| numbers[FIRST_VISIT + 2 * at]).sum();
            assert!(loop_check || numbers[1] > 150 * numbers[0], "{:?}", &numbers[..4]);
            assert!(loop_check || visits < 100 * numbers[0], "{visits} {:?}", &numbers[..4]);
            assert_eq!(case.check(&devices, Points::Kept), numbers);
            assert_eq!(case.check(&devices, Points::All), numbers);
        }
    }
}

#[test]
fn regions_decide_as_on_threads() {
    let Some(devices) = devices(&[DeviceOptions::default()]) else { return };
    let mut kept = Vec::new();
    for judgement in [Judgement::HalfByHalf, Judgement::Whole] {
        for (number, (any, in_order, by_each_half)) in [
            (false, false, false),
            (false, true, false),
            (true, false, false),
            (false, false, true),
            (false, true, true),
            (true, true, false),
        ]
        .into_iter()
        .enumerate()
        {
            let mut case = Case::new(
                Propagation { loop_check: number == 1, ..wandering() },
                judgement == Judgement::Whole,
            );
            let regions = vec![case.slab(2, 7), case.slab(8, 11), case.slab(9, 13)];
            case.rules = Rules {
                avoid: if number == 0 { vec![case.slab(0, 1), case.slab(14, 16)] } else { vec![] },
                stop: if number == 2 { vec![case.slab(6, 7)] } else { vec![] },
                stop_on_leaving: if number == 5 {
                    vec![case.slab(2, 7), case.slab(7, 11)]
                } else {
                    vec![]
                },
                waypoints: Waypoints { regions, any, in_order, by_each_half },
                least_length_mm: 3.0,
                force_first_step: number % 2 == 1,
                judgement,
                ..Rules::default()
            };
            case.targets = vec![case.slab(4, 6), case.slab(0, 16), case.slab(10, 11)];
            let numbers = case.check(&devices, Points::Kept);
            kept.push(numbers[2] + numbers[3]);
            assert!((1..numbers[0]).contains(&kept[kept.len() - 1]), "{kept:?}");
        }
    }
    // Rules make a difference; by each half as a whole so few pass that their order makes none.
    kept.sort_unstable();
    kept.dedup();
    assert!(kept.len() >= 11, "{kept:?}");
}

#[test]
fn regions_of_a_network_are_reached_as_on_threads() {
    let Some(devices) = devices(&[DeviceOptions::default()]) else { return };
    for (judgement, avoid) in
        [(Judgement::HalfByHalf, true), (Judgement::HalfByHalf, false), (Judgement::Whole, true)]
    {
        let mut case = Case::new(wandering(), false);
        case.rules = Rules {
            avoid: if avoid { vec![case.slab(7, 8)] } else { vec![] },
            network: vec![case.slab(2, 5), case.slab(9, 12)],
            judgement,
            ..Rules::default()
        };
        case.network = true;
        let numbers = case.check(&devices, Points::None);
        assert!(numbers[numbers.len() - 6] > 0 || numbers[numbers.len() - 4] > 0);
        // And where the threads count, they hear of it from the device.
        case.network = false;
        case.check(&devices, Points::All);
    }
}

/// Points do not come back for them.
#[test]
fn matrices_and_orientations_are_those_of_threads() {
    let Some(devices) = devices(&[DeviceOptions::default(); 2]) else { return };
    if devices.iter().any(|device| !device.info().has_f64) {
        return fimbria_testing::skipped("this device has no double precision");
    }
    for (number, is_elsewhere) in [(0, false), (1, true), (2, false)] {
        let mut case = Case::new(wandering(), is_elsewhere);
        // Hundreds of runs, which want a table, and few, which are looked through.
        if number != 1 {
            case.field = tangle(&case.workers);
        }
        let coarse = Grid { dims: [6, 6, 6], ras_from_vox: Affine::from_spacing([4.0, 4.5, 5.0]) };
        let elsewhere = match number {
            2 => Space::same(*case.space.grid()),
            _ => Space::flirt(coarse, case.space.grid(), &Affine::IDENTITY).unwrap(),
        };
        // Overlapping: some voxels are two places.
        let rows = [case.slab(2, 8), case.slab(6, 9)];
        case.matrices = Some(Matrices {
            seeds: Locations::of_seeds(&case.space, &case.seeds, &[]),
            rows: Locations::of_regions(&case.space, &rows),
            columns: (number == 1).then(|| Locations::of_regions(&case.space, &[case.slab(7, 12)])),
            there: Locations::of_regions(&elsewhere, &[slab(&elsewhere, "there", 1, 5)]),
            elsewhere,
            least_points: 5,
        });
        // Halves are kept alone, and samples stop somewhere.
        case.rules = Rules {
            avoid: vec![case.slab(0, 1)],
            stop: vec![case.slab(13, 14)],
            judgement: if number == 1 { Judgement::Whole } else { Judgement::HalfByHalf },
            ..Rules::default()
        };
        if number == 0 {
            case.targets = vec![case.slab(4, 6), case.slab(10, 11)];
        }
        let numbers = case.check(&devices, Points::None);
        assert!((1..numbers[0]).contains(&(numbers[2] + numbers[3])), "{:?}", &numbers[..4]);
        assert_eq!(case.check(&devices[..1], Points::Kept), numbers);
    }
}

#[test]
fn what_asks_for_all_points_is_judged_on_the_device_too() {
    let Some(devices) = devices(&[DeviceOptions::default()]) else { return };
    let mut case = Case::new(wandering(), true);
    case.rules.stop = vec![case.slab(6, 7)];
    case.rules.network = vec![case.slab(2, 5), case.slab(9, 12)];
    let tracking = Tracking {
        field: &case.field,
        space: &case.space,
        propagation: &case.propagation,
        rules: &case.rules,
        seeds: &case.seeds,
        n_samples: 2,
        jitter_mm: 0.0,
        rng_seed: 5,
    };
    let all = |devices: &[Device]| {
        let on = Backend::new(&case.workers, devices);
        let mut all = Vec::new();
        track_on(&tracking, on, SMALL, &Silent, Everything::default, |block| {
            all.extend::<Vec<Seen>>(block);
            Ok::<(), Interrupted>(())
        })
        .unwrap();
        all
    };
    assert_eq!(all(&[]), all(&devices));
}
