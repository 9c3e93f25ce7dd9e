//! Where seeds and masks are, if not on the grid of the samples.

use fimbria_image::{Affine, Grid, GridMismatch, Image};

use crate::field::{floor, is_reversed, radiological};
use crate::region::Region;
use crate::warp::Warp;

/// From the voxels of the seed space to those of the samples and back, both radiological.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    grid: Grid,
    /// There and back; `None` where both are one.
    between: Option<[Transform; 2]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transform {
    Affine([[f32; 4]; 3]),
    Warp(Warp),
}

impl Transform {
    fn affine(affine: Affine) -> Self {
        Self::Affine(affine.0.map(|row| row.map(|x| x as f32)))
    }

    #[inline]
    pub(crate) fn apply(&self, pos: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Affine(m) => m.map(|r| r[0] * pos[0] + r[1] * pos[1] + r[2] * pos[2] + r[3]),
            Self::Warp(warp) => warp.apply(pos),
        }
    }
}

/// A transform that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the transform {0:?} cannot be inverted")]
pub struct SingularTransform(pub Vec<Vec<f64>>);

impl Space {
    /// The seed space is that of the samples.
    pub fn same(grid: Grid) -> Self {
        Self { grid, between: None }
    }

    /// Another seed space. `xfm` takes its millimetres to those of the samples as FLIRT counts
    /// them: radiological voxel index times voxel size.
    ///
    /// # Errors
    /// Where `xfm` has no inverse.
    pub fn flirt(grid: Grid, samples: &Grid, xfm: &Affine) -> Result<Self, SingularTransform> {
        let (seed_mm, samples_mm) = (spacing(&grid), spacing(samples));
        let singular = || SingularTransform(xfm.0.iter().map(|row| row.to_vec()).collect());
        let samples_vox = samples_mm.inverse().ok_or_else(singular)?;
        let forth = samples_vox.after(&xfm.after(&seed_mm));
        let back = forth.inverse().ok_or_else(singular)?;
        if forth == Affine::IDENTITY {
            return Ok(Self::same(grid));
        }
        Ok(Self { grid, between: Some([forth, back].map(Transform::affine)) })
    }

    /// Another seed space that lies in the same scanner space.
    ///
    /// # Errors
    /// Where an affine has no inverse.
    pub fn scanner(grid: Grid, samples: &Grid) -> Result<Self, SingularTransform> {
        let singular =
            |affine: Affine| SingularTransform(affine.0.iter().map(|r| r.to_vec()).collect());
        let from_ras = ras_from_radiological(samples)
            .inverse()
            .ok_or_else(|| singular(samples.ras_from_vox))?;
        let forth = from_ras.after(&ras_from_radiological(&grid));
        if grid.check_same(samples, "").is_ok() {
            return Ok(Self::same(grid));
        }
        let back = forth.inverse().ok_or_else(|| singular(grid.ras_from_vox))?;
        Ok(Self { grid, between: Some([forth, back].map(Transform::affine)) })
    }

    /// Another seed space; `forth`, which lies in it, leads to the samples, and `back` lies there
    /// and leads here.
    pub fn warped(grid: Grid, forth: Warp, back: Warp) -> Self {
        Self { grid, between: Some([Transform::Warp(forth), Transform::Warp(back)]) }
    }

    /// There and back as matrices of points; none where both spaces are one, or a warp lies between.
    pub(crate) fn affines(&self) -> Option<[[[f32; 4]; 3]; 2]> {
        match &self.between {
            Some([Transform::Affine(forth), Transform::Affine(back)]) => Some([*forth, *back]),
            _ => None,
        }
    }

    /// True where seeds and masks are on the grid of the samples.
    pub fn is_that_of_samples(&self) -> bool {
        self.between.is_none()
    }

    /// The grid of seeds, masks and maps.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// From a seed voxel coordinate to one of the samples.
    #[inline]
    pub fn to_samples(&self, pos: [f32; 3]) -> [f32; 3] {
        self.between.as_ref().map_or(pos, |[forth, _]| forth.apply(pos))
    }

    /// And back.
    #[inline]
    pub fn from_samples(&self, pos: [f32; 3]) -> [f32; 3] {
        self.between.as_ref().map_or(pos, |[_, back]| back.apply(pos))
    }

    /// The radiological index of the voxel that holds a point; `None` outside the grid.
    #[inline(always)]
    pub fn voxel(&self, pos: [f32; 3]) -> Option<u32> {
        let [nx, ny, nz] = self.grid.dims;
        // A point left of the first voxel becomes negative, and as unsigned far beyond the last.
        // The standard library's floor is a call where SSE4.1 is not taken for granted.
        let at = |x: f32| floor(x + 0.5) as i32 as u32 as usize;
        let [i, j, k] = [at(pos[0]), at(pos[1]), at(pos[2])];
        (i < nx && j < ny && k < nz).then(|| (i + nx * (j + ny * k)) as u32)
    }

    /// Scanner RAS+ mm of a radiological voxel coordinate of the seed space.
    pub fn ras_from_radiological(&self) -> Affine {
        ras_from_radiological(&self.grid)
    }

    /// The voxels above zero of an image on this grid, by radiological index.
    ///
    /// # Errors
    /// Where the image, called `what`, lies on another grid.
    pub fn region(&self, image: &Image, what: &str) -> Result<Region, GridMismatch> {
        self.grid.check_same(&image.grid, what)?;
        let mut inside = vec![false; self.grid.len()];
        for (index, value) in image.volume(0).iter().enumerate() {
            if *value != 0.0 && !value.is_nan() {
                inside[radiological(&self.grid, index)] = true;
            }
        }
        Ok(Region::of_voxels(what, inside))
    }

    /// An image on this grid from values by radiological index.
    pub fn image(&self, value: impl Fn(usize) -> f32) -> Image {
        let mut image = Image::zeros(self.grid, 1);
        for (index, out) in image.data.iter_mut().enumerate() {
            *out = value(radiological(&self.grid, index));
        }
        image
    }

    /// An image of vectors, one volume for each component.
    pub fn vector_image(&self, value: impl Fn(usize) -> [f32; 3]) -> Image {
        let mut image = Image::zeros(self.grid, 3);
        let n = self.grid.len();
        for index in 0..n {
            for (axis, x) in value(radiological(&self.grid, index)).into_iter().enumerate() {
                image.data[axis * n + index] = x;
            }
        }
        image
    }
}

/// From radiological voxels of a grid to voxels of another as it is stored, in one scanner space.
pub(crate) fn between_grids(from: &Grid, to: &Grid) -> Result<Transform, SingularTransform> {
    let singular = || SingularTransform(to.ras_from_vox.0.iter().map(|r| r.to_vec()).collect());
    let vox_from_ras = to.ras_from_vox.inverse().ok_or_else(singular)?;
    Ok(Transform::affine(vox_from_ras.after(&ras_from_radiological(from))))
}

fn spacing(grid: &Grid) -> Affine {
    Affine::from_spacing(grid.ras_from_vox.spacing())
}

fn ras_from_radiological(grid: &Grid) -> Affine {
    if !is_reversed(grid) {
        return grid.ras_from_vox;
    }
    let mut reverse = Affine::IDENTITY;
    (reverse.0[0][0], reverse.0[0][3]) = (-1.0, grid.dims[0] as f64 - 1.0);
    grid.ras_from_vox.after(&reverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_outside_the_grid_has_no_voxel() {
        let space = Space::same(Grid { dims: [3, 4, 5], ras_from_vox: Affine::IDENTITY });
        assert_eq!(space.voxel([-0.6, 0.0, 0.0]), None);
        assert_eq!(space.voxel([-0.4, 0.4, 0.0]), Some(0));
        assert_eq!(space.voxel([2.4, 3.4, 4.4]), Some(59));
        assert_eq!(space.voxel([0.0, 3.6, 0.0]), None);
        assert_eq!(space.voxel([f32::NAN, 3.6, 0.0]), None);
    }

    #[test]
    fn flirt_counts_millimetres_from_the_first_radiological_voxel() {
        let seed = Grid { dims: [10; 3], ras_from_vox: Affine::from_spacing([1.5, 1.0, 2.0]) };
        let samples = Grid { dims: [8; 3], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let mut xfm = Affine::IDENTITY;
        xfm.0[0][3] = 3.0;
        let space = Space::flirt(seed, &samples, &xfm).unwrap();
        assert_eq!(space.to_samples([2.0, 4.0, 1.0]), [3.0, 2.0, 1.0]);
        assert_eq!(space.from_samples([3.0, 2.0, 1.0]), [2.0, 4.0, 1.0]);
    }
}
