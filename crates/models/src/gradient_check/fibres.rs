//! Streamlines along the main directions of tensors.

use fimbria_image::frames::{Matrix3, transposed, turned};
use fimbria_image::{Grid, Image};

/// A voxel with at least this fractional anisotropy has a fibre.
const FIBRE: f32 = 0.2;
/// Voxels that fibres need along each axis to run on at all.
const THINNEST: usize = 8;
/// A step, as a part of the shortest voxel edge.
const STEP: f64 = 0.5;
/// The cosine of the largest angle of a step, 45 degrees.
const STRAIGHT: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// A half at its longest, mm: a brain.
const LONGEST_MM: f64 = 150.0;

/// Main directions along the axes of the voxels.
pub(super) struct Directions {
    grid: Grid,
    edges_mm: [f64; 3],
    along: Vec<[f64; 3]>,
    /// Fractional anisotropies, 0 where there is no direction.
    pub(super) fa: Vec<f32>,
}

impl Directions {
    pub(super) fn new(v1: &Image, fa: &Image) -> Self {
        let (grid, n) = (v1.grid, v1.grid.len());
        let vox_from_ras = transposed(&grid.ras_from_vox.rotation());
        let v1_of = |voxel: usize| [0, 1, 2].map(|axis| f64::from(v1.data[axis * n + voxel]));
        let along: Vec<_> = (0..n).map(|voxel| turned(&vox_from_ras, v1_of(voxel))).collect();
        let is_number = |v: &[f64; 3]| v.iter().all(|x| x.is_finite());
        let with_direction = along.iter().zip(&fa.data);
        let fa = with_direction.map(|(v, fa)| if is_number(v) { *fa } else { 0.0 }).collect();
        Self { grid, edges_mm: grid.ras_from_vox.spacing(), along, fa }
    }

    /// True where voxels with fibres reach over too few along some axis.
    pub(super) fn is_thin(&self, starts: &[usize]) -> bool {
        let mut ranges = [(usize::MAX, 0); 3];
        for start in starts {
            for (range, at) in ranges.iter_mut().zip(self.grid.voxel(*start)) {
                *range = (range.0.min(at), range.1.max(at));
            }
        }
        ranges.iter().any(|(low, high)| (high + 1).saturating_sub(*low) < THINNEST)
    }

    /// Of the streamline through a voxel, after a turn of all directions.
    pub(super) fn length_mm(&self, seed: usize, turn: &Matrix3) -> f64 {
        let first = turned(turn, self.along[seed]);
        self.half_mm(seed, first, turn) + self.half_mm(seed, first.map(|x| -x), turn)
    }

    fn half_mm(&self, seed: usize, first: [f64; 3], turn: &Matrix3) -> f64 {
        let shortest = self.edges_mm.iter().copied().fold(f64::INFINITY, f64::min);
        let step_mm = STEP * shortest;
        let mut pos = self.grid.voxel(seed).map(|x| x as f64);
        let mut dir = first;
        let mut length = 0.0;
        while length < LONGEST_MM {
            for axis in 0..3 {
                pos[axis] += step_mm * dir[axis] / self.edges_mm[axis];
            }
            let Some(voxel) = self.voxel(pos).filter(|voxel| self.fa[*voxel] >= FIBRE) else {
                break;
            };
            let next = turned(turn, self.along[voxel]);
            let cos: f64 = (0..3).map(|axis| next[axis] * dir[axis]).sum();
            if cos.abs() < STRAIGHT {
                break;
            }
            dir = next.map(|x| x * cos.signum());
            length += step_mm;
        }
        length
    }

    fn voxel(&self, pos: [f64; 3]) -> Option<usize> {
        let at = pos.map(|x| x.round());
        let is_inside = (0..3).all(|a| at[a] >= 0.0 && at[a] < self.grid.dims[a] as f64);
        is_inside.then(|| self.grid.index(at.map(|x| x as usize)))
    }
}
