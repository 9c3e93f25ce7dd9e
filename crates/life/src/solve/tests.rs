use fimbria_compute::{Silent, Workers};

use super::*;
use crate::testing::Planted;
use crate::{DealtProduct, EncodeOptions, Rank};

const TIGHT: Stop = Stop { max_iterations: 2000, gradient: 1e-6, objective: 0.0 };

#[test]
fn planted_weights_are_recovered() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(60, &EncodeOptions::default(), 0.0);
    let system = planted.system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let problem = Problem { operator: &product, data: &system.data, linear: None };
    let found = conjugate(&problem, vec![0.0; 60], &TIGHT, &Silent, &mut |_, _| ()).unwrap();
    assert_eq!(found.reason, Reason::Optimal);
    // Samples are f32 of about 300: their rounding, 3e-5, over signals of about 30, and columns
    // that overlap.
    for (w, planted) in found.x.iter().zip(&planted.weights) {
        assert!((f64::from(*w) - planted).abs() < 1e-3, "{w} {planted}");
    }
}

#[test]
fn both_solvers_come_to_the_same_optimum() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(200, &EncodeOptions::default(), 5.0);
    let system = planted.system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let problem = Problem { operator: &product, data: &system.data, linear: None };
    let zero = || vec![0.0; 200];
    let a = conjugate(&problem, zero(), &TIGHT, &Silent, &mut |_, _| ()).unwrap();
    let b = sbb(&problem, zero(), &TIGHT, &Silent, &mut |_, _| ()).unwrap();
    assert!((a.objective - b.objective).abs() < 1e-6 * a.objective, "{a:?} {b:?}");
    assert!(a.x.iter().filter(|w| **w == 0.0).count() > 20, "bounds hold nothing");
}

#[test]
fn an_l1_penalty_leaves_fewer_streamlines_and_the_kkt_conditions() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(200, &EncodeOptions::default(), 5.0);
    let system = planted.system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let mut plain = vec![0.0; 200];
    product.gradient(&vec![0.0; 200], &system.data, &mut plain).unwrap();
    let penalty = vec![0.05 * plain.iter().fold(0.0_f32, |m, g| m.max(-g)); 200];
    let solve = |linear| {
        let problem = Problem { operator: &product, data: &system.data, linear };
        conjugate(&problem, vec![0.0; 200], &TIGHT, &Silent, &mut |_, _| ()).unwrap()
    };
    let (without, with) = (solve(None), solve(Some(&penalty)));
    let count = |x: &[f32]| x.iter().filter(|w| **w > 0.0).count();
    assert!(count(&with.x) < count(&without.x));
    let mut g = vec![0.0; 200];
    product.gradient(&with.x, &system.data, &mut g).unwrap();
    // Where a weight is positive the slope balances the penalty, to the tolerance of the gradient.
    for (w, g) in with.x.iter().zip(&g).filter(|(w, _)| **w > 0.0) {
        assert!((g + penalty[0]).abs() < 1e-3 * penalty[0], "weight {w}: {g}");
    }
}

#[test]
fn a_start_at_the_optimum_stays_there() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(60, &EncodeOptions::default(), 5.0);
    let system = planted.system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let problem = Problem { operator: &product, data: &system.data, linear: None };
    let first = conjugate(&problem, vec![0.0; 60], &TIGHT, &Silent, &mut |_, _| ()).unwrap();
    let again = conjugate(&problem, first.x.clone(), &TIGHT, &Silent, &mut |_, _| ()).unwrap();
    assert_eq!((again.iterations, &again.x), (0, &first.x));
}

#[test]
fn a_signal_that_is_no_number_is_an_error() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(60, &EncodeOptions::default(), 5.0);
    let mut system = planted.system(Rank::Full, &workers);
    system.data[0] = f32::NAN;
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let problem = Problem { operator: &product, data: &system.data, linear: None };
    for solve in [conjugate, sbb] {
        let refused = solve(&problem, vec![0.0; 60], &TIGHT, &Silent, &mut |_, _| ());
        assert!(matches!(refused, Err(SolveError::NotFinite(_))), "{refused:?}");
    }
}
