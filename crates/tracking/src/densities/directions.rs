//! Directions at which densities are looked at before anything is drawn.

use fimbria_compute::Lanes;
use pulp::Simd;

/// Directions of the cap at which its bound is looked for.
pub(super) const CAP: usize = 32;

/// Rings of the cap: directions on each, and how far out, as a part of the largest angle.
pub(super) const RINGS: [(usize, f32); 4] = [(1, 0.0), (5, 0.3), (10, 0.62), (16, 0.95)];

/// Directions of the half sphere at which densities are looked at where no direction is known.
pub(super) const HALF_SPHERE: usize = 64;

/// The directions of the cap, in the frame of its middle.
pub(super) fn cap(angle: f32) -> [[f32; CAP]; 3] {
    let mut all = [[0.0; CAP]; 3];
    let mut at = 0;
    for (n, out) in RINGS {
        let (sin, cos) = f64::from(out * angle).sin_cos();
        for i in 0..n {
            // Rings are turned against each other.
            let turn = std::f64::consts::TAU * (f64::from(i as u32) + f64::from(out)) / n as f64;
            let dir = [cos, sin * turn.cos(), sin * turn.sin()];
            (0..3).for_each(|k| all[k][at] = dir[k] as f32);
            at += 1;
        }
    }
    all
}

/// Directions of the half sphere, evenly along a spiral.
pub(super) fn half_sphere() -> [[f32; HALF_SPHERE]; 3] {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let mut all = [[0.0; HALF_SPHERE]; 3];
    for i in 0..HALF_SPHERE {
        let z = (i as f64 + 0.5) / HALF_SPHERE as f64;
        let (radius, turn) = ((1.0 - z * z).sqrt(), golden * i as f64);
        let dir = [radius * turn.cos(), radius * turn.sin(), z];
        (0..3).for_each(|k| all[k][i] = dir[k] as f32);
    }
    all
}

/// Three rows from one place on.
#[inline(always)]
pub(super) fn load3<S: Simd, const N: usize>(
    simd: S,
    from: &[[f32; N]; 3],
    at: usize,
) -> [Lanes<S>; 3] {
    [
        Lanes::load(simd, &from[0][at..]),
        Lanes::load(simd, &from[1][at..]),
        Lanes::load(simd, &from[2][at..]),
    ]
}
