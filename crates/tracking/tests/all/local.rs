//! Rules that differ from place to place, each from its definition.

use fimbria_compute::{Interrupted, Silent, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_tracking::{
    EndReason, Field, FirstFibre, HalfEnd, Judgement, Keyed, LocalRules, Propagation, Propagator,
    Rules, Seed, Space, Tracking, Visit, VoxelMap, propagate, track, track_slowly,
};

use crate::bend::{Everything, Seen};

type Fibre = ([f64; 3], f64);

const X: [f64; 3] = [1.0, 0.0, 0.0];
const Y: [f64; 3] = [0.0, 1.0, 0.0];

/// At an angle to x, in the plane of x and y.
fn at_angle(degrees: f64) -> [f64; 3] {
    let (sin, cos) = degrees.to_radians().sin_cos();
    [cos, sin, 0.0]
}

/// Radiological 1 mm voxels: those of tracking, which are FSL's.
fn grid() -> Grid {
    let ras_from_vox = Affine([[-1., 0., 0., 0.], [0., 1., 0., 0.], [0., 0., 1., 0.]]);
    Grid { dims: [41, 41, 5], ras_from_vox }
}

/// One sample of each voxel's fibres, in voxel axes.
fn field(fibres: impl Fn([usize; 3]) -> Vec<Fibre>) -> Field {
    let n_fibres = fibres([0; 3]).len();
    let mut samples = StickSamples::empty(Mask::full(grid()), n_fibres, 1).unwrap();
    for (voxel, sticks) in samples.sticks.chunks_mut(n_fibres).enumerate() {
        for (stick, ([x, y, z], fraction)) in sticks.iter_mut().zip(fibres(grid().voxel(voxel))) {
            *stick = PackedStick::new([-x, y, z], fraction);
        }
    }
    Field::new(samples, &Workers::new(1).unwrap())
}

fn map<const N: usize>(value: impl Fn([usize; 3]) -> [f32; N]) -> VoxelMap<N> {
    let mut image = Image::zeros(grid(), N);
    for index in 0..grid().len() {
        for (volume, x) in value(grid().voxel(index)).into_iter().enumerate() {
            image.volume_mut(volume)[index] = x;
        }
    }
    VoxelMap::new(&image, &grid(), "map").unwrap()
}

/// Keeps points and the directions along which they were reached.
#[derive(Default)]
struct Path(Vec<([f32; 3], [f32; 3])>);

impl Visit for Path {
    fn enter(&mut self, pos: [f32; 3], dir: [f32; 3]) -> Result<(), EndReason> {
        self.0.push((pos, dir));
        Ok(())
    }
    fn leave(&mut self) -> Result<(), EndReason> {
        Ok(())
    }
}

/// Any turn is allowed.
const FREE: Propagation = Propagation {
    step_mm: 0.5,
    max_points: 60,
    min_cos: -1.0,
    fibre_threshold: 0.01,
    use_fraction: false,
    modified_euler: false,
    loop_check: false,
    first_fibre: FirstFibre::Number(0),
    sample_choice: fimbria_tracking::SampleChoice::Uniform,
    ends_inside: true,
};

/// A point and the direction from it.
type Step = ([f32; 3], [f32; 3]);

/// First halves from x = 15 that begin towards larger x.
fn halves(
    field: &Field,
    options: &Propagation,
    local: &LocalRules,
    n: u32,
) -> Vec<(Vec<Step>, EndReason)> {
    let space = Space::same(grid());
    let towards = Some([1.0, 0.0, 0.0]);
    let by = Propagator { field, options, local, space: &space, towards };
    let half = |number: u32| {
        let (mut path, mut draws) = (Path::default(), Keyed::new(3, 0, 7, number));
        let start = [15.0, 20.0, 2.0];
        let HalfEnd { reason, .. } = propagate(by, 0, start, None, &mut draws, &mut path);
        (path.0, reason)
    };
    (0..n).map(half).collect()
}

/// True where a direction is this one, to the rounding of sticks.
fn is(dir: [f32; 3], v: [f64; 3]) -> bool {
    (0..3).all(|a| (f64::from(dir[a]) - v[a]).abs() < 1e-4)
}

/// Parts of the steps after the first that go along each direction, in either sense.
fn parts(field: &Field, local: &LocalRules, dirs: &[[f64; 3]]) -> (Vec<f64>, f64) {
    let mut counts = vec![0.0; dirs.len()];
    let mut total = 0.0;
    for (path, _) in halves(field, &FREE, local, 400) {
        for (_, dir) in path.iter().skip(2) {
            let along = |v: &[f64; 3]| is(*dir, *v) || is(*dir, v.map(|x| -x));
            counts[dirs.iter().position(along).expect("one of the fibres")] += 1.0;
            total += 1.0;
        }
    }
    (counts.iter().map(|n| n / total).collect(), total)
}

fn check_parts(field: &Field, local: &LocalRules, expected: &[([f64; 3], f64)]) {
    let dirs: Vec<_> = expected.iter().map(|(dir, _)| *dir).collect();
    let (parts, total) = parts(field, local, &dirs);
    for (part, (_, p)) in parts.iter().zip(expected) {
        // Five deviations of a binomial number.
        let bound = 5.0 * (p * (1.0 - p) / total).sqrt() + 1e-12;
        assert!((part - p).abs() <= bound, "{parts:?}, not {expected:?}");
    }
}

#[test]
fn the_fibre_nearest_to_a_preferred_direction_is_followed_in_the_current_sense() {
    let aside = at_angle(70.0);
    let field = field(|_| vec![(X, 0.5), (aside, 0.3)]);
    // From x = 20 on, against the sense in which it is followed.
    let preferred = map(|[i, ..]| if i >= 20 { [-0.2, -0.9, 0.0] } else { [0.0; 3] });
    let local = LocalRules { preferred: Some(preferred), ..LocalRules::default() };
    for (path, _) in halves(&field, &FREE, &local, 20) {
        for pair in path.windows(2) {
            let turned = pair[0].0[0] >= 19.5;
            assert!(is(pair[1].1, if turned { aside } else { X }), "{pair:?}");
        }
        assert!(path.len() > 20);
    }
    for (path, _) in halves(&field, &FREE, &LocalRules::default(), 5) {
        assert!(path.iter().skip(1).all(|(_, dir)| is(*dir, X)));
    }
}

#[test]
fn a_rule_at_the_point_chooses_fibres_at_all_steps_but_the_first() {
    let aside = at_angle(70.0);
    // The last one is below the threshold.
    let field = field(|_| vec![(X, 0.5), (aside, 0.25), ([0.0, 0.0, 1.0], 0.005)]);
    let rule = |value: f32| LocalRules {
        choice_here: Some(map(move |_| [value])),
        ..LocalRules::default()
    };
    let z = [0.0, 0.0, 1.0];
    check_parts(&field, &rule(1.0), &[(X, 0.5), (aside, 0.5)]);
    check_parts(&field, &rule(2.0), &[(X, 2.0 / 3.0), (aside, 1.0 / 3.0)]);
    let third = 1.0 / 3.0;
    check_parts(&field, &rule(3.0), &[(X, third), (aside, third), (z, third)]);
    check_parts(&field, &rule(8.0), &[(X, third), (aside, third), (z, third)]);
    for (path, _) in halves(&field, &FREE, &rule(2.0), 100) {
        assert!(is(path[1].1, X), "the first step is that of the first fibre");
    }
}

#[test]
fn a_rule_at_the_corner_chooses_any_near_ones_or_by_fraction() {
    let near = at_angle(30.0);
    let field = field(|_| vec![(X, 0.1), (near, 0.3), (Y, 0.6)]);
    let rule = |value: f32| LocalRules {
        choice_at_corner: Some(map(move |_| [value])),
        ..LocalRules::default()
    };
    let third = 1.0 / 3.0;
    check_parts(&field, &rule(1.0), &[(X, third), (near, third), (Y, third)]);
    // Of x and what is 30 degrees off neither is within 40 degrees of y.
    check_parts(&field, &rule(2.0), &[(X, 0.5), (near, 0.5), (Y, 0.0)]);
    check_parts(&field, &rule(3.0), &[(X, 0.1), (near, 0.3), (Y, 0.6)]);
    check_parts(&field, &rule(0.0), &[(X, 1.0), (near, 0.0), (Y, 0.0)]);
}

#[test]
fn the_least_cosine_is_that_of_the_voxel() {
    let field = field(|[i, ..]| vec![(if i < 20 { X } else { at_angle(45.0) }, 0.5)]);
    let options = Propagation { min_cos: 0.2, ..FREE };
    let rule = |value: f32| {
        let local = map(move |[i, ..]| [if i < 19 { 0.2 } else { value }]);
        LocalRules { min_cos: Some(local), ..LocalRules::default() }
    };
    let ends = |local: &LocalRules| -> Vec<_> {
        let turned = |path: &[([f32; 3], [f32; 3])]| is(path.last().unwrap().1, at_angle(45.0));
        halves(&field, &options, local, 20).iter().map(|(p, why)| (turned(p), *why)).collect()
    };
    // cos 45 degrees is 0.707.
    assert!(ends(&rule(0.75)).iter().all(|(_, why)| *why == EndReason::Curvature));
    assert!(ends(&rule(0.65)).iter().all(|(turned, why)| *turned && *why == EndReason::Length));
    assert!(ends(&LocalRules::default()).iter().all(|(turned, _)| *turned));
}

#[test]
fn where_nothing_is_drawn_the_last_fibre_is_followed_on() {
    let field = field(|[i, ..]| vec![(if (20..=22).contains(&i) { Y } else { X }, 0.5)]);
    let options = Propagation { min_cos: 0.2, ..FREE };
    let space = Space::same(grid());
    let slab = |from: usize, to: usize| {
        let mut image = Image::zeros(grid(), 1);
        for index in 0..grid().len() {
            image.data[index] = f32::from(u8::from((from..=to).contains(&grid().voxel(index)[0])));
        }
        space.region(&image, "skipped").unwrap()
    };
    // Corners of points just before and behind it are Y too.
    let local = LocalRules { skip: Some(slab(19, 23)), ..LocalRules::default() };
    for (path, why) in halves(&field, &options, &local, 20) {
        assert!(why == EndReason::Length && path.iter().skip(1).all(|(_, dir)| is(*dir, X)));
    }
    for (_, why) in halves(&field, &options, &LocalRules::default(), 20) {
        assert_eq!(why, EndReason::Curvature);
    }
    // Who starts there has nothing to follow on.
    let local = LocalRules { skip: Some(slab(10, 17)), ..LocalRules::default() };
    for (path, why) in halves(&field, &options, &local, 3) {
        assert_eq!((path.len(), why), (1, EndReason::NoDirection));
    }
}

#[test]
fn without_interpolation_the_nearest_voxel_is_followed() {
    let bent = at_angle(35.0);
    let field = field(|[i, ..]| vec![(if i < 20 { X } else { bent }, 0.5)]);
    // Steps that stand nowhere near the middle between two voxels.
    let options = Propagation { step_mm: 0.3, ..FREE };
    let as_nearest = |local: &LocalRules| {
        let halves = halves(&field, &options, local, 30);
        let mut pairs = halves.iter().flat_map(|(path, _)| path.windows(2));
        let is_nearest = |pair: &[([f32; 3], [f32; 3])]| {
            is(pair[1].1, if pair[0].0[0].round() < 20.0 { X } else { bent })
        };
        pairs.all(is_nearest)
    };
    assert!(as_nearest(&LocalRules { nearest_voxel: true, ..LocalRules::default() }));
    assert!(!as_nearest(&LocalRules::default()));
}

/// Streamlines of two seeds.
fn tracked(field: &Field, local: LocalRules, threads: Option<usize>) -> Vec<Seen> {
    let space = Space::same(grid());
    let seed = |key, pos| Seed { key, region: 0, pos };
    let seeds = [seed(1, [15.0, 20.0, 2.0]), seed(2, [22.0, 18.0, 2.0])];
    let rules = Rules { judgement: Judgement::HalfByHalf, local, ..Rules::default() };
    let tracking = Tracking {
        field,
        space: &space,
        propagation: &FREE,
        rules: &rules,
        seeds: &seeds,
        n_samples: 50,
        jitter_mm: 0.3,
        rng_seed: 4,
    };
    let mut all = Vec::new();
    match threads {
        Some(threads) => {
            let workers = Workers::new(threads).unwrap();
            track(&tracking, &workers, &Silent, Everything::default, |block: Vec<Seen>| {
                all.extend(block);
                Ok::<(), Interrupted>(())
            })
            .unwrap();
        }
        None => {
            let mut one = Everything::default();
            track_slowly(&tracking, None, &Silent, &mut one).unwrap();
            all = one.0;
        }
    }
    all.sort_by_key(|seen| seen.order);
    all
}

#[test]
fn the_only_half_of_a_seed_begins_on_the_side_it_is_told() {
    let field = field(|_| vec![(at_angle(20.0), 0.5)]);
    let towards = vec![Some([-1.0, 0.0, 0.0]), None];
    let local = LocalRules { only_towards: towards, ..LocalRules::default() };
    for seen in tracked(&field, local, Some(1)) {
        let x = |at: usize| f32::from_bits(seen.points[at][0]);
        assert!(seen.kept);
        if seen.order.0 == 0 {
            assert_eq!((seen.n_first, seen.points.len()), (0, 30));
            assert!((1..30).all(|at| x(at) < x(at - 1)));
        } else {
            assert_eq!((seen.n_first, seen.points.len()), (30, 60));
        }
    }
}

#[test]
fn rules_of_places_give_the_same_streamlines_for_any_threads() {
    let field = field(|[i, j, _]| vec![(X, 0.5), (at_angle((3 * i + 2 * j) as f64), 0.4)]);
    let local = || LocalRules {
        choice_here: Some(map(|[i, ..]| [(i % 3) as f32])),
        ..LocalRules::default()
    };
    let slowly = tracked(&field, local(), None);
    assert_eq!(slowly.len(), 100);
    for threads in [1, 3] {
        assert_eq!(tracked(&field, local(), Some(threads)), slowly);
    }
    assert_ne!(tracked(&field, LocalRules::default(), Some(1)), slowly);
}
