use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{Silent, Workers};
use fimbria_image::{Affine, Grid};

use super::model::Model;
use super::*;
use crate::{CountBy, Tracer};

fn workers(threads: usize) -> Workers {
    Workers::new(threads).unwrap()
}

/// One row of voxels along x, a fixel in each, and streamlines that run straight through parts of it.
fn straight(voxels: usize, lines: &[(f32, f32)]) -> FixelLengths {
    let grid = Grid { dims: [voxels, 1, 1], ras_from_vox: Affine::IDENTITY };
    let tracer = Tracer::new(grid, CountBy::Length, false).unwrap();
    let mut tracks = FixelLengths::new(voxels);
    let points: Vec<_> = lines.iter().flat_map(|&(a, b)| [[a, 0.0, 0.0], [b, 0.0, 0.0]]).collect();
    let offsets: Vec<u64> = (0..=lines.len() as u64).map(|k| 2 * k).collect();
    tracks.add(&offsets, &points, &tracer, &|voxel, _| Some(voxel), &workers(2));
    tracks
}

/// Streamlines through random stretches of fifty voxels, and densities that random weights make.
fn random(n: usize) -> (FixelLengths, Vec<f32>, Vec<f32>) {
    let draws = Philox::new(3);
    let drawn = |item: usize| -> [f32; 3] {
        let [a, b, c, _] = draws.at(item as u64, 0);
        [uniform(a), uniform(b), uniform(c)]
    };
    let ends: Vec<_> =
        (0..n).map(|k| (50.0 * drawn(k)[0] - 0.5, 50.0 * drawn(k)[1] - 0.5)).collect();
    let tracks = straight(50, &ends);
    let weights: Vec<f32> = (0..n).map(|k| 0.2 + 2.0 * drawn(k)[2]).collect();
    let sums = tracks.sums(|s| [f64::from(weights[s])]);
    (tracks, sums.iter().map(|[sum]| 0.01 * *sum as f32).collect(), weights)
}

const FREE: Sift2Options = Sift2Options {
    tikhonov: 0.0,
    total_variation: 0.0,
    least_filled: 0.0,
    most_iterations: 500,
    least_decrease: 1e-9,
};

fn found(tracks: &FixelLengths, density: &[f32], options: &Sift2Options) -> Sift2 {
    let white = vec![1.0; density.len()];
    sift2(tracks, density, &white, None, options, &workers(2), &Silent).unwrap()
}

#[test]
fn lengths_in_fixels_are_those_of_the_streamline() {
    let tracks = straight(4, &[(-0.5, 1.0), (2.25, 0.25)]);
    assert_eq!(tracks.lengths_of(0), [(0, 1.0), (1, 0.5)]);
    assert_eq!(tracks.lengths_of(1), [(2, 0.75), (1, 1.0), (0, 0.25)]);
}

#[test]
fn the_gradient_is_that_of_the_objective() {
    let (tracks, density, _) = random(40);
    let white: Vec<f32> = (0..50).map(|l| 0.3 + 0.01 * l as f32).collect();
    let options = Sift2Options { tikhonov: 0.2, total_variation: 0.3, ..FREE };
    let model = Model::new(&tracks, &density, &white, &options).unwrap();
    let at: Vec<f32> = (0..40).map(|k| (0.7 * k as f32).sin()).collect();
    let slope = model.slope(&at);
    let scale = 1.0 / model.per_scale();
    for s in 0..40 {
        const STEP: f32 = 1.0 / 64.0;
        let moved = |by: f32| {
            let mut factors = at.clone();
            factors[s] += by;
            model.slope(&factors).step.objective * scale
        };
        let by_differences = (moved(STEP) - moved(-STEP)) / f64::from(2.0 * STEP);
        // Central differences err by the third derivative, some 1e-4 of the slope here.
        let size = slope.gradient.iter().fold(0.0, |a: f32, g| a.max(g.abs()));
        let error = (by_differences - f64::from(slope.gradient[s])).abs();
        assert!(error < 1e-3 * f64::from(size), "{s}: {error} of {size}");
    }
}

#[test]
fn densities_that_weights_made_are_met() {
    let (tracks, density, _) = random(300);
    let found = found(&tracks, &density, &FREE);
    let (first, last) = (found.steps[0].error, found.steps[found.steps.len() - 1].error);
    assert!(first > 0.01 && last < 1e-4, "{first} {last}");
    assert!(found.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective));
}

#[test]
fn of_two_bundles_the_one_with_too_many_streamlines_weighs_less() {
    // Nine streamlines through the first three voxels, three through the last three; as dense.
    let ends = [(-0.5, 2.5); 9].into_iter().chain([(2.5, 5.5); 3]).collect::<Vec<_>>();
    let tracks = straight(6, &ends);
    let found = found(&tracks, &[1.0; 6], &FREE);
    let share = found.weights[11] / found.weights[0];
    assert!((share - 3.0).abs() < 1e-3, "{share}");
    // μ is that of weights of one: 6 of density over 36 mm.
    assert!((found.mu - 6.0 / 36.0).abs() < 1e-12, "{}", found.mu);
}

#[test]
fn variation_holds_streamlines_of_a_fixel_together() {
    let (tracks, density, _) = random(300);
    let spread = |total_variation| {
        let weights = found(&tracks, &density, &Sift2Options { total_variation, ..FREE }).weights;
        let logs: Vec<f64> = weights.iter().map(|w| f64::from(w.ln())).collect();
        let mean = logs.iter().sum::<f64>() / 300.0;
        logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 300.0
    };
    let spreads = [0.0, 0.1, 10.0].map(spread);
    assert!(spreads[0] > spreads[1] && spreads[1] > spreads[2], "{spreads:?}");
}

#[test]
fn the_bits_do_not_depend_on_threads() {
    let (tracks, density, _) = random(9000);
    let white = vec![1.0; 50];
    let options = Sift2Options { most_iterations: 20, ..Sift2Options::default() };
    let weights = |threads| {
        sift2(&tracks, &density, &white, None, &options, &workers(threads), &Silent)
            .unwrap()
            .weights
    };
    assert_eq!(weights(1), weights(3));
}

#[test]
fn what_is_astray_or_unfilled_is_told() {
    let tracks = straight(6, &[(-0.5, 2.5), (-0.5, 2.5), (40.0, 50.0)]);
    let options = Sift2Options { least_filled: 0.1, ..FREE };
    let found = found(&tracks, &[1.0; 6], &options);
    assert_eq!((found.astray, found.unfilled), (1, 3));
    assert_eq!(found.weights[2], 0.0);
    let apart = straight(6, &[(40.0, 50.0)]);
    let white = [1.0; 6];
    let error = sift2(&apart, &[1.0; 6], &white, None, &options, &workers(1), &Silent);
    assert_eq!(error.unwrap_err(), Sift2Error::Apart);
}

#[test]
fn rows_of_all_blocks_are_found() {
    // Three blocks, in chunks that end elsewhere; line k passes k % 7 voxels and a half.
    let ends = |k: usize| (-0.5, (k % 7) as f32);
    let whole: Vec<_> = (0..9001).map(ends).collect();
    let tracks = straight(8, &whole);
    let grid = Grid { dims: [8, 1, 1], ras_from_vox: Affine::IDENTITY };
    let tracer = Tracer::new(grid, CountBy::Length, false).unwrap();
    let mut parts = FixelLengths::new(8);
    for chunk in whole.chunks(1000) {
        let points: Vec<_> =
            chunk.iter().flat_map(|&(a, b)| [[a, 0.0, 0.0], [b, 0.0, 0.0]]).collect();
        let offsets: Vec<u64> = (0..=chunk.len() as u64).map(|k| 2 * k).collect();
        parts.add(&offsets, &points, &tracer, &|voxel, _| Some(voxel), &workers(2));
    }
    assert_eq!((tracks.streamlines(), parts.streamlines()), (9001, 9001));
    for k in 0..9001 {
        assert_eq!(tracks.lengths_of(k).len(), k % 7 + 1, "{k}");
        assert_eq!(tracks.lengths_of(k), parts.lengths_of(k));
    }
    let entries: usize = (0..9001).map(|k| k % 7 + 1).sum();
    assert_eq!(parts.bytes(), 8 * (entries + 9001) as u64);
}
