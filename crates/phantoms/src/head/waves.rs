//! Smooth randomness: sums of plane waves, the same everywhere for a seed.

use std::f64::consts::TAU;

use fimbria_compute::dense::vec3::{Vec3, dot, scale};
use fimbria_compute::philox::Philox;

/// Numbers of one purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dice {
    source: Philox,
}

impl Dice {
    /// `purpose` keeps the numbers of one use apart from those of others.
    pub(super) fn new(seed: u64, purpose: u32) -> Self {
        Self { source: Philox::new(seed).stream(purpose) }
    }

    /// Four numbers from 0 to 1.
    pub(super) fn four(&self, item: u64, step: u32) -> [f64; 4] {
        self.source.at(item, step).map(|word| (f64::from(word) + 0.5) / 4_294_967_296.0)
    }

    /// A direction, evenly over the sphere.
    fn direction(&self, item: u64) -> Vec3 {
        let [height, turn, ..] = self.four(item, 0);
        let z = 2.0 * height - 1.0;
        let (sin, cos) = (TAU * turn).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    }
}

/// A random function of variance 1 in which one wavelength prevails.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    /// Wave vector in radians per mm, and phase.
    waves: Vec<(Vec3, f64)>,
}

impl Waves {
    /// `count` waves of about `wavelength_mm`.
    pub(super) fn new(dice: Dice, count: usize, wavelength_mm: f64) -> Self {
        let wave = |i: usize| {
            let [spread, phase, ..] = dice.four(i as u64, 1);
            let k = TAU / (wavelength_mm * (0.85 + 0.3 * spread));
            (scale(dice.direction(i as u64), k), TAU * phase)
        };
        Self { waves: (0..count).map(wave).collect() }
    }

    /// Its value, of variance 1 over positions.
    pub(super) fn at(&self, p: Vec3) -> f64 {
        let sum: f64 = self.waves.iter().map(|(k, phase)| (dot(*k, p) + phase).cos()).sum();
        sum * self.amplitude()
    }

    /// Its value and its gradient, per mm.
    pub(super) fn with_gradient(&self, p: Vec3) -> (f64, Vec3) {
        let (mut value, mut gradient) = (0.0, [0.0; 3]);
        for (k, phase) in &self.waves {
            let (sin, cos) = (dot(*k, p) + phase).sin_cos();
            value += cos;
            (0..3).for_each(|a| gradient[a] -= sin * k[a]);
        }
        (value * self.amplitude(), scale(gradient, self.amplitude()))
    }

    fn amplitude(&self) -> f64 {
        (2.0 / self.waves.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_of_variance_one_and_their_gradient_is_theirs() {
        let waves = Waves::new(Dice::new(3, 1), 40, 20.0);
        let at = |i: usize| [1.7 * i as f64, -0.9 * i as f64, 2.3 * i as f64];
        let squares: f64 = (0..4000).map(|i| waves.at(at(i)).powi(2)).sum();
        // Some 600 wavelengths are passed.
        assert!((squares / 4000.0 - 1.0).abs() < 0.15, "{}", squares / 4000.0);
        let (p, h) = ([3.0, -8.0, 12.0], 1e-5);
        let (value, gradient) = waves.with_gradient(p);
        assert!((value - waves.at(p)).abs() < 1e-12);
        for a in 0..3 {
            let moved = |by: f64| {
                let mut q = p;
                q[a] += by;
                waves.at(q)
            };
            assert!(((moved(h) - moved(-h)) / (2.0 * h) - gradient[a]).abs() < 1e-8);
        }
        let other = Waves::new(Dice::new(4, 1), 40, 20.0);
        assert_ne!(value, other.at(p));
    }
}
