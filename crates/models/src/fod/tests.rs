//! Known densities come back from their signals; the fast solver is held to the oracle.

use std::f64::consts::PI;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use fimbria_compute::{Backend, Progress, SimdLevel, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_tensors::sh::{ShBasis, ShToForm, evaluate, sh_count};
use fimbria_tensors::starts::half_sphere;
use pulp::{Simd, WithSimd};

use super::deconvolution::{VoxelOutcome, VoxelWork};
use super::estimate::zonal_harmonics;
use super::fit::FodTiles;
use super::oracle::{Plain, alternate};
use super::*;
use crate::voxelwise::{Job, JobError};
use fimbria_testing::{Noise, acquisition};

/// S0 of white matter, grey matter and fluid, and their diffusivities in mm²/s (along and across
/// for white matter).
const WHITE: (f64, f64, f64) = (600.0, 1.7e-3, 0.3e-3);
const GREY: (f64, f64) = (800.0, 0.8e-3);
const FLUID: (f64, f64) = (1200.0, 3.0e-3);

fn fibre_signal(b: f64, cos: f64) -> f64 {
    let (s0, along, across) = WHITE;
    s0 * (-b * (across + (along - across) * cos * cos)).exp()
}

/// The responses of these tissues, zonal harmonics by quadrature.
fn responses(table: &GradientTable, order: usize, three: bool) -> Responses {
    let all = table.shells();
    let shells: Vec<_> = all.iter().filter(|s| three || !table.is_b0(s.volumes[0])).collect();
    let b: Vec<f64> = shells.iter().map(|s| s.b_s_per_mm2).collect();
    let zonal = |b: f64| {
        const N: usize = 4000;
        let mut row = vec![0.0; order / 2 + 1];
        for i in 0..N {
            let cos = (i as f64 + 0.5) / N as f64;
            for (r, y) in row.iter_mut().zip(zonal_harmonics(order, cos)) {
                *r += 4.0 * PI / N as f64 * y * fibre_signal(b, cos);
            }
        }
        row
    };
    let iso = |(s0, d): (f64, f64)| Response {
        b_s_per_mm2: Some(b.clone()),
        zonal: b.iter().map(|b| vec![(4.0 * PI).sqrt() * s0 * (-b * d).exp()]).collect(),
    };
    Responses {
        white: Response {
            b_s_per_mm2: Some(b.clone()),
            zonal: b.iter().map(|&b| zonal(b)).collect(),
        },
        isotropic: three.then(|| [iso(GREY), iso(FLUID)]),
    }
}

fn multi_shell() -> GradientTable {
    acquisition(6, &[(1000.0, 32), (2000.0, 32), (3000.0, 32)])
}

fn problem(table: &GradientTable, order: usize, three: bool) -> Deconvolution {
    problem_with(table, three, FodOptions { order, ..FodOptions::default() })
}

fn problem_with(table: &GradientTable, three: bool, options: FodOptions) -> Deconvolution {
    Deconvolution::new(table, &responses(table, options.order, three), &options).unwrap()
}

/// The signal of fibres (axis, amount) with grey matter and fluid, without noise; a fibre's signal
/// is cut off at the degree of its response, so that the model is exact.
fn signal(
    deconvolution: &Deconvolution,
    fibres: &[([f64; 3], f64)],
    grey: f64,
    fluid: f64,
) -> Vec<f32> {
    let n = deconvolution.n_unknowns();
    let mut x = vec![0.0; deconvolution.n_harmonics()];
    for &(axis, amount) in fibres {
        let delta = evaluate(ShBasis::Mrtrix, deconvolution.order(), axis);
        x.iter_mut().zip(delta).for_each(|(x, y)| *x += amount * y);
    }
    x.extend([grey, fluid]);
    let mut samples = vec![0.0; deconvolution.n_volumes()];
    let convolution = &deconvolution.convolution;
    for (row, &v) in convolution.matrix.chunks_exact(n).zip(&convolution.volumes) {
        samples[v] = row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() as f32;
    }
    samples
}

struct Solve<'a>(&'a Deconvolution, &'a [f32]);

impl WithSimd for Solve<'_> {
    type Output = (VoxelWork, VoxelOutcome);
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Self::Output {
        let mut work = VoxelWork::default();
        let outcome = self.0.solve(self.1, 1, &mut work);
        (work, outcome)
    }
}

fn solve(deconvolution: &Deconvolution, samples: &[f32]) -> (Vec<f64>, VoxelOutcome) {
    let (work, outcome) = SimdLevel::best().run(Solve(deconvolution, samples));
    (work.x, outcome)
}

/// Amplitude of a density along a direction.
fn amplitude(x: &[f64], order: usize, dir: [f64; 3]) -> f64 {
    evaluate(ShBasis::Mrtrix, order, dir).iter().zip(x).map(|(y, f)| y * f).sum()
}

/// The maxima above a fifth of the largest: uphill from many directions in ever smaller steps.
fn peaks(x: &[f64], order: usize) -> Vec<[f64; 3]> {
    let mut maxima: Vec<(f64, [f64; 3])> = Vec::new();
    for start in half_sphere(100) {
        let (mut dir, mut best, mut step) = (start, amplitude(x, order, start), 0.1);
        while step > 1e-4 {
            let moved = (0..6).map(|k| {
                let mut to = dir;
                to[k / 2] += if k % 2 == 0 { step } else { -step };
                let norm = to.iter().map(|c| c * c).sum::<f64>().sqrt();
                to.map(|c| c / norm)
            });
            let (value, to) = moved
                .map(|to| (amplitude(x, order, to), to))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            if value > best {
                (best, dir) = (value, to);
            } else {
                step *= 0.5;
            }
        }
        if maxima.iter().all(|(_, m)| angle(*m, dir) > 3.0) {
            maxima.push((best, dir));
        }
    }
    maxima.sort_by(|a, b| b.0.total_cmp(&a.0));
    let largest = maxima[0].0;
    maxima.into_iter().filter(|(a, _)| *a > 0.2 * largest).map(|(_, dir)| dir).collect()
}

/// Angle between two axes in degrees.
fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum::<f64>().abs().min(1.0).acos().to_degrees()
}

const X: [f64; 3] = [1.0, 0.0, 0.0];

/// At this angle from x, in a plane off the axes.
fn at(degrees: f64) -> [f64; 3] {
    let (sin, cos) = degrees.to_radians().sin_cos();
    [cos, 0.8 * sin, 0.6 * sin]
}

/// Noisy signals of voxels of many kinds.
fn noisy_voxels(deconvolution: &Deconvolution, n: usize) -> Vec<Vec<f32>> {
    let mut noise = Noise(5);
    (0..n)
        .map(|i| {
            let fibres: Vec<_> = (0..i % 4)
                .map(|k| (at(180.0 * noise.uniform()), 0.2 + 0.3 * k as f64 * noise.uniform()))
                .collect();
            let (grey, fluid) = (noise.uniform(), 0.5 * noise.uniform());
            let clean = signal(deconvolution, &fibres, grey, fluid);
            clean.iter().map(|&s| noise.rician(f64::from(s), 25.0) as f32).collect()
        })
        .collect()
}

#[test]
fn the_axis_and_amount_of_one_fibre_come_back() {
    let table = multi_shell();
    for order in [4, 6, 8, 10, 12] {
        let deconvolution = problem(&table, order, true);
        let axis = at(37.0);
        let (x, outcome) = solve(&deconvolution, &signal(&deconvolution, &[(axis, 0.7)], 0.2, 0.1));
        // A density that is not negative cannot equal a delta cut off at this order, whose side
        // lobes are negative: being wider it takes the isotropic tissue (0.3) for itself, in part.
        let white = x[0] * (4.0 * PI).sqrt();
        assert!((white - 0.7).abs() < 0.3, "order {order}: {white}");
        let found = peaks(&x, order);
        assert_eq!(found.len(), 1);
        // The density cannot be a delta: its lobe leans a little by where the 300 directions lie.
        assert!(angle(found[0], axis) < 1.5, "order {order}: {}", angle(found[0], axis));
        assert_eq!(outcome.status, Status::Constrained);
    }
}

#[test]
fn a_density_that_is_positive_comes_back_exactly() {
    // 1 + a fibre's lobe: nowhere negative, so that the constraint does not bind.
    let table = multi_shell();
    let options = FodOptions { regularisation: 1e-12, ..FodOptions::default() };
    let deconvolution = Deconvolution::new(&table, &responses(&table, 8, true), &options).unwrap();
    let mut samples = signal(&deconvolution, &[(at(20.0), 0.3)], 0.3, 0.2);
    let n = deconvolution.n_unknowns();
    for (row, &v) in
        deconvolution.convolution.matrix.chunks_exact(n).zip(&deconvolution.convolution.volumes)
    {
        samples[v] += row[0] as f32;
    }
    let (x, outcome) = solve(&deconvolution, &samples);
    assert_eq!(outcome.status, Status::Fitted);
    let mut expected = evaluate(ShBasis::Mrtrix, 8, at(20.0));
    expected.iter_mut().for_each(|y| *y *= 0.3);
    expected[0] += 1.0;
    expected.extend([0.3, 0.2]);
    // Degree 8 has a gain of 1 in signals of 1000, whose rounding to f32 is 3e-5; ten samples or
    // so determine each coefficient.
    for (k, (x, e)) in x.iter().zip(&expected).enumerate() {
        assert!((x - e).abs() < 1e-4, "unknown {k}: {x} {e}");
    }
    assert!(outcome.residual < 1e-4, "{}", outcome.residual);
}

#[test]
fn fibres_crossing_at_90_and_60_degrees_are_told_apart() {
    let deconvolution = problem(&multi_shell(), 8, true);
    for (degrees, tolerance) in [(90.0, 2.0), (60.0, 4.0)] {
        let samples = signal(&deconvolution, &[(X, 0.5), (at(degrees), 0.5)], 0.0, 0.0);
        let found = peaks(&solve(&deconvolution, &samples).0, 8);
        assert_eq!(found.len(), 2, "{degrees}: {found:?}");
        for axis in [X, at(degrees)] {
            let error = found.iter().map(|f| angle(*f, axis)).fold(90.0, f64::min);
            // Lobes of order 8 are 40° wide: they lean by where the 300 directions lie, 8° apart,
            // and pull each other together at 60°.
            assert!(error < tolerance, "{degrees}: {error}");
        }
    }
}

#[test]
fn fibres_crossing_at_45_degrees_are_told_apart_by_order_12_and_not_by_order_8() {
    for (order, n) in [(8, 1), (12, 2)] {
        let deconvolution = problem(&multi_shell(), order, true);
        let samples = signal(&deconvolution, &[(X, 0.5), (at(45.0), 0.5)], 0.0, 0.0);
        let found = peaks(&solve(&deconvolution, &samples).0, order);
        assert_eq!(found.len(), n, "{order}: {found:?}");
        for axis in [X, at(45.0)].into_iter().filter(|_| n == 2) {
            let error = found.iter().map(|f| angle(*f, axis)).fold(90.0, f64::min);
            // They pull each other together.
            assert!(error < 6.0, "{error}");
        }
    }
}

#[test]
fn grey_matter_and_fluid_alone_leave_no_fibres() {
    let deconvolution = problem(&multi_shell(), 8, true);
    let (x, _) = solve(&deconvolution, &signal(&deconvolution, &[], 0.6, 0.4));
    // The regularisation takes some grey matter for fibres of no direction.
    assert!((x[45] - 0.6).abs() < 0.006 && (x[46] - 0.4).abs() < 0.003, "{:?}", &x[45..]);
    let height = half_sphere(200).into_iter().map(|d| amplitude(&x, 8, d)).fold(0.0, f64::max);
    // A fibre of that amount would have 0.7.
    assert!(height < 0.005, "{height}");
}

#[test]
fn fluid_whose_signal_falls_faster_than_the_response_has_no_density_and_is_fitted() {
    // Fluid that moves: the walk over active sets has nothing but dependent constraints to bind.
    let table = multi_shell();
    let deconvolution = problem(&table, 8, true);
    let mut noise = Noise(3);
    for voxel in 0..200 {
        let faster = 1.0 + 0.02 * f64::from(voxel);
        let signal = |b: f64| FLUID.0 * (-b * FLUID.1 * faster).exp();
        let samples: Vec<f32> = (0..table.len())
            .map(|v| noise.rician(signal(table.b_s_per_mm2[v]), 5.0) as f32)
            .collect();
        let (x, outcome) = solve(&deconvolution, &samples);
        // The noise floor of the largest b is a little grey matter.
        assert!(x[46] > 0.9, "{faster}: {:?}", &x[45..]);
        if faster > 1.2 {
            assert_eq!(x[..45], [0.0; 45], "{faster}");
            assert_eq!(outcome.status, Status::Fitted, "{faster}");
        }
        assert!(outcome.status != Status::Singular && outcome.status != Status::NotConverged);
    }
}

#[test]
fn nothing_is_negative_and_the_fast_solution_is_the_oracles() {
    let one_shell = || acquisition(6, &[(3000.0, 64)]);
    for (order, three, table) in [
        (4, true, multi_shell()),
        (6, true, multi_shell()),
        (8, true, multi_shell()),
        (12, true, multi_shell()),
        (8, false, one_shell()),
        (6, true, one_shell()),
    ] {
        // Hildreth's method comes to rest only where the data determine every unknown: at the
        // default regularisation of 1e-5 hundred thousand sweeps do not do at degree 8.
        let options = FodOptions { order, regularisation: 1e-3, ..FodOptions::default() };
        let deconvolution = problem_with(&table, three, options);
        let is_single = table.shells().len() == 2;
        let generator = if is_single { one_shell() } else { multi_shell() };
        let generator = problem(&generator, order, true);
        let oracle = Plain::new(&deconvolution);
        for voxel in noisy_voxels(&generator, 4).into_iter().skip(2) {
            let samples = &voxel;
            let (x, _) = solve(&deconvolution, samples);
            let unknowns = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let constraints = deconvolution.programme.constraints();
            for i in 0..constraints.len() {
                // A tolerance of 1e-9 of the unconstrained density, which noise makes some ten
                // times larger than the constrained one.
                assert!(constraints.slack(i, &x) > -1e-7 * unknowns, "direction {i}");
            }
            for (k, (fast, slow)) in x.iter().zip(oracle.solve(samples)).enumerate() {
                // The oracle ends with changes of 1e-10 a sweep, of which there would be many.
                assert!((fast - slow).abs() < 1e-4 * unknowns, "{order} {k}: {fast} {slow}");
            }
        }
    }
}

/// The density of a bundle that fans out as cosᵖ of the angle from its axis, p the order: nowhere negative.
fn fan(order: usize, axis: [f64; 3], amount: f64) -> Vec<f64> {
    let mut density = evaluate(ShBasis::Mrtrix, order, axis);
    let mut share = amount;
    for l in (0..=order).step_by(2) {
        density[sh_count(l) - (2 * l + 1)..sh_count(l)].iter_mut().for_each(|y| *y *= share);
        share *= (order - l) as f64 / (order + l + 3) as f64;
    }
    density
}

/// The signal of these unknowns.
fn predicted(deconvolution: &Deconvolution, x: &[f64]) -> Vec<f32> {
    let convolution = &deconvolution.convolution;
    let mut samples = vec![0.0; deconvolution.n_volumes()];
    for (row, &v) in convolution.matrix.chunks_exact(x.len()).zip(&convolution.volumes) {
        samples[v] = row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() as f32;
    }
    samples
}

#[test]
fn one_shell_tells_tissues_apart_as_alternating_fits_of_two_do() {
    let table = acquisition(6, &[(3000.0, 64)]);
    let options = FodOptions { order: 4, regularisation: 1e-12, ..FodOptions::default() };
    let mut deconvolution = problem_with(&table, true, options);
    // Enough to choose among mixtures with the same signal.
    deconvolution.prices.iter_mut().for_each(|price| *price *= 1e-4);
    for (axes, grey, fluid) in [
        (vec![at(20.0)], 0.0, 0.0),
        (vec![at(20.0)], 0.4, 0.1),
        (vec![at(20.0), at(110.0)], 0.2, 0.2),
        (vec![], 0.7, 0.2),
    ] {
        let mut truth = vec![0.0; 15];
        for &axis in &axes {
            let amount = 0.6 / axes.len() as f64;
            truth.iter_mut().zip(fan(4, axis, amount)).for_each(|(x, y)| *x += y);
        }
        truth.extend([grey, fluid]);
        let samples = predicted(&deconvolution, &truth);
        let once = solve(&deconvolution, &samples).0;
        let alternated = alternate(&deconvolution, &samples, 3000);
        let white = |x: &[f64]| x[0] * (4.0 * PI).sqrt();
        for (name, a, b, truth) in [
            ("white", white(&once), white(&alternated), white(&truth)),
            ("grey", once[15], alternated[15], grey),
            ("fluid", once[16], alternated[16], fluid),
        ] {
            // The signal hardly says anything of degree 4, and at 90° all rests on that: such a price takes
            // 2e-3 there, and alternating 3000 times leaves 1e-3.
            assert!((a - b).abs() < 5e-3, "{axes:?} {name}: {a} {b} {truth}");
            assert!((a - truth).abs() < 5e-3, "{axes:?} {name}: {a} {b} {truth}");
        }
    }
}

#[test]
fn mixtures_of_three_tissues_come_back_from_one_noisy_shell() {
    for b in [3000.0, 1000.0] {
        let deconvolution = problem(&acquisition(6, &[(b, 60)]), 8, true);
        let mut noise = Noise(11);
        for (fibres, grey, fluid) in
            [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.4, 0.0), (0.5, 0.3, 0.2)]
        {
            let mut truth = fan(8, at(25.0), fibres);
            truth.extend([grey, fluid]);
            let clean = predicted(&deconvolution, &truth);
            let mut mean = [0.0; 3];
            for _ in 0..40 {
                // A magnitude's floor would be in responses that are estimated.
                let noisy: Vec<f32> =
                    clean.iter().map(|&s| s + 20.0 * noise.normal() as f32).collect();
                let (x, _) = solve(&deconvolution, &noisy);
                let amounts = [x[0] * (4.0 * PI).sqrt(), x[45], x[46]];
                mean.iter_mut().zip(amounts).for_each(|(mean, x)| *mean += x / 40.0);
            }
            for (found, expected) in mean.iter().zip([fibres, grey, fluid]) {
                // The price takes 0.03 of a single fibre; the directions of a fan say half as much of its
                // amount, and noise hides those of high degree.
                let error = (found - expected).abs();
                assert!(error < 0.2, "b {b}: {mean:?} of {:?}", (fibres, grey, fluid));
            }
        }
    }
}

#[test]
fn a_brighter_series_has_the_same_mixtures() {
    let deconvolution = problem(&acquisition(6, &[(2000.0, 60)]), 8, true);
    for samples in noisy_voxels(&deconvolution, 4) {
        let (x, _) = solve(&deconvolution, &samples);
        // Powers of 2: nothing is rounded.
        for gain in [0.125, 8.0] {
            let brighter: Vec<f32> = samples.iter().map(|s| gain * s).collect();
            let (y, _) = solve(&deconvolution, &brighter);
            assert!(
                x.iter().zip(&y).all(|(x, y)| f64::from(gain) * x == *y),
                "{gain}: {x:?} {y:?}"
            );
        }
    }
}

#[test]
fn the_residual_is_what_the_prediction_leaves() {
    for table in [multi_shell(), acquisition(6, &[(3000.0, 64)])] {
        let deconvolution = problem(&table, 8, true);
        the_residual_of_noisy_voxels_is_right(&deconvolution);
    }
}

fn the_residual_of_noisy_voxels_is_right(deconvolution: &Deconvolution) {
    for samples in noisy_voxels(deconvolution, 4) {
        let (x, outcome) = solve(deconvolution, &samples);
        let convolution = &deconvolution.convolution;
        let n = deconvolution.n_unknowns();
        let mut square = 0.0;
        for (row, &v) in convolution.matrix.chunks_exact(n).zip(&convolution.volumes) {
            let predicted: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            square += (f64::from(samples[v]) - predicted).powi(2);
        }
        let expected = (square / convolution.volumes.len() as f64).sqrt();
        assert!((outcome.residual - expected).abs() < 1e-6 * expected, "{outcome:?} {expected}");
    }
}

#[test]
fn a_turned_acquisition_turns_the_density() {
    let table = multi_shell();
    // A quarter turn about z.
    let turn = |[x, y, z]: [f64; 3]| [-y, x, z];
    let mut turned = table.clone();
    turned.dirs_ras.iter_mut().for_each(|d| *d = turn(*d));
    let (a, b) = (problem(&table, 8, true), problem(&turned, 8, true));
    let samples = signal(&a, &[(at(15.0), 0.5), (at(95.0), 0.4)], 0.1, 0.0);
    let (x, y) = (solve(&a, &samples).0, solve(&b, &samples).0);
    for dir in half_sphere(50) {
        let (before, after) = (amplitude(&x, 8, dir), amplitude(&y, 8, turn(dir)));
        // The directions of the constraint do not turn: side lobes may reach below zero between
        // them by a per cent of the peaks (of height 3).
        assert!((before - after).abs() < 0.06, "{dir:?}: {before} {after}");
    }
}

#[test]
fn the_form_is_the_density() {
    let deconvolution = problem(&multi_shell(), 6, true);
    let samples = signal(&deconvolution, &[(at(40.0), 0.8)], 0.0, 0.1);
    let (mut work, _) = SimdLevel::best().run(Solve(&deconvolution, &samples));
    deconvolution.to_form(&mut work);
    let expected = ShToForm::new(ShBasis::Mrtrix, 6).unwrap().to_form(&work.x[..sh_count(6)]);
    for (found, expected) in work.form.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn voxels_without_signal_are_marked() {
    let deconvolution = problem(&multi_shell(), 8, true);
    let mut samples = vec![0.0; deconvolution.n_volumes()];
    assert_eq!(solve(&deconvolution, &samples).1.status, Status::BadSignal);
    samples.fill(500.0);
    samples[17] = f32::NAN;
    let (x, outcome) = solve(&deconvolution, &samples);
    assert_eq!(outcome.status, Status::BadSignal);
    assert!(x.iter().all(|&x| x == 0.0));
}

#[test]
fn densities_that_rounding_drowns_are_said_to_be_undetermined() {
    // 45 coefficients of 30 directions, next to no preference.
    let table = acquisition(3, &[(1000.0, 30)]);
    for regularisation in [1e-5, 1e-8, 1e-10, 1e-13, 1e-18] {
        let options = FodOptions { regularisation, ..FodOptions::default() };
        let responses = responses(&table, options.order, false);
        let Ok(deconvolution) = Deconvolution::new(&table, &responses, &options) else { continue };
        let mut noise = Noise(7);
        for voxel in 0..40 {
            let fibres = [(X, 0.5), (at(30.0 + f64::from(voxel)), 0.5)];
            let samples: Vec<f32> = signal(&deconvolution, &fibres, 0.0, 0.0)
                .iter()
                .map(|&s| noise.rician(f64::from(s), 25.0) as f32)
                .collect();
            let (x, outcome) = solve(&deconvolution, &samples);
            assert!(x.iter().all(|x| x.is_finite()) && outcome.residual.is_finite());
            let good = matches!(outcome.status, Status::Fitted | Status::Constrained);
            assert!(good || regularisation < 1e-5, "{:?}", outcome.status);
            assert_eq!(outcome.status == Status::Singular, x.iter().all(|x| *x == 0.0));
        }
    }
}

/// Wants the work to stop from its third look on.
struct StopsSoon(AtomicU32);

impl Progress for StopsSoon {
    fn start(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn warn(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        self.0.fetch_add(1, Relaxed) >= 2
    }
}

/// It looked once a block, and of voxels of little regularisation a block could take half an hour.
#[test]
fn work_within_a_block_stops_when_told_to() {
    let table = multi_shell();
    let options = FodOptions { order: 4, ..FodOptions::default() };
    let problem = problem_with(&table, true, options);
    let grid = Grid { dims: [4, 4, 1], ras_from_vox: Affine::IDENTITY };
    let (mask, voxels) = (Mask::full(grid), noisy_voxels(&problem, 16));
    let samples = (0..table.len()).flat_map(|volume| voxels.iter().map(move |v| v[volume]));
    let series = Image { grid, n_volumes: table.len(), data: samples.collect() };
    let (workers, stops) = (Workers::new(1).unwrap(), StopsSoon(AtomicU32::new(0)));
    let job = Job { name: "deconvolving", inputs: &series, mask: &mask, progress: &stops };
    let stopped = job.run(&FodTiles::new(&problem, &stops), &Backend::cpu(&workers));
    assert!(matches!(stopped, Err(JobError::Interrupted(_))));
    // The block, two voxels of sixteen, the tile.
    assert_eq!(stops.0.load(Relaxed), 4);
}

/// Voxels side by side, so many at a time.
struct SolveGroups<'a>(&'a Deconvolution, &'a [Vec<f32>], usize);

impl WithSimd for SolveGroups<'_> {
    type Output = Vec<(Vec<f64>, VoxelOutcome)>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self(deconvolution, voxels, count) = self;
        let (mut group, mut work) = (Group::default(), VoxelWork::default());
        let mut solved = Vec::new();
        for voxels in voxels.chunks(count.min(Group::width::<S>())) {
            let samples: Vec<f32> = (0..deconvolution.n_volumes())
                .flat_map(|volume| voxels.iter().map(move |voxel| voxel[volume]))
                .collect();
            let n = voxels.len();
            deconvolution.pose_all(simd, &samples, n, n, &mut group);
            for voxel in 0..n {
                let outcome = deconvolution.solve_one_of(&mut group, voxel, &mut work);
                solved.push((work.x.clone(), outcome));
            }
        }
        solved
    }
}

/// Fluid whose signal falls faster or slower than that of the response.
fn fluids(table: &GradientTable, n: usize) -> Vec<Vec<f32>> {
    let mut noise = Noise(3);
    let mut voxel = |faster: f64| {
        let signal = |b: f64| FLUID.0 * (-b * FLUID.1 * faster).exp();
        let b = table.b_s_per_mm2.iter();
        b.map(|&b| noise.rician(signal(b), 5.0) as f32).collect::<Vec<f32>>()
    };
    (0..n).map(|k| voxel(0.8 + 2.0 * k as f64 / n as f64)).collect()
}

#[test]
fn voxels_side_by_side_have_the_solution_of_one_alone() {
    for order in [8, 12] {
        let table = multi_shell();
        let deconvolution = problem(&table, order, true);
        let mut voxels = noisy_voxels(&deconvolution, 12);
        voxels.extend(fluids(&table, 12));
        voxels.push(vec![0.0; deconvolution.n_volumes()]);
        let together = SimdLevel::best().run(SolveGroups(&deconvolution, &voxels, voxels.len()));
        for (samples, (x, outcome)) in voxels.iter().zip(together) {
            let (alone, expected) = solve(&deconvolution, samples);
            assert_eq!(outcome.status, expected.status);
            let close =
                (outcome.residual - expected.residual).abs() < 1e-6 * expected.residual.max(1.0);
            assert!(close, "{outcome:?} {expected:?}");
            for (x, alone) in x.iter().zip(&alone) {
                // Both end where nothing is violated by 1e-9 of the unconstrained density, whose height
                // is some 10: the least determined coefficients may differ by ten thousand times that.
                assert!((x - alone).abs() < 1e-4, "order {order}: {x} {alone}");
            }
        }
    }
}

#[test]
fn voxels_side_by_side_do_not_depend_on_each_other() {
    let deconvolution = problem(&multi_shell(), 8, true);
    let voxels = noisy_voxels(&deconvolution, 20);
    let bits = |level: SimdLevel, count| {
        let solved = level.run(SolveGroups(&deconvolution, &voxels, count));
        solved.iter().flat_map(|(x, _)| x.iter().map(|x| x.to_bits())).collect::<Vec<u64>>()
    };
    let best = bits(SimdLevel::best(), 20);
    for level in SimdLevel::available() {
        for count in [1, 7, 20] {
            // Without fused products guesses are others.
            let expected = if level.fuses() { best.clone() } else { bits(level, 20) };
            assert!(bits(level, count) == expected, "{level:?} {count}");
        }
    }
}

/// Nearly all constraints hold with equality: rounding ended walks there, or led them to no number.
#[test]
fn fluid_has_a_solution_at_every_order() {
    let table = multi_shell();
    for order in [8, 10, 12] {
        let deconvolution = problem(&table, order, true);
        let voxels = fluids(&table, 60);
        let together = SimdLevel::best().run(SolveGroups(&deconvolution, &voxels, 60));
        let alone = voxels.iter().map(|samples| solve(&deconvolution, samples));
        for (x, outcome) in together.into_iter().chain(alone) {
            assert!(x.iter().all(|x| x.is_finite()));
            let good = matches!(outcome.status, Status::Fitted | Status::Constrained);
            assert!(good, "order {order}: {outcome:?}");
            // What the noise of a signal that has decayed makes of fibres.
            assert!(x[0] * (4.0 * PI).sqrt() < 0.1, "order {order}: {}", x[0]);
        }
    }
}

#[test]
fn every_simd_level_gives_the_same_bits() {
    let deconvolution = problem(&multi_shell(), 8, true);
    for samples in noisy_voxels(&deconvolution, 4) {
        let bits = |level: SimdLevel| {
            let (work, _) = level.run(Solve(&deconvolution, &samples));
            work.x.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let best = bits(SimdLevel::best());
        assert!(SimdLevel::available().into_iter().all(|level| bits(level) == best));
    }
}

#[test]
fn super_resolution_is_allowed_up_to_half_the_order() {
    // 15 directions determine order 4; the constraint lets them carry order 8, 14 do not.
    let table = |n| acquisition(1, &[(3000.0, n)]);
    let white = |n| responses(&table(n), 8, false);
    let options = FodOptions::default();
    let few = Deconvolution::new(&table(14), &white(14), &options).unwrap_err();
    assert!(
        matches!(few, FodError::Directions { order: 8, needed: 15, found: 14, determined: 45 }),
        "{few}"
    );
    // 28 directions determine order 6, which lets the constraint carry order 12.
    let twelve = |n| {
        let options = FodOptions { order: 12, ..FodOptions::default() };
        Deconvolution::new(&table(n), &responses(&table(n), 12, false), &options)
    };
    assert!(twelve(28).is_ok() && twelve(27).is_err());
    let generator = problem(&multi_shell(), 8, true);
    let deconvolution = Deconvolution::new(&table(30), &white(30), &options).unwrap();
    let mut samples = vec![0.0; 31];
    for fibre in [X, at(75.0)] {
        let single = problem(&table(30), 8, false);
        let n = single.n_unknowns();
        let delta = evaluate(ShBasis::Mrtrix, generator.order(), fibre);
        for (row, &v) in single.convolution.matrix.chunks_exact(n).zip(&single.convolution.volumes)
        {
            samples[v] += row.iter().zip(&delta).map(|(a, x)| 0.5 * a * x).sum::<f64>() as f32;
        }
    }
    let found = peaks(&solve(&deconvolution, &samples).0, 8);
    assert_eq!(found.len(), 2);
    for axis in [X, at(75.0)] {
        let error = found.iter().map(|f| angle(*f, axis)).fold(90.0, f64::min);
        // 30 directions for 45 coefficients.
        assert!(error < 5.0, "{error}");
    }
}

#[test]
fn a_response_survives_its_text() {
    let responses = responses(&multi_shell(), 8, true);
    let text = responses.white.to_string();
    assert!(text.starts_with("# Shells: 0,1000,2000,3000\n"), "{text}");
    assert_eq!(Response::from_text(&text).unwrap(), responses.white);
}

#[test]
fn wrong_responses_are_refused_with_what_is_wrong() {
    let refused = |text: &str| Response::from_text(text).unwrap_err().to_string();
    assert!(refused("1 2 x").contains("line 1 has \"x\""));
    assert!(refused("# nothing\n").contains("no rows"));
    assert!(refused("1 2\n1\n").contains("line 2 has 1 numbers, those before have 2"));
    assert!(refused("# Shells: 0,1000\n5 1\n").contains("names 2 shells, but it has 1 rows"));
    assert!(refused("-3 1").contains("not positive"));

    let table = multi_shell();
    let options = FodOptions::default();
    let good = responses(&table, 8, true);
    let with = |text: &str| {
        let white = Response::from_text(text).unwrap();
        let responses = Responses { white, isotropic: good.isotropic.clone() };
        Deconvolution::new(&table, &responses, &options).unwrap_err().to_string()
    };
    let other = with("# Shells: 0,1500\n5 0\n5 -1\n");
    assert!(other.contains("[0.0, 1500.0]") && other.contains("1000.0"), "{other}");
    let unnamed = with("5 0\n5 -1\n");
    assert!(unnamed.contains("2 rows") && unnamed.contains("single fibres"), "{unnamed}");
}

#[test]
fn exchanged_responses_are_refused() {
    let Responses { white, isotropic } = responses(&multi_shell(), 8, true);
    let [grey, fluid] = isotropic.unwrap().map(Some);
    let check = |white: &Option<Response>, grey: &Option<Response>, fluid: &Option<Response>| {
        let [white, grey, fluid] = [white, grey, fluid].map(Clone::clone);
        FodOptions { white, grey, fluid, ..FodOptions::default() }.check()
    };
    let white = Some(white);
    assert_eq!(check(&white, &grey, &fluid).map_err(|error| error.to_string()), Ok(()));
    assert!(matches!(check(&white, &fluid, &grey), Err(FodError::SlowFluid)));
    assert!(matches!(check(&grey, &white, &fluid), Err(FodError::NoAnisotropy)));
}

#[test]
fn acquisitions_that_cannot_do_it_are_refused() {
    let new = |table: &GradientTable, options: &FodOptions| {
        Deconvolution::new(table, &responses(table, 8, false), options).unwrap_err()
    };
    let three = check_directions(&acquisition(0, &[(2000.0, 60)]), 8, Tissues::Three);
    assert!(matches!(three, Err(FodError::Unweighted)), "{three:?}");
    let one_shell = acquisition(4, &[(2000.0, 60)]);
    let order = FodOptions { order: 5, ..FodOptions::default() };
    assert!(matches!(new(&one_shell, &order), FodError::Order(5)));
    let error = new(&acquisition(4, &[]), &FodOptions::default());
    assert!(matches!(error, FodError::NoShell { .. }), "{error}");
}
