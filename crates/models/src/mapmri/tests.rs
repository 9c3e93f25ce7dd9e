use std::f64::consts::PI;

use super::basis::{Basis, MOST, hermite};
use super::indices::indices;
use super::*;

/// Σ over a range of equal steps: of what falls like a Gaussian at both ends the trapezoidal rule is exact to
/// rounding.
fn integral(of: impl Fn(f64) -> f64) -> f64 {
    let step = 0.05;
    (-400..=400).map(|i| of(f64::from(i) * step) * step).sum()
}

fn h(n: usize, t: f64) -> f64 {
    hermite(t, (-0.5 * t * t).exp())[n]
}

#[test]
fn hermite_functions_are_orthogonal_and_their_own_transforms() {
    for m in 0..=MOST {
        for n in 0..=MOST {
            let product = integral(|t| h(m, t) * h(n, t));
            let expected = if m == n { PI.sqrt() } else { 0.0 };
            assert!((product - expected).abs() < 1e-13, "{m} {n}");
        }
        // ∫ h cos(xt) dt of even, ∫ h sin(xt) dt of odd degree.
        let x = 0.7;
        let transform =
            integral(|t| h(m, t) * if m % 2 == 0 { (x * t).cos() } else { (x * t).sin() });
        let sign = if m % 4 < 2 { 1.0 } else { -1.0 };
        assert!((transform - sign * (2.0 * PI).sqrt() * h(m, x)).abs() < 1e-13, "{m}");
    }
}

#[test]
fn the_orders_have_their_coefficients() {
    for order in [Order::Four, Order::Six, Order::Eight] {
        assert_eq!(Basis::new(order.degree()).len(), order.coefficients());
    }
}

/// Coefficients of no symmetry, and scales.
fn example(basis: &Basis) -> (Vec<f64>, [f64; 3]) {
    let mut a: Vec<f64> = (0..basis.len()).map(|i| 0.1 * (3.0 * i as f64).sin()).collect();
    a[0] = 1.0;
    (a, [0.011, 0.006, 0.005])
}

#[test]
fn the_laplacian_is_the_integral_of_its_square() {
    let basis = Basis::new(4);
    let (a, u) = example(&basis);
    let n = basis.len();
    let mut matrix = vec![0.0; n * n];
    basis.add_laplacian(u, 1.0, &mut matrix);
    let norm: f64 = (0..n * n).map(|at| a[at / n] * a[at % n] * matrix[at]).sum();
    // By the definition, in t along each axis: dq = dt / 2πu, ∂q² = (2πu)² ∂t², h'' = (t² - 2n - 1) h.
    let w = u.map(|u| 2.0 * PI * u);
    let (step, steps) = (0.25, 32);
    let axis: Vec<f64> = (-steps..=steps).map(|i| f64::from(i) * step).collect();
    let mut sum = 0.0;
    for &x in &axis {
        for &y in &axis {
            for &z in &axis {
                let mut row = vec![0.0; n];
                basis.row([x, y, z], &mut row);
                let laplacian = |k: usize| {
                    let [p, q, r] = basis.degrees[k].map(|n| (2 * n + 1) as f64);
                    w[0] * w[0] * (x * x - p)
                        + w[1] * w[1] * (y * y - q)
                        + w[2] * w[2] * (z * z - r)
                };
                let value: f64 = (0..n).map(|k| a[k] * row[k] * laplacian(k)).sum();
                sum += value * value;
            }
        }
    }
    let expected = sum * step.powi(3) / (w[0] * w[1] * w[2]);
    assert!((norm / expected - 1.0).abs() < 1e-10, "{norm} {expected}");
}

#[test]
fn indices_are_the_integrals_that_define_them() {
    let basis = Basis::new(6);
    let (a, u) = example(&basis);
    let found = indices(&basis, &a, u);
    // The signal along q (1/mm).
    let signal = |q: [f64; 3]| -> f64 {
        let mut row = vec![0.0; basis.len()];
        basis.row(std::array::from_fn(|k| 2.0 * PI * u[k] * q[k]), &mut row);
        row.iter().zip(&a).map(|(x, a)| x * a).sum()
    };
    let w = u.map(|u| 1.0 / (2.0 * PI * u));
    let along = integral(|t| signal([t * w[0], 0.0, 0.0])) * w[0];
    assert!((found.rtpp / along - 1.0).abs() < 1e-10);
    let (step, steps) = (0.25, 36);
    let axis: Vec<f64> = (-steps..=steps).map(|i| f64::from(i) * step).collect();
    let (mut plane, mut space, mut second) = (0.0, 0.0, 0.0);
    for &y in &axis {
        for &z in &axis {
            plane += signal([0.0, y * w[1], z * w[2]]);
            for &x in &axis {
                let q = [x * w[0], y * w[1], z * w[2]];
                let value = signal(q);
                space += value;
                second += value * q.iter().map(|q| q * q).sum::<f64>();
            }
        }
    }
    assert!((found.rtap / (plane * step * step * w[1] * w[2]) - 1.0).abs() < 1e-10);
    let volume = step.powi(3) * w[0] * w[1] * w[2];
    assert!((found.rtop / (space * volume) - 1.0).abs() < 1e-10);
    assert!((found.qiv * second * volume - 1.0).abs() < 1e-9);
    // <x²> = -∇²E(0) / 4π², by differences.
    let d = 1e-3 * w[0];
    let curvature = |k: usize| {
        let at = |by: f64| signal(std::array::from_fn(|i| if i == k { by } else { 0.0 }));
        (at(d) - 2.0 * at(0.0) + at(-d)) / (d * d)
    };
    let moment = -(curvature(0) + curvature(1) + curvature(2)) / (4.0 * PI * PI);
    assert!((found.msd / moment - 1.0).abs() < 1e-5, "{} {moment}", found.msd);
}

#[test]
fn a_gaussian_is_gaussian() {
    let basis = Basis::new(6);
    let mut a = vec![0.0; basis.len()];
    a[0] = 1.0;
    let (u, found) = ([0.01, 0.006, 0.005], indices(&basis, &a, [0.01, 0.006, 0.005]));
    let root = (2.0 * PI).sqrt();
    assert!((found.rtop * root.powi(3) * u[0] * u[1] * u[2] - 1.0).abs() < 1e-12);
    assert!((found.msd / u.iter().map(|u| u * u).sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(found.ng, [0.0; 3]);
}
