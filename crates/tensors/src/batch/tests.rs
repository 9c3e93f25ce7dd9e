use fimbria_compute::{SimdLevel, Workers};

use super::*;
use crate::problem::Form;
use crate::sshopm::{self, Extremum, Stopping, sshopm};
use crate::starts::on_half_sphere;
use crate::tables::Chain;
use crate::testing::KOFIDIS_REGALIA;

/// Sums of one to three powers of order `order`, as of crossing fibres.
fn fibres(order: usize, n: usize) -> Vec<f32> {
    let layout = Layout::new(order, 3).unwrap();
    let directions = on_half_sphere(3 * n, 3);
    let mut tensors = Vec::new();
    for t in 0..n {
        // Far apart on the spiral.
        let axis = |k: usize| &directions[3 * ((t + k * n) % (3 * n))..][..3];
        for class in layout.index_classes() {
            let power = |k: usize| class.iter().map(|&i| axis(k)[i]).product::<f64>();
            tensors
                .push((0..=t % 3).map(|k| power(k) * (1.0 - 0.2 * k as f64)).sum::<f64>() as f32);
        }
    }
    tensors
}

fn starts(n: usize) -> Vec<f32> {
    on_half_sphere(n, 3).iter().map(|&x| x as f32).collect()
}

const TOLERANCE: Stop = Stop::Tolerance { tolerance: 1e-6, max_iterations: 200 };

#[test]
fn every_kind_of_product_makes_the_oracles_iterations() {
    let workers = Workers::new(1).unwrap();
    let starts = starts(37);
    for order in [4, 6, 8] {
        let layout = Layout::new(order, 3).unwrap();
        let tensors = fibres(order, 9);
        let batch = Batch { layout, tensors: &tensors, starts: &starts };
        let chain = Chain::new(layout);
        for (products, shift, theirs) in [
            (Products::General, Shift::Fixed(0.5), sshopm::Shift::Fixed(0.5)),
            (Products::Tables, Shift::Fixed(0.5), sshopm::Shift::Fixed(0.5)),
            (Products::Blocked, Shift::Fixed(0.5), sshopm::Shift::Fixed(0.5)),
            (Products::Plain, Shift::Fixed(0.5), sshopm::Shift::Fixed(0.5)),
            (Products::Shared, Shift::Fixed(0.5), sshopm::Shift::Fixed(0.5)),
            (Products::Shared, Shift::Fixed(-6.0), sshopm::Shift::Fixed(-6.0)),
            (Products::Shared, Shift::Adaptive, sshopm::Shift::Adaptive(Extremum::Maximum)),
        ] {
            if (order, products) == (8, Products::Plain) {
                continue; // too long to unroll
            }
            let found = solve(&batch, products, shift, Stop::Iterations(5), &workers).unwrap();
            let mut place = 0;
            for tensor in tensors.chunks(layout.len()) {
                let tensor: Vec<f64> = tensor.iter().map(|&a| a.into()).collect();
                for start in starts.chunks(3) {
                    let start: Vec<f64> = start.iter().map(|&x| x.into()).collect();
                    let stopping = Stopping { tolerance: -1.0, max_iterations: 5 };
                    // Where the form nearly vanishes, what the shift leads to is its margin.
                    let at_start = crate::general::form(&layout, &tensor, &start).abs();
                    if shift == Shift::Adaptive && at_start < 0.01 {
                        place += 1;
                        continue;
                    }
                    let expected = sshopm(Form::new(&chain, &tensor), &start, theirs, stopping);
                    // Rounding, which an iteration enlarges threefold where basins part; the
                    // adaptive shift has the square root of rounding, 3e-4, where eigenvalues meet.
                    let tolerance = if shift == Shift::Adaptive { 2e-2 } else { 1e-4 };
                    for (a, b) in found.x[3 * place..][..3].iter().zip(&expected.x) {
                        let error = (f64::from(*a) - b).abs();
                        assert!(error < tolerance, "{order} {products:?} {shift:?}: {error}");
                    }
                    assert!((f64::from(found.lambda[place]) - expected.lambda).abs() < tolerance);
                    place += 1;
                }
            }
        }
    }
}

/// Diffusivities in mm²/s and finer units are small numbers: a margin in absolute terms would
/// outweigh the form, and nothing would move.
#[test]
fn the_adaptive_shift_scales_with_the_form() {
    // A power of two, so that nothing rounds otherwise; entries are then near 1e-7.
    const SMALL: f32 = 1.0 / (1 << 23) as f32;
    let workers = Workers::new(1).unwrap();
    let starts = starts(50);
    for order in [4, 6, 8] {
        let layout = Layout::new(order, 3).unwrap();
        let tensors = fibres(order, 9);
        let small: Vec<f32> = tensors.iter().map(|a| a * SMALL).collect();
        let run = |tensors: &[f32]| {
            let batch = Batch { layout, tensors, starts: &starts };
            solve(&batch, Products::Shared, Shift::Adaptive, TOLERANCE, &workers).unwrap()
        };
        let (large, small) = (run(&tensors), run(&small));
        let pairs =
            tensors.chunks(layout.len()).flat_map(|a| starts.chunks(3).map(move |x| (a, x)));
        let mut compared = 0;
        for (place, (a, start)) in pairs.enumerate() {
            // Where the form vanishes, the cubes of what is left of it underflow.
            if crate::general::form(&layout, a, start).abs() > 1e-6 {
                assert_eq!(small.x[3 * place..][..3], large.x[3 * place..][..3], "order {order}");
                assert_eq!(small.iterations[place], large.iterations[place], "order {order}");
                compared += 1;
            }
        }
        assert!(compared > 300, "order {order}: {compared}");
    }
}

#[test]
fn endpoints_with_a_tolerance_are_eigenpairs() {
    let workers = Workers::new(2).unwrap();
    let starts = starts(100);
    for order in [4, 6, 8] {
        let layout = Layout::new(order, 3).unwrap();
        let tensors = fibres(order, 30);
        let batch = Batch { layout, tensors: &tensors, starts: &starts };
        let found = solve(&batch, Products::Shared, Shift::Adaptive, TOLERANCE, &workers).unwrap();
        let mut unfinished = 0;
        for (place, tensor) in tensors.chunks(layout.len()).enumerate() {
            for place in place * 100..(place + 1) * 100 {
                let x = &found.x[3 * place..][..3];
                let mut y = [0.0; 3];
                crate::general::gradient(&layout, tensor, x, &mut y);
                let residual: f32 =
                    (0..3).map(|i| (y[i] - found.lambda[place] * x[i]).powi(2)).sum::<f32>().sqrt();
                unfinished += usize::from(!found.converged[place]);
                // λ is quadratic in the error of x: the square root of its tolerance.
                assert!(!found.converged[place] || residual < 1e-2, "order {order}: {residual}");
            }
        }
        // Starts near a saddle leave it slowly.
        assert!(unfinished <= 30, "order {order}: {unfinished}");
    }
}

#[test]
fn threads_lanes_and_neighbours_do_not_change_a_bit() {
    let (tensors, starts) = (fibres(4, 150), starts(50));
    let layout = Layout::new(4, 3).unwrap();
    let batch = Batch { layout, tensors: &tensors, starts: &starts };
    for stop in [Stop::Iterations(7), TOLERANCE] {
        let run = |workers: &Workers, batch: &Batch<'_>| {
            solve(batch, Products::Shared, Shift::Fixed(0.3), stop, workers).unwrap()
        };
        let one = run(&Workers::new(1).unwrap(), &batch);
        assert_eq!(run(&Workers::new(3).unwrap(), &batch), one);
        for level in SimdLevel::available() {
            let workers = Workers::new(1).unwrap();
            if level.fuses() && workers.simd().fuses() {
                assert_eq!(run(&workers.with_simd(level), &batch), one, "{level:?}");
            }
        }
        let last = Batch { tensors: &tensors[149 * 15..], ..batch };
        let alone = run(&Workers::new(1).unwrap(), &last);
        assert_eq!(alone.x, one.x[149 * 150..]);
        assert_eq!(alone.iterations, one.iterations[149 * 50..]);
    }
}

#[test]
fn without_a_shift_the_published_tensor_does_not_converge_and_says_so() {
    let tensor: Vec<f32> = KOFIDIS_REGALIA.iter().map(|&a| a as f32).collect();
    let starts = starts(128);
    let layout = Layout::new(4, 3).unwrap();
    let batch = Batch { layout, tensors: &tensor, starts: &starts };
    let workers = Workers::new(1).unwrap();
    for products in
        [Products::General, Products::Tables, Products::Blocked, Products::Plain, Products::Shared]
    {
        let of = |shift| solve(&batch, products, shift, TOLERANCE, &workers).unwrap();
        // λ may pause where an iteration comes near a saddle.
        let unshifted = of(Shift::Fixed(0.0)).converged.iter().filter(|c| **c).count();
        assert!(unshifted <= 6, "{products:?}: {unshifted}");
        let shifted = of(Shift::Fixed(2.0));
        assert!(shifted.converged.iter().all(|&c| c), "{products:?}");
        // The three maxima of the table.
        for lambda in shifted.lambda {
            let nearest = [0.889_322, 0.816_881, 0.363_306].map(|l: f32| (lambda - l).abs());
            assert!(nearest.iter().any(|d| *d < 1e-4), "{products:?}: {lambda}");
        }
        let minima = of(Shift::Fixed(-4.0));
        for lambda in minima.lambda {
            let nearest = [-0.045_092, -0.562_917, -1.095_352].map(|l: f32| (lambda - l).abs());
            assert!(nearest.iter().any(|d| *d < 1e-4), "{products:?}: {lambda}");
        }
    }
}

#[test]
fn a_zero_tensor_keeps_its_starts_and_nan_does_not_converge() {
    let starts = starts(70);
    let layout = Layout::new(6, 3).unwrap();
    let mut tensors = vec![0.0; 2 * 28];
    tensors[28..].fill(f32::NAN);
    let batch = Batch { layout, tensors: &tensors, starts: &starts };
    let workers = Workers::new(1).unwrap();
    let shift = Shift::Fixed(0.0);
    let found = solve(&batch, Products::Shared, shift, TOLERANCE, &workers).unwrap();
    assert_eq!(found.x[..210], starts);
    assert!(found.converged[..70].iter().all(|&c| c));
    assert!(found.converged[70..].iter().all(|&c| !c));
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let workers = Workers::new(1).unwrap();
    let run = |order, tensors: &[f32], products, shift| {
        let batch =
            Batch { layout: Layout::new(order, 3).unwrap(), tensors, starts: &[1.0, 0.0, 0.0] };
        solve(&batch, products, shift, TOLERANCE, &workers).map(drop)
    };
    let fixed = Shift::Fixed(0.0);
    let odd = run(5, &[0.0; 21], Products::Plain, fixed);
    assert!(matches!(odd, Err(BatchError::NotUnrolled { order: 5, dimension: 3 })));
    assert!(run(5, &[0.0; 21], Products::Tables, fixed).is_ok());
    let torn = run(4, &[0.0; 16], Products::Plain, fixed);
    assert!(matches!(torn, Err(BatchError::Count { found: 16, expected: 15, .. })));
    let plain = run(4, &[0.0; 15], Products::Plain, Shift::Adaptive);
    assert!(matches!(plain, Err(BatchError::NotAdaptive)));
}
