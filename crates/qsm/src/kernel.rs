//! The field of one voxel of susceptibility 1 at another voxel, as published.
//!
//! Both kernels are relative to B0: with susceptibility in ppm the field is in ppm, whatever the
//! strength of the scanner. Times B0 in tesla they are those of the original program.
//!
//! A *sphere* of the voxel's volume (1), Lorentz-corrected, at displacement d from its centre,
//! with b along B0:
//!
//! F_s(d) = (3 (b·d̂)² - 1) / (4π |d|³), F_s(0) = 0
//!
//! A *cylinder* along n is seen through a window: an infinite cylinder's field, weighted by the
//! part of a receiving sphere of radius a that lies in the slab between the voxel's ends. With
//! r_c = d·n, r⊥² = |d|² - r_c², g = b - (n·b) n and r_g = d·g,
//!
//! F_c(n, d) = A/(2π) (2 r_g²/r⊥² - |g|²) / r⊥² q(r_c) for |r_c| < 2a, else 0
//! q(r_c) = h² (3a - h) / (4a³), h = 2a - |r_c|
//! F_c(n, 0) = (3 (n·b)² - 1)/6
//!
//! In voxels that are no cubes there is more at 0: see [`Lattice`](crate::Lattice).
//!
//! In cubic voxels a = 0.475 and the cross-section A = 1, as published. In others the cylinder's
//! length L is the diameter along n of the ellipsoid inscribed in the voxel, a = 0.475 L and
//! A = 1/L, so that its volume stays 1; a < L/2 keeps every other voxel's centre off the axis
//! within the window, where the field is infinite.
//!
//! Ng ACL, ISMRM 2013 #2394 and Kaluza OL et al., "Fast diffusion-guided QSM using Graphical
//! Processing Units"; constants from the authors' program.

use std::f64::consts::PI;

use fimbria_compute::dense::vec3::{cross, dot, unit};

use crate::Geometry;

/// Radius of the receiving sphere, in units of a cylinder's length.
pub const RECEIVER_RADIUS: f64 = 0.475;

/// The field at `steps` voxels from a spherical voxel of susceptibility 1.
pub fn sphere_field(geometry: &Geometry, steps: [i64; 3]) -> f64 {
    if steps == [0; 3] {
        return 0.0;
    }
    let d = geometry.displacement(steps);
    let squared = dot(d, d);
    let along = dot(d, geometry.b0);
    (3.0 * along * along / squared - 1.0) / (4.0 * PI * squared * squared.sqrt())
}

/// The field at `steps` voxels from a voxel magnetised by 1 along each of the voxel axes: that of a
/// dipole, Lorentz-corrected. Along B0 it is [`sphere_field`].
///
/// F_a(d) = (3 d̂_a (b·d̂) - b_a) / (4π |d|³), F_a(0) = 0
pub fn dipole_fields(geometry: &Geometry, steps: [i64; 3]) -> [f64; 3] {
    if steps == [0; 3] {
        return [0.0; 3];
    }
    let d = geometry.displacement(steps);
    let squared = dot(d, d);
    let along = dot(d, geometry.b0);
    let scale = 1.0 / (4.0 * PI * squared * squared.sqrt());
    std::array::from_fn(|a| scale * (3.0 * d[a] * along / squared - geometry.b0[a]))
}

/// A cylindrical voxel's axis and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder {
    /// n, the unit axis in voxel axes.
    pub axis: [f64; 3],
    /// g, the part of b across the axis.
    pub across: [f64; 3],
    /// |g|² = sin² of the angle between axis and B0.
    pub sin_squared: f64,
    /// L, its length.
    pub length: f64,
    /// a, the radius of the receiving sphere.
    pub radius: f64,
}

impl Cylinder {
    /// A cylinder along `axis` (voxel axes, any length); `None` where that is no direction.
    pub fn new(geometry: &Geometry, axis: [f64; 3]) -> Option<Self> {
        let axis = unit(axis)?;
        let cos = dot(axis, geometry.b0);
        let across: [f64; 3] = std::array::from_fn(|a| geometry.b0[a] - cos * axis[a]);
        let scaled: [f64; 3] = std::array::from_fn(|a| axis[a] / geometry.spacing[a]);
        let length = 1.0 / dot(scaled, scaled).sqrt();
        let sin_squared = dot(across, across);
        Some(Self { axis, across, sin_squared, length, radius: RECEIVER_RADIUS * length })
    }

    /// F_c(n, 0), the field inside.
    pub fn inside(&self) -> f64 {
        // cos² = 1 - sin²
        (2.0 - 3.0 * self.sin_squared) / 6.0
    }

    /// The field at `steps` voxels from it.
    pub fn field(&self, geometry: &Geometry, steps: [i64; 3]) -> f64 {
        if steps == [0; 3] {
            return self.inside();
        }
        self.field_at(geometry.displacement(steps))
    }

    /// The field at `d` from it, in units of the geometry, not 0.
    pub(crate) fn field_at(&self, d: [f64; 3]) -> f64 {
        let along = dot(d, self.axis);
        let h = 2.0 * self.radius - along.abs();
        if h <= 0.0 {
            return 0.0;
        }
        let a = self.radius;
        let window = h * h * (3.0 * a - h) / (4.0 * a * a * a);
        let perpendicular = dot(d, d) - along * along;
        let guided = dot(d, self.across);
        let angular = 2.0 * guided * guided / perpendicular - self.sin_squared;
        angular / perpendicular * window / (2.0 * PI * self.length)
    }

    /// Orthonormal directions across the axis, the first of them along g; any where g vanishes.
    pub(crate) fn frame(&self) -> [[f64; 3]; 2] {
        let least =
            (0..3).fold(0, |m, a| if self.axis[a].abs() < self.axis[m].abs() { a } else { m });
        let mut other = [0.0; 3];
        other[least] = 1.0;
        // Below this g is rounding; its field, proportional to |g|², is too.
        let usable = (self.sin_squared > 1e-20).then_some(self.across).and_then(unit);
        let first = usable.or_else(|| unit(cross(self.axis, other))).unwrap_or([1.0, 0.0, 0.0]);
        // g's rounding leaves it a little off the right angle; n × g is exact enough.
        [first, cross(self.axis, first)]
    }
}
