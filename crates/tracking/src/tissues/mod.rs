//! Tissues that say where streamlines may end: anatomical constraint.
//!
//! Smith RE, Tournier J-D, Calamante F, Connelly A. NeuroImage 62, 1924 (2012).

mod labels;

use fimbria_image::{Grid, Image};
use fimbria_memory::{Refused, try_zeros};

pub use labels::{LabelError, Labels};

use crate::field::floor;
use crate::space::{SingularTransform, Transform, between_grids};
use crate::{Seed, Space};

/// Shares of the five tissues at a point, each 0 to 1; all 0 outside the image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Cortical grey matter.
    pub cortex: f32,
    /// Subcortical grey matter.
    pub deep: f32,
    /// White matter.
    pub white: f32,
    /// Cerebrospinal fluid.
    pub fluid: f32,
    /// What is not healthy, of which nothing is asked.
    pub other: f32,
}

impl Shares {
    /// All together: below a half outside the brain.
    pub fn sum(self) -> f32 {
        self.cortex + self.deep + self.white + self.fluid + self.other
    }

    /// White matter less grey matter: zero on the boundary between them.
    pub fn whiteness(self) -> f32 {
        self.white - self.cortex - self.deep
    }

    /// True on the white side of that boundary.
    fn is_white(self) -> bool {
        self.white > 0.0 && self.whiteness() >= 0.0
    }

    /// True where most is not healthy.
    pub(crate) fn is_lesion(self) -> bool {
        self.other >= MET
    }

    /// True on its grey side.
    pub(crate) fn is_grey(self) -> bool {
        self.whiteness() < 0.0
    }
}

/// A tissue is met where it has this share.
pub(crate) const MET: f32 = 0.5;

/// How many tissues there are.
const TISSUES: usize = 5;

/// Shares of five tissues in the voxels of a grid, which may be another than that of the densities.
#[derive(Clone, Debug)]
pub struct Tissues {
    dims: [usize; 3],
    /// `[voxel][tissue]`.
    shares: Vec<f32>,
    from_samples: Transform,
}

/// An image that is none of five tissues.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TissueError {
    /// Of so many volumes.
    #[error(
        "it has {0} volumes: a five-tissue image has five (cortical grey, subcortical grey, white, \
         fluid, other), an image of labels has one"
    )]
    Volumes(usize),
    /// No share.
    #[error(
        "a voxel has a share of {value} of tissue {tissue}, {sum} of all five: shares are 0 to 1, and so \
         is their sum (of 0 to 255 or percent divide them)"
    )]
    Share {
        /// Which, counted from 1.
        tissue: usize,
        /// The value.
        value: f32,
        /// Of the voxel.
        sum: f32,
    },
    /// Of an image of labels.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// None anywhere.
    #[error("there is no white matter in it")]
    NoWhiteMatter,
    /// There is not enough memory.
    #[error("the tissues do not fit into memory: {0}")]
    Memory(#[from] Refused),
    /// A grid without inverse.
    #[error(transparent)]
    Transform(#[from] SingularTransform),
}

impl Tissues {
    /// Those of an image of five volumes, in the order of MRtrix3 (cortical grey, subcortical grey,
    /// white, fluid, other), for points in radiological voxels of the grid `samples`; both lie in the
    /// same scanner space.
    ///
    /// # Errors
    /// [`TissueError`].
    pub fn new(image: &Image, samples: &Grid) -> Result<Self, TissueError> {
        /// The rounding of what resamples and stores shares.
        const SLACK: f32 = 0.02;
        if image.n_volumes != TISSUES {
            return Err(TissueError::Volumes(image.n_volumes));
        }
        let n = image.grid.len();
        let mut shares: Vec<f32> = try_zeros(n * TISSUES)?;
        for (voxel, shares) in shares.chunks_exact_mut(TISSUES).enumerate() {
            let mut sum = 0.0;
            for (tissue, share) in shares.iter_mut().enumerate() {
                let value = image.data[tissue * n + voxel];
                // Outside the brain some programs have no number.
                *share = if value.is_nan() { 0.0 } else { value };
                sum += *share;
            }
            let is_share = |x: f32| (-SLACK..=1.0 + SLACK).contains(&x);
            if !(is_share(sum) && shares.iter().all(|share| is_share(*share))) {
                // The one that is farthest from being a share.
                let excess = |share: f32| (share - 0.5).abs();
                let worse =
                    |a: usize, b: usize| if excess(shares[b]) > excess(shares[a]) { b } else { a };
                let tissue = (0..TISSUES).fold(0, worse);
                return Err(TissueError::Share { tissue: tissue + 1, value: shares[tissue], sum });
            }
        }
        if shares.chunks_exact(TISSUES).all(|shares| shares[2] < 0.5) {
            return Err(TissueError::NoWhiteMatter);
        }
        let from_samples = between_grids(samples, &image.grid)?;
        Ok(Self { dims: image.grid.dims, shares, from_samples })
    }

    /// Trilinear shares at a point, in radiological voxels of the samples.
    pub fn at(&self, pos: [f32; 3]) -> Shares {
        let at = self.from_samples.apply(pos);
        let low = at.map(floor);
        let mut sum = [0.0; TISSUES];
        for number in 0..8_usize {
            let mut weight = 1.0;
            let mut voxel = 0;
            let mut is_inside = true;
            for axis in (0..3).rev() {
                let above = number >> axis & 1;
                let part = at[axis] - low[axis];
                weight *= if above == 1 { part } else { 1.0 - part };
                // What is left of the first voxel becomes far beyond the last.
                let index = (low[axis] as i32).wrapping_add(above as i32) as u32 as usize;
                is_inside &= index < self.dims[axis];
                voxel = voxel * self.dims[axis] + index;
            }
            if is_inside {
                let shares = &self.shares[voxel * TISSUES..][..TISSUES];
                sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += weight * share);
            }
        }
        let [cortex, deep, white, fluid, other] = sum;
        Shares { cortex, deep, white, fluid, other }
    }

    /// The share of some points that lie where tissue is.
    pub fn covers(&self, points: impl IntoIterator<Item = [f32; 3]>) -> f64 {
        let (mut n, mut covered) = (0_u64, 0_u64);
        for point in points {
            n += 1;
            covered += u64::from(self.at(point).sum() >= 0.5);
        }
        covered as f64 / n.max(1) as f64
    }

    /// The boundary of grey and white matter between two points, the first of them in white matter and
    /// the other in grey: the last white point.
    pub(crate) fn boundary(&self, white: [f32; 3], grey: [f32; 3]) -> [f32; 3] {
        self.halved([white, grey], Shares::is_white)[0]
    }

    /// Where cortex is entered between two points, of which the second is in it: the first point that is.
    pub(crate) fn entered(&self, before: [f32; 3], cortex: [f32; 3]) -> [f32; 3] {
        self.halved([before, cortex], |shares| shares.cortex < MET)[1]
    }

    /// The last point before a change between two points, and the first after it.
    fn halved(&self, mut ends: [[f32; 3]; 2], is_before: impl Fn(Shares) -> bool) -> [[f32; 3]; 2] {
        // Until nothing is left of a step.
        for _ in 0..20 {
            let middle = std::array::from_fn(|a| 0.5 * (ends[0][a] + ends[1][a]));
            ends[usize::from(!is_before(self.at(middle)))] = middle;
        }
        ends
    }

    /// The boundary up or down the slope of whiteness at a point, at most a voxel of the samples away.
    pub(crate) fn nearest_boundary(&self, pos: [f32; 3]) -> Option<[f32; 3]> {
        let whiteness = |pos| self.at(pos).whiteness();
        let slope: [f32; 3] = std::array::from_fn(|axis| {
            let beside = |shift: f32| {
                let mut beside = pos;
                beside[axis] += shift;
                whiteness(beside)
            };
            beside(0.5) - beside(-0.5)
        });
        let length = slope.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length <= 0.0 {
            return None;
        }
        let here = self.at(pos);
        let down = if here.is_white() { -1.0 } else { 1.0 };
        // In quarters, so that the nearest one is found.
        (1..=4).find_map(|quarter| {
            let way = down * 0.25 * quarter as f32 / length;
            let at = std::array::from_fn(|a| pos[a] + way * slope[a]);
            let there = self.at(at);
            if here.is_white() && there.is_grey() {
                Some(self.boundary(pos, at))
            } else if here.is_grey() && there.is_white() {
                Some(self.boundary(at, pos))
            } else {
                None
            }
        })
    }

    /// The seeds through whose voxels the boundary of grey and white matter passes; `space` is theirs.
    pub fn boundary_seeds(&self, seeds: &[Seed], space: &Space) -> Vec<Seed> {
        let corner = |seed: &Seed, corner: usize| {
            let at = |a: usize| seed.pos[a] + if corner >> a & 1 == 1 { 0.5 } else { -0.5 };
            self.at(space.to_samples([at(0), at(1), at(2)]))
        };
        let is_passed = |seed: &&Seed| {
            (0..8).any(|i| corner(seed, i).is_white()) && (0..8).any(|i| corner(seed, i).is_grey())
        };
        seeds.iter().filter(is_passed).copied().collect()
    }

    /// Bits that depend on all of it, for several processes to compare.
    pub fn digest(&self, mut take: impl FnMut(&[u8])) {
        take(format!("{:?} {:?}", self.dims, self.from_samples).as_bytes());
        take(bytemuck::cast_slice(&self.shares));
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    const GRID: Grid = Grid { dims: [4, 3, 2], ras_from_vox: Affine::IDENTITY };

    /// White matter but for one voxel of the cortex, the second along x.
    fn image() -> Image {
        let mut image = Image::zeros(GRID, TISSUES);
        image.volume_mut(2).fill(1.0);
        image.volume_mut(2)[1] = 0.0;
        image.volume_mut(0)[1] = 1.0;
        image
    }

    #[test]
    fn shares_lie_between_those_of_the_voxels_around() {
        let tissues = Tissues::new(&image(), &GRID).unwrap();
        // The identity has a positive determinant: x counts from the last voxel.
        let at = tissues.at([2.0 + 0.25, 0.5, 0.0]);
        assert_eq!((at.cortex, at.white), (0.375, 0.625));
        assert_eq!((at.sum(), at.whiteness()), (1.0, 0.25));
        // Half outside; then wholly.
        assert_eq!(tissues.at([0.0, 0.0, -0.5]).sum(), 0.5);
        for outside in [[0.0, 0.0, 2.5], [-7.0, 0.0, 0.0], [f32::NAN; 3], [1e30; 3]] {
            let sum = tissues.at(outside).sum();
            assert!(sum == 0.0 || sum.is_nan(), "{outside:?}: {sum}");
        }
    }

    #[test]
    fn another_grid_is_met_where_it_lies_in_the_scanner() {
        let halved = Affine::from_spacing([0.5; 3]);
        let samples = Grid { dims: [8, 6, 4], ras_from_vox: halved };
        let tissues = Tissues::new(&image(), &samples).unwrap();
        // 7 - 5 = 2 voxels of half a millimetre from the first.
        assert_eq!(tissues.at([5.0, 0.0, 0.0]).cortex, 1.0);
    }

    #[test]
    fn what_is_no_image_of_tissues_is_an_error() {
        assert_eq!(
            Tissues::new(&Image::zeros(GRID, 3), &GRID).unwrap_err(),
            TissueError::Volumes(3)
        );
        assert_eq!(
            Tissues::new(&Image::zeros(GRID, 5), &GRID).unwrap_err(),
            TissueError::NoWhiteMatter
        );
        for value in [900.0, -0.5, 0.9] {
            let mut wrong = image();
            wrong.volume_mut(1)[5] = value;
            let error = Tissues::new(&wrong, &GRID).unwrap_err();
            let TissueError::Share { sum, .. } = error else { panic!("{error}") };
            assert_eq!(sum, 1.0 + value);
        }
    }
}
