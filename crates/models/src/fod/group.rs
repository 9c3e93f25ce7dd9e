//! Voxels side by side: where their solutions lie about is found in lanes, for all at once.

use fimbria_fitting::active_set::{Guess, Guesses, Splitting};
use pulp::Simd;

use super::Deconvolution;
use super::deconvolution::{Posed, VoxelOutcome, VoxelWork};

/// Problems of voxels side by side with guesses of their solutions.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// f of each, `[voxel][unknown]`.
    linear: Vec<f64>,
    /// `None` of a signal that is none.
    posed: Vec<Option<Posed>>,
    guesses: Guesses,
    guess: Guess,
}

impl Group {
    /// Most voxels of a group.
    #[inline(always)]
    pub fn width<S: Simd>() -> usize {
        Splitting::width::<S>()
    }
}

impl Deconvolution {
    /// Poses the problems of `count` voxels, of which the sample of voxel k in volume v is
    /// `samples[v * stride + k]`, and guesses their solutions.
    ///
    /// # Panics
    /// Where there are more than [`width`](Group::width).
    #[inline(always)]
    pub fn pose_all<S: Simd>(
        &self,
        simd: S,
        samples: &[f32],
        stride: usize,
        count: usize,
        group: &mut Group,
    ) {
        let n = self.n_unknowns();
        group.linear.clear();
        group.linear.resize(count * n, 0.0);
        group.posed.clear();
        for (voxel, f) in group.linear.chunks_exact_mut(n).enumerate() {
            let posed = self.pose(&samples[voxel..], stride, f);
            if posed.is_none() {
                f.fill(0.0);
            }
            group.posed.push(posed);
        }
        self.splitting.approximate(simd, &group.linear, &mut group.guesses);
    }

    /// Solves a voxel of the group: as [`solve`](Self::solve) does, to the tolerance of both.
    #[inline(always)]
    pub fn solve_one_of(
        &self,
        group: &mut Group,
        voxel: usize,
        work: &mut VoxelWork,
    ) -> VoxelOutcome {
        let n = self.n_unknowns();
        self.splitting.take(&group.guesses, voxel, &mut group.guess);
        let f = &group.linear[voxel * n..][..n];
        self.solve_posed(f, group.posed[voxel], Some(&group.guess), work)
    }
}
