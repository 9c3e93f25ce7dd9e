//! Samples of a stored image as `f32`: some voxels at a time, or all.

use rayon::prelude::*;

use crate::error::ImageError;
use crate::layout::{Axis, Layout};
use crate::pages::zeroed;
use crate::stored::StoredImage;
use crate::{Grid, Image, SignalSource};

/// Voxels, and volumes, that are transposed together where a voxel's samples are neighbours: 16
/// cache lines one way, one the other.
const TILE: usize = 16;

/// Neighbouring voxels that are decoded for one step of another axis before the next.
const LANES: usize = 64;

/// Samples that one task decodes.
const TASK: usize = 1 << 16;

impl SignalSource for StoredImage {
    fn grid(&self) -> &Grid {
        &self.header.grid
    }

    fn n_volumes(&self) -> usize {
        self.n_volumes()
    }

    fn gather(&self, voxels: &[u32], stride: usize, out: &mut [f32]) {
        assert!(voxels.len() <= stride, "{} voxels in rows of {stride}", voxels.len());
        assert!(out.len() >= self.n_volumes() * stride, "{} samples of room", out.len());
        let outside = voxels.iter().find(|v| **v as usize >= self.grid().len());
        assert_eq!(outside, None, "a voxel lies outside the grid");
        match self.header.layout.volumes_together() {
            Some(step) => self.gather_transposed(voxels, step, stride, out),
            None => self.gather_runs(voxels, stride, out),
        }
    }
}

/// Voxels that follow each other in the file as in the request.
struct Run {
    lane: usize,
    len: usize,
    sample: usize,
}

impl StoredImage {
    /// Volume by volume, each as runs of neighbouring voxels.
    fn gather_runs(&self, voxels: &[u32], stride: usize, out: &mut [f32]) {
        let layout = &self.header.layout;
        let Axis { len: longest, stride: step } = layout.voxel_run();
        let data = self.stored_bytes();
        let runs = runs(voxels, longest, layout);
        for (offset, row) in layout.volume_offsets().zip(out.chunks_mut(stride)) {
            for run in &runs {
                let sample = run.sample.wrapping_add_signed(offset);
                let lanes = &mut row[run.lane..run.lane + run.len];
                (self.decode)(data, sample, step, self.header.scaling, lanes);
            }
        }
    }

    /// Voxel by voxel, tiles of voxels and volumes turned over in registers and cache.
    fn gather_transposed(&self, voxels: &[u32], step: isize, stride: usize, out: &mut [f32]) {
        let layout = &self.header.layout;
        let data = self.stored_bytes();
        let n_volumes = self.n_volumes();
        let mut tile = [[0.0f32; TILE]; TILE];
        for (t, lanes) in voxels.chunks(TILE).enumerate() {
            let mut samples = [0; TILE];
            for (sample, &voxel) in samples.iter_mut().zip(lanes) {
                *sample = layout.voxel(voxel as usize);
            }
            for v0 in (0..n_volumes).step_by(TILE) {
                let count = TILE.min(n_volumes - v0);
                for (row, &sample) in tile.iter_mut().zip(&samples[..lanes.len()]) {
                    let first = sample.wrapping_add_signed(v0 as isize * step);
                    (self.decode)(data, first, step, self.header.scaling, &mut row[..count]);
                }
                for v in 0..count {
                    let row = &mut out[(v0 + v) * stride + t * TILE..][..lanes.len()];
                    for (o, samples) in row.iter_mut().zip(&tile) {
                        *o = samples[v];
                    }
                }
            }
        }
    }

    /// All samples, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// [`ImageError::Memory`] where the system does not give four bytes per sample.
    pub fn to_image(&self) -> Result<Image, ImageError> {
        let samples = self.header.layout.len();
        let mut data = zeroed(samples).ok_or_else(|| ImageError::Memory {
            path: self.path.clone(),
            bytes: 4 * samples as u64,
        })?;
        self.decode_all(&mut data);
        Ok(Image { grid: *self.grid(), n_volumes: self.n_volumes(), data })
    }

    /// Decodes every sample into image order. Tasks read neighbours of the file as far as they
    /// can: where some axis other than the first lies densest, each task takes some steps of it
    /// along, so that a cache line that was fetched is used up.
    fn decode_all(&self, out: &mut [f32]) {
        let layout = self.header.layout.simplified();
        let axes = &layout.axes;
        let densest = (0..axes.len()).min_by_key(|k| axes[*k].stride.abs()).unwrap_or(0);
        if densest == 0 {
            out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
                self.decode_range(&layout, task * TASK, out);
            });
            return;
        }
        let below: usize = axes[..densest].iter().map(|a| a.len).product();
        let slab = below * axes[densest].len;
        out.par_chunks_mut(slab).enumerate().for_each(|(s, slab_out)| {
            slab_out.par_chunks_mut(TILE * below).enumerate().for_each(|(t, out)| {
                let start = s * slab + t * TILE * below;
                for from in (0..below).step_by(LANES) {
                    let to = (from + LANES).min(below);
                    for step in (0..out.len()).step_by(below) {
                        let out = &mut out[step + from..step + to];
                        self.decode_range(&layout, start + step + from, out);
                    }
                }
            });
        });
    }

    /// Decodes samples `start ..` in image order.
    fn decode_range(&self, layout: &Layout, start: usize, out: &mut [f32]) {
        let data = self.stored_bytes();
        layout.for_each_run(start, out.len(), |done, sample, step, count| {
            let out = &mut out[done..done + count];
            (self.decode)(data, sample, step, self.header.scaling, out);
        });
    }
}

/// Cuts a list of voxels into runs; none crosses a multiple of `longest`.
fn runs(voxels: &[u32], longest: usize, layout: &Layout) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut lane = 0;
    while lane < voxels.len() {
        let first = voxels[lane] as usize;
        let room = longest - first % longest;
        let len = voxels[lane..]
            .iter()
            .take(room)
            .enumerate()
            .take_while(|(i, voxel)| **voxel as usize == first + i)
            .count();
        runs.push(Run { lane, len, sample: layout.voxel(first) });
        lane += len;
    }
    runs
}
