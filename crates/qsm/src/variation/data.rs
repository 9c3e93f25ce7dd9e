//! What the data say of each voxel's field, and what is outside the mask.

use std::f32::consts::TAU;

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Outside;

/// The step of the phase ends where it moves by no more than this, in radians, or after so many.
pub(super) const SETTLED: f32 = 1e-4;
/// As [`SETTLED`].
pub(super) const STEPS: usize = 12;

/// ε as a part of ρ: 1e-5 at the default of λ. Ten times as much makes maps of the phase of `phantom
/// head` two points worse, a hundred times 14.
const EPSILON_OF_RHO: f32 = 1.0 / 600.0;

/// The field at the unknowns, and how it counts.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) field: &'a [f32],
    /// w, 1 where there are none.
    pub(super) weights: Option<&'a [f32]>,
    /// s, radians that a field of 1 turns the phase by: w² (1 - cos s (z - b)) / s² is made small, which
    /// is ½ w² (z - b)² where z is near b; `None` for that itself.
    pub(super) radians: Option<f32>,
    /// Where the unknowns lie in the padded volume.
    pub(super) places: &'a [u32],
}

impl Data<'_> {
    /// The step of the field, z: `next` is the field of the map in the whole volume, and becomes z less
    /// its multiplier, which `multiplier` keeps. Outside the mask nothing is known of the field: there it
    /// is what the map says.
    pub(super) fn step(&self, next: &mut [f32], multiplier: &mut [f32]) {
        for (i, &place) in self.places.iter().enumerate() {
            let wanted = next[place as usize] + multiplier[i];
            let squared = self.weights.map_or(1.0, |weights| weights[i] * weights[i]);
            let z = match self.radians {
                None => (squared * self.field[i] + wanted) / (squared + 1.0),
                Some(radians) => self.field[i] + nearest(wanted - self.field[i], squared, radians),
            };
            multiplier[i] = wanted - z;
            next[place as usize] = z - multiplier[i];
        }
    }
}

/// The least of `squared` (1 - cos s x) / s² + ½ (x - d)² that is reached from x = d downhill: it lies
/// between d and the whole turn nearest to it, where the slope's derivative falls with the distance from
/// that turn, so that Newton's steps from there come to it from one side.
fn nearest(d: f32, squared: f32, s: f32) -> f32 {
    let turns = (s * d / TAU).round();
    let away = s * d - TAU * turns;
    let (sign, away) = (away.signum(), away.abs());
    let mut angle = 0.0_f32;
    for _ in 0..STEPS {
        let slope = squared * angle.sin() + angle - away;
        let next = (angle - slope / (squared * angle.cos() + 1.0)).max(angle).min(away);
        let moved = next - angle;
        angle = next;
        if moved <= SETTLED {
            break;
        }
    }
    (TAU * turns + sign * angle) / s
}

impl Outside {
    /// The step of the copy of the map: inside the mask it is the map itself.
    pub(super) fn step(self, copy: &mut [f32], chi: &[f32], is_inside: &[bool], workers: &Workers) {
        workers.install(|| {
            copy.par_iter_mut().zip(chi).zip(is_inside).for_each(|((copy, chi), inside)| {
                *copy = if *inside { *chi } else { self.copy(*copy, *chi) }
            });
        });
    }

    /// The copy of the map outside the mask less its multiplier u, from the one before and the map.
    fn copy(self, before: f32, chi: f32) -> f32 {
        match self {
            // The copy is 0.
            Self::Nothing => before - chi,
            // The copy is (χ + u) ρ / (ρ + ε), and what that leaves of χ + u is the next u.
            Self::Sources => {
                let part = EPSILON_OF_RHO;
                let v = chi + before * part / (1.0 - part);
                v * (1.0 - part) / (1.0 + part)
            }
        }
    }

    /// The same copy as (χ + `before` f) g: f and g.
    pub(super) fn factors(self) -> [f32; 2] {
        let part = EPSILON_OF_RHO;
        match self {
            Self::Nothing => [-1.0, -1.0],
            Self::Sources => [part / (1.0 - part), (1.0 - part) / (1.0 + part)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(x: f32, d: f32, squared: f32, s: f32) -> f64 {
        let [x, d, squared, s] = [x, d, squared, s].map(f64::from);
        squared * (1.0 - (s * x).cos()) / (s * s) + 0.5 * (x - d).powi(2)
    }

    #[test]
    fn the_step_of_the_phase_ends_where_nothing_near_is_less() {
        for s in [3.0, 16.0] {
            for squared in [0.0, 0.3, 1.0, 4.0] {
                for i in -40..=40 {
                    let d = i as f32 * 0.03;
                    let x = nearest(d, squared, s);
                    let found = value(x, d, squared, s);
                    assert!(found <= value(d, d, squared, s) + 1e-9, "{s} {squared} {d}");
                    // What the last of the steps leaves where both terms are flat.
                    for by in [-0.01, 0.01] {
                        let near = value(x + by / s, d, squared, s);
                        assert!(near > found - 1e-5, "{s} {squared} {d}: {x} {near} {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_copy_is_what_its_factors_make() {
        for outside in [Outside::Sources, Outside::Nothing] {
            let [f, g] = outside.factors();
            for (before, chi) in [(0.3_f32, -0.2_f32), (-1.0, 0.5)] {
                let by_factors = (chi + before * f) * g;
                assert!((by_factors - outside.copy(before, chi)).abs() < 1e-6, "{outside:?}");
            }
        }
    }

    #[test]
    fn a_field_that_is_off_by_a_whole_turn_is_off_by_nothing() {
        let (d, s) = (0.013, 16.0);
        let plain = nearest(d, 1.0, s);
        let turned = nearest(d + TAU / s, 1.0, s) - TAU / s;
        // It costs the distance from d, too, so that both are between d and the turn.
        assert!(
            (plain - d / 2.0).abs() < 1e-4 && (turned - d / 2.0).abs() < 1e-4,
            "{plain} {turned}"
        );
    }
}
