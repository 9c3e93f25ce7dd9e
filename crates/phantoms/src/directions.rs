//! Directions spread evenly over the sphere, a gradient and its opposite counting as one.

use crate::bundle::unit;
use fimbria_compute::dense::vec3::{Vec3, add, dot, norm, scale, sub};

/// Steps of the relaxation, and what is left of the step length after each: the last step is
/// 3e-6 of the spacing.
const STEPS: usize = 400;
const SHRINK: f64 = 0.97;

/// `n` unit directions that repel each other and each other's opposites like charges (Jones,
/// Horsfield and Simmons 1999), found from a spiral by descent. Always the same for the same `n`.
pub fn spread_directions(n: usize) -> Vec<[f64; 3]> {
    let mut dirs: Vec<Vec3> = (0..n).map(|i| on_spiral(i, n)).collect();
    let spacing = (2.0 * std::f64::consts::PI / n.max(1) as f64).sqrt();
    let mut step = 0.2 * spacing;
    for _ in 0..STEPS {
        let forces: Vec<Vec3> = (0..n).map(|i| force(&dirs, i)).collect();
        let largest = forces.iter().map(|f| norm(*f)).fold(0.0, f64::max);
        if largest == 0.0 {
            break;
        }
        for (dir, force) in dirs.iter_mut().zip(&forces) {
            *dir = unit(add(*dir, scale(*force, step / largest)));
        }
        step *= SHRINK;
    }
    dirs
}

/// Point `i` of `n` on a spiral over the upper half sphere, each at the same area from the last.
fn on_spiral(i: usize, n: usize) -> Vec3 {
    let golden_angle = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    let z = 1.0 - (i as f64 + 0.5) / n as f64;
    let (sin, cos) = (golden_angle * i as f64).sin_cos();
    let r = (1.0 - z * z).sqrt();
    [r * cos, r * sin, z]
}

/// The force of all other charges on direction `i`, along the sphere.
fn force(dirs: &[Vec3], i: usize) -> Vec3 {
    let x = dirs[i];
    let mut sum = [0.0; 3];
    for (j, &y) in dirs.iter().enumerate() {
        if i != j {
            for away in [sub(x, y), add(x, y)] {
                sum = add(sum, scale(away, norm(away).powi(-3)));
            }
        }
    }
    sub(sum, scale(x, dot(sum, x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smallest angle between two axes, in degrees.
    fn smallest_angle(dirs: &[Vec3]) -> f64 {
        let mut largest = 0.0f64;
        for i in 0..dirs.len() {
            for j in 0..i {
                largest = largest.max(dot(dirs[i], dirs[j]).abs());
            }
        }
        largest.min(1.0).acos().to_degrees()
    }

    #[test]
    fn three_axes_are_orthogonal_and_six_are_an_icosahedron() {
        assert!((smallest_angle(&spread_directions(3)) - 90.0).abs() < 0.01);
        // The diagonals of an icosahedron meet at acos(1/√5).
        let icosahedron = (1.0 / 5.0f64.sqrt()).acos().to_degrees();
        assert!((smallest_angle(&spread_directions(6)) - icosahedron).abs() < 0.01);
    }

    #[test]
    fn directions_are_unit_and_evenly_spread() {
        for n in [1, 2, 15, 30, 60, 90] {
            let dirs = spread_directions(n);
            assert_eq!(dirs.len(), n);
            assert!(dirs.iter().all(|d| (norm(*d) - 1.0).abs() < 1e-12));
            if n > 2 {
                // 2n caps of this angle would cover the sphere if caps could tile; the best
                // arrangements known reach about 90 % of it.
                let ideal = (1.0 - 1.0 / n as f64).acos().to_degrees() * 2.0;
                let angle = smallest_angle(&dirs);
                assert!(
                    angle > 0.75 * ideal && angle <= ideal.max(90.0),
                    "{n}: {angle} of {ideal}"
                );
            }
        }
        assert_eq!(spread_directions(0), Vec::<Vec3>::new());
    }

    #[test]
    fn the_mean_of_dyads_is_isotropic() {
        let dirs = spread_directions(30);
        for i in 0..3 {
            for j in 0..3 {
                let mean = dirs.iter().map(|d| d[i] * d[j]).sum::<f64>() / 30.0;
                let expected = if i == j { 1.0 / 3.0 } else { 0.0 };
                assert!((mean - expected).abs() < 0.01, "{i}{j}: {mean}");
            }
        }
    }
}
