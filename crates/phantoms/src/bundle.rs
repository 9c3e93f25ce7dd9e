//! Bundles of fibres: tubes around straight or bending paths.
//!
//! Positions are in the anatomy's own unit (see [`anatomy`](crate::anatomy)), axes are scanner
//! RAS+.

use fimbria_compute::dense::vec3::{Vec3, add, dot, norm, scale, sub};

/// `a` at unit length; zero stays zero. By the reciprocal, which the bits of phantoms rest on.
pub(crate) fn unit(a: Vec3) -> Vec3 {
    let length = norm(a);
    if length > 0.0 { scale(a, 1.0 / length) } else { a }
}

/// The line that the fibres of a bundle follow.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// Straight from one end to the other.
    Segment { from: Vec3, to: Vec3 },
    /// Part of a circle: from `centre + radius * start` turning by `sweep` radians towards
    /// `towards`. `start` and `towards` are unit vectors at right angles.
    Arc { centre: Vec3, start: Vec3, towards: Vec3, radius: f64, sweep: f64 },
}

impl Path {
    /// The nearest point of the path and the unit direction of travel there.
    pub(crate) fn nearest(&self, p: Vec3) -> (Vec3, Vec3) {
        match *self {
            Self::Segment { from, to } => {
                let along = sub(to, from);
                let t = (dot(sub(p, from), along) / dot(along, along)).clamp(0.0, 1.0);
                (add(from, scale(along, t)), unit(along))
            }
            Self::Arc { centre, start, towards, radius, sweep } => {
                let r = sub(p, centre);
                // Angles are counted from the middle of the arc, so that clamping to its ends
                // takes the nearer one.
                let (sin_mid, cos_mid) = (0.5 * sweep).sin_cos();
                let middle = add(scale(start, cos_mid), scale(towards, sin_mid));
                let ahead = sub(scale(towards, cos_mid), scale(start, sin_mid));
                let angle = dot(r, ahead).atan2(dot(r, middle)).clamp(-0.5 * sweep, 0.5 * sweep);
                let (sin, cos) = angle.sin_cos();
                let out = add(scale(middle, cos), scale(ahead, sin));
                let onwards = sub(scale(ahead, cos), scale(middle, sin));
                (add(centre, scale(out, radius)), onwards)
            }
        }
    }
}

/// A tube of fibres around a path, rounded at its ends.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) path: Path,
    pub(crate) radius: f64,
}

impl Bundle {
    /// Distance outside the surface (negative inside) and the direction of the fibres there.
    /// Moving by d changes the distance by d at most.
    pub(crate) fn probe(&self, p: Vec3) -> (f64, Vec3) {
        let (nearest, direction) = self.path.nearest(p);
        (norm(sub(p, nearest)) - self.radius, direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarter() -> Path {
        // From (2, 0, 0) to (0, 2, 0) around the origin.
        Path::Arc {
            centre: [0.0; 3],
            start: [1.0, 0.0, 0.0],
            towards: [0.0, 1.0, 0.0],
            radius: 2.0,
            sweep: std::f64::consts::FRAC_PI_2,
        }
    }

    fn assert_close(a: Vec3, b: Vec3) {
        assert!(norm(sub(a, b)) < 1e-12, "{a:?} {b:?}");
    }

    #[test]
    fn a_segment_ends_in_half_spheres() {
        let path = Path::Segment { from: [0.0; 3], to: [0.0, 4.0, 0.0] };
        let bundle = Bundle { path, radius: 0.5 };
        assert!((bundle.probe([1.0, 2.0, 0.0]).0 - 0.5).abs() < 1e-12);
        assert!((bundle.probe([0.0, 5.0, 0.0]).0 - 0.5).abs() < 1e-12);
        assert!((bundle.probe([0.0, -0.3, 0.4]).0).abs() < 1e-12);
        assert_close(bundle.probe([0.2, 1.0, 0.0]).1, [0.0, 1.0, 0.0]);
    }

    #[test]
    fn an_arc_turns_with_the_path() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let (nearest, direction) = quarter().nearest([3.0, 3.0, 1.0]);
        assert_close(nearest, [2.0 * half, 2.0 * half, 0.0]);
        assert_close(direction, [-half, half, 0.0]);
    }

    #[test]
    fn beyond_its_ends_an_arc_is_nearest_at_the_closer_end() {
        let (nearest, direction) = quarter().nearest([1.0, -5.0, 0.0]);
        assert_close(nearest, [2.0, 0.0, 0.0]);
        assert_close(direction, [0.0, 1.0, 0.0]);
        assert_close(quarter().nearest([-5.0, 1.0, 0.0]).0, [0.0, 2.0, 0.0]);
    }
}
