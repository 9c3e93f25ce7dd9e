//! Where the voxels of a volume were measured.

use fimbria_compute::dense::vec3::{Vec3, add, cross, norm};
use fimbria_image::Grid;
use fimbria_image::frames::{Matrix3, product, transposed, turned};
use serde::Serialize;

/// Coordinates of an image in mm along its voxel axes from the middle of its grid.
#[derive(Clone, Copy, Debug)]
pub struct Lattice {
    /// Voxels along each axis.
    pub dims: [usize; 3],
    /// Their size.
    pub spacing_mm: Vec3,
    /// The middle, in voxel coordinates.
    pub middle_vox: Vec3,
}

impl Lattice {
    /// Of a grid.
    pub fn new(grid: &Grid) -> Self {
        Self {
            dims: grid.dims,
            spacing_mm: grid.ras_from_vox.spacing(),
            middle_vox: grid.dims.map(|n| 0.5 * (n as f64 - 1.0)),
        }
    }

    /// Where the voxel with this linear index is.
    pub fn place(&self, voxel: usize) -> Vec3 {
        let [nx, ny, _] = self.dims;
        let at = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        std::array::from_fn(|a| (at[a] as f64 - self.middle_vox[a]) * self.spacing_mm[a])
    }

    /// Voxel coordinates of a place.
    pub fn vox(&self, place: Vec3) -> Vec3 {
        std::array::from_fn(|a| place[a] / self.spacing_mm[a] + self.middle_vox[a])
    }
}

/// Which polynomials an eddy current's field is made of. Its currents flow outside the head, so that within it
/// the field obeys Laplace's equation: 3 terms of first, 5 of second and 7 of third order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Eddy {
    /// No field: rigid motion alone.
    None,
    /// Shear and scale along the phase encoding.
    Linear,
    /// And the five harmonics of second order.
    #[default]
    Quadratic,
    /// And the seven of third order.
    Cubic,
}

/// All terms.
pub(crate) const MOST_TERMS: usize = 15;
/// Coordinates of the polynomials are in units of this, so that coefficients are mm of shift there.
const UNIT_MM: f64 = 100.0;

impl Eddy {
    /// How many coefficients a field has.
    pub fn terms(self) -> usize {
        match self {
            Self::None => 0,
            Self::Linear => 3,
            Self::Quadratic => 8,
            Self::Cubic => MOST_TERMS,
        }
    }
}

/// The first `n` polynomials at a place and their derivatives along `axis`, per mm.
#[inline]
pub(crate) fn terms(place: Vec3, axis: usize, n: usize) -> ([f64; MOST_TERMS], [f64; MOST_TERMS]) {
    let [x, y, z] = place.map(|p| p / UNIT_MM);
    let mut value = [0.0; MOST_TERMS];
    let mut slope = [0.0; MOST_TERMS];
    value[..3].copy_from_slice(&[x, y, z]);
    slope[axis] = 1.0;
    if n > 3 {
        value[3..8].copy_from_slice(&[
            x * y,
            x * z,
            y * z,
            x * x - y * y,
            2.0 * z * z - x * x - y * y,
        ]);
        let slopes = match axis {
            0 => [y, z, 0.0, 2.0 * x, -2.0 * x],
            1 => [x, 0.0, z, -2.0 * y, -2.0 * y],
            _ => [0.0, x, y, 0.0, 4.0 * z],
        };
        slope[3..8].copy_from_slice(&slopes);
    }
    if n > 8 {
        let [xx, yy, zz] = [x * x, y * y, z * z];
        value[8..].copy_from_slice(&[
            x * (xx - 3.0 * yy),
            y * (3.0 * xx - yy),
            z * (xx - yy),
            x * y * z,
            x * (4.0 * zz - xx - yy),
            y * (4.0 * zz - xx - yy),
            z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
        ]);
        let slopes = match axis {
            0 => [
                3.0 * (xx - yy),
                6.0 * x * y,
                2.0 * x * z,
                y * z,
                4.0 * zz - 3.0 * xx - yy,
                -2.0 * x * y,
                -6.0 * x * z,
            ],
            1 => [
                -6.0 * x * y,
                3.0 * (xx - yy),
                -2.0 * y * z,
                x * z,
                -2.0 * x * y,
                4.0 * zz - xx - 3.0 * yy,
                -6.0 * y * z,
            ],
            _ => {
                [0.0, 0.0, xx - yy, x * y, 8.0 * x * z, 8.0 * y * z, 6.0 * zz - 3.0 * xx - 3.0 * yy]
            }
        };
        slope[8..].copy_from_slice(&slopes);
    }
    (value, slope.map(|s| s / UNIT_MM))
}

/// Where a volume was measured: the head at place p of the corrected series was at q = R p + t in the
/// scanner, and appeared at q + e f(q), e along the phase encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// R, along voxel axes.
    pub turn: Matrix3,
    /// t, mm.
    pub shift_mm: Vec3,
    /// The axis of the phase encoding: 0, 1 or 2.
    pub axis: usize,
    /// Coefficients of f, mm at 100 mm from the middle.
    pub eddy: Vec<f64>,
}

impl Place {
    /// Nothing moved.
    pub fn still(axis: usize, eddy: Eddy) -> Self {
        let turn = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        Self { turn, shift_mm: [0.0; 3], axis, eddy: vec![0.0; eddy.terms()] }
    }

    /// Where the head at `place` was in the scanner.
    #[inline]
    pub fn in_scanner(&self, place: Vec3) -> Vec3 {
        add(turned(&self.turn, place), self.shift_mm)
    }

    /// How far something in the scanner appears shifted along the phase encoding, mm, and the derivative of
    /// this along it.
    #[inline]
    pub fn field(&self, in_scanner: Vec3) -> (f64, f64) {
        let (value, slope) = terms(in_scanner, self.axis, self.eddy.len());
        let sum = |of: &[f64]| self.eddy.iter().zip(of).map(|(a, t)| a * t).sum();
        (sum(&value), sum(&slope))
    }

    /// Where the head at `place` appears, and the signal of a mm along the phase encoding of the head over
    /// that of a mm of the volume.
    #[inline]
    pub fn apply(&self, place: Vec3) -> (Vec3, f64) {
        let mut at = self.in_scanner(place);
        let (shift, slope) = self.field(at);
        at[self.axis] += shift;
        (at, 1.0 + slope)
    }

    /// Which place of the head appears at `at`: the inverse of [`apply`](Self::apply).
    pub fn invert(&self, at: Vec3) -> Vec3 {
        let mut q = at;
        // Slopes of fields are a few per cent: each step gains more than a digit.
        for _ in 0..if self.eddy.is_empty() { 0 } else { 8 } {
            q[self.axis] = at[self.axis] - self.field(q).0;
        }
        let moved = std::array::from_fn(|a| q[a] - self.shift_mm[a]);
        turned(&transposed(&self.turn), moved)
    }

    /// The head is turned by a rotation vector, radians, and moved, along its own axes, before all else.
    pub(crate) fn step(&mut self, vector: Vec3, shift_mm: Vec3) {
        self.shift_mm = add(turned(&self.turn, shift_mm), self.shift_mm);
        self.turn = product(&self.turn, &rotation(vector));
    }

    /// The vector that R turns about by its length, radians.
    pub(crate) fn turn_vector(&self) -> Vec3 {
        let r = &self.turn;
        let twice = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]];
        let sine = 0.5 * norm(twice);
        let angle = sine.atan2(0.5 * (r[0][0] + r[1][1] + r[2][2] - 1.0));
        let by = if sine > 1e-12 { 0.5 * angle / sine } else { 0.5 };
        twice.map(|t| by * t)
    }

    /// The same head after its places are named anew: what was called `first.in_scanner(p)` is called p.
    pub(crate) fn after(&mut self, first: &Self) {
        self.shift_mm = self.in_scanner(first.shift_mm);
        self.turn = product(&self.turn, &first.turn);
    }

    /// The rigid motion that undoes this one's.
    pub(crate) fn undone(&self) -> Self {
        let turn = transposed(&self.turn);
        let shift_mm = turned(&turn, self.shift_mm).map(|t| -t);
        Self { turn, shift_mm, axis: self.axis, eddy: Vec::new() }
    }

    /// R as angles about x, then y, then z, radians.
    pub fn angles(&self) -> Vec3 {
        let r = &self.turn;
        [r[2][1].atan2(r[2][2]), (-r[2][0]).clamp(-1.0, 1.0).asin(), r[1][0].atan2(r[0][0])]
    }
}

/// The rotation about a vector by its length in radians (Rodrigues).
pub fn rotation(vector: Vec3) -> Matrix3 {
    let angle = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = if angle > 0.0 { vector.map(|v| v / angle) } else { [0.0; 3] };
    let (sin, cos) = angle.sin_cos();
    let column = |e: Vec3| -> Vec3 {
        let dot: f64 = (0..3).map(|a| unit[a] * e[a]).sum();
        let turned = cross(unit, e);
        std::array::from_fn(|a| cos * e[a] + sin * turned[a] + (1.0 - cos) * dot * unit[a])
    };
    let columns = [column([1.0, 0.0, 0.0]), column([0.0, 1.0, 0.0]), column([0.0, 0.0, 1.0])];
    transposed(&columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_harmonic_and_their_slopes_are_derivatives() {
        let at = [31.0, -47.0, 22.0];
        let h = 1e-2;
        let near = |axis: usize, by: f64| {
            let mut p = at;
            p[axis] += by;
            terms(p, axis, MOST_TERMS).0
        };
        for t in 0..MOST_TERMS {
            let mut laplacian = 0.0;
            for axis in 0..3 {
                let slope = terms(at, axis, MOST_TERMS).1[t];
                let [low, here, high] = [near(axis, -h)[t], near(axis, 0.0)[t], near(axis, h)[t]];
                assert!(((high - low) / (2.0 * h) - slope).abs() < 1e-9, "{t} {axis}");
                laplacian += (high - 2.0 * here + low) / (h * h);
            }
            // Differences of numbers near 1 over 1e-4.
            assert!(laplacian.abs() < 1e-10, "{t}: {laplacian}");
        }
    }

    #[test]
    fn a_place_and_its_inverse_cancel() {
        let mut place = Place::still(1, Eddy::Cubic);
        place.step([0.05, -0.08, 0.03], [3.0, -2.0, 1.0]);
        place.eddy.iter_mut().enumerate().for_each(|(i, a)| *a = 1.5 - 0.2 * i as f64);
        let p = [40.0, -60.0, 35.0];
        let back = place.invert(place.apply(p).0);
        let there = place.undone().in_scanner(place.in_scanner(p));
        for a in 0..3 {
            assert!((back[a] - p[a]).abs() < 1e-6, "{back:?}");
            assert!((there[a] - p[a]).abs() < 1e-12, "{there:?}");
        }
    }

    #[test]
    fn angles_are_those_it_was_turned_by() {
        let mut place = Place::still(1, Eddy::None);
        for vector in [[0.0, 0.0, 0.3], [0.0, -0.2, 0.0], [0.1, 0.0, 0.0]] {
            place.step(vector, [0.0; 3]);
        }
        for (angle, known) in place.angles().iter().zip([0.1, -0.2, 0.3]) {
            assert!((angle - known).abs() < 1e-12, "{angle}");
        }
    }
}
