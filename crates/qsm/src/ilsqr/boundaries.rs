//! Where susceptibility has boundaries, from a map that costs four transforms.

use fimbria_compute::Workers;

use crate::fourier::KSpace;
use crate::variation::Ring;

/// The power of |D| in the fast map: next to 0, so that D is hardly more than its sign.
const POWER: f64 = 1e-3;
/// Percentiles of |D| over which the fast map takes over from its smooth copy.
const OF_DIPOLE: [f64; 2] = [0.01, 0.30];
/// Radius of the ball that the copy is smoothed by, in voxels.
const RADIUS: f64 = 3.0;
/// Percentiles of the sizes of differences between which Wₐ falls from 1 to 0.
const OF_DIFFERENCES: [f64; 2] = [0.50, 0.70];

/// The weights Wₐ of the differences along each axis, in every place of the padded volume: 0 on boundaries
/// and where one of the two voxels is none of the mask.
pub(super) struct Boundaries {
    pub(super) ring: Ring,
    pub(super) weights: Vec<[f32; 3]>,
}

impl Boundaries {
    /// Of the fast map of the `field` of the unknowns at the `places`.
    pub(super) fn new(space: &KSpace<'_>, places: &[u32], field: &[f32]) -> Self {
        let fast = fast_map(space, places, field);
        let mut inside = vec![false; space.elements()];
        places.iter().for_each(|&place| inside[place as usize] = true);
        Self::of_map(space, &fast, &inside, space.workers())
    }

    /// Of a map of the whole volume.
    pub(super) fn of_map(
        space: &KSpace<'_>,
        map: &[f32],
        inside: &[bool],
        workers: &Workers,
    ) -> Self {
        let ring = Ring::new(space);
        let within = ring.within(inside, workers);
        let mut weights = ring.differences(map, workers);
        for a in 0..3 {
            let counts = |bits: u8| bits >> a & 1 == 1;
            let pairs = || weights.iter().zip(&within).filter(|(_, bits)| counts(**bits));
            let sizes: Vec<f32> = pairs().map(|(rise, _)| rise[a].abs()).collect();
            let by = ramp(&sizes, OF_DIFFERENCES);
            for (rise, bits) in weights.iter_mut().zip(&within) {
                rise[a] = if counts(*bits) { by(rise[a].abs()) } else { 0.0 };
            }
        }
        Self { ring, weights }
    }
}

/// The field divided by the sign of D, its ill-conditioned frequencies blended with those of itself
/// smoothed, in every place of the padded volume, 0 outside the mask.
pub(super) fn fast_map(space: &KSpace<'_>, places: &[u32], field: &[f32]) -> Vec<f32> {
    let mut volume = vec![0.0; space.elements()];
    places.iter().zip(field).for_each(|(&place, b)| volume[place as usize] = *b);
    let masked = |map: Vec<f32>| {
        let mut inside = vec![0.0; map.len()];
        places.iter().for_each(|&place| inside[place as usize] = map[place as usize]);
        inside
    };
    let mut fast = space.forward(&volume);
    space.each(&mut fast, |k, x| {
        let d = f64::from(space.dipole[k]);
        *x *= if d == 0.0 { 0.0 } else { (d.abs().powf(POWER)).copysign(d) as f32 };
    });
    let mut smooth = space.forward(&masked(space.back(fast.clone())));
    // Lengths are in units of a voxel's: its volume is 1.
    let ball = space.forward(&space.ball(RADIUS));
    space.each(&mut smooth, |k, x| *x *= ball[k].re);
    let sizes: Vec<f32> = space.dipole.iter().map(|d| d.abs()).collect();
    let smooth_part = ramp(&sizes, OF_DIPOLE);
    space.each(&mut fast, |k, x| {
        let part = smooth_part(sizes[k]);
        *x = *x * (1.0 - part) + smooth[k] * part;
    });
    masked(space.back(fast))
}

/// 1 up to the first of two percentiles of `values`, 0 from the second on, falling evenly between them.
pub(super) fn ramp(values: &[f32], between: [f64; 2]) -> impl Fn(f32) -> f32 + Sync + use<> {
    let mut sorted = values.to_vec();
    let mut percentile = |part: f64| {
        let last = sorted.len().saturating_sub(1);
        let rank = (part * last as f64).round() as usize;
        if sorted.is_empty() { 0.0 } else { *sorted.select_nth_unstable_by(rank, f32::total_cmp).1 }
    };
    let [low, high] = between.map(&mut percentile);
    move |value| {
        if value <= low {
            1.0
        } else if value >= high {
            0.0
        } else {
            (high - value) / (high - low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_falls_between_its_percentiles() {
        let values: Vec<f32> = (0..=100).rev().map(|i| i as f32).collect();
        let by = ramp(&values, [0.5, 0.7]);
        let found = [0.0, 50.0, 55.0, 60.0, 69.0, 70.0, 100.0].map(by);
        let expected = [1.0, 1.0, 0.75, 0.5, 0.05, 0.0, 0.0];
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-6), "{found:?}");
        // Where all are the same nothing is out of the ordinary.
        assert_eq!(ramp(&[2.0; 9], [0.5, 0.7])(2.0), 1.0);
        assert_eq!(ramp(&[], [0.5, 0.7])(0.0), 1.0);
    }
}
