//! What the head's own magnetic field does to where it appears.

use fimbria_compute::dense::vec3::{Vec3, add};
use fimbria_image::{Grid, Mask};

use crate::place::Lattice;

/// How far what lies at each voxel appears from there, beside motion and eddy currents: by susceptibility, whose field
/// moves with the head, or as a warp says it. Shifts are along the axes of the scanner, wherever the head is turned.
#[derive(Clone, Debug)]
pub struct Distortion {
    lattice: Lattice,
    /// mm along voxel axes, x fastest.
    shifts: Vec<[f32; 3]>,
}

impl Distortion {
    /// Of shifts of all voxels of a grid, mm along its axes.
    ///
    /// # Panics
    /// Where there are more or fewer.
    pub fn new(grid: &Grid, shifts: Vec<[f32; 3]>) -> Self {
        assert_eq!(shifts.len(), grid.len());
        Self { lattice: Lattice::new(grid), shifts }
    }

    /// Of shifts along one voxel axis alone.
    pub fn along(axis: usize, grid: &Grid, shifts_mm: &[f32]) -> Self {
        let shift = |mm: &f32| {
            let mut shift = [0.0; 3];
            shift[axis] = *mm;
            shift
        };
        Self::new(grid, shifts_mm.iter().map(shift).collect())
    }

    /// Of each voxel of the grid, mm along its axes.
    pub fn shifts(&self) -> &[[f32; 3]] {
        &self.shifts
    }

    pub(crate) fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The part of the grid that begins at a voxel.
    pub(crate) fn cropped(&self, first: [usize; 3], dims: [usize; 3]) -> Self {
        let [nx, ny, _] = self.lattice.dims;
        let mut lattice = Lattice { dims, ..self.lattice };
        (0..3).for_each(|a| lattice.middle_vox[a] -= first[a] as f64);
        let rows = (0..dims[1] * dims[2]).flat_map(|row| {
            let [y, z] = [first[1] + row % dims[1], first[2] + row / dims[1]];
            let start = first[0] + nx * (y + ny * z);
            &self.shifts[start..start + dims[0]]
        });
        Self { lattice, shifts: rows.copied().collect() }
    }

    /// Of one voxel.
    pub(crate) fn shift(&self, voxel: usize) -> Vec3 {
        self.shifts[voxel].map(f64::from)
    }

    /// Where a voxel appears while the head lies still, in voxel coordinates.
    pub(crate) fn appears_at(&self, voxel: usize) -> Vec3 {
        self.lattice.vox(add(self.lattice.place(voxel), self.shift(voxel)))
    }

    /// The voxels that appear in the mask of a volume of the head that lies still.
    pub fn undistorted(&self, mask: &Mask) -> Mask {
        let grid = mask.grid;
        let mut is_inside = vec![false; grid.len()];
        mask.voxels.iter().for_each(|&v| is_inside[v as usize] = true);
        let appears_inside = |&voxel: &u32| {
            let at = self.appears_at(voxel as usize).map(f64::round);
            (0..3).all(|a| at[a] >= 0.0 && at[a] < grid.dims[a] as f64)
                && is_inside[grid.index(at.map(|x| x as usize))]
        };
        Mask { grid, voxels: (0..grid.len() as u32).filter(appears_inside).collect() }
    }

    /// How the shift at a voxel changes along each voxel axis, per mm: a column for each axis. Differences over two
    /// voxels, at the ends of the grid over one.
    pub(crate) fn slopes(&self, voxel: usize) -> [Vec3; 3] {
        let dims = self.lattice.dims;
        let strides = [1, dims[0], dims[0] * dims[1]];
        std::array::from_fn(|axis| {
            let position = voxel / strides[axis] % dims[axis];
            let low = if position > 0 { voxel - strides[axis] } else { voxel };
            let high = if position + 1 < dims[axis] { voxel + strides[axis] } else { voxel };
            let steps = ((high - low) / strides[axis]).max(1) as f64;
            let per_mm = 1.0 / (steps * self.lattice.spacing_mm[axis]);
            let [low, high] = [self.shifts[low], self.shifts[high]];
            std::array::from_fn(|a| per_mm * f64::from(high[a] - low[a]))
        })
    }

    /// The shift between voxels, linear between their centres, and the nearest voxel; beyond the grid those of its end.
    pub(crate) fn near(&self, place: Vec3) -> (Vec3, usize) {
        let dims = self.lattice.dims;
        let vox = self.lattice.vox(place);
        let at: Vec3 = std::array::from_fn(|a| vox[a].clamp(0.0, dims[a] as f64 - 1.0));
        let index = |at: [usize; 3]| at[0] + dims[0] * (at[1] + dims[1] * at[2]);
        let mut sum = [0.0; 3];
        for corner in 0..8 {
            let (mut weight, mut own) = (1.0, at.map(|x| x as usize));
            for axis in 0..3 {
                let part = at[axis].fract();
                let is_above = corner >> axis & 1 == 1;
                weight *= if is_above { part } else { 1.0 - part };
                own[axis] += usize::from(is_above);
            }
            if weight > 0.0 {
                let shift = self.shifts[index(own)];
                (0..3).for_each(|a| sum[a] += weight * f64::from(shift[a]));
            }
        }
        (sum, index(at.map(|x| x.round() as usize)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fimbria_image::Affine;

    use super::*;

    pub(crate) fn grid() -> Grid {
        Grid { dims: [12, 14, 10], ras_from_vox: Affine::from_spacing([2.0, 2.5, 3.0]) }
    }

    /// The shift at a place, mm.
    type Shift = fn(Vec3) -> Vec3;

    pub(crate) fn distortion(shift: Shift) -> Distortion {
        let lattice = Lattice::new(&grid());
        let shifts = (0..grid().len()).map(|v| shift(lattice.place(v)).map(|x| x as f32));
        Distortion::new(&grid(), shifts.collect())
    }

    #[test]
    fn a_mask_is_where_the_head_lies_and_not_where_it_appears() {
        let distortion = distortion(|_| [0.0, 5.0, 0.0]);
        let is_in = |v: &u32| (5..9).contains(&(grid().voxel(*v as usize)[1]));
        let mask = Mask { grid: grid(), voxels: (0..grid().len() as u32).filter(is_in).collect() };
        let lies = distortion.undistorted(&mask);
        assert!(lies.len() == mask.len());
        // Two voxels before where they appear.
        assert!(lies.voxels.iter().all(|v| (3..7).contains(&grid().voxel(*v as usize)[1])));
    }

    #[test]
    fn a_part_of_it_shifts_as_the_whole_does() {
        let whole = distortion(|p| [0.1 * p[2], p[0] * p[1] / 50.0, 0.0]);
        let part = whole.cropped([2, 3, 0], [6, 8, 10]);
        let [of_whole, of_part] = [&whole, &part].map(|d| d.lattice);
        for at in [[0, 0, 0], [5, 7, 9], [3, 2, 4]] {
            let inside = at[0] + 6 * (at[1] + 8 * at[2]);
            let outside = grid().index([at[0] + 2, at[1] + 3, at[2]]);
            assert_eq!(part.shifts[inside], whole.shifts[outside]);
            assert_eq!(of_part.place(inside), of_whole.place(outside));
        }
    }
}
