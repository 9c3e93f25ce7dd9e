//! The phase at echo time 0: smooth, but where it is not.

use std::f64::consts::TAU;

use fimbria_compute::Workers;
use fimbria_image::Grid;

use crate::QsmError;
use crate::fourier::Periodic;

/// Standard deviation of the Gaussian that it is smoothed by, mm.
const SMOOTHING_MM: f64 = 5.0;
/// What smoothing leaves is smoothed again and added, so often: where it slopes, as coils' phases do by some turns over a
/// head, a Gaussian is wrong by the slope at the edge of the mask, and by the curvature inside.
const TIMES: usize = 2;
/// Where the mean over a voxel and its neighbours still lies so far from the smooth phase, radians, it is not smooth: fringe
/// lines end there, or coils were summed whose phases cancel. Noise of a tenth of the signal comes to a third of it.
const SMOOTH: f32 = 0.1;
/// Nor is it where the voxel itself lies so far from it: means about the end of a fringe line are nearly 0. It is three
/// standard deviations of noise of a tenth.
const OWN: f32 = 0.5;

/// Complex numbers of all voxels; 0 where nothing is known.
pub(super) struct Phasors {
    re: Vec<f32>,
    im: Vec<f32>,
}

impl Phasors {
    pub(super) fn zeros(len: usize) -> Self {
        Self { re: vec![0.0; len], im: vec![0.0; len] }
    }

    pub(super) fn set(&mut self, voxel: usize, size: f32, angle: f32) {
        (self.re[voxel], self.im[voxel]) = (size * angle.cos(), size * angle.sin());
    }

    fn angle(&self, voxel: usize) -> f32 {
        self.im[voxel].atan2(self.re[voxel])
    }

    /// Turned back by an angle in each voxel.
    fn turned_back(&self, by: &[f32]) -> Self {
        let mut out = Self::zeros(by.len());
        for (v, by) in by.iter().enumerate() {
            let (sin, cos) = by.sin_cos();
            out.re[v] = self.re[v] * cos + self.im[v] * sin;
            out.im[v] = self.im[v] * cos - self.re[v] * sin;
        }
        out
    }

    /// The angle of the sum over a voxel and those that touch it.
    fn angle_about(&self, grid: &Grid, voxel: usize) -> f32 {
        let at = grid.voxel(voxel);
        let near = [0, 1, 2].map(|a| at[a].saturating_sub(1)..=(at[a] + 1).min(grid.dims[a] - 1));
        let (mut re, mut im) = (0.0, 0.0);
        for k in near[2].clone() {
            for j in near[1].clone() {
                let row = grid.index([*near[0].start(), j, k])..=grid.index([*near[0].end(), j, k]);
                re += self.re[row.clone()].iter().sum::<f32>();
                im += self.im[row].iter().sum::<f32>();
            }
        }
        im.atan2(re)
    }
}

/// A Gaussian in a volume beyond whose ends there is nothing.
pub(super) struct Smoothing<'w> {
    space: Periodic<'w>,
    filter: Vec<f32>,
}

impl<'w> Smoothing<'w> {
    pub(super) fn new(grid: &Grid, workers: &'w Workers) -> Result<Self, QsmError> {
        let spacing = grid.ras_from_vox.spacing();
        let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        let margin = (3.0 * SMOOTHING_MM / smallest).ceil() as usize;
        let margin = margin.min(*grid.dims.iter().max().unwrap_or(&1));
        let space = Periodic::with_margin(grid.dims, spacing, margin, workers)?;
        let filter = space.over_k(|k| {
            let squared: f64 = k.iter().map(|k| k * k).sum();
            (-0.5 * (TAU * SMOOTHING_MM).powi(2) * squared).exp()
        });
        Ok(Self { space, filter })
    }

    fn apply(&self, volume: &[f32]) -> Vec<f32> {
        let mut spectrum = self.space.forward(&self.space.pad(volume));
        spectrum.iter_mut().zip(&self.filter).for_each(|(x, by)| *x *= *by);
        self.space.crop(&self.space.back(spectrum))
    }

    /// The smooth phase of these, radians; where it is not smooth, what the voxel itself says, if it is one of `sure`.
    pub(super) fn offset(&self, at_start: &Phasors, grid: &Grid, sure: &[u32]) -> Vec<f32> {
        let mut offset = vec![0.0; grid.len()];
        for _ in 0..TIMES {
            let left = at_start.turned_back(&offset);
            let smooth = Phasors { re: self.apply(&left.re), im: self.apply(&left.im) };
            offset.iter_mut().enumerate().for_each(|(v, sum)| *sum += smooth.angle(v));
        }
        let left = at_start.turned_back(&offset);
        for &v in sure {
            let v = v as usize;
            if left.angle(v).abs() > OWN || left.angle_about(grid, v).abs() > SMOOTH {
                offset[v] = at_start.angle(v);
            }
        }
        offset
    }
}
