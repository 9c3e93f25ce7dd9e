//! Evenly spread directions of the half sphere, and which are neighbours.

use crate::starts::half_sphere;

/// Directions, and for each the others that surround it (±x being the same direction).
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    pub(crate) unit: Vec<[f64; 3]>,
    /// Sorted, for each direction.
    pub(crate) neighbours: Vec<Vec<u32>>,
    /// No direction is farther than about this from the nearest of these, radians.
    pub(crate) reach_rad: f64,
}

/// Neighbours lie within this many times the spacing √(2π/n): the four to six that surround a
/// direction. Looking further hides low maxima on the flank of high ones.
const NEAR: f64 = 1.3;

impl Directions {
    /// `n` directions on a spiral that is even for any `n`.
    pub(crate) fn new(n: usize) -> Self {
        let unit: Vec<[f64; 3]> = half_sphere(n);
        let spacing = (std::f64::consts::TAU / n as f64).sqrt();
        let near = (NEAR * spacing).cos();
        let neighbours = unit
            .iter()
            .map(|a| {
                let dot = |b: &[f64; 3]| (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).abs();
                let close = |(_, b): &(u32, &[f64; 3])| dot(b) > near && *b != a;
                (0..).zip(&unit).filter(close).map(|(j, _)| j).collect()
            })
            .collect();
        Self { unit, neighbours, reach_rad: 0.8 * spacing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angle(a: &[f64; 3], b: &[f64; 3]) -> f64 {
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).abs().min(1.0).acos()
    }

    #[test]
    fn no_direction_is_out_of_reach_and_all_are_surrounded() {
        for n in [16, 64, 256] {
            let directions = Directions::new(n);
            let fine = Directions::new(5000);
            for point in &fine.unit {
                let nearest = directions.unit.iter().map(|d| angle(d, point));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                assert!(nearest <= directions.reach_rad, "{n}: {nearest}");
            }
            for near in &directions.neighbours {
                assert!((3..=7).contains(&near.len()), "{n}: {}", near.len());
            }
        }
    }

    #[test]
    fn neighbours_are_mutual() {
        let directions = Directions::new(128);
        for (i, near) in (0..).zip(&directions.neighbours) {
            assert!(near.iter().all(|&j| directions.neighbours[j as usize].contains(&i)));
        }
    }
}
