//! Solids by how deep a point lies in them: mm, positive inside, about 1 mm per mm near the surface.

use fimbria_compute::dense::vec3::{Vec3, add, dot, norm, scale, sub};

/// A ball of a chain: its centre in mm and its radius in mm.
pub(super) type Ball = (Vec3, f64);

/// The depth in an ellipsoid, after Quilez: exact on its surface to first order.
pub(super) fn ellipsoid(p: Vec3, centre: Vec3, semi_axes: Vec3) -> f64 {
    let r = sub(p, centre);
    let by = |power: i32| norm([0, 1, 2].map(|a| r[a] / semi_axes[a].powi(power)));
    let (level, slope) = (by(1), by(2));
    if slope > 0.0 {
        level * (1.0 - level) / slope
    } else {
        semi_axes.into_iter().fold(f64::INFINITY, f64::min)
    }
}

/// The same where the middle along x moves by `slope` mm for each mm along y.
pub(super) fn sheared(p: Vec3, centre: Vec3, semi_axes: Vec3, slope: f64) -> f64 {
    ellipsoid([p[0] - slope * (p[1] - centre[1]), p[1], p[2]], centre, semi_axes)
}

/// The depth in a string of balls with cones between them.
pub(super) fn chain(p: Vec3, balls: &[Ball]) -> f64 {
    let pairs = balls.windows(2).map(|pair| {
        let ((from, near), (to, far)) = (pair[0], pair[1]);
        let (along, t) = on_segment(p, from, to);
        near + t * (far - near) - along
    });
    pairs.fold(f64::NEG_INFINITY, f64::max)
}

/// The distance to a line through points, mm.
pub(super) fn to_line(p: Vec3, points: &[Vec3]) -> f64 {
    let pieces = points.windows(2).map(|pair| on_segment(p, pair[0], pair[1]).0);
    pieces.fold(f64::INFINITY, f64::min)
}

/// The distance to a segment, and where along it the nearest point is, 0 to 1.
fn on_segment(p: Vec3, from: Vec3, to: Vec3) -> (f64, f64) {
    let along = sub(to, from);
    let t = (dot(sub(p, from), along) / dot(along, along)).clamp(0.0, 1.0);
    (norm(sub(p, add(from, scale(along, t)))), t)
}

/// The depth in either of two solids, their edge rounded over `k` mm.
pub(super) fn either(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0) / k;
    a.max(b) + 0.25 * k * h * h
}

/// The depth in both of two solids, their edge rounded over `k` mm.
pub(super) fn both(a: f64, b: f64, k: f64) -> f64 {
    -either(-a, -b, k)
}

/// From 0 at `low` to 1 at `high`, level at both.
pub(super) fn ramp(x: f64, low: f64, high: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_zero_on_the_surface_and_a_distance_beside_it() {
        let (centre, semi) = ([1.0, -2.0, 3.0], [30.0, 40.0, 20.0]);
        let on = |x: f64| [1.0 + x, -2.0, 3.0];
        assert!(ellipsoid(on(30.0), centre, semi).abs() < 1e-12);
        // Second order in the distance over the semi-axis.
        assert!((ellipsoid(on(28.0), centre, semi) - 2.0).abs() < 0.15);
        assert!((ellipsoid(on(32.0), centre, semi) + 2.0).abs() < 0.15);
        assert_eq!(ellipsoid(centre, centre, semi), 20.0);
    }

    #[test]
    fn a_chain_is_as_thick_as_its_balls() {
        let balls = [([0.0; 3], 2.0), ([10.0, 0.0, 0.0], 4.0)];
        assert_eq!(chain([0.0, 3.0, 0.0], &balls), -1.0);
        assert_eq!(chain([5.0, 1.0, 0.0], &balls), 2.0);
        assert_eq!(chain([15.0, 0.0, 0.0], &balls), -1.0);
    }

    #[test]
    fn rounding_is_local() {
        assert_eq!(either(5.0, 1.0, 3.0), 5.0);
        assert_eq!(both(5.0, 1.0, 3.0), 1.0);
        assert_eq!(either(1.0, 1.0, 2.0), 1.5);
    }
}
