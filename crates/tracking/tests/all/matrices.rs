//! Matrices and orientations against what they say they count, written out plainly.

use std::collections::{BTreeMap, BTreeSet};

use fimbria_compute::{Interrupted, Silent, Workers};
use fimbria_image::{Affine, Grid, Image};
use fimbria_tracking::{
    Collect, Locations, Pairs, PlaceMatrix, Propagation, Region, Rules, Sample, Seed, SeedMatrix,
    Space, Tally, Targets, Tracking, VoxelMatrix, seeds_of_region, track, track_slowly,
};

use crate::bend::{field, slab};

type Half = Vec<[f32; 3]>;

/// The halves of every sample, with its seed.
#[derive(Default)]
struct Halves(Vec<(u32, [Half; 2])>);

impl Collect for Halves {
    type Block = ();
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.push((sample.seed_index as u32, sample.halves().map(<[_]>::to_vec)));
    }
    fn end_block(&mut self) {}
}

/// Where everything is. Tallies borrow it for as long as they live, so it is never given back.
struct World {
    space: Space,
    seeds: Vec<Seed>,
    seed_places: Locations,
    /// Two regions that overlap.
    regions: Vec<Region>,
    places: Locations,
    columns: Locations,
    coarse: Space,
    coarse_places: Locations,
}

fn world(workers: &Workers) -> &'static World {
    let space = Space::same(*field(workers).grid());
    let seeds = seeds_of_region(&space, &slab(&space, "seeds", 6, 8), 0);
    let regions = vec![slab(&space, "a", 4, 7), slab(&space, "b", 6, 9)];
    let grid = Grid { dims: [6, 6, 6], ras_from_vox: Affine::from_spacing([4.0, 4.5, 5.0]) };
    let coarse = Space::flirt(grid, space.grid(), &Affine::IDENTITY).unwrap();
    let mut inside = Image::zeros(grid, 1);
    inside.data.iter_mut().step_by(2).for_each(|v| *v = 1.0);
    let coarse_region = coarse.region(&inside, "coarse").unwrap();
    Box::leak(Box::new(World {
        seed_places: Locations::of_seeds(&space, &seeds, &[]),
        places: Locations::of_regions(&space, &regions),
        columns: Locations::of_regions(&space, &[slab(&space, "columns", 9, 12)]),
        coarse_places: Locations::of_regions(&coarse, &[coarse_region]),
        space,
        seeds,
        regions,
        coarse,
    }))
}

/// What two threads count, and the samples.
fn counted(set: impl Fn(&mut Tally<'static>, &'static World) + Sync) -> (Tally<'static>, Halves) {
    let workers = Workers::new(2).unwrap();
    let (world, field) = (world(&workers), field(&workers));
    let (rules, propagation) =
        (Rules::default(), Propagation { max_points: 300, ..Propagation::default() });
    let tracking = Tracking {
        field: &field,
        space: &world.space,
        propagation: &propagation,
        rules: &rules,
        seeds: &world.seeds,
        n_samples: 20,
        jitter_mm: 0.3,
        rng_seed: 4,
    };
    let new = || {
        let mut tally = Tally::new(&world.space, 1, true);
        set(&mut tally, world);
        tally
    };
    let tallies = track(&tracking, &workers, &Silent, new, |()| Ok::<(), Interrupted>(()));
    let sum = tallies.unwrap().into_iter().reduce(|mut a, b| {
        a.merge(b);
        a
    });
    let mut halves = Halves::default();
    track_slowly(&tracking, None, &Silent, &mut halves).unwrap();
    (sum.unwrap(), halves)
}

type Sparse = BTreeMap<(u32, u32), (u64, u64)>;

fn sparse(pairs: &Pairs) -> Sparse {
    let entries = pairs.entries();
    // By column, then row.
    assert!(entries.is_sorted_by_key(|e| (e.column, e.row)));
    entries.into_iter().map(|e| ((e.row, e.column), (e.samples, e.steps))).collect()
}

fn assert_same(got: &Sparse, expected: &Sparse) {
    let keys: BTreeSet<_> = got.keys().chain(expected.keys()).collect();
    for key in keys {
        assert_eq!(got.get(key), expected.get(key), "row and column {key:?}");
    }
}

fn add(matrix: &mut Sparse, row: u32, column: u32, steps: u64) {
    let entry = matrix.entry((row, column)).or_default();
    entry.0 += 1;
    entry.1 += steps;
}

/// The places that a sample meets, in order, with steps from the seed, negative in the second half.
fn met(
    halves: &[Half; 2],
    from_point: usize,
    places: impl Fn([f32; 3]) -> Vec<u32>,
) -> Vec<(u32, i64)> {
    let (mut known, mut met) = (BTreeSet::new(), Vec::new());
    for (half, sign) in halves.iter().zip([1, -1]) {
        for (steps, pos) in half.iter().enumerate().skip(from_point) {
            for place in places(*pos) {
                if known.insert(place) {
                    met.push((place, sign * steps as i64));
                }
            }
        }
    }
    met
}

/// Numbers of the places whose voxel this point is in.
fn places_at(places: &Locations, space: &Space, pos: [f32; 3]) -> Vec<u32> {
    let Some(voxel) = space.voxel(pos) else { return Vec::new() };
    let here = |(_, at): &(usize, &(u32, u32))| at.1 == voxel;
    places.places().iter().enumerate().filter(here).map(|(number, _)| number as u32).collect()
}

#[test]
fn targets_count_whoever_is_in_them_after_the_seed_point() {
    let (tally, samples) = counted(|tally, world| {
        tally.targets = Some(Targets::new(&world.regions, world.seeds.len()));
    });
    let world = world(&Workers::new(1).unwrap());
    let targets = tally.targets.unwrap();
    for (target, region) in world.regions.iter().enumerate() {
        let mut expected = vec![0; world.seeds.len()];
        for (seed, halves) in &samples.0 {
            let inside = |p: &[f32; 3]| region.holds(world.space.voxel(*p));
            expected[*seed as usize] +=
                u32::from(halves.iter().any(|half| half.iter().skip(1).any(inside)));
        }
        // Seeds of the first layer lie in the first region.
        assert!(expected.contains(&20) && expected.iter().any(|n| (1..20).contains(n)));
        assert_eq!(targets.counts(target), expected, "{}", region.name);
    }
}

#[test]
fn matrix_1_counts_samples_from_seed_to_seed() {
    let (tally, samples) = counted(|tally, world| {
        tally.matrix1 = Some(SeedMatrix::new(&world.seed_places, 12));
    });
    let world = world(&Workers::new(1).unwrap());
    let mut expected = Sparse::new();
    for (seed, halves) in &samples.0 {
        if halves.iter().map(Vec::len).sum::<usize>() < 12 {
            continue;
        }
        for (to, steps) in met(halves, 0, |p| places_at(&world.seed_places, &world.space, p)) {
            if to != *seed {
                add(&mut expected, *seed, to, steps.unsigned_abs());
            }
        }
    }
    assert!(expected.len() > 500, "too little to see: {}", expected.len());
    assert_same(&sparse(tally.matrix1.unwrap().pairs()), &expected);
}

#[test]
fn matrix_2_counts_each_voxel_of_the_other_grid_once() {
    let (tally, samples) = counted(|tally, world| {
        tally.matrix2 = Some(VoxelMatrix::new(&world.coarse, &world.coarse_places));
    });
    let world = world(&Workers::new(1).unwrap());
    let (from, to) = (world.space.grid(), world.coarse.grid());
    let (mm, to_mm) = (from.ras_from_vox.spacing(), to.ras_from_vox.spacing());
    let mut expected = Sparse::new();
    for (seed, halves) in &samples.0 {
        let places = |p: [f32; 3]| {
            // The same millimetres from the first voxel's centre, as the reference text has it;
            // points on the border of a voxel are rounded to one side.
            let q = std::array::from_fn(|a| p[a] * (mm[a] / to_mm[a]) as f32);
            places_at(&world.coarse_places, &world.coarse, q)
        };
        for (to, steps) in met(halves, 0, places) {
            add(&mut expected, *seed, to, steps.unsigned_abs());
        }
    }
    assert!(expected.len() > 200, "too little to see: {}", expected.len());
    assert_same(&sparse(tally.matrix2.unwrap().pairs()), &expected);
}

#[test]
fn matrix_3_counts_pairs_of_places_above_the_diagonal() {
    let (tally, samples) = counted(|tally, world| {
        let matrix = PlaceMatrix::new(&world.space, &world.places, None, 8);
        tally.matrix3 = Some(matrix);
    });
    let world = world(&Workers::new(1).unwrap());
    // A voxel of both regions is two places.
    let overlap = world.regions[0].voxels().find(|v| world.regions[1].holds(Some(*v))).unwrap();
    assert_eq!(world.places.at(overlap).count(), 2);
    let mut expected = Sparse::new();
    for (_, halves) in &samples.0 {
        if halves.iter().map(Vec::len).sum::<usize>() < 8 {
            continue;
        }
        let met = met(halves, 1, |p| places_at(&world.places, &world.space, p));
        for (i, (a, at)) in met.iter().enumerate() {
            for (b, to) in &met[i + 1..] {
                add(&mut expected, *a.min(b), *a.max(b), at.abs_diff(*to));
            }
        }
    }
    assert!(expected.len() > 2000, "too little to see: {}", expected.len());
    assert_same(&sparse(tally.matrix3.unwrap().pairs()), &expected);
}

#[test]
fn matrix_3_with_columns_counts_pairs_of_a_row_and_a_column() {
    let (tally, samples) = counted(|tally, world| {
        let matrix = PlaceMatrix::new(&world.space, &world.places, Some(&world.columns), 0);
        tally.matrix3 = Some(matrix);
    });
    let world = world(&Workers::new(1).unwrap());
    let mut expected = Sparse::new();
    for (_, halves) in &samples.0 {
        let rows = met(halves, 1, |p| places_at(&world.places, &world.space, p));
        let columns = met(halves, 1, |p| places_at(&world.columns, &world.space, p));
        for (row, at) in &rows {
            for (column, to) in &columns {
                add(&mut expected, *row, *column, at.abs_diff(*to));
            }
        }
    }
    assert!(expected.len() > 500, "too little to see: {}", expected.len());
    assert_same(&sparse(tally.matrix3.unwrap().pairs()), &expected);
}

#[test]
fn orientations_are_those_of_the_steps_that_enter_voxels() {
    let (tally, samples) = counted(|tally, _| tally.visits.count_orientations());
    let world = world(&Workers::new(1).unwrap());
    let mm = world.space.grid().ras_from_vox.spacing();
    let mut expected = vec![[[0.0; 3]; 3]; world.space.grid().len()];
    for (_, halves) in &samples.0 {
        let mut known = BTreeSet::new();
        for half in halves {
            for (steps, pos) in half.iter().enumerate() {
                let Some(voxel) = world.space.voxel(*pos) else { continue };
                if !known.insert(voxel) || steps == 0 {
                    continue;
                }
                let step: [f64; 3] =
                    std::array::from_fn(|a| f64::from(pos[a] - half[steps - 1][a]) * mm[a]);
                let square: f64 = step.iter().map(|x| x * x).sum();
                for i in 0..3 {
                    for j in 0..3 {
                        expected[voxel as usize][i][j] += step[i] * step[j] / square;
                    }
                }
            }
        }
    }
    for (voxel, expected) in expected.iter().enumerate() {
        let got = tally.visits.orientation(voxel);
        for (got, expected) in got.iter().flatten().zip(expected.iter().flatten()) {
            // Units of 2^-32, some thousand samples.
            assert!((got - expected).abs() < 1e-6, "{voxel}: {got} {expected}");
        }
    }
}
