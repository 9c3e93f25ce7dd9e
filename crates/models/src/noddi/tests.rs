use fimbria_fitting::lm::{Model, derivative_error};

use super::*;

/// The signal by the definition: an integral over the sphere in coordinates about the mean direction. Both
/// rules are exact to rounding here (degree 399 along the axis, 128 angles around it).
fn by_quadrature(p: &[f64; 7], b: f64, cos: f64, tissue: Tissue) -> f64 {
    let [s0, f, odi, v, _, _, still] = *p;
    let (d, kappa) = (tissue.along(), concentration(odi));
    let (nodes, around) = (gauss(200), 128);
    let sin = (1.0 - cos * cos).sqrt();
    let (mut sticks, mut mass, mut second) = (0.0, 0.0, 0.0);
    for &(t, weight) in &nodes {
        // exp(κ(t²-1)): the factor cancels.
        let density = weight * (kappa * (t * t - 1.0)).exp();
        (mass, second) = (mass + density, second + density * t * t);
        for k in 0..around {
            let angle = std::f64::consts::TAU * f64::from(k) / f64::from(around);
            let along = cos * t + sin * (1.0 - t * t).sqrt() * angle.cos();
            sticks += density * (-b * d * along * along).exp() / f64::from(around);
        }
    }
    let (sticks, tau) = (sticks / mass, second / mass);
    let radial = d * (1.0 - f);
    let axial_mean = radial + (d - radial) * tau;
    let radial_mean = radial + (d - radial) * (1.0 - tau) / 2.0;
    let zeppelin = (-b * (radial_mean + (axial_mean - radial_mean) * cos * cos)).exp();
    let moving = (1.0 - v) * (f * sticks + (1.0 - f) * zeppelin) + v * (-b * tissue.free()).exp();
    s0 * (still + (1.0 - still) * moving)
}

/// Nodes and weights of Gauss and Legendre's rule on [-1, 1], by Newton's method.
fn gauss(n: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut t = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..8 {
            let (mut before, mut value) = (1.0, t);
            for k in 2..=n {
                let k = k as f64;
                (before, value) = (value, ((2.0 * k - 1.0) * t * value - (k - 1.0) * before) / k);
            }
            slope = n as f64 * (t * value - before) / (t * t - 1.0);
            t -= value / slope;
        }
        (t, 2.0 / ((1.0 - t * t) * slope * slope))
    };
    (0..n).map(node).collect()
}

/// The largest difference of the sums from the integral, of S0, over dispersions and angles at b ms/µm².
fn largest_error<const K: usize>(b: f64, tissue: Tissue) -> f64 {
    let axes = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut worst: f64 = 0.0;
    for odi in [0.01, 0.02, 0.05, 0.2, 0.5, 0.99] {
        for step in 0..=8 {
            let cos = f64::from(step) / 8.0;
            let p = [1.0, 0.6, odi, 0.1, 0.0, 0.0, 0.05];
            let known = covariates::<K>(tissue, b, [cos, (1.0 - cos * cos).sqrt(), 0.0]);
            let signal: f64 = Dispersed::<K>.signal(&p, &known, &axes);
            worst = worst.max((signal - by_quadrature(&p, b, cos, tissue)).abs());
        }
    }
    worst
}

#[test]
fn the_sums_are_the_integral_over_the_sphere() {
    for b in [0.0, 0.005, 0.7, 1.0, 2.0, 3.0, 4.0] {
        let error = largest_error::<FEW>(b, Tissue::White);
        assert!(error < 1e-6, "b {b}: {error:e}");
    }
    for b in [4.2, 6.0, 10.0, 14.0] {
        let error = largest_error::<MANY>(b, Tissue::White);
        assert!(error < 1e-6, "b {b}: {error:e}");
    }
    assert!(largest_error::<FEW>(3.0, Tissue::Grey) < 1e-6);
    assert!(largest_error::<FEW>(8.0, Tissue::ExVivo) < 1e-6);
}

#[test]
fn the_own_derivatives_are_those_of_dual_numbers() {
    let axes = [0.6, 0.8, 0.0, -0.8, 0.6, 0.0, 0.0, 0.0, 1.0];
    for odi in [0.011, 0.04, 0.3, 0.7, 0.98] {
        for b in [0.0, 1.0, 3.0] {
            let known = covariates::<FEW>(Tissue::White, b, [0.48, 0.6, 0.64]);
            let p = [1.3, 0.55, odi, 0.2, 0.3, -0.7, 0.1];
            // What is left of the guess that the recurrence begins with, 1e-9, times the slope of the
            // concentration by ODI, up to 5e3.
            let error = derivative_error(&Dispersed::<FEW>, &p, &known, &axes);
            assert!(error < 2e-5, "ODI {odi}, b {b}: {error:e}");
        }
    }
}
