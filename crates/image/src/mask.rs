//! Which voxels to work on.

use crate::{Affine, Grid, GridMismatch, Image};

/// A set of voxels of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// The lattice.
    pub grid: Grid,
    /// Linear indices of the voxels inside, ascending.
    pub voxels: Vec<u32>,
}

impl Mask {
    /// Every voxel of the grid.
    pub fn full(grid: Grid) -> Self {
        Self { grid, voxels: (0..grid.len() as u32).collect() }
    }

    /// The voxels of the first volume that are above zero (NaN is outside).
    pub fn from_image(image: &Image) -> Self {
        let inside = image.volume(0).iter().enumerate().filter(|(_, v)| **v > 0.0);
        Self { grid: image.grid, voxels: inside.map(|(i, _)| i as u32).collect() }
    }

    /// One inside, zero outside.
    pub fn to_image(&self) -> Image {
        let mut image = Image::zeros(self.grid, 1);
        for &voxel in &self.voxels {
            image.data[voxel as usize] = 1.0;
        }
        image
    }

    /// Volume of the voxels inside, ml.
    pub fn volume_ml(&self) -> f64 {
        self.voxels.len() as f64 * self.grid.ras_from_vox.determinant().abs() / 1000.0
    }

    /// Number of voxels inside.
    pub fn len(&self) -> usize {
        self.voxels.len()
    }

    /// True where no voxel is inside.
    pub fn is_empty(&self) -> bool {
        self.voxels.is_empty()
    }

    /// The same set of voxels as a mask of `grid`, whose voxels must be the same places in the
    /// scanner; they may be counted along other axes or the other way (MRtrix3's files and NIfTI's
    /// of one scan often are).
    ///
    /// # Errors
    /// [`GridMismatch`] where `grid` has other places; `what` says which file the mask is.
    pub fn onto(self, grid: &Grid, what: &str) -> Result<Self, GridMismatch> {
        let Err(mismatch) = grid.check_same(&self.grid, what) else {
            return Ok(Self { grid: *grid, ..self });
        };
        let recount = Recount::between(&self.grid, grid, what).ok_or(mismatch)?;
        let there = |&v: &u32| grid.index(recount.voxel(self.grid.voxel(v as usize))) as u32;
        let mut voxels: Vec<u32> = self.voxels.iter().map(there).collect();
        voxels.sort_unstable();
        Ok(Self { grid: *grid, voxels })
    }
}

/// From voxels of one grid to voxels of another that counts the same places differently.
struct Recount {
    /// For each axis of the target: the axis of the source, and from where it is counted
    /// backwards.
    axes: [(usize, Option<usize>); 3],
}

impl Recount {
    /// `None` where the grids are different places.
    fn between(from: &Grid, to: &Grid, what: &str) -> Option<Self> {
        let to_from = to.ras_from_vox.inverse()?.after(&from.ras_from_vox);
        let mut axes = [(0, None); 3];
        for (row, axis) in to_from.linear().iter().zip(&mut axes) {
            let source = (0..3).max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs()))?;
            let backwards = row[source] < 0.0;
            *axis = (source, backwards.then(|| from.dims[source].saturating_sub(1)));
        }
        let dims = axes.map(|(source, _)| from.dims[source]);
        // The source as it is when counted like the target.
        let mut linear = [[0.0; 4]; 3];
        for (target, (source, backwards_from)) in axes.iter().enumerate() {
            linear[*source][target] = if backwards_from.is_some() { -1.0 } else { 1.0 };
            linear[*source][3] = backwards_from.unwrap_or(0) as f64;
        }
        let recounted = Grid { dims, ras_from_vox: from.ras_from_vox.after(&Affine(linear)) };
        to.check_same(&recounted, what).ok().map(|()| Self { axes })
    }

    fn voxel(&self, source: [usize; 3]) -> [usize; 3] {
        self.axes.map(|(axis, backwards_from)| match backwards_from {
            Some(last) => last - source[axis],
            None => source[axis],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid {
        dims: [4, 5, 6],
        ras_from_vox: Affine([
            [1.9, 0.3, -0.1, 10.0],
            [-0.35, 1.8, 0.6, -20.0],
            [0.05, -0.4, 2.4, 5.0],
        ]),
    };

    /// The same places with x counted backwards, then axes in the order z x y.
    fn recounted() -> Grid {
        let [x, y, z] = GRID.dims;
        let turn =
            Affine([[0.0, -1.0, 0.0, (x - 1) as f64], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]);
        Grid { dims: [z, x, y], ras_from_vox: GRID.ras_from_vox.after(&turn) }
    }

    #[test]
    fn a_mask_counted_along_other_axes_keeps_its_places() {
        let other = recounted();
        let mask = Mask { grid: GRID, voxels: vec![3, 17, 42, 118] };
        let moved = mask.clone().onto(&other, "mask").unwrap();
        let places = |mask: &Mask| {
            let place = |&v: &u32| {
                let at = mask.grid.voxel(v as usize).map(|i| i as f64);
                mask.grid.ras_from_vox.apply(at).map(|p| (1e6 * p).round() as i64)
            };
            let mut places: Vec<_> = mask.voxels.iter().map(place).collect();
            places.sort_unstable();
            places
        };
        assert_eq!(places(&moved), places(&mask));
        assert!(moved.voxels.is_sorted());
        assert_eq!(moved.onto(&GRID, "mask").unwrap(), mask);
    }

    #[test]
    fn a_mask_of_other_places_is_refused() {
        let mut elsewhere = recounted();
        elsewhere.ras_from_vox.0[2][3] += 1.0;
        let other_size = Grid { dims: [6, 4, 4], ..recounted() };
        for grid in [elsewhere, other_size] {
            assert!(Mask::full(GRID).onto(&grid, "mask").is_err());
        }
    }
}
