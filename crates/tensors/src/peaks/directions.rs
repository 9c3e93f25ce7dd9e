//! Evenly spread directions of the half sphere, and which are neighbours.

use fimbria_compute::dense::vec3::{dot, scale};

use crate::starts::half_sphere;
use crate::tangent::tangent_basis;

/// Directions, and for each the others that surround it (±x being the same direction).
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    pub(crate) unit: Vec<[f64; 3]>,
    /// Sorted, for each direction.
    pub(crate) neighbours: Vec<Vec<u32>>,
    /// No direction is farther than about this from the nearest of these, radians.
    pub(crate) reach_rad: f64,
}

/// Directions farther than this many times the spacing √(2π/n) are no neighbours.
const FAR: f64 = 3.0;
/// Borders shorter than this, of the spacing, are corners.
const CORNER: f64 = 1e-6;

impl Directions {
    /// `n` directions on a spiral that is even for any `n`.
    pub(crate) fn new(n: usize) -> Self {
        let unit: Vec<[f64; 3]> = half_sphere(n);
        let spacing = (std::f64::consts::TAU / n as f64).sqrt();
        let mut neighbours: Vec<Vec<u32>> =
            (0..n).map(|at| bordering(&unit, at, spacing)).collect();
        // Rounding may leave a border to one of its two sides.
        for at in 0..n {
            for other in neighbours[at].clone() {
                let others = &mut neighbours[other as usize];
                if let Err(place) = others.binary_search(&(at as u32)) {
                    others.insert(place, at as u32);
                }
            }
        }
        Self { unit, neighbours, reach_rad: 0.8 * spacing }
    }
}

/// The directions whose nearest parts of the sphere border on that of direction `at`, sorted: they surround it
/// wherever the spiral's ends leave it. Looking further hides low maxima on the flank of high ones.
///
/// Seen from the centre on the tangent plane, great circles are straight: what is nearer to `at` than to another
/// direction is a half plane, and what is nearest to it the polygon that all of them leave.
fn bordering(unit: &[[f64; 3]], at: usize, spacing: f64) -> Vec<u32> {
    let centre = unit[at];
    let axes = tangents(&centre);
    let far = (FAR * spacing).min(1.5);
    let mut near: Vec<(u32, [f64; 3])> = (0..)
        .zip(unit)
        .map(|(other, dir)| (other, scale(*dir, 1.0_f64.copysign(dot(*dir, centre)))))
        .filter(|(other, dir)| *other as usize != at && dot(*dir, centre) > far.cos())
        .collect();
    near.sort_by(|(_, a), (_, b)| dot(*b, centre).total_cmp(&dot(*a, centre)));
    // Corners in order, each with the direction beyond the edge that follows.
    let edge = far.tan();
    let mut polygon = [[edge, edge], [-edge, edge], [-edge, -edge], [edge, -edge]]
        .map(|corner| (corner, None))
        .to_vec();
    for (other, dir) in near {
        let slope = axes.map(|axis| dot(axis, dir));
        let height = 1.0 - dot(dir, centre);
        let inside = |[x, y]: [f64; 2]| height - x * slope[0] - y * slope[1];
        polygon = cut(&polygon, inside, other);
    }
    let length = |k: usize| {
        let (a, b) = (polygon[k].0, polygon[(k + 1) % polygon.len()].0);
        (a[0] - b[0]).hypot(a[1] - b[1])
    };
    let long = (0..polygon.len()).filter(|&k| length(k) > CORNER * spacing);
    let mut neighbours: Vec<u32> = long.filter_map(|k| polygon[k].1).collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours
}

/// Two orthogonal tangents at a direction.
fn tangents(at: &[f64; 3]) -> [[f64; 3]; 2] {
    let basis = tangent_basis(at);
    [0, 1].map(|row| std::array::from_fn(|axis| basis[3 * row + axis]))
}

/// A corner, and the direction beyond the edge from it to the next.
type Corner = ([f64; 2], Option<u32>);

/// The part of a convex polygon where `inside` is not negative; beyond the new edge lies `other`.
fn cut(polygon: &[Corner], inside: impl Fn([f64; 2]) -> f64, other: u32) -> Vec<Corner> {
    let mut left = Vec::with_capacity(polygon.len() + 1);
    for (k, &(from, beyond)) in polygon.iter().enumerate() {
        let to = polygon[(k + 1) % polygon.len()].0;
        let (a, b) = (inside(from), inside(to));
        let share = a / (a - b);
        let crossing = [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
        match (a >= 0.0, b >= 0.0) {
            (true, true) => left.push((from, beyond)),
            (true, false) => left.extend([(from, beyond), (crossing, Some(other))]),
            (false, true) => left.push((crossing, beyond)),
            (false, false) => {}
        }
    }
    left
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
            for (dir, near) in directions.unit.iter().zip(&directions.neighbours) {
                assert!((4..=9).contains(&near.len()), "{n}: {}", near.len());
                assert!(widest_gap(&directions, dir, near) < 130.0, "{n}: {dir:?}");
            }
        }
    }

    /// The widest angle between neighbours as seen from a direction, in degrees.
    fn widest_gap(directions: &Directions, dir: &[f64; 3], near: &[u32]) -> f64 {
        let axes = tangents(dir);
        let bearing = |other: &u32| {
            let other = directions.unit[*other as usize];
            let other = scale(other, 1.0_f64.copysign(dot(other, *dir)));
            dot(other, axes[1]).atan2(dot(other, axes[0])).to_degrees()
        };
        let mut bearings: Vec<f64> = near.iter().map(bearing).collect();
        bearings.sort_by(f64::total_cmp);
        bearings.push(bearings[0] + 360.0);
        bearings.windows(2).map(|two| two[1] - two[0]).fold(0.0, f64::max)
    }

    /// Euler's theorem: as many triangles as a sphere without gaps has.
    #[test]
    fn borders_make_triangles() {
        for n in [64, 724] {
            let directions = Directions::new(n);
            let borders: usize = directions.neighbours.iter().map(Vec::len).sum();
            // Both ends of a direction are vertices: 2n - E + 2E/3 = 2, each edge on both half spheres.
            assert_eq!(borders, 2 * (3 * n - 3), "{n}");
        }
    }

    #[test]
    fn a_density_of_one_fibre_has_one_maximum_wherever_it_points() {
        let directions = Directions::new(724);
        let fine = half_sphere(997);
        for fibre in fine {
            let values: Vec<f64> =
                directions.unit.iter().map(|dir| dot(*dir, fibre).powi(16)).collect();
            let is_maximum = |(at, near): &(usize, &Vec<u32>)| {
                near.iter().all(|&other| values[other as usize] < values[*at])
            };
            let maxima = directions.neighbours.iter().enumerate().filter(is_maximum).count();
            assert_eq!(maxima, 1, "{fibre:?}");
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
