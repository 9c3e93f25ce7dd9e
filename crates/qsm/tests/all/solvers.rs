//! Three ways down to one minimum.

use crate::support::{model, narrow, norm, normal_numbers, wide};
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::{Silent, Workers};
use fimbria_qsm::solver::{Iteration, Method, Objective, Solver, StoppingRule, run, safe_step};
use fimbria_qsm::{Edges, HostOperator, Laplacian, Products};

const KAPPA: f64 = 0.9;

type Problem<'a> = Objective<'a, HostOperator<'a>, Laplacian<'a>>;

/// Runs `check` with the objective of a small model and a noisy field.
fn with_objective(check: impl for<'a> Fn(&'a Problem<'a>)) {
    let workers = Workers::new(2).unwrap();
    let model = model([11, 10, 9]);
    let data = HostOperator::new(&model, Products::Fast, &workers).unwrap();
    let penalty = Laplacian::new(&model, Edges::Zero, &workers);
    let chi = narrow(&normal_numbers(1, data.domain().len()));
    let mut field = data.range().zeros().unwrap();
    data.apply(&chi, &mut field).unwrap();
    let noise = normal_numbers(2, field.len());
    field.iter_mut().zip(noise).for_each(|(b, noise)| *b += 0.1 * noise as f32);
    check(&Objective::new(&data, &penalty, &field, KAPPA).unwrap());
}

/// ‖κ A'(A x - b) + (1 - κ) D'D x‖ over that of x = 0, from products with nothing of a solver's.
fn relative_gradient(objective: &Problem<'_>, x: &[f32]) -> f64 {
    let Objective { data, penalty, field, .. } = objective;
    let at = |x: &[f32]| {
        let x = x.to_vec();
        let (mut residual, mut bend) = (field.clone(), penalty.range().zeros().unwrap());
        let mut along = data.range().zeros().unwrap();
        data.apply(&x, &mut along).unwrap();
        residual.iter_mut().zip(&along).for_each(|(b, along)| *b = along - *b);
        penalty.apply(&x, &mut bend).unwrap();
        let (mut of_data, mut of_bend) = (x.clone(), x);
        data.adjoint(&residual, &mut of_data).unwrap();
        penalty.adjoint(&bend, &mut of_bend).unwrap();
        let sum = |(a, b): (f64, f64)| KAPPA * a + (1.0 - KAPPA) * b;
        norm(&wide(&of_data).into_iter().zip(wide(&of_bend)).map(sum).collect::<Vec<_>>())
    };
    at(x) / at(&vec![0.0; x.len()])
}

/// The iterations of `method` and where they end.
fn iterations<'a>(
    objective: &'a Problem<'a>,
    method: Method,
    count: usize,
) -> (Vec<Iteration>, Vec<f32>) {
    let mut solver = Solver::new(objective, method, None).unwrap();
    let rule = StoppingRule {
        iterations: count,
        relative_change: 0.0,
        relative_gradient: 0.0,
        discrepancy: None,
    };
    let mut all = Vec::new();
    run(&mut solver, &rule, &Silent, |iteration, _| {
        all.push(*iteration);
        Ok(())
    })
    .unwrap();
    (all, solver.x().unwrap())
}

#[test]
fn every_method_comes_to_where_the_gradient_vanishes() {
    with_objective(|objective| {
        let step = safe_step(objective, None).unwrap();
        // Landweber's needs as many; the others are there after 30 and must stay.
        for (method, count) in
            [(Method::Landweber { step }, 4000), (Method::Cgls, 160), (Method::Lsmr, 160)]
        {
            let (all, x) = iterations(objective, method, count);
            let gradient = relative_gradient(objective, &x);
            // Some roundings of products whose residual stays as large as the field.
            assert!(gradient < 1e-6, "{method:?}: {gradient:e}");
            let reported = all.last().unwrap().relative_gradient;
            assert!(reported < 1e-6, "{method:?} reports {reported:e}");
        }
    });
}

#[test]
fn conjugate_gradients_have_the_least_objective_and_lsmr_the_least_gradient() {
    with_objective(|objective| {
        let (cgls, _) = iterations(objective, Method::Cgls, 25);
        let (lsmr, _) = iterations(objective, Method::Lsmr, 25);
        let value = |i: &Iteration| KAPPA * i.data + (1.0 - KAPPA) * i.penalty;
        let rounding = 1.0 + 1e-5;
        for (cgls, lsmr) in cgls.iter().zip(&lsmr) {
            assert!(value(cgls) <= value(lsmr) * rounding, "{cgls:?} {lsmr:?}");
            assert!(lsmr.relative_gradient <= cgls.relative_gradient * rounding);
        }
        for two in lsmr.windows(2) {
            // Then it is rounding.
            if two[0].relative_gradient < 1e-6 {
                break;
            }
            assert!(two[1].relative_gradient < two[0].relative_gradient, "{two:?}");
            assert!(value(&two[1]) <= value(&two[0]) * rounding, "{two:?}");
        }
        // Both span the same space: the first steps go the same way, by different lengths.
        assert!(lsmr[0].rms < cgls[0].rms);
    });
}

#[test]
fn what_lsmr_reports_is_so() {
    with_objective(|objective| {
        for count in [1, 2, 7] {
            let (all, x) = iterations(objective, Method::Lsmr, count);
            let last = all.last().unwrap();
            let gradient = relative_gradient(objective, &x);
            assert!((gradient / last.relative_gradient - 1.0).abs() < 1e-4, "{count}: {gradient}");
            let Objective { data, penalty, field, .. } = objective;
            let (mut along, mut bend) =
                (data.range().zeros().unwrap(), penalty.range().zeros().unwrap());
            data.apply(&x, &mut along).unwrap();
            penalty.apply(&x, &mut bend).unwrap();
            let left: Vec<f64> =
                along.iter().zip(field).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
            let (of_data, of_bend) = (norm(&left).powi(2), norm(&wide(&bend)).powi(2));
            // f32 residuals that follow x for a few steps.
            assert!((of_data / last.data - 1.0).abs() < 1e-5, "{count}: {of_data}");
            assert!((of_bend / last.penalty - 1.0).abs() < 1e-5, "{count}: {of_bend}");
        }
    });
}

#[test]
fn a_solver_that_was_saved_goes_on_with_the_same_bits() {
    with_objective(|objective| {
        let step = safe_step(objective, None).unwrap();
        for method in [Method::Landweber { step }, Method::Cgls, Method::Lsmr] {
            let mut solver = Solver::new(objective, method, None).unwrap();
            for _ in 0..3 {
                solver.step().unwrap();
            }
            let saved = solver.save().unwrap();
            let mut restored = Solver::restore(objective, method, &saved).unwrap();
            for _ in 0..3 {
                assert_eq!(solver.step().unwrap(), restored.step().unwrap(), "{method:?}");
            }
            assert_eq!(solver.x().unwrap(), restored.x().unwrap(), "{method:?}");
        }
    });
}
