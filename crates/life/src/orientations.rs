//! Orientations that streamlines of about the same direction share a column of the dictionary at:
//! those of a list, or of ENCODE's grid (Caiafa and Pestilli 2017), the half sphere y ≥ 0 in equal
//! steps of both angles.

use std::f64::consts::PI;

use crate::{Atoms, LifeError, ListedDirections};

/// The orientations of all columns.
#[derive(Clone, Debug)]
pub enum Orientations {
    /// ENCODE's.
    Grid(OrientationGrid),
    /// Somebody's.
    Listed(ListedDirections),
}

impl Orientations {
    /// Those of `atoms`; `None` where every direction that occurs has a column of its own.
    ///
    /// # Errors
    /// As [`OrientationGrid::new`] and [`ListedDirections::new`].
    pub fn from_atoms(atoms: &Atoms) -> Result<Option<Self>, LifeError> {
        Ok(match atoms {
            Atoms::Exact => None,
            Atoms::Grid(steps) => Some(Self::Grid(OrientationGrid::new(*steps)?)),
            Atoms::Listed(dirs) => Some(Self::Listed(ListedDirections::new(dirs)?)),
        })
    }

    /// Number of orientations.
    #[allow(clippy::len_without_is_empty, reason = "there is one at least")]
    pub fn len(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.len(),
            Self::Listed(listed) => listed.len(),
        }
    }

    /// The unit direction of an orientation.
    pub fn direction(&self, orientation: usize) -> [f64; 3] {
        match self {
            Self::Grid(grid) => grid.direction(orientation),
            Self::Listed(listed) => listed.direction(orientation),
        }
    }

    /// The orientation for a unit direction or its opposite.
    pub fn orientation(&self, dir: [f64; 3]) -> usize {
        match self {
            Self::Grid(grid) => grid.orientation(dir),
            Self::Listed(listed) => listed.nearest(dir),
        }
    }
}

/// A grid of L steps of the polar and L of the azimuthal angle: (L - 1) L + 1 orientations, of
/// which the first is the z axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrientationGrid {
    steps: usize,
}

impl OrientationGrid {
    /// A grid of `steps` steps of π / `steps`.
    ///
    /// # Errors
    /// Where there are fewer than 4 or more than 2048.
    pub fn new(steps: usize) -> Result<Self, LifeError> {
        if (4..=2048).contains(&steps) {
            Ok(Self { steps })
        } else {
            Err(LifeError::OrientationSteps(steps))
        }
    }

    /// Number of orientations.
    #[allow(clippy::len_without_is_empty, reason = "there is the z axis at least")]
    pub fn len(self) -> usize {
        (self.steps - 1) * self.steps + 1
    }

    /// The unit direction of an orientation.
    pub fn direction(self, orientation: usize) -> [f64; 3] {
        let Some(index) = orientation.checked_sub(1) else { return [0.0, 0.0, 1.0] };
        let step = PI / self.steps as f64;
        let (sin_theta, cos_theta) = ((1 + index % (self.steps - 1)) as f64 * step).sin_cos();
        let (sin_phi, cos_phi) = ((index / (self.steps - 1)) as f64 * step).sin_cos();
        [cos_phi * sin_theta, sin_phi * sin_theta, cos_theta]
    }

    /// The orientation that ENCODE takes for a unit direction or its opposite: both angles rounded
    /// to the nearest step.
    pub fn orientation(self, dir: [f64; 3]) -> usize {
        let [x, y, z] = if dir[1] < 0.0 { dir.map(|c| -c) } else { dir };
        let step = PI / self.steps as f64;
        let mut theta = (z.clamp(-1.0, 1.0)).acos();
        let mut azimuth = (y.atan2(x) / step).round() as usize;
        if azimuth >= self.steps {
            // Half a turn: the opposite direction at azimuth 0.
            azimuth = 0;
            theta = PI - theta;
        }
        let polar = (theta / step).round() as usize;
        if polar == 0 || polar == self.steps {
            0
        } else {
            1 + azimuth * (self.steps - 1) + polar - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
        let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        dot.abs().min(1.0).acos()
    }

    #[test]
    fn the_grid_of_360_has_encodes_size() {
        assert_eq!(OrientationGrid::new(360).unwrap().len(), 129_241);
    }

    #[test]
    fn every_orientation_is_its_own_nearest() {
        let grid = OrientationGrid::new(24).unwrap();
        for orientation in 0..grid.len() {
            assert_eq!(grid.orientation(grid.direction(orientation)), orientation);
        }
    }

    proptest! {
        #[test]
        fn rounding_turns_by_at_most_a_step(z in -1.0..1.0_f64, phi in -PI..PI) {
            let grid = OrientationGrid::new(360).unwrap();
            let rho = (1.0 - z * z).sqrt();
            let dir = [rho * phi.cos(), rho * phi.sin(), z];
            let found = grid.direction(grid.orientation(dir));
            // Half a step in each of two angles at right angles: step / √2 at most, 0.354°.
            prop_assert!(angle(dir, found) <= PI / 360.0 / 2.0_f64.sqrt() + 1e-7);
        }
    }
}
