use std::f64::consts::PI;

use super::basis::{Basis, MOST, hermite};
use super::indices::indices;
use super::odf::{DEGREE, Rays, ray};
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

/// Axes of no symmetry.
fn axes() -> [[f64; 3]; 3] {
    let (s, c) = 0.7_f64.sin_cos();
    [[c, s, 0.0], [-0.6 * s, 0.6 * c, 0.8], [0.8 * s, -0.8 * c, 0.6]]
}

#[test]
fn a_ray_is_the_integral_of_the_propagator_along_it() {
    for order in [4, 8] {
        let basis = Basis::new(order);
        let (a, u) = example(&basis);
        let g = [0.48, 0.6, 0.64];
        let at = |r: f64| {
            let t = [0, 1, 2].map(|k| r * (0..3).map(|i| g[i] * axes()[k][i]).sum::<f64>() / u[k]);
            let row = basis.propagator_row(t);
            row.iter().zip(&a).map(|(x, a)| x * a).sum::<f64>() * r * r
        };
        let scale = 0.005;
        // Half of the even function's.
        let expected =
            0.5 * scale * integral(|t| at(scale * t)) / ((2.0 * PI).powf(1.5) * u[0] * u[1] * u[2]);
        let ray = ray(&basis, &a, u, axes(), g);
        assert!((ray / expected - 1.0).abs() < 1e-12, "{ray} {expected}");
    }
}

#[test]
fn the_density_of_directions_of_a_gaussian_is_that_of_its_tensor() {
    let basis = Basis::new(6);
    let mut a = vec![0.0; basis.len()];
    a[0] = 1.0;
    let u = [0.008, 0.006, 0.0055];
    let harmonics: Vec<f64> = Rays::new().harmonics(&basis, &a, u, axes()).collect();
    // What is cut off at degree 8 is all that is missing.
    assert!((harmonics[0] * (4.0 * PI).sqrt() - 1.0).abs() < 1e-3, "{}", harmonics[0]);
    for g in axes() {
        let row = fimbria_tensors::sh::evaluate(fimbria_tensors::sh::ShBasis::Mrtrix, DEGREE, g);
        let value: f64 = row.iter().zip(&harmonics).map(|(y, c)| y * c).sum();
        let v: f64 = (0..3)
            .map(|k| {
                let along: f64 = (0..3).map(|i| g[i] * axes()[k][i]).sum();
                (along / u[k]).powi(2)
            })
            .sum();
        let expected = v.powf(-1.5) / (4.0 * PI * u[0] * u[1] * u[2]);
        assert!((value / expected - 1.0).abs() < 0.01, "{value} {expected}");
    }
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
