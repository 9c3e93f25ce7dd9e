//! This crate's kernels against the oracle, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent, Refusal};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, Interrupted, Silent, SimdLevel, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, BvecFrame, Grid, Mask};

use crate::densities::device::{self as follower, DensityPlan, Follower, Stored};
use crate::device::{DeviceTracker, Given, Work, source};
use crate::driver::{Memory, Tracker as _, track_within};
use crate::{
    Attempts, Collect, Densities, DensityPropagation, DensityRule, DensityTracking, Field,
    FirstFibre, Judgement, Locations, Needs, NetworkMatrix, Pairs, PlaceMatrix, Propagation,
    Region, Rules, Sample, SampleChoice, Seed, SeedMatrix, Space, Tally, Targets, Tracking,
    VoxelMatrix, Waypoints, track_slowly,
};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let plain = Propagation { max_points: 200, ..Propagation::default() };
    let euler = Propagation {
        modified_euler: true,
        use_fraction: true,
        ends_inside: false,
        sample_choice: SampleChoice::HalfWeightEnds,
        first_fibre: FirstFibre::Proportional,
        ..plain
    };
    let with_loops = Propagation {
        loop_check: true,
        first_fibre: FirstFibre::Uniform,
        fibre_threshold: 0.15,
        ..plain
    };
    let all = [
        ("tracking", plain),
        ("tracking (modified Euler, fractions)", euler),
        ("tracking (loops, first fibre at random)", with_loops),
        ("tracking (any first fibre)", Propagation { first_fibre: FirstFibre::Any, ..plain }),
    ];
    let cases = all.map(|(name, options)| (name, Case::plain(options)));
    let with_regions = [
        ("tracking (regions, counts)", Case::with_regions(plain, Judgement::HalfByHalf)),
        (
            "tracking (regions, counts, judged as a whole)",
            Case::with_regions(with_loops, Judgement::Whole),
        ),
    ];
    let densities = [
        ("tracking (arcs)", DensityRule::Arcs { power: 0.75, places: 3 }),
        ("tracking (maxima)", DensityRule::Maximum),
    ];
    let through_densities = densities.into_iter().flat_map(|(name, rule)| {
        [4, 6, 8, 10, 12].map(|order| {
            let options = DensityPropagation {
                rule,
                step_mm: 0.7,
                max_angle: 0.8,
                cutoff: 0.1,
                max_length_mm: 40.0,
            };
            let name = format!("{name}, order {order}");
            let sources = bending(order)
                .map_or_else(Vec::new, |field| vec![follower::source(&field, &options)]);
            Check::new(name, sources, move |device, extent| {
                compare_densities(device, extent, order, &options)
            })
        })
    });
    let through_samples = cases.into_iter().chain(with_regions).map(|(name, case)| {
        let of = |case: Case, workers: Workers| {
            let field = field(&case.options, &workers)?;
            let tally = case.tally(true);
            let mut work = Work::new(&case.tracking(&field), Some(&case.needs(&tally)), true);
            work.look_back = Memory::LOOK_BACK;
            Some(source(&work, &work.plan(1, MEMORY.0, MEMORY.1).ok()?))
        };
        let sources = case.clone().zip(one_thread()).and_then(|(case, workers)| of(case, workers));
        Check::new(name, sources.into_iter().collect(), move |device, extent| match &case {
            Some(case) => compare(device, case.thinned(extent)),
            None => Ok(UNAVAILABLE),
        })
    });
    through_samples.chain(through_densities).collect()
}

/// What a check says where it could not be made.
const UNAVAILABLE: Comparison = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };

/// Memory so small that the sticks take several buffers, and points several reads. One launch at a time:
/// oclgrind has one queue.
const MEMORY: (u64, u64) = (1 << 19, 70_000);

fn one_thread() -> Option<Workers> {
    Some(Workers::new(1).ok()?.with_simd(SimdLevel::Scalar))
}

/// Where samples of the check start, and what decides over them.
#[derive(Clone)]
struct Case {
    options: Propagation,
    space: Space,
    rules: Rules,
    targets: Vec<Region>,
    seeds: Vec<Seed>,
    places: Places,
}

/// What matrices are made of.
#[derive(Clone)]
struct Places {
    seeds: Locations,
    rows: Locations,
    /// On a coarser grid.
    elsewhere: Space,
    columns: Locations,
}

impl Places {
    fn new(space: &Space, seeds: &[Seed]) -> Option<Self> {
        let grid = *space.grid();
        let every = |n: usize, grid: Grid| {
            Region::of_voxels("every", (0..grid.len()).map(|voxel| voxel % n == 0).collect())
        };
        let coarse = Grid { dims: [5, 4, 3], ras_from_vox: Affine::from_spacing([4.0, 4.5, 5.0]) };
        let elsewhere = Space::flirt(coarse, &grid, &Affine::IDENTITY).ok()?;
        Some(Self {
            seeds: Locations::of_seeds(space, seeds, &[]),
            // Some voxels are two places.
            rows: Locations::of_regions(space, &[every(2, grid), every(3, grid)]),
            columns: Locations::of_regions(&elsewhere, &[every(2, coarse)]),
            elsewhere,
        })
    }
}

impl Case {
    /// From every second voxel, without rules: all points are looked at.
    fn plain(options: Propagation) -> Option<Self> {
        Self::new(options, Space::same(grid()), Rules::default())
    }

    /// From voxels of another grid, with rules of every kind: counts are looked at.
    fn with_regions(options: Propagation, judgement: Judgement) -> Option<Self> {
        let mut elsewhere = grid();
        elsewhere.dims = [14, 11, 9];
        elsewhere.ras_from_vox.0[0][0] = 1.3;
        let space = Space::scanner(elsewhere, &grid()).ok()?;
        let along = |axis: usize, from: usize, to: usize| {
            let inside = |voxel| (from..to).contains(&elsewhere.voxel(voxel)[axis]);
            Region::of_voxels("slab", (0..elsewhere.len()).map(inside).collect())
        };
        let waypoints = Waypoints {
            regions: vec![along(0, 3, 8), along(0, 6, 11)],
            any: true,
            ..Waypoints::default()
        };
        let rules = Rules {
            avoid: vec![along(0, 13, 14)],
            stop: vec![along(2, 0, 1)],
            stop_on_leaving: vec![along(1, 2, 7)],
            waypoints,
            network: vec![along(1, 1, 5), along(1, 4, 9), along(2, 3, 6)],
            least_length_mm: 2.0,
            judgement,
            ..Rules::default()
        };
        let mut case = Self::new(options, space, rules)?;
        case.targets = vec![along(0, 5, 9), along(2, 2, 4), along(1, 6, 8)];
        Some(case)
    }

    fn new(options: Propagation, space: Space, rules: Rules) -> Option<Self> {
        let grid = *space.grid();
        let seed = |voxel: usize| Seed {
            key: voxel as u32,
            region: voxel as u32 % 3,
            pos: grid.voxel(voxel).map(|x| x as f32),
        };
        let seeds: Vec<Seed> = (0..grid.len()).step_by(2).map(seed).collect();
        let places = Places::new(&space, &seeds)?;
        Some(Self { options, space, rules, targets: Vec::new(), seeds, places })
    }

    /// With fewer seeds for a toy.
    fn thinned(&self, extent: Extent) -> Self {
        let every = if extent == Extent::Toy { 49 } else { 1 };
        Self { seeds: self.seeds.iter().copied().step_by(every).collect(), ..self.clone() }
    }

    fn tracking<'a>(&'a self, field: &'a Field) -> Tracking<'a> {
        Tracking {
            field,
            space: &self.space,
            propagation: &self.options,
            rules: &self.rules,
            seeds: &self.seeds,
            n_samples: 2,
            jitter_mm: 0.5,
            rng_seed: 11,
        }
    }

    /// Counts where there are rules, else all points.
    fn needs<'a>(&self, tally: &'a Tally<'_>) -> Needs<'a> {
        if self.targets.is_empty() { Needs::default() } else { tally.needs() }
    }

    /// Everything is counted, orientations where a device can.
    fn tally(&self, has_double: bool) -> Tally<'_> {
        let mut tally = Tally::new(&self.space, 3, true);
        if has_double {
            tally.visits.count_orientations();
        }
        let Places { seeds, rows, elsewhere, columns } = &self.places;
        tally.matrix1 = Some(SeedMatrix::new(seeds, 2));
        tally.matrix2 = Some(VoxelMatrix::new(elsewhere, columns));
        tally.matrix3 = Some(PlaceMatrix::new(&self.space, rows, None, 2));
        tally.targets = Some(Targets::new(&self.targets, self.seeds.len()));
        tally.network = Some(NetworkMatrix::new(3));
        tally
    }
}

/// Anisotropic voxels of a field that bends.
fn grid() -> Grid {
    let ras_from_vox = Affine([[1.5, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.]]);
    Grid { dims: [12, 10, 9], ras_from_vox }
}

/// Two fibres that bend and cross in anisotropic voxels; some voxels without samples.
fn field(options: &Propagation, workers: &Workers) -> Option<Field> {
    let grid = grid();
    let voxels = (0..grid.len() as u32).filter(|voxel| voxel % 37 != 5).collect();
    let mut samples = StickSamples::empty(Mask { grid, voxels }, 2, 5)?;
    for (i, stick) in samples.sticks.iter_mut().enumerate() {
        let (slot, sample, fibre) = (i / 10, i / 2 % 5, i % 2);
        let t = slot as f64 * 0.01 + sample as f64 * 0.1;
        let v = if fibre == 0 { [t.cos(), t.sin(), 0.3] } else { [0.2, t.sin(), t.cos()] };
        let v = if i % 211 == 0 { [0.0; 3] } else { v };
        let least = if options.use_fraction { 0.9 } else { 0.2 };
        *stick = PackedStick::new(v, least * (1.0 - 0.3 * fibre as f64));
    }
    Some(Field::new(samples, workers))
}

/// Two lobes that bend and change in size from voxel to voxel.
fn bending(order: usize) -> Option<Densities> {
    let grid = grid();
    let voxels = (0..grid.len() as u32).filter(|voxel| voxel % 37 != 5).collect();
    let fill = |voxel: u32, entries: &mut [f32]| {
        let [i, j, k] = grid.voxel(voxel as usize).map(|x| x as f64);
        let t = 0.11 * i + 0.05 * j - 0.07 * k;
        let lobes = [
            ([t.cos(), t.sin() * 0.8, t.sin() * 0.6], 1.0 + 0.05 * j),
            ([-t.sin(), t.cos() * 0.8, t.cos() * 0.6], 0.4 + 0.06 * k),
        ];
        let mut at = 0;
        for x in (0..=order as i32).rev() {
            for y in (0..=order as i32 - x).rev() {
                let z = order as i32 - x - y;
                let of = |(v, w): &([f64; 3], f64)| w * v[0].powi(x) * v[1].powi(y) * v[2].powi(z);
                entries[at] = lobes.iter().map(of).sum::<f64>() as f32;
                at += 1;
            }
        }
    };
    let workers = one_thread()?;
    Densities::new(&Mask { grid, voxels }, order, BvecFrame::Scanner, &workers, fill).ok()
}

/// The bits of all points, with what they belong to.
#[derive(Default)]
struct Bits(Vec<((usize, u32), Vec<u32>)>);

impl Collect for Bits {
    type Block = Vec<((usize, u32), Vec<u32>)>;

    fn sample(&mut self, sample: &Sample<'_>) {
        let points = sample.all_points.iter().flatten().map(|x| x.to_bits());
        let ends = sample.ends.map(|end| u32::from(end as u8));
        let all = ends.into_iter().chain([sample.n_made_first as u32]).chain(points);
        self.0.push(((sample.seed_index, sample.number), all.collect()));
    }

    fn end_block(&mut self) -> Self::Block {
        std::mem::take(&mut self.0)
    }
}

/// Against the lanes, on a level that fuses as devices do.
fn compare_densities(
    device: &Device,
    extent: Extent,
    order: usize,
    options: &DensityPropagation,
) -> Result<Comparison, DeviceError> {
    let level = SimdLevel::available().into_iter().rfind(|level| level.fuses());
    let (Some(densities), Some(level)) = (bending(order), level) else { return Ok(UNAVAILABLE) };
    let (grid, rules) = (*densities.grid(), Rules::default());
    let seeds: Vec<_> = (0..grid.len())
        .step_by(if extent == Extent::Toy { 197 } else { 7 })
        .map(|voxel| Seed {
            key: voxel as u32,
            region: voxel as u32 % 3,
            pos: grid.voxel(voxel).map(|x| x as f32),
        })
        .collect();
    let tracking = DensityTracking {
        densities: &densities,
        space: &Space::same(grid),
        propagation: options,
        rules: &rules,
        anatomy: None,
        seeds: &seeds,
        chances: None,
        attempts: Attempts::PerSeed(2),
        jitter_mm: None,
        one_way: false,
        rng_seed: 11,
    };
    // The device itself must do it: an error there is not for the threads to mend.
    let largest = device.info().largest_buffer_bytes;
    let Some(plan) = DensityPlan::new(&densities, options, 1, device.available_bytes(), largest)
    else {
        return Ok(UNAVAILABLE);
    };
    let starts = tracking.starts(0..tracking.total(), level);
    let stored = Stored::new(device, &densities)?.into();
    let mut follower = Follower::new(device, stored, &densities, options, 11, plan)?;
    let halves = follower.make(device, &starts)?;
    let all = 0..tracking.total();
    let (mut lanes, mut made) = (Bits::default(), Bits::default());
    tracking.run(all.clone(), level, &mut |sample| lanes.sample(sample));
    tracking.replay(all, level, &halves, 0, &mut |sample| made.sample(sample));
    let flat = |Bits(mut all): Bits| -> Vec<u32> {
        all.sort_by_key(|(order, _)| *order);
        all.into_iter().flat_map(|(_, bits)| bits).collect()
    };
    Ok(Comparison::of_bits(&flat(lanes), &flat(made)))
}

/// Against the oracle: all points where there are no rules, else what is counted.
fn compare(device: &Device, case: Case) -> Result<Comparison, DeviceError> {
    let Some(workers) = one_thread() else { return Ok(UNAVAILABLE) };
    let Some(field) = field(&case.options, &workers) else { return Ok(UNAVAILABLE) };
    let tracking = case.tracking(&field);
    // The device itself must do it: an error there is not for the threads to mend.
    let has_double = device.info().has_f64;
    let of_device = case.tally(has_double);
    let mut work = Work::new(&tracking, Some(&case.needs(&of_device)), has_double);
    work.look_back = Memory::LOOK_BACK;
    let Ok(plan) = work.plan(1, MEMORY.0, MEMORY.1) else { return Ok(UNAVAILABLE) };
    let given = Given::new(device, &work, &plan)?.into();
    DeviceTracker::new(device, given, &work, &plan)?.make(&work, 0..1, &[])?;
    let refusal = Refusal::default();
    let devices = [device.clone()];
    let on = Backend::new(&workers, &devices);
    if case.targets.is_empty() {
        let mut oracle = Bits::default();
        let slow: Result<(), Interrupted> = track_slowly(&tracking, None, &Silent, &mut oracle);
        let mut made = Vec::new();
        let each = |block| {
            made.extend::<<Bits as Collect>::Block>(block);
            Ok::<(), Interrupted>(())
        };
        let fast = track_within(&tracking, on, MEMORY, &refusal, Bits::default, each);
        refusal.told_by(device, "tracking")?;
        if slow.is_err() || fast.is_err() {
            return Ok(UNAVAILABLE);
        }
        let flat = |mut all: Vec<((usize, u32), Vec<u32>)>| -> Vec<u32> {
            all.sort_by_key(|(order, _)| *order);
            all.into_iter().flat_map(|(_, bits)| bits).collect()
        };
        return Ok(Comparison::of_bits(&flat(oracle.0), &flat(made)));
    }
    let mut oracle = case.tally(has_double);
    let slow: Result<(), Interrupted> = track_slowly(&tracking, None, &Silent, &mut oracle);
    let each = |()| Ok::<(), Interrupted>(());
    let fast = track_within(&tracking, on, MEMORY, &refusal, || case.tally(has_double), each);
    refusal.told_by(device, "tracking")?;
    let (Ok(()), Ok(parts)) = (slow, fast) else { return Ok(UNAVAILABLE) };
    let mut made = case.tally(has_double);
    parts.collectors.into_iter().for_each(|part| made.merge(part));
    Ok(Comparison::of_bits(&numbers(&oracle), &numbers(&made)))
}

/// Everything that is counted.
fn numbers(tally: &Tally<'_>) -> Vec<u32> {
    let mut all = vec![tally.made, tally.points];
    all.extend(&tally.kept);
    all.extend(tally.ends);
    for voxel in 0..tally.visits.len() {
        all.extend([u64::from(tally.visits.count(voxel)), tally.visits.steps(voxel)]);
        all.extend(tally.visits.orientation(voxel).as_flattened().iter().map(|x| x.to_bits()));
    }
    let (one, two, three) = (&tally.matrix1, &tally.matrix2, &tally.matrix3);
    let pairs = [
        one.as_ref().map(SeedMatrix::pairs),
        two.as_ref().map(VoxelMatrix::pairs),
        three.as_ref().map(PlaceMatrix::pairs),
    ];
    for pair in pairs.into_iter().flatten().flat_map(Pairs::entries) {
        all.extend([u64::from(pair.row), u64::from(pair.column), pair.samples, pair.steps]);
    }
    if let Some(targets) = &tally.targets {
        for target in 0..targets.regions().len() {
            all.extend(targets.counts(target).iter().map(|count| u64::from(*count)));
            all.extend(targets.steps(target));
        }
    }
    if let Some(network) = &tally.network {
        let n = network.len();
        for (from, to) in (0..n * n).map(|at| (at / n, at % n)) {
            all.extend([network.count(from, to), network.steps(from, to)]);
        }
    }
    all.into_iter().flat_map(|number| [number as u32, (number >> 32) as u32]).collect()
}
