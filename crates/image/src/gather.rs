//! Samples of a stored image as `f32`: some voxels at a time, or all.

use fimbria_memory::try_zeros;
use rayon::prelude::*;

use crate::error::ImageError;
use crate::layout::{Axis, Layout};
use crate::stored::StoredImage;
use crate::{Grid, Image, SignalSource};

/// Samples along either side of a tile that is turned over: one cache line of `f32`.
const TILE: usize = 16;

/// Samples that one task decodes.
const TASK: usize = 1 << 16;

impl SignalSource for StoredImage {
    fn held_bytes(&self) -> u64 {
        self.owned_bytes()
    }

    fn let_go(&self) {
        self.give_back();
    }

    fn grid(&self) -> &Grid {
        &self.header.grid
    }

    fn n_volumes(&self) -> usize {
        (**self).n_volumes()
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        let rows = &mut rows[..self.n_volumes()];
        let outside = voxels.iter().find(|v| **v as usize >= self.grid().len());
        assert_eq!(outside, None, "a voxel lies outside the grid");
        match self.header.layout.volumes_together() {
            Some(step) => self.gather_transposed(voxels, step, rows),
            None => self.gather_runs(voxels, rows),
        }
        self.note_read(voxels.len());
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
    fn gather_runs(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        let layout = &self.header.layout;
        let Axis { len: longest, stride: step } = layout.voxel_run();
        let data = self.stored_bytes();
        let runs = runs(voxels, longest, layout);
        for (offset, row) in layout.volume_offsets().zip(rows) {
            for run in &runs {
                let sample = run.sample.wrapping_add_signed(offset);
                let lanes = &mut row[run.lane..run.lane + run.len];
                (self.decode)(data, sample, step, self.header.scaling, lanes);
            }
        }
    }

    /// Voxel by voxel, in tiles of voxels and volumes.
    fn gather_transposed(&self, voxels: &[u32], step: isize, rows: &mut [&mut [f32]]) {
        for (t, lanes) in voxels.chunks(TILE).enumerate() {
            let mut samples = [0; TILE];
            for (sample, &voxel) in samples.iter_mut().zip(lanes) {
                *sample = self.header.layout.voxel(voxel as usize);
            }
            let samples = &samples[..lanes.len()];
            self.decode_transposed(samples, step, rows.len(), |volume, values| {
                rows[volume][t * TILE..][..values.len()].copy_from_slice(values);
            });
        }
    }

    /// From each of at most `TILE` samples takes `steps` steps; `put` gets each step with the values of all
    /// samples. Turned over in tiles, so that both sides are used line by line.
    fn decode_transposed(
        &self,
        samples: &[usize],
        step: isize,
        steps: usize,
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let data = self.stored_bytes();
        let mut tile = [[0.0f32; TILE]; TILE];
        for from in (0..steps).step_by(TILE) {
            let count = TILE.min(steps - from);
            for (row, &sample) in tile.iter_mut().zip(samples) {
                let first = sample.wrapping_add_signed(from as isize * step);
                (self.decode)(data, first, step, self.header.scaling, &mut row[..count]);
            }
            for k in 0..count {
                let values: [f32; TILE] = std::array::from_fn(|sample| tile[sample][k]);
                put(from + k, &values[..samples.len()]);
            }
        }
    }

    /// All samples, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// [`ImageError::Memory`] where the system does not give four bytes per sample.
    pub fn to_image(&self) -> Result<Image, ImageError> {
        let samples = self.header.layout.len();
        let mut data = try_zeros(samples).map_err(|_| ImageError::Memory {
            path: self.path.clone(),
            bytes: 4 * samples as u64,
        })?;
        self.decode_all(&mut data);
        Ok(Image { grid: *self.grid(), n_volumes: self.n_volumes(), data })
    }

    /// Decodes every sample into image order. Where some axis other than the first lies densest in
    /// the file, each task takes some steps of it along and turns them over, so that a cache line
    /// that was fetched is used up.
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
        let Axis { len, stride } = axes[densest];
        let below: usize = axes[..densest].iter().map(|a| a.len).product();
        // Long tasks use more of what they fetch, short ones keep all threads busy.
        let steps = len.div_ceil(4 * rayon::current_num_threads()).next_multiple_of(TILE);
        let slab = below * len;
        out.par_chunks_mut(slab).enumerate().for_each(|(s, slab_out)| {
            slab_out.par_chunks_mut(steps * below).enumerate().for_each(|(t, out)| {
                let start = s * slab + t * steps * below;
                for from in (0..below).step_by(TILE) {
                    let mut samples = [0; TILE];
                    let lanes = TILE.min(below - from);
                    layout.for_each_run(start + from, lanes, |done, sample, step, count| {
                        for (i, lane) in samples[done..done + count].iter_mut().enumerate() {
                            *lane = sample.wrapping_add_signed(i as isize * step);
                        }
                    });
                    let steps = out.len() / below;
                    let samples = &samples[..lanes];
                    self.decode_transposed(samples, stride, steps, |step, values| {
                        out[step * below + from..][..values.len()].copy_from_slice(values);
                    });
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
