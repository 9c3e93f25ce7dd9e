//! Laws that hold for every field: where it lies, how it is dealt and what else is tracked do not
//! matter to a streamline.

use fimbria_compute::{Interrupted, Silent, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_tracking::{Field, Propagation, Rules, Seed, Space, Tracking, seeds_of_region, track};
use proptest::prelude::*;

use crate::bend::{Everything, Seen};

const DIMS: [usize; 3] = [12, 11, 10];

/// A smooth field of one fibre with five samples; voxels of `edge` mm, the first at `corner`.
fn field(phase: f64, edge: f64, corner: [f64; 3], workers: &Workers) -> Field {
    let mut ras_from_vox = Affine::from_spacing([edge; 3]);
    for (row, at) in ras_from_vox.0.iter_mut().zip(corner) {
        row[3] = at;
    }
    let grid = Grid { dims: DIMS, ras_from_vox };
    let mut samples = StickSamples::empty(Mask::full(grid), 1, 5).unwrap();
    for (i, stick) in samples.sticks.iter_mut().enumerate() {
        let [x, y, z] = grid.voxel(i / 5).map(|k| k as f64 / 6.0);
        let turn = phase + 0.05 * (i % 5) as f64;
        *stick = PackedStick::new([1.0, (x + turn).sin(), 0.5 * (y - z + turn).cos()], 0.6);
    }
    Field::new(samples, workers)
}

/// Every seventh voxel.
fn seeds(space: &Space) -> Vec<Seed> {
    let mut image = Image::zeros(*space.grid(), 1);
    image.data.iter_mut().step_by(7).for_each(|v| *v = 1.0);
    seeds_of_region(space, &space.region(&image, "seeds").unwrap(), 0)
}

/// Streamlines with steps and jitter of a share of the voxel's edge.
fn tracked(field: &Field, edge: f64, seeds: &[Seed], rng_seed: u64, threads: usize) -> Vec<Seen> {
    let workers = Workers::new(threads).unwrap();
    let space = Space::same(*field.grid());
    let propagation =
        Propagation { step_mm: (0.25 * edge) as f32, max_points: 200, ..Propagation::default() };
    let rules = Rules::default();
    let tracking = Tracking {
        field,
        space: &space,
        propagation: &propagation,
        rules: &rules,
        seeds,
        n_samples: 2,
        jitter_mm: (0.25 * edge) as f32,
        rng_seed,
    };
    let mut all = Vec::new();
    track(&tracking, &workers, &Silent, Everything::default, |block: Vec<Seen>| {
        all.extend(block);
        Ok::<(), Interrupted>(())
    })
    .unwrap();
    all.sort_by_key(|seen| seen.order);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn threads_change_no_bit(phase in 0.0..6.3_f64, rng_seed: u64, threads in 2_usize..6) {
        let workers = Workers::new(2).unwrap();
        let field = field(phase, 2.0, [0.0; 3], &workers);
        let seeds = seeds(&Space::same(*field.grid()));
        let one = tracked(&field, 2.0, &seeds, rng_seed, 1);
        prop_assert!(one.iter().map(|seen| seen.points.len()).sum::<usize>() > 1000);
        prop_assert_eq!(one, tracked(&field, 2.0, &seeds, rng_seed, threads));
    }

    /// Random numbers are keyed by the seed's voxel, not by its place in a list.
    #[test]
    fn other_seeds_change_no_bit(phase in 0.0..6.3_f64, rng_seed: u64, every in 2_usize..9) {
        let workers = Workers::new(2).unwrap();
        let field = field(phase, 2.0, [0.0; 3], &workers);
        let seeds = seeds(&Space::same(*field.grid()));
        let all = tracked(&field, 2.0, &seeds, rng_seed, 2);
        let some: Vec<Seed> = seeds.iter().step_by(every).cloned().collect();
        let alone = tracked(&field, 2.0, &some, rng_seed, 2);
        let kept = all.into_iter().filter(|seen| seen.order.0 % every == 0);
        let kept = kept.map(|seen| Seen { order: (seen.order.0 / every, seen.order.1), ..seen });
        prop_assert_eq!(kept.collect::<Vec<_>>(), alone);
    }

    /// Points are counted in voxels: moving the head in the scanner changes no bit.
    #[test]
    fn moving_the_field_changes_no_bit(
        phase in 0.0..6.3_f64,
        rng_seed: u64,
        corner in prop::array::uniform3(-80.0..80.0_f64),
    ) {
        let workers = Workers::new(2).unwrap();
        let here = field(phase, 2.0, [0.0; 3], &workers);
        let there = field(phase, 2.0, corner, &workers);
        let seeds = seeds(&Space::same(*here.grid()));
        prop_assert_eq!(
            tracked(&here, 2.0, &seeds, rng_seed, 2),
            tracked(&there, 2.0, &seeds, rng_seed, 2)
        );
    }

    /// A head of twice the size, in steps of twice the length: the same voxels. Doubling rounds
    /// nothing.
    #[test]
    fn doubling_voxels_and_steps_changes_no_bit(phase in 0.0..6.3_f64, rng_seed: u64) {
        let workers = Workers::new(2).unwrap();
        let small = field(phase, 1.0, [0.0; 3], &workers);
        let large = field(phase, 2.0, [0.0; 3], &workers);
        let seeds = seeds(&Space::same(*small.grid()));
        prop_assert_eq!(
            tracked(&small, 1.0, &seeds, rng_seed, 2),
            tracked(&large, 2.0, &seeds, rng_seed, 2)
        );
    }
}
