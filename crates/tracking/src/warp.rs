//! Displacement fields between spaces, as FSL's FNIRT and convertwarp write them.

use fimbria_image::{Grid, Image};

use crate::field::{is_reversed, radiological};

/// Where each point of one space lies in another: a field on a grid of the first space.
///
/// Millimetres are FSL's: radiological voxel index times voxel size.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    dims: [usize; 3],
    /// Field voxels per voxel of the space it lies in.
    field_from_here: [f32; 3],
    /// Millimetres per voxel of the space it lies in.
    mm_from_here: [f32; 3],
    /// Voxels of the other space per millimetre.
    there_from_mm: [f32; 3],
    /// Millimetres from the same place, radiological order, x fastest.
    displacements: Vec<[f32; 3]>,
}

/// An image that is no field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WarpError {
    /// Displacements have three components.
    #[error("a warp has 3 volumes, this image {0}")]
    Volumes(usize),
    /// A number that is none.
    #[error("{0} displacements are not finite")]
    NotFinite(usize),
}

impl Warp {
    /// The field `image`, which lies in the space of the grid `here` and leads to that of `there`.
    /// Displacements and positions are told apart by their spread: positions vary as much as the
    /// grid is wide.
    ///
    /// # Errors
    /// Where the image cannot be a field.
    pub fn new(image: &Image, here: &Grid, there: &Grid) -> Result<Self, WarpError> {
        if image.n_volumes != 3 {
            return Err(WarpError::Volumes(image.n_volumes));
        }
        let not_finite = image.data.iter().filter(|value| !value.is_finite()).count();
        if not_finite > 0 {
            return Err(WarpError::NotFinite(not_finite));
        }
        let grid = &image.grid;
        let spacing = |grid: &Grid| grid.ras_from_vox.spacing();
        let (field_mm, here_mm, there_mm) = (spacing(grid), spacing(here), spacing(there));
        let mut displacements = vec![[0.0; 3]; grid.len()];
        for index in 0..grid.len() {
            let at = radiological(grid, index);
            displacements[at] = std::array::from_fn(|axis| image.volume(axis)[index]);
        }
        let place = |at: usize| -> [f32; 3] {
            let voxel = grid.voxel(at);
            std::array::from_fn(|axis| (voxel[axis] as f64 * field_mm[axis]) as f32)
        };
        let moved = |at: usize, v: &[f32; 3]| -> [f32; 3] {
            let place = place(at);
            std::array::from_fn(|axis| v[axis] - place[axis])
        };
        let as_positions = displacements.iter().enumerate().map(|(at, v)| moved(at, v));
        if spread(as_positions) < spread(displacements.iter().copied()) {
            for (at, v) in displacements.iter_mut().enumerate() {
                *v = moved(at, v);
            }
        }
        let ratio = |axis: usize| (here_mm[axis] / field_mm[axis]) as f32;
        Ok(Self {
            dims: grid.dims,
            field_from_here: std::array::from_fn(ratio),
            mm_from_here: here_mm.map(|mm| mm as f32),
            there_from_mm: there_mm.map(|mm| (1.0 / mm) as f32),
            displacements,
        })
    }

    /// Radiological voxel coordinates there of those here. Between voxels of the field
    /// displacements are interpolated linearly; beyond it the nearest one holds.
    pub fn apply(&self, pos: [f32; 3]) -> [f32; 3] {
        let mut below = [0; 3];
        let mut part = [0.0; 3];
        for axis in 0..3 {
            let last = self.dims[axis] - 1;
            let x = (pos[axis] * self.field_from_here[axis]).clamp(0.0, last as f32);
            below[axis] = (x as usize).min(last.saturating_sub(1));
            part[axis] = x - below[axis] as f32;
        }
        let mut sum = [0.0; 3];
        for corner in 0..8 {
            let mut weight = 1.0;
            let mut at = [0; 3];
            for axis in 0..3 {
                let above = corner >> axis & 1;
                weight *= if above == 1 { part[axis] } else { 1.0 - part[axis] };
                at[axis] = (below[axis] + above).min(self.dims[axis] - 1);
            }
            let [i, j, k] = at;
            let v = self.displacements[i + self.dims[0] * (j + self.dims[1] * k)];
            for axis in 0..3 {
                sum[axis] += weight * v[axis];
            }
        }
        std::array::from_fn(|axis| {
            (pos[axis] * self.mm_from_here[axis] + sum[axis]) * self.there_from_mm[axis]
        })
    }
}

/// Sum of the variances of the components.
fn spread(vectors: impl Iterator<Item = [f32; 3]>) -> f64 {
    let (mut n, mut sums, mut squares) = (0.0, [0.0; 3], 0.0);
    for v in vectors {
        n += 1.0;
        for axis in 0..3 {
            let x = f64::from(v[axis]);
            sums[axis] += x;
            squares += x * x;
        }
    }
    squares / n - sums.iter().map(|sum| (sum / n) * (sum / n)).sum::<f64>()
}

/// Says whether a field covers the same millimetres as a grid, to two voxels of the field.
pub fn covers(field: &Grid, space: &Grid) -> bool {
    let width =
        |grid: &Grid, axis: usize| grid.dims[axis] as f64 * grid.ras_from_vox.spacing()[axis];
    let slack = field.ras_from_vox.spacing().map(|mm| 2.0 * mm);
    is_reversed(field) == is_reversed(space)
        && (0..3).all(|axis| (width(field, axis) - width(space, axis)).abs() <= slack[axis])
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    fn grid(dims: [usize; 3], mm: [f64; 3], reversed: bool) -> Grid {
        let mut ras_from_vox = Affine::from_spacing(mm);
        if !reversed {
            // det < 0: FSL's own order.
            ras_from_vox.0[0][0] = -mm[0];
        }
        Grid { dims, ras_from_vox }
    }

    /// A field that shears along x by y, and shifts: linear, so that interpolation is exact.
    fn shear(p: [f64; 3]) -> [f64; 3] {
        [p[0] + 0.25 * p[1] + 3.0, p[1] - 1.5, p[2] + 0.1 * p[0]]
    }

    fn field(grid: Grid, absolute: bool) -> Image {
        let mut image = Image::zeros(grid, 3);
        let mm = grid.ras_from_vox.spacing();
        for index in 0..grid.len() {
            let voxel = grid.voxel(radiological(&grid, index));
            let p: [f64; 3] = std::array::from_fn(|a| voxel[a] as f64 * mm[a]);
            let q = shear(p);
            for axis in 0..3 {
                let value = if absolute { q[axis] } else { q[axis] - p[axis] };
                image.volume_mut(axis)[index] = value as f32;
            }
        }
        image
    }

    #[test]
    fn displacements_and_positions_lead_to_the_same_place() {
        for reversed in [false, true] {
            let here = grid([24, 22, 20], [1.0, 1.0, 1.2], reversed);
            let there = grid([20, 20, 20], [2.0, 1.5, 2.5], reversed);
            // The field is coarser than the space it lies in.
            let on = grid([12, 11, 12], [2.0, 2.0, 2.0], reversed);
            for absolute in [false, true] {
                let warp = Warp::new(&field(on, absolute), &here, &there).unwrap();
                for pos in [[3.0, 4.0, 5.0], [10.3, 7.9, 11.1], [0.0, 0.0, 0.0]] {
                    let mm = here.ras_from_vox.spacing();
                    let p: [f64; 3] = std::array::from_fn(|a| f64::from(pos[a]) * mm[a]);
                    let to = there.ras_from_vox.spacing();
                    let q = shear(p);
                    let got = warp.apply(pos);
                    for axis in 0..3 {
                        // f32, in a field of some tens of mm.
                        let want = q[axis] / to[axis];
                        assert!((f64::from(got[axis]) - want).abs() < 1e-4, "{got:?} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn beyond_the_field_the_nearest_displacement_holds() {
        let g = grid([5, 5, 5], [2.0; 3], false);
        let mut image = Image::zeros(g, 3);
        image.volume_mut(0).fill(4.0);
        let warp = Warp::new(&image, &g, &g).unwrap();
        assert_eq!(warp.apply([-3.0, 2.0, 90.0]), [-1.0, 2.0, 90.0]);
    }

    #[test]
    fn what_is_no_field_is_an_error() {
        let g = grid([2, 2, 2], [2.0; 3], false);
        assert_eq!(Warp::new(&Image::zeros(g, 1), &g, &g), Err(WarpError::Volumes(1)));
        let mut image = Image::zeros(g, 3);
        image.data[3] = f32::NAN;
        assert_eq!(Warp::new(&image, &g, &g), Err(WarpError::NotFinite(1)));
    }
}
