//! Rules of propagation that differ from place to place: what probtrackx2's rarer options ask for.
//!
//! The oracle knows them, on threads; neither lanes nor devices do.

use crate::FirstFibre;
use crate::field::radiological;
use crate::field::voxel;
use crate::region::Region;
use fimbria_image::{Grid, GridMismatch, Image};

/// Rules that differ from place to place. Without any, streamlines are followed alike everywhere.
#[derive(Clone, Debug, Default)]
pub struct LocalRules {
    /// A direction for each voxel of the samples, in FSL's frame, which takes the place of the current one
    /// where a fibre is chosen, but not where its sense is; zero for none. At the voxel that holds the
    /// point.
    pub preferred: Option<VoxelMap<3>>,
    /// How a fibre is chosen at the voxel of the samples that holds the point: 1 any above the threshold,
    /// 2 the same by fraction, 3 and above any; 0 and below by what else is asked for.
    pub choice_here: Option<VoxelMap<1>>,
    /// How a fibre is chosen at the lattice corner drawn: 1 any above the threshold, 2 any of those within
    /// 40 degrees of the current direction, 3 any above the threshold by fraction; else the nearest.
    pub choice_at_corner: Option<VoxelMap<1>>,
    /// The cosine of the angle between steps must be above this, at the voxel of the samples that holds
    /// the point.
    pub min_cos: Option<VoxelMap<1>>,
    /// Nothing is drawn in these voxels of the seed space: the last fibre is followed on.
    pub skip: Option<Region>,
    /// The nearest voxel is looked up in place of a random corner, and nothing is drawn for it.
    pub nearest_voxel: bool,
    /// Of each seed the direction, axes of the samples' voxels, on whose side its only half begins; `None`
    /// for both halves. Empty where all seeds have both.
    pub only_towards: Vec<Option<[f32; 3]>>,
}

impl LocalRules {
    /// True without any.
    pub fn is_empty(&self) -> bool {
        let Self {
            preferred,
            choice_here,
            choice_at_corner,
            min_cos,
            skip,
            nearest_voxel,
            only_towards,
        } = self;
        preferred.is_none()
            && choice_here.is_none()
            && choice_at_corner.is_none()
            && min_cos.is_none()
            && skip.is_none()
            && !nearest_voxel
            && only_towards.iter().all(Option::is_none)
    }

    /// How a fibre is chosen, where not as the nearest to a direction.
    pub(crate) fn choice(&self, pos: [f32; 3], corner: [f32; 3]) -> Option<LocalChoice> {
        let here = self.choice_here.as_ref().map_or(0.0, |map| map.at(pos)[0]);
        match here as i32 {
            ..1 => {}
            1 => return Some(LocalChoice::Any(FirstFibre::Uniform)),
            2 => return Some(LocalChoice::Any(FirstFibre::Proportional)),
            3.. => return Some(LocalChoice::Any(FirstFibre::Any)),
        }
        match self.choice_at_corner.as_ref().map_or(0.0, |map| map.at(corner)[0]) as i32 {
            1 => Some(LocalChoice::Any(FirstFibre::Uniform)),
            2 => Some(LocalChoice::Near),
            3 => Some(LocalChoice::Any(FirstFibre::Proportional)),
            _ => None,
        }
    }

    /// The direction to which the nearest fibre is looked for, if not the current one.
    pub(crate) fn preferred(&self, pos: [f32; 3]) -> Option<[f32; 3]> {
        let dir = self.preferred.as_ref()?.at(pos);
        (dir != [0.0; 3]).then_some(dir)
    }
}

/// How a fibre is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalChoice {
    /// As that of the first step.
    Any(FirstFibre),
    /// Any above the threshold within [`NEAR_COS`] of the current direction, the first where none is.
    Near,
}

/// The cosine of 40 degrees, as probtrackx2 rounds it.
pub(crate) const NEAR_COS: f32 = 0.766;

/// N numbers for each voxel of a grid, by radiological index; zero outside it.
#[derive(Clone, Debug, PartialEq)]
pub struct VoxelMap<const N: usize> {
    dims: [usize; 3],
    values: Vec<[f32; N]>,
}

impl<const N: usize> VoxelMap<N> {
    /// The first volumes of an image, called `what`, on a grid.
    ///
    /// # Errors
    /// Where it lies on another one.
    pub fn new(image: &Image, grid: &Grid, what: &str) -> Result<Self, GridMismatch> {
        grid.check_same(&image.grid, what)?;
        let mut values = vec![[0.0; N]; grid.len()];
        for index in 0..grid.len() {
            values[radiological(grid, index)] =
                std::array::from_fn(|volume| image.volume(volume)[index]);
        }
        Ok(Self { dims: grid.dims, values })
    }

    /// Those of the voxel that holds a point.
    pub(crate) fn at(&self, pos: [f32; 3]) -> [f32; N] {
        let [nx, ny, nz] = self.dims;
        let [i, j, k] = voxel(pos).map(|x| x as i32 as u32 as usize);
        let is_inside = i < nx && j < ny && k < nz;
        if is_inside { self.values[i + nx * (j + ny * k)] } else { [0.0; N] }
    }
}
