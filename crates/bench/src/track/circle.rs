//! Particles that start in a circle, as those of the paper's Figures 4.12 and 4.13 do.

use std::collections::BTreeMap;
use std::f32::consts::TAU;

use fimbria_compute::philox::{Philox, uniform};
use fimbria_tracking::Seed;

use super::subject::Subject;

/// Where particles start: a circle in a slice, as the paper's, radiological voxel coordinates.
pub(super) struct Circle {
    pub(super) centre: [f32; 3],
    pub(super) radius: f32,
}

impl Circle {
    /// The paper's grid, and its circle there.
    pub(super) const PAPER: ([f32; 3], Self) =
        ([102.0, 102.0, 60.0], Self { centre: [51.0, 51.0, 39.0], radius: 10.0 });

    /// Around the seed nearest to the same part of this grid, and over the same part of its width.
    pub(super) fn of(subject: &Subject) -> Self {
        let (paper, Self { centre, radius }) = Self::PAPER;
        let dims = subject.space.grid().dims.map(|n| n as f32);
        let there: [f32; 3] = std::array::from_fn(|a| centre[a] / paper[a] * dims[a]);
        let distance = |seed: &Seed| -> f32 {
            seed.pos.iter().zip(there).map(|(at, there)| (at - there).powi(2)).sum()
        };
        let nearest = subject.seeds.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        Self { centre: nearest.map_or(there, |seed| seed.pos), radius: radius / paper[0] * dims[0] }
    }

    /// Places drawn evenly over it, each the seed of one particle.
    pub(super) fn seeds(&self, particles: u32) -> Vec<Seed> {
        let random = Philox::new(2);
        let [x, y, z] = self.centre;
        let seed = |key: u32| {
            let [area, turn, ..] = random.at(u64::from(key), 0).map(uniform::<f32>);
            let (sin, cos) = (TAU * turn).sin_cos();
            let away = self.radius * area.sqrt();
            Seed { key, region: 0, pos: [x + away * cos, y + away * sin, z] }
        };
        (0..particles).map(seed).collect()
    }

    /// "radius 10 around (51, 51, 39) of 102 x 102 x 60".
    pub(super) fn described(&self, dims: [f32; 3]) -> String {
        let Self { centre: [x, y, z], radius } = self;
        let [nx, ny, nz] = dims;
        format!("radius {radius:.1} around ({x}, {y}, {z}) of {nx} x {ny} x {nz} voxels")
    }
}

/// The same seeds, each in the centre of its voxel.
pub(super) fn in_centres(seeds: &[Seed]) -> Vec<Seed> {
    seeds.iter().map(|seed| Seed { pos: seed.pos.map(f32::round), ..*seed }).collect()
}

/// Seeds by the voxel they are in.
pub(super) fn by_voxel(seeds: &[Seed]) -> Vec<Vec<Seed>> {
    let mut starts = BTreeMap::<[i32; 3], Vec<Seed>>::new();
    for seed in seeds {
        starts.entry(seed.pos.map(|x| x.round() as i32)).or_default().push(*seed);
    }
    starts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn places_are_spread_evenly_over_the_circle() {
        let circle = Circle { centre: [20.0, 30.0, 7.0], radius: 4.0 };
        let n = 20_000;
        let seeds = circle.seeds(n);
        let away = |seed: &Seed| [0, 1].map(|a| f64::from(seed.pos[a] - circle.centre[a]));
        let mean = |of: &dyn Fn([f64; 2]) -> f64| {
            seeds.iter().map(|seed| of(away(seed))).sum::<f64>() / f64::from(n)
        };
        assert!(seeds.iter().all(|seed| seed.pos[2] == 7.0));
        // The square of the distance is even over 0 to R², with variance R⁴/12; x and y have mean 0
        // and variance R²/4, xy has variance R⁴/24. Each within five standard errors.
        let error = |variance: f64| 5.0 * (variance / f64::from(n)).sqrt();
        assert!(seeds.iter().all(|seed| away(seed).map(|d| d * d).iter().sum::<f64>() < 16.001));
        assert!((mean(&|[x, y]| x * x + y * y) - 8.0).abs() < error(256.0 / 12.0));
        assert!(mean(&|[x, _]| x).abs() < error(4.0));
        assert!(mean(&|[_, y]| y).abs() < error(4.0));
        assert!(mean(&|[x, y]| x * y).abs() < error(256.0 / 24.0));
    }

    #[test]
    fn seeds_of_one_voxel_are_together() {
        let seeds = Circle { centre: [20.0, 30.0, 7.0], radius: 1.5 }.seeds(500);
        let starts = by_voxel(&seeds);
        let centres = in_centres(&seeds);
        let places: BTreeSet<_> = centres.iter().map(|seed| seed.pos.map(f32::to_bits)).collect();
        assert_eq!(places.len(), starts.len());
        // The middle one, its four neighbours and those at its corners.
        assert_eq!(starts.len(), 9);
        assert_eq!(starts.iter().map(Vec::len).sum::<usize>(), 500);
        for seeds in starts {
            let voxels: BTreeSet<_> =
                seeds.iter().map(|s| s.pos.map(|x| x.round() as i32)).collect();
            assert_eq!(voxels.len(), 1);
        }
    }
}
