//! Directions spread evenly over half of the sphere.

use std::f64::consts::{PI, TAU};

/// So many unit vectors with z > 0, along a spiral of equal areas: each turn by the golden angle.
pub(crate) fn half_sphere(n: usize) -> Vec<[f64; 3]> {
    let turn = PI * (3.0 - 5f64.sqrt());
    let direction = |i: usize| {
        let z = 1.0 - (i as f64 + 0.5) / n as f64;
        let (sin, cos) = (turn * i as f64 % TAU).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    };
    (0..n).map(direction).collect()
}
