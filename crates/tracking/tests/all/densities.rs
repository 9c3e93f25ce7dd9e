//! Streamlines through densities: closed forms, and the same ones whatever the threads.

use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::device::DeviceOptions;
use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Interrupted, Progress, Silent, SimdLevel, Workers};
use fimbria_image::{Affine, BvecFrame, Grid, Mask};
use fimbria_streamlines::Streamlines;
use fimbria_testing::as_processes;
use fimbria_tracking::{
    Anatomy, Attempts, Collect, Densities, DensityPropagation, DensityRule, DensityTracking,
    EndReason, Lines, Parcel, Rules, Sample, Seed, SeedChances, Space, track_densities,
};

use crate::several_devices::{Warnings, devices};

/// A streamline, kept or not, in voxels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) order: (usize, u32),
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) n_first: usize,
    pub(crate) ends: [EndReason; 2],
    pub(crate) kept: bool,
}

#[derive(Default)]
pub(crate) struct All(Vec<Line>);

impl Collect for All {
    type Block = Vec<Line>;
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.push(Line {
            order: sample.order,
            points: sample.all_points.to_vec(),
            n_first: sample.n_made_first,
            ends: sample.ends,
            kept: sample.kept,
        });
    }
    fn end_block(&mut self) -> Vec<Line> {
        let mut block = std::mem::take(&mut self.0);
        block.sort_by_key(|line| line.order);
        block
    }
}

/// One process sends nothing.
impl Parcel for All {
    fn merge(&mut self, _: Self) {}
    fn pack(_: Vec<Line>) -> Vec<u8> {
        unreachable!("one process")
    }
    fn unpack(_: &[u8]) -> Vec<Line> {
        unreachable!("one process")
    }
}

const STEP_MM: f32 = 1.0;

pub(crate) const ARCS: DensityPropagation = DensityPropagation {
    rule: DensityRule::Arcs { power: 1.0, places: 3 },
    step_mm: STEP_MM,
    max_angle: std::f32::consts::FRAC_PI_4,
    cutoff: 0.1,
    max_length_mm: 250.0,
};

pub(crate) const MAXIMA: DensityPropagation =
    DensityPropagation { rule: DensityRule::Maximum, step_mm: 0.4, ..ARCS };

/// A tenth of a voxel by step, a radius of 2 mm and more.
pub(crate) const CURVES: DensityPropagation = DensityPropagation {
    rule: DensityRule::Transport { power: 1.0, places: 3, probe_mm: 1.0 },
    step_mm: 0.2,
    max_angle: 0.1,
    ..ARCS
};

/// 2 mm voxels; radiological, so that voxels times 2 are millimetres along the axes of directions.
pub(crate) fn grid() -> Grid {
    let ras_from_vox = Affine([[-2., 0., 0., 30.], [0., 2., 0., 0.], [0., 0., 2., 0.]]);
    Grid { dims: [31, 31, 15], ras_from_vox }
}

/// Densities whose lobes at a voxel `lobes` says: directions, scanner axes, and sizes.
pub(crate) fn densities(lobes: impl Fn([f64; 3]) -> Vec<([f64; 3], f64)> + Sync) -> Densities {
    let grid = grid();
    let fill = |voxel: u32, entries: &mut [f32]| {
        let mut at = 0;
        let here = lobes(grid.voxel(voxel as usize).map(|x| x as f64));
        for i in (0..=8).rev() {
            for j in (0..=8 - i).rev() {
                let term = |(v, w): &([f64; 3], f64)| {
                    w * v[0].powi(i) * v[1].powi(j) * v[2].powi(8 - i - j)
                };
                entries[at] = here.iter().map(term).sum::<f64>() as f32;
                at += 1;
            }
        }
    };
    let workers = Workers::new(1).unwrap();
    Densities::new(&Mask::full(grid), 8, BvecFrame::Scanner, &workers, fill).unwrap()
}

pub(crate) fn seed(pos: [f32; 3]) -> Seed {
    Seed { key: grid().index(pos.map(|x| x.round() as usize)) as u32, region: 0, pos }
}

fn tracked(
    densities: &Densities,
    propagation: &DensityPropagation,
    seeds: &[Seed],
    attempts: Attempts,
    workers: &Workers,
) -> Vec<Line> {
    tracked_within(None, densities, propagation, seeds, attempts, workers)
}

/// The same, constrained by tissues.
pub(crate) fn tracked_within(
    anatomy: Option<Anatomy<'_>>,
    densities: &Densities,
    propagation: &DensityPropagation,
    seeds: &[Seed],
    attempts: Attempts,
    workers: &Workers,
) -> Vec<Line> {
    let on = Backend::cpu(workers);
    tracked_on(on, &Silent, anatomy, densities, propagation, seeds, attempts)
}

/// The same on devices, where there are some.
pub(crate) fn tracked_on(
    on: Backend<'_>,
    progress: &dyn Progress,
    anatomy: Option<Anatomy<'_>>,
    densities: &Densities,
    propagation: &DensityPropagation,
    seeds: &[Seed],
    attempts: Attempts,
) -> Vec<Line> {
    shared_on(on, progress, anatomy, densities, propagation, seeds, attempts).0
}

/// The same, with how many were started, and by whom they were made.
fn shared_on(
    on: Backend<'_>,
    progress: &dyn Progress,
    anatomy: Option<Anatomy<'_>>,
    densities: &Densities,
    propagation: &DensityPropagation,
    seeds: &[Seed],
    attempts: Attempts,
) -> (Vec<Line>, u64, Shares) {
    let space = Space::same(grid());
    let rules = Rules { least_length_mm: 5.0, ..Rules::default() };
    let tracking = DensityTracking {
        densities,
        space: &space,
        propagation,
        rules: &rules,
        anatomy,
        seeds,
        chances: None,
        attempts,
        jitter_mm: Some(0.0),
        one_way: false,
        rng_seed: 5,
    };
    let mut all = Vec::new();
    let selected = track_densities(&tracking, on, progress, All::default, |block| {
        all.extend::<Vec<Line>>(block);
        Ok::<(), Interrupted>(())
    })
    .unwrap();
    (all, selected.attempts, selected.shares)
}

pub(crate) fn best() -> Workers {
    Workers::new(2).unwrap()
}

pub(crate) const ALONG_X: ([f64; 3], f64) = ([1.0, 0.0, 0.0], 1.0);
pub(crate) const ALONG_Y: ([f64; 3], f64) = ([0.0, 1.0, 0.0], 1.0);

#[test]
fn the_maxima_of_a_straight_bundle_are_a_straight_line_to_its_ends() {
    let field = densities(|_| vec![ALONG_X]);
    let seeds = [seed([15.0, 15.2, 7.3])];
    let lines = tracked(&field, &MAXIMA, &seeds, Attempts::PerSeed(3), &best());
    for line in &lines {
        for point in &line.points {
            assert!((point[1] - 15.2).abs() < 1e-3 && (point[2] - 7.3).abs() < 1e-3, "{point:?}");
        }
        // Half a voxel beyond the last one the mask ends; there is a step to spare.
        let x: Vec<f32> = line.points.iter().map(|point| point[0]).collect();
        let (least, most) = x.iter().fold((15.0_f32, 15.0_f32), |(a, b), x| (a.min(*x), b.max(*x)));
        assert!(least < -0.25 && most > 30.25, "{least} {most}");
    }
}

#[test]
fn arcs_along_a_straight_bundle_scatter_about_it_and_have_the_length_of_a_step() {
    let field = densities(|_| vec![ALONG_X]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    let lines = tracked(&field, &ARCS, &seeds, Attempts::PerSeed(200), &best());
    let (mut across, mut n) = (0.0, 0.0);
    for line in &lines {
        let (first, second) = line.points.split_at(line.n_first);
        for step in first.windows(2).chain(second.windows(2)) {
            let d: [f32; 3] = std::array::from_fn(|a| 2.0 * (step[1][a] - step[0][a]));
            let chord = d.iter().map(|x| x * x).sum::<f32>().sqrt();
            // The chord of an arc of 45 degrees is 2.6 % shorter than the arc.
            assert!(chord <= STEP_MM * 1.0001 && chord > 0.974 * STEP_MM, "{chord}");
        }
        let end = second.last().unwrap();
        across += f64::from(end[1] - 15.0);
        n += 1.0;
    }
    // To either side alike: ends lie some 6 voxels off, in the mean of 200 half a voxel; four times.
    assert!((across / n).abs() < 1.8, "{}", across / n);
}

#[test]
fn curves_along_a_straight_bundle_bend_no_more_than_they_may_and_turn_less_than_arcs() {
    let field = densities(|_| vec![ALONG_X]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    let dirs = |half: &[[f32; 3]]| -> Vec<[f64; 3]> {
        let dir = |step: &[[f32; 3]]| {
            let d: [f64; 3] = std::array::from_fn(|a| f64::from(step[1][a] - step[0][a]));
            let norm = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            d.map(|x| x / norm)
        };
        half.windows(2).map(dir).collect()
    };
    // Mean of |direction across|, a measure of how much a streamline leaves the bundle's axis.
    let of = |propagation: &DensityPropagation| {
        let lines = tracked(&field, propagation, &seeds, Attempts::PerSeed(100), &best());
        let (mut aside, mut n) = (0.0, 0.0);
        for line in &lines {
            let (first, second) = line.points.split_at(line.n_first);
            for half in [first, second] {
                let dirs = dirs(half);
                for pair in dirs.windows(2) {
                    let cos: f64 = (0..3).map(|a| pair[0][a] * pair[1][a]).sum();
                    // Chords of two arcs of at most 0.1 rad, and single precision of their points.
                    let most = f64::from(propagation.max_angle) + 1e-3;
                    assert!(cos.min(1.0).acos() < most, "{cos}");
                }
                aside += dirs.iter().map(|dir| dir[1].hypot(dir[2])).sum::<f64>();
                n += dirs.len() as f64;
            }
        }
        aside / n
    };
    let (curves, arcs) = (of(&CURVES), of(&ARCS));
    assert!(curves < arcs, "{curves} {arcs}");
    let cubed = DensityRule::Transport { power: 3.0, places: 3, probe_mm: 1.0 };
    assert!(of(&DensityPropagation { rule: cubed, ..CURVES }) < curves);
}

#[test]
fn the_halves_of_a_curve_leave_the_seed_opposite_ways() {
    let field = densities(|_| vec![ALONG_X]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    for line in tracked(&field, &CURVES, &seeds, Attempts::PerSeed(50), &best()) {
        let (first, second) = line.points.split_at(line.n_first);
        if first.len() > 1 && second.len() > 1 {
            let step = |half: &[[f32; 3]]| -> [f32; 3] {
                std::array::from_fn(|a| 2.0 * (half[1][a] - half[0][a]))
            };
            let (a, b) = (step(first), step(second));
            let cos = (0..3).map(|i| a[i] * b[i]).sum::<f32>() / (0.2 * 0.2);
            // Each bends by half of 0.1 rad at most before its first point, and chords are shorter.
            assert!(cos < -0.1_f32.cos() + 1e-3, "{cos}");
        }
    }
}

#[test]
fn curves_end_where_the_density_falls_below_the_cutoff() {
    // From x = 20 on the bundle is weaker than the cut-off; between 19 and 20 it falls linearly.
    let field = densities(|[i, ..]| vec![(ALONG_X.0, if i > 10.5 { 1.0 } else { 0.05 })]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    // Radiological voxels count as the array does here, where det(affine) < 0.
    for line in tracked(&field, &CURVES, &seeds, Attempts::PerSeed(40), &best()) {
        let least = line.points.iter().map(|point| point[0]).fold(15.0, f32::min);
        // 0.1 is reached 0.95 of the way from 11 to 10.
        assert!(least > 10.0, "{least}");
        assert!(
            line.ends.contains(&EndReason::Cutoff) || line.ends.contains(&EndReason::Curvature)
        );
    }
}

#[test]
fn all_rules_go_straight_on_through_a_crossing() {
    let field = densities(|[i, j, _]| {
        let mut here = Vec::new();
        if (i - 15.0).abs() < 3.5 {
            here.push(ALONG_Y);
        }
        if (j - 15.0).abs() < 3.5 {
            here.push(ALONG_X);
        }
        here
    });
    let seeds = [seed([5.0, 15.0, 7.0])];
    // Cubed, the eighth power of a cosine is as narrow as a lobe of measured densities.
    let arcs = DensityPropagation { rule: DensityRule::Arcs { power: 3.0, places: 3 }, ..ARCS };
    let cubed = DensityRule::Transport { power: 3.0, places: 3, probe_mm: 1.0 };
    let curves = DensityPropagation { rule: cubed, ..CURVES };
    let cases = [(MAXIMA, 0.99, 0.01), (arcs, 0.5, 0.2), (curves, 0.5, 0.2)];
    for (propagation, least, most) in cases {
        let lines = tracked(&field, &propagation, &seeds, Attempts::PerSeed(100), &best());
        let reached = |line: &&Line| line.points.iter().any(|point| point[0] > 22.0);
        let turned = |line: &&Line| line.points.iter().any(|point| (point[1] - 15.0).abs() > 6.0);
        let through = lines.iter().filter(reached).count() as f64 / lines.len() as f64;
        let aside = lines.iter().filter(turned).count() as f64 / lines.len() as f64;
        // Some arcs leave the bundle, which is 7 voxels wide, and end at its edge.
        assert!(through >= least && aside <= most, "{propagation:?}: {through} {aside}");
    }
}

#[test]
fn maxima_follow_a_circle_by_the_square_of_the_step() {
    // About the corner of the grid, 30 mm away from the seed.
    let field = densities(|[i, j, _]| {
        let r = (i * i + j * j).sqrt().max(1e-9);
        // The array's x axis runs against the scanner's.
        vec![([j / r, i / r, 0.0], 1.0)]
    });
    let seeds = [seed([15.0, 0.0, 7.0])];
    let worst = |step_mm| {
        let propagation = DensityPropagation { step_mm, ..MAXIMA };
        let lines = tracked(&field, &propagation, &seeds, Attempts::PerSeed(1), &best());
        let off = |p: &[f32; 3]| (2.0 * (p[0] * p[0] + p[1] * p[1]).sqrt() - 30.0).abs();
        lines[0].points.iter().map(off).fold(0.0, f32::max)
    };
    let (fine, coarse) = (worst(0.2), worst(2.0));
    // Trilinear interpolation between directions of a circle is off by itself, by some 0.02 mm.
    assert!(fine < 0.1 && coarse < 0.2, "{fine} {coarse}");
}

#[test]
fn the_longest_streamline_is_as_long_as_both_halves_may_be_together() {
    let field = densities(|_| vec![ALONG_X]);
    let propagation = DensityPropagation { max_length_mm: 20.0, ..ARCS };
    let seeds = [seed([15.0, 15.0, 7.0])];
    let lines = tracked(&field, &propagation, &seeds, Attempts::PerSeed(50), &best());
    let longest = lines.iter().map(|line| line.points.len()).max().unwrap();
    // The seed point is in both halves.
    assert_eq!(longest, 22);
    assert!(lines.iter().any(|line| line.ends.contains(&EndReason::Length)));
}

#[test]
fn seeds_are_drawn_in_proportion_to_the_integrals_of_their_densities() {
    // From voxel to voxel one more, and nothing at the last.
    let field = densities(|[i, ..]| vec![(ALONG_X.0, if i < 13.5 { i - 9.0 } else { 0.0 })]);
    let seeds: Vec<_> = (10..15).map(|i| seed([i as f32, 15.0, 7.0])).collect();
    let integrals = field.integrals(seeds.iter().map(|seed| seed.pos));
    for (integral, size) in integrals.iter().zip([1.0, 2.0, 3.0, 4.0, 0.0]) {
        // Over the sphere cos^8 has the mean 1/9.
        assert!((integral - size * 4.0 * std::f64::consts::PI / 9.0).abs() < 1e-5, "{integral}");
    }
    let n: u64 = 4000;
    let chances = SeedChances::new(integrals);
    let tracking = DensityTracking {
        densities: &field,
        space: &Space::same(grid()),
        propagation: &MAXIMA,
        rules: &Rules { least_length_mm: 500.0, ..Rules::default() },
        anatomy: None,
        seeds: &seeds,
        chances: chances.as_ref(),
        attempts: Attempts::UntilKept { select: 1, at_most: n },
        jitter_mm: Some(0.0),
        one_way: false,
        rng_seed: 5,
    };
    let mut counts = [0.0; 5];
    let each = |block: Vec<Line>| {
        block.iter().for_each(|line| counts[line.points[0][0] as usize - 10] += 1.0);
        Ok::<(), Interrupted>(())
    };
    track_densities(&tracking, Backend::cpu(&best()), &Silent, All::default, each).unwrap();
    for (count, part) in counts.iter().zip([0.1, 0.2, 0.3, 0.4, 0.0]) {
        // Five deviations of a binomial number.
        let bound = 5.0 * (n as f64 * part * (1.0 - part)).sqrt();
        assert!((count - n as f64 * part).abs() <= bound, "{counts:?}");
    }
    assert!(SeedChances::new([0.0, 0.0]).is_none());
}

#[test]
fn one_way_is_the_first_half_of_both() {
    let field = densities(|[i, j, _]| vec![([1.0, 0.05 * i, 0.03 * j], 1.0)]);
    let (space, seeds) = (Space::same(grid()), [seed([15.0, 15.0, 7.0])]);
    let rules = Rules { least_length_mm: 3.0, ..Rules::default() };
    for propagation in [&CURVES, &ARCS, &MAXIMA] {
        let made = |one_way| {
            let tracking = DensityTracking {
                densities: &field,
                space: &space,
                propagation,
                rules: &rules,
                anatomy: None,
                seeds: &seeds,
                chances: None,
                attempts: Attempts::PerSeed(40),
                jitter_mm: Some(1.0),
                one_way,
                rng_seed: 5,
            };
            let mut all = Vec::new();
            let each = |block: Vec<Line>| {
                all.extend(block);
                Ok::<(), Interrupted>(())
            };
            track_densities(&tracking, Backend::cpu(&best()), &Silent, All::default, each).unwrap();
            all
        };
        let (both, first) = (made(false), made(true));
        assert_eq!(both.len(), first.len());
        for (both, first) in both.iter().zip(&first) {
            assert_eq!(first.points, both.points[..both.n_first]);
            assert_eq!(first.ends, [both.ends[0], EndReason::Seed]);
            // Steps are as long as the rule says, and one fewer than points.
            let mm = (first.points.len() - 1) as f32 * propagation.step_mm;
            assert_eq!(first.kept, mm >= 3.0, "{mm}");
        }
        assert!(both.iter().any(|line| line.n_first < line.points.len() - 1));
        assert!(first.iter().any(|line| line.kept));
    }
}

#[test]
fn no_more_streamlines_are_started_than_may_be() {
    let field = densities(|_| vec![ALONG_X]);
    let seeds = [seed([15.0, 15.0, 7.0])];
    let started = |select, at_most| {
        let workers = best();
        let on = Backend::cpu(&workers);
        let attempts = Attempts::UntilKept { select, at_most };
        let (lines, started, _) = shared_on(on, &Silent, None, &field, &CURVES, &seeds, attempts);
        (lines, started)
    };
    let (few, n) = started(1000, 37);
    assert_eq!((few.len(), n), (37, 37));
    assert!(few.iter().any(|line| line.kept));
    // A larger limit changes nothing of those, and one that is not met nothing at all.
    let (more, n) = started(1000, 300);
    assert_eq!((more.len(), n), (300, 300));
    assert_eq!(few, more[..37]);
    let [(some, n), (same, n_of_same)] = [started(10, 300), started(10, 5000)];
    assert_eq!((&some, n), (&same, n_of_same));
    assert!(n < 300 && some.iter().filter(|line| line.kept).count() == 10);
}

#[test]
fn streamlines_are_the_same_for_any_threads_and_registers() {
    let field = densities(|[i, j, k]| {
        let t = 0.05 * i - 0.04 * j + 0.1 * k;
        vec![([t.cos(), t.sin(), 0.1], 0.9), ([-t.sin(), t.cos(), 0.2], 0.5)]
    });
    let seeds: Vec<_> = (0..40).map(|i| seed([3.0 + 0.6 * i as f32, 12.3, 6.0])).collect();
    let until = Attempts::UntilKept { select: 1300, at_most: 100_000 };
    for propagation in [ARCS, CURVES, MAXIMA] {
        for attempts in [Attempts::PerSeed(9), until] {
            let of = |threads: usize, level: SimdLevel| {
                let workers = Workers::new(threads).unwrap().with_simd(level);
                tracked(&field, &propagation, &seeds, attempts, &workers)
            };
            let one = of(1, SimdLevel::best());
            assert!(one.len() >= 300, "too little to see");
            if attempts == until {
                assert_eq!(one.iter().filter(|line| line.kept).count(), 1300);
            }
            assert_eq!(one, of(3, SimdLevel::best()));
            for level in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
                assert_eq!(one, of(2, level), "{level:?}");
            }
        }
    }
}

#[test]
fn two_devices_share_each_round_until_enough_are_kept() {
    let Some(two) = devices(&[DeviceOptions::default(); 2]) else { return };
    // From end to end, so that all are kept: what is made is one round, the first and the largest that it may be.
    let field = densities(|_| vec![ALONG_X]);
    let seeds: Vec<_> = (0..40).map(|i| seed([3.0 + 0.6 * i as f32, 12.3, 6.0])).collect();
    let until = Attempts::UntilKept { select: 1024, at_most: 1_000_000 };
    let (workers, warnings) = (best(), Warnings::default());
    let of = |devices: &[_]| {
        let on = Backend::new(&workers, devices);
        shared_on(on, &warnings, None, &field, &MAXIMA, &seeds, until)
    };
    let (expected, attempts, _) = of(&[]);
    assert_eq!(attempts, 1024, "more than a round");
    let (made, attempts, shares) = of(&two);
    assert_eq!((attempts, shares.cpu), (1024, 0));
    assert!(made == expected);
    // Each of their four queues takes a launch before any has made one.
    assert!(shares.devices.iter().all(|share| *share > 0), "{shares:?}");
    assert_eq!(shares.devices.iter().sum::<usize>(), 1024);
    assert_eq!(warnings.all(), Vec::<String>::new());
}

#[test]
fn any_number_of_processes_keeps_the_same_streamlines() {
    for propagation in [ARCS, CURVES] {
        processes_keep_the_same(&propagation);
    }
}

fn processes_keep_the_same(propagation: &DensityPropagation) {
    let field = densities(|_| vec![ALONG_X, ([0.6, 0.8, 0.0], 0.4)]);
    let space = Space::same(grid());
    let seeds = [seed([15.0, 15.0, 7.0]), seed([7.0, 12.0, 6.0])];
    let made = |comm: &dyn Comm| {
        let workers = Workers::new(1 + comm.rank() % 2).unwrap();
        let tracking = DensityTracking {
            densities: &field,
            space: &space,
            propagation,
            rules: &Rules { least_length_mm: 12.0, ..Rules::default() },
            anatomy: None,
            seeds: &seeds,
            chances: None,
            attempts: Attempts::UntilKept { select: 1500, at_most: 1_000_000 },
            jitter_mm: None,
            one_way: false,
            rng_seed: 5,
        };
        let on = Backend { comm, ..Backend::cpu(&workers) };
        let mut lines = Streamlines::with_columns(&[], &Lines::columns());
        let selected = track_densities(
            &tracking,
            on,
            &Silent,
            || Lines::new(&space),
            |block| {
                lines.append(&block);
                Ok::<(), Interrupted>(())
            },
        );
        let selected = selected.unwrap();
        (lines, selected.attempts, selected.kept)
    };
    let alone = made(&Solo);
    assert_eq!((alone.0.len(), alone.2), (1500, Some(1500)));
    for size in [1, 2, 3] {
        let all = as_processes(size, |comm| made(comm));
        assert!(all[0] == alone, "{size} processes");
        assert!(all.iter().all(|(_, attempts, kept)| (*attempts, *kept) == (alone.1, alone.2)));
    }
}
