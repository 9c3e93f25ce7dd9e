//! Surfaces as regions: a plane is crossed where x passes it, which needs no triangles to tell.

use fimbria_compute::{Interrupted, Silent, SimdLevel, Workers};
use fimbria_tracking::{
    Collect as _, EndReason, Judgement, Locations, Mesh, Pair, PlaceMatrix, Propagation, Region,
    Rules, Seed, SeedMatrix, Space, Tally, Targets, Tracking, Waypoints, seeds_of_region, track,
    track_slowly,
};

use crate::bend::{Everything, Seen, field, slab};

/// A square across the grid, of two triangles; `active` of its four vertices count.
fn plane(space: &Space, x: f32, active: [bool; 4]) -> Region {
    let vertices = [[-9.0, -9.0], [40.0, -9.0], [40.0, 40.0], [-9.0, 40.0]];
    let vertices = vertices.map(|[y, z]| [x, y, z]).to_vec();
    let triangles = [[0, 1, 2], [0, 2, 3]];
    let mesh = Mesh::new(space.grid(), vertices, &triangles, active.to_vec()).unwrap();
    Region::of_surface("plane", mesh, false)
}

const ALL: [bool; 4] = [true; 4];
/// Where planes are: no seed has this x.
const X: f32 = 7.3;

struct World {
    workers: Workers,
    field: fimbria_tracking::Field,
    space: Space,
    seeds: Vec<Seed>,
}

fn world() -> World {
    let workers = Workers::new(2).unwrap();
    let field = field(&workers);
    let space = Space::same(*field.grid());
    let seeds = seeds_of_region(&space, &slab(&space, "seeds", 6, 9), 0);
    World { workers, field, space, seeds }
}

impl World {
    fn tracking<'a>(&'a self, propagation: &'a Propagation, rules: &'a Rules) -> Tracking<'a> {
        Tracking {
            field: &self.field,
            space: &self.space,
            propagation,
            rules,
            seeds: &self.seeds,
            n_samples: 3,
            jitter_mm: 0.0,
            rng_seed: 7,
        }
    }

    /// Every sample, which lanes make as the oracle does.
    fn seen(&self, rules: &Rules) -> Vec<Seen> {
        let propagation = Propagation { max_points: 400, ..Propagation::default() };
        let tracking = self.tracking(&propagation, rules);
        let mut oracle = Everything::default();
        track_slowly(&tracking, None, &Silent, &mut oracle).unwrap();
        let oracle = oracle.end_block();
        let mut fast = Vec::new();
        if SimdLevel::available().into_iter().any(|level| level.fuses()) {
            let each = |block: Vec<Seen>| {
                fast.extend(block);
                Ok::<(), Interrupted>(())
            };
            track(&tracking, &self.workers, &Silent, Everything::default, each).unwrap();
            assert_eq!(fast, oracle);
        }
        oracle
    }
}

/// The points of both halves, x alone.
fn halves(seen: &Seen) -> [Vec<f32>; 2] {
    let x = |points: &[[u32; 3]]| points.iter().map(|p| f32::from_bits(p[0])).collect();
    let (first, second) = seen.points.split_at(seen.n_first);
    [x(first), x(second)]
}

/// The points of a half that a step across the plane leads to.
fn crossings(half: &[f32]) -> Vec<usize> {
    (1..half.len()).filter(|i| (half[i - 1] < X) != (half[*i] < X)).collect()
}

fn crosses(seen: &Seen) -> bool {
    halves(seen).iter().any(|half| !crossings(half).is_empty())
}

#[test]
fn who_crosses_a_surface_to_avoid_is_rejected_and_others_are_not() {
    let world = world();
    let free = world.seen(&Rules::default());
    let avoid = vec![plane(&world.space, X, ALL)];
    let judged = world.seen(&Rules { avoid, ..Rules::default() });
    for (judged, free) in judged.iter().zip(&free) {
        // Seeds in voxels without samples are not kept anyway.
        assert_eq!(judged.kept, free.kept && !crosses(free), "{:?}", free.order);
    }
    let kept = judged.iter().filter(|seen| seen.kept).count();
    assert!(kept > 100 && judged.len() - kept > 100, "{kept} of {}", judged.len());
}

#[test]
fn who_must_pass_a_surface_crosses_it() {
    let world = world();
    let free = world.seen(&Rules::default());
    let regions = vec![plane(&world.space, X, ALL)];
    let waypoints = Waypoints { regions, ..Waypoints::default() };
    let judged = world.seen(&Rules { waypoints, ..Rules::default() });
    for (judged, free) in judged.iter().zip(&free) {
        assert_eq!(judged.kept, crosses(free));
    }
}

#[test]
fn a_half_stops_at_the_point_after_the_surface() {
    let world = world();
    let free = world.seen(&Rules::default());
    let stop = vec![plane(&world.space, X, ALL)];
    let judged = world.seen(&Rules { stop, ..Rules::default() });
    let mut stopped = 0;
    for (judged, free) in judged.iter().zip(&free) {
        // The second half follows from the first step alone, which comes before any stop.
        for ((half, free), end) in halves(judged).iter().zip(&halves(free)).zip(judged.ends) {
            match crossings(free).first() {
                Some(at) => {
                    assert_eq!(half[..], free[..=*at]);
                    assert_eq!(end, EndReason::Stop);
                    stopped += 1;
                }
                None => assert_eq!(half, free),
            }
        }
    }
    assert!(stopped > 100, "{stopped}");
}

#[test]
fn a_half_stops_before_it_crosses_a_surface_again() {
    let world = world();
    let free = world.seen(&Rules::default());
    let stop_on_leaving = vec![plane(&world.space, X, ALL)];
    let judged = world.seen(&Rules { stop_on_leaving, ..Rules::default() });
    let mut stopped = 0;
    for (judged, free) in judged.iter().zip(&free) {
        for (half, free) in halves(judged).iter().zip(&halves(free)) {
            match crossings(free).get(1) {
                Some(at) => {
                    assert_eq!(half[..], free[..*at]);
                    stopped += 1;
                }
                None => assert_eq!(half, free),
            }
        }
    }
    assert!(stopped > 20, "{stopped}");
}

#[test]
fn a_surface_stops_nobody_who_starts_on_it() {
    let mut world = world();
    for seed in &mut world.seeds {
        seed.pos[0] = X;
    }
    for judgement in [Judgement::Whole, Judgement::HalfByHalf] {
        let stop = vec![plane(&world.space, X, ALL)];
        let judged = world.seen(&Rules { stop, judgement, ..Rules::default() });
        let points: usize = judged.iter().map(|seen| seen.points.len()).sum();
        assert!(points > 10 * judged.len(), "{points} points of {} samples", judged.len());
    }
}

#[test]
fn samples_that_cross_are_counted_for_targets_vertices_and_pairs_of_them() {
    let world = world();
    let free = world.seen(&Rules::default());
    let active = [true, true, false, true];
    let regions = vec![plane(&world.space, X, active), slab(&world.space, "slab", 10, 11)];
    let places = Locations::of_regions(&world.space, &regions);
    assert_eq!(places.places()[..3], [(0, 0), (0, 1), (0, 3)]);
    let n_voxels = regions[1].len();
    let propagation = Propagation { max_points: 400, ..Propagation::default() };
    let rules = Rules::default();
    let tracking = world.tracking(&propagation, &rules);
    // One vertex is a seed beside those of voxels.
    let mut seeds = world.seeds.clone();
    seeds.iter_mut().for_each(|seed| seed.region = 1);
    seeds.push(Seed { key: 3, region: 0, pos: [0.0; 3] });
    let seed_places = Locations::of_seeds(&world.space, &seeds, &regions);
    let mut tally = Tally::new(&world.space, 2, true);
    tally.targets = Some(Targets::new(&regions, world.seeds.len()));
    tally.matrix1 = Some(SeedMatrix::new(&seed_places, 1));
    tally.matrix3 = Some(PlaceMatrix::new(&world.space, &places, None, 1));
    track_slowly(&tracking, None, &Silent, &mut tally).unwrap();

    let reached = tally.targets.as_ref().unwrap().counts(0);
    let mut expected = vec![0; world.seeds.len()];
    for seen in free.iter().filter(|seen| crosses(seen)) {
        expected[seen.order.0] += 1;
    }
    assert_eq!(reached, expected);

    // Which of the two triangles, only y and z tell: all that cross the one with vertices 0, 1 and
    // 2 pass 0 and 1, all that cross the other 0 and 3.
    let upper = |p: &[u32; 3]| f32::from_bits(p[2]) > f32::from_bits(p[1]);
    let (mut lower_pairs, mut upper_pairs) = (0, 0);
    for seen in &free {
        let (mut has_lower, mut has_upper) = (false, false);
        for range in [0..seen.n_first, seen.n_first..seen.points.len()] {
            let half = &seen.points[range];
            let x: Vec<_> = half.iter().map(|p| f32::from_bits(p[0])).collect();
            for at in crossings(&x) {
                let (a, b) = (upper(&half[at - 1]), upper(&half[at]));
                // A step along the diagonal itself may be of either.
                if a == b {
                    if a { has_upper = true } else { has_lower = true }
                }
            }
        }
        lower_pairs += u64::from(has_lower);
        upper_pairs += u64::from(has_upper);
    }
    let pairs = tally.matrix3.unwrap().pairs().entries();
    let samples = |row, column| {
        let is = |pair: &&Pair| (pair.row, pair.column) == (row, column);
        pairs.iter().find(is).map_or(0, |pair| pair.samples)
    };
    // Steps across the diagonal are a few more.
    let near = |counted: u64, plain: u64| counted >= plain && counted <= plain + plain / 20 + 2;
    assert!(lower_pairs > 50 && upper_pairs > 50, "{lower_pairs} {upper_pairs}");
    assert!(near(samples(0, 1), lower_pairs), "{} {lower_pairs}", samples(0, 1));
    assert!(near(samples(0, 2), upper_pairs), "{} {upper_pairs}", samples(0, 2));
    let with_slab = pairs.iter().filter(|pair| pair.row == 0 && pair.column >= 3);
    assert!(with_slab.clone().count() > 5 && with_slab.count() <= n_voxels);

    // Whoever crosses the upper triangle passes the seed that is vertex 3, and nobody else.
    let last = seeds.len() as u32 - 1;
    let to_seeds = tally.matrix1.unwrap().pairs().entries();
    let to_vertex: u64 = to_seeds.iter().filter(|p| p.column == last).map(|p| p.samples).sum();
    assert_eq!(to_vertex, samples(0, 2));
}
