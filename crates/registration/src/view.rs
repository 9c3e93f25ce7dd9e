//! The way from the head to a volume: motion, eddy currents and distortion together.

use fimbria_compute::dense::vec3::{Vec3, add, cross, dot};
use fimbria_image::Mask;
use fimbria_image::frames::{transposed, turned};
use serde::Serialize;

use crate::distortion::Distortion;
use crate::outliers::median;
use crate::place::{Eddy, Lattice, Place};

/// The way from the head to one volume: its place, and the distortion that all share.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub place: &'a Place,
    pub distortion: Option<&'a Distortion>,
    /// The lattice of the head's voxels.
    pub lattice: &'a Lattice,
}

impl View<'_> {
    /// Where the head at a voxel appears, mm, and the signal of a mm³ of the head over that of one of the volume.
    #[inline]
    pub(crate) fn appears(&self, voxel: usize) -> (Vec3, f64) {
        let (at, jacobian) = self.place.apply(self.lattice.place(voxel));
        let Some(distortion) = self.distortion else { return (at, jacobian) };
        let shift = distortion.shift(voxel);
        (add(at, shift), self.jacobian(distortion, voxel, jacobian).max(0.0))
    }

    /// det(I + e ∇f + ∇d R^T), d the distortion and f the field whose 1 + f' along the phase encoding is `eddy`.
    fn jacobian(&self, distortion: &Distortion, voxel: usize, eddy: f64) -> f64 {
        // Columns of the derivative along axes of the head; those along the scanner's are their sums by R.
        let head = distortion.slopes(voxel);
        let mut columns: [Vec3; 3] = std::array::from_fn(|scanner| {
            let mut column = [0.0; 3];
            column[scanner] = 1.0;
            for axis in 0..3 {
                let by = self.place.turn[scanner][axis];
                (0..3).for_each(|a| column[a] += by * head[axis][a]);
            }
            column
        });
        columns[self.place.axis][self.place.axis] += eddy - 1.0;
        dot(columns[0], cross(columns[1], columns[2]))
    }

    /// The Jacobian at any place of the head, of the nearest voxel's distortion; where it folds, of what is not.
    pub(crate) fn jacobian_at(&self, head: Vec3) -> f64 {
        let (_, eddy) = self.place.apply(head);
        let Some(distortion) = self.distortion else { return eddy };
        let (_, voxel) = distortion.near(head);
        self.jacobian(distortion, voxel, eddy).max(Extent::FOLDED)
    }

    /// Which place of the head appears at `at`: the inverse of [`appears`](Self::appears), where it has one.
    pub(crate) fn invert(&self, at: Vec3) -> Vec3 {
        /// Newton's steps along the phase encoding; fields that fold are left where these end.
        const STEPS: usize = 12;
        const LEAST_JACOBIAN: f64 = 0.3;
        let Some(distortion) = self.distortion else { return self.place.invert(at) };
        let Place { turn, shift_mm, axis, .. } = self.place;
        let back = transposed(turn);
        let mut q = at;
        for _ in 0..STEPS {
            let p = turned(&back, std::array::from_fn(|a| q[a] - shift_mm[a]));
            let (shift, voxel) = distortion.near(p);
            let (field, slope) = self.place.field(q);
            let jacobian = self.jacobian(distortion, voxel, 1.0 + slope).max(LEAST_JACOBIAN);
            let mut next: Vec3 = std::array::from_fn(|a| at[a] - shift[a]);
            next[*axis] = q[*axis] + (next[*axis] - field - q[*axis]) / jacobian;
            q = next;
        }
        turned(&back, std::array::from_fn(|a| q[a] - shift_mm[a]))
    }
}

/// How far voxels of a mask are shifted, mm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extent {
    /// Along the phase encoding: the median of the magnitudes.
    pub median_mm: f64,
    /// The largest.
    pub largest_mm: f64,
    /// Across it: the median of the magnitudes.
    pub across_mm: f64,
    /// The part of the voxels whose signal lies in less than [`Extent::FOLDED`] of its room.
    pub folded: f64,
}

impl Extent {
    /// Signal in less than a fifth of its room cannot be told apart again.
    pub const FOLDED: f64 = 0.2;
}

impl Distortion {
    /// How far the voxels of a mask are shifted, along the phase encoding and across it.
    pub fn extent(&self, mask: &Mask, axis: usize) -> Extent {
        let still = Place::still(axis, Eddy::None);
        let view = View { place: &still, distortion: Some(self), lattice: self.lattice() };
        let [mut along, mut across] = [Vec::new(), Vec::new()];
        let mut folded = 0;
        for &voxel in &mask.voxels {
            let shift = self.shift(voxel as usize);
            along.push(shift[axis].abs());
            across.push((dot(shift, shift) - shift[axis].powi(2)).max(0.0).sqrt());
            folded += usize::from(view.appears(voxel as usize).1 < Extent::FOLDED);
        }
        Extent {
            largest_mm: along.iter().copied().fold(0.0, f64::max),
            median_mm: median(along).unwrap_or(0.0),
            across_mm: median(across).unwrap_or(0.0),
            folded: folded as f64 / mask.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distortion::tests::{distortion, grid};

    fn moved() -> Place {
        let mut place = Place::still(1, Eddy::Linear);
        place.step([0.05, -0.08, 0.1], [1.5, -1.0, 0.5]);
        place.eddy = vec![2.0, 3.0, -1.0];
        place
    }

    #[test]
    fn a_linear_field_has_its_jacobian_wherever_the_head_is_turned() {
        let linear = |p: Vec3| [0.0, 0.04 * p[0] - 0.2 * p[1] + 0.05 * p[2] + 3.0, 0.0];
        let (distortion, lattice) = (distortion(linear), Lattice::new(&grid()));
        let still = Place::still(1, Eddy::None);
        for voxel in [0, 500, grid().len() - 1] {
            let view = View { place: &still, distortion: Some(&distortion), lattice: &lattice };
            let (at, jacobian) = view.appears(voxel);
            let (p, d) = (lattice.place(voxel), linear(lattice.place(voxel)));
            // Shifts are single numbers of some mm.
            assert!((at[1] - p[1] - d[1]).abs() < 1e-6 && (jacobian - 0.8).abs() < 1e-5);
            // Turned, the slope along the scanner's second axis is that along R^T e of the head; 3 % are the eddy's.
            let place = moved();
            let view = View { place: &place, ..view };
            let [x, y, z] = place.turn[1];
            let known = 1.0 + 0.03 + 0.04 * x - 0.2 * y + 0.05 * z;
            assert!((view.appears(voxel).1 - known).abs() < 1e-5, "{known}");
        }
    }

    #[test]
    fn the_jacobian_of_a_warp_is_the_volume_it_takes() {
        let matrix = [[0.1, 0.02, -0.03], [0.05, -0.2, 0.04], [0.01, 0.03, 0.15]];
        let lattice = Lattice::new(&grid());
        let shift = |v: usize| turned(&matrix, lattice.place(v)).map(|x| x as f32);
        let distortion = Distortion::new(&grid(), (0..grid().len()).map(shift).collect());
        let still = Place::still(1, Eddy::None);
        let view = View { place: &still, distortion: Some(&distortion), lattice: &lattice };
        let mut whole = matrix;
        (0..3).for_each(|a| whole[a][a] += 1.0);
        let known = dot(whole[0], cross(whole[1], whole[2]));
        assert!((view.appears(700).1 - known).abs() < 1e-5);
    }

    #[test]
    fn a_view_and_its_inverse_cancel() {
        let bent = |p: Vec3| [0.0, 4.0 * (p[1] / 12.0).sin() * (p[0] / 20.0).cos(), 0.0];
        let distortion = distortion(bent);
        let (place, lattice) = (moved(), Lattice::new(&grid()));
        let view = View { place: &place, distortion: Some(&distortion), lattice: &lattice };
        for voxel in [200, 641, 900, 1333] {
            let back = view.invert(view.appears(voxel).0);
            let p = lattice.place(voxel);
            (0..3).for_each(|a| assert!((back[a] - p[a]).abs() < 1e-4, "{back:?} {p:?}"));
        }
    }

    #[test]
    fn the_extent_counts_along_the_encoding_and_across_it() {
        // Beyond the middle the head is squeezed to a tenth.
        let squeezed = |p: Vec3| [1.0, if p[1] > 0.0 { -0.9 * p[1] } else { 0.0 }, 0.0];
        let distortion = distortion(squeezed);
        let far = |v: &u32| grid().voxel(*v as usize)[1] > 8;
        let voxels = (0..grid().len() as u32).filter(far).collect();
        let extent = distortion.extent(&Mask { grid: grid(), voxels }, 1);
        let along = [9, 10, 11, 12, 13].map(|y| 0.9 * 2.5 * (f64::from(y) - 6.5));
        // Single numbers of mm.
        assert!((extent.median_mm - along[2]).abs() < 1e-5);
        assert!((extent.largest_mm - along[4]).abs() < 1e-5);
        assert_eq!((extent.across_mm, extent.folded), (1.0, 1.0));
    }
}
