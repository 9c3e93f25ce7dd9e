use std::f32::consts::PI;

use fimbria_image::Grid;

use super::region::neighbours;
use super::{strength, wrapped};

/// What two echoes say of the phase at echo time 0, where it is taken to be zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseAtStart {
    /// Its median magnitude, radians; of the angles that differ by whole turns of the second echo the
    /// nearest to zero.
    pub median_rad: f64,
    /// How near to zero it is, 1 to -1: the mean cosine of what the second echo differs by from the
    /// first one's line through zero, weighted by both magnitudes.
    pub agreement: f64,
    /// Neighbours between which the second echo is taken to be on another turn than it is at one of them.
    pub steps: usize,
    /// Their part of all neighbours, likewise weighted.
    pub share_of_steps: f64,
}

/// An agreement below this is no noise: it is that of an SNR of 5 in echoes at t and 2t.
const LEAST_AGREEMENT: f64 = 0.9;
/// The part of neighbours that noise may part.
const MOST_STEPS: f64 = 0.005;

impl PhaseAtStart {
    /// The phase at echo time 0 is (t₂ φ₁ - t₁ φ₂) / (t₂ - t₁). `unwrapped` (radians, of the first two
    /// echoes) is as [`unwrap_region`](super::unwrap_region) leaves it without an offset: the second
    /// within half a turn of where the first leads.
    ///
    /// # Panics
    /// Where there is no first phase and no second one, or not a time for each.
    pub fn of(
        grid: &Grid,
        unwrapped: &[Vec<f32>],
        magnitudes: &[Vec<f32>],
        times: &[f64],
        mask: &[u32],
    ) -> Self {
        let ratio = (times[1] / times[0]) as f32;
        let missed = |v: usize| wrapped(unwrapped[1][v] - ratio * unwrapped[0][v]);
        let weight = |v: usize| match magnitudes {
            [first, second, ..] => f64::from(strength(first[v])) * f64::from(strength(second[v])),
            _ => 1.0,
        };
        let mut inside = vec![false; grid.len()];
        mask.iter().for_each(|&v| inside[v as usize] = true);
        let (mut cosines, mut weights) = (0.0, 0.0);
        let (mut parted, mut pairs, mut steps) = (0.0, 0.0, 0);
        let mut sizes = Vec::with_capacity(mask.len());
        for &v in mask {
            let v = v as usize;
            let here = missed(v);
            if !here.is_finite() {
                continue;
            }
            sizes.push(here.abs());
            cosines += weight(v) * f64::from(here).cos();
            weights += weight(v);
            for next in neighbours(grid, v).filter(|&next| next > v && inside[next]) {
                let pair = (weight(v) * weight(next)).sqrt();
                let is_step = (missed(next) - here).abs() > PI;
                pairs += pair;
                parted += if is_step { pair } else { 0.0 };
                steps += usize::from(is_step);
            }
        }
        let middle = sizes.len() / 2;
        let median = if sizes.is_empty() {
            0.0
        } else {
            *sizes.select_nth_unstable_by(middle, f32::total_cmp).1
        };
        let over = |part: f64, whole: f64, none: f64| if whole > 0.0 { part / whole } else { none };
        Self {
            median_rad: f64::from(median / (ratio - 1.0)),
            agreement: over(cosines, weights, 1.0),
            steps,
            share_of_steps: over(parted, pairs, 0.0),
        }
    }

    /// Whether it is zero but for noise.
    pub fn is_zero(&self) -> bool {
        self.agreement >= LEAST_AGREEMENT && self.share_of_steps <= MOST_STEPS
    }
}
