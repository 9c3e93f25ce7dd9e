//! Drives any batched fit over the voxels of a mask.
//!
//! A [`VoxelFit`] turns rows of inputs into rows of results, a tile of voxels at a time, and may
//! offer the same by kernels ([`DeviceVoxelFit`]). [`Job::run`] reads the tiles, shares blocks of
//! them out to threads and devices, writes the rows into images and counts what became of each
//! voxel. Results do not depend on how the work was cut, nor on how many processes shared the voxels.

mod columns;
mod devices;
mod fitted;
mod gain;
mod inputs;
mod processes;

use std::time::Instant;

use fimbria_compute::device::{Device, DeviceError, HostBuffer};
use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, HostError, Interrupted, Progress, SimdLevel, Workers};
use fimbria_image::{
    GridMismatch, Image, MapSpec, Mask, MaskBlock, SignalSource, Status, StatusCounts,
};
use rayon::prelude::*;

pub(crate) use self::columns::{in_columns, of_columns, on_threads};
pub use self::fitted::{Fitted, FittedMap, RaisedSamples};
pub use self::gain::Cost;
pub use self::inputs::{SelectedVolumes, Stacked};

/// Voxels one task takes at most.
const BLOCK: usize = 4096;
/// Tasks of a thread: so many that all threads finish together, though some voxels take longer than others.
const TASKS: usize = 16;

/// Voxels that a task of so many threads takes: whole tiles.
fn task_len(voxels: usize, threads: usize, tile: usize) -> usize {
    let most = (BLOCK / tile).max(1) * tile;
    (voxels / (TASKS * threads)).next_multiple_of(tile).clamp(tile, most)
}

/// Some voxels, their inputs and the place of their results.
pub struct Tile<'a> {
    /// Linear indices of the voxels; they are the first of each row.
    pub voxels: &'a [u32],
    /// Length of a row. What lies beyond the voxels is zero in inputs and ignored in results.
    pub stride: usize,
    /// Inputs, `[input][stride]`.
    pub inputs: &'a [f32],
    /// Results, `[row][stride]`: the volumes of the maps in order, the status last.
    pub rows: &'a mut [f32],
    /// How many samples of each voxel had to be raised to have a logarithm; zeros beforehand.
    pub raised: &'a mut [f32],
    /// Room for what a fit makes of its inputs, kept from tile to tile, with whatever was left in it.
    pub scratch: &'a mut HostBuffer,
}

/// A fit of many voxels at once.
pub trait VoxelFit: Sync {
    /// The maps whose volumes are the rows of results, in order; the status is the last of them.
    fn maps(&self) -> Vec<MapSpec>;

    /// Voxels that are fitted at a time. The default keeps 64 inputs in the second-level cache,
    /// and rows of 17 cache lines off the same sets of the first.
    fn tile_len(&self) -> usize {
        272
    }

    /// The most samples of a voxel that may be raised; where more were, the others do not determine
    /// the model.
    fn most_raised(&self) -> usize {
        usize::MAX
    }

    /// Fits a tile in the calling thread. A voxel's result must depend on its own inputs only.
    ///
    /// # Errors
    /// Where there is no memory.
    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError>;

    /// The same by kernels, `None` where there are none for it.
    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        None
    }
}

/// Which arrays of a tile go to or come from a device as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The inputs.
    pub inputs: bool,
    /// The rows of results.
    pub rows: bool,
}

/// A fit by kernels.
pub trait DeviceVoxelFit: Sync {
    /// Bytes on the device that each voxel takes, by buffer.
    fn bytes_of_voxel(&self) -> Vec<usize>;

    /// What threads and what the host of a device take for a voxel: whether a device that nobody named
    /// is used.
    fn cost(&self) -> Cost;

    /// What of a chunk goes to and from the device itself, beside its scratch: memory is locked for that alone.
    fn moved(&self) -> Moved;

    /// Fits a chunk on `device`; what the device cannot do is for the threads of `workers`.
    ///
    /// # Errors
    /// Where the device refuses; the chunk is then done elsewhere.
    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError>;
}

/// Why no voxel was fitted.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The mask lies on another grid than the series.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// There is no memory for a tile of voxels.
    #[error(transparent)]
    Memory(#[from] HostError),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Voxels to fit and where their inputs come from.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is being done, for the progress ("fitting tensors").
    pub name: &'a str,
    /// The inputs; may be larger than memory.
    pub inputs: &'a dyn SignalSource,
    /// The voxels.
    pub mask: &'a Mask,
    /// Where to say how far the work is.
    pub progress: &'a dyn Progress,
}

impl Job<'_> {
    /// Fits every voxel of the mask: on the devices of `on` where it has any and the fit can, else
    /// on its threads, which also do what a device fails at. Where `on` is one of several
    /// processes, each fits a part of the voxels and all have all maps in the end. Results have the
    /// same bits for any number of threads and processes.
    ///
    /// # Errors
    /// [`JobError`].
    pub fn run(&self, fit: &dyn VoxelFit, on: &Backend<'_>) -> Result<Fitted, JobError> {
        let start = Instant::now();
        let grid = self.inputs.grid();
        grid.check_same(&self.mask.grid, "the mask")?;
        let specs = fit.maps();
        let plan = Plan {
            n_inputs: self.inputs.n_volumes(),
            n_rows: specs.iter().map(|spec| spec.n_volumes).sum(),
        };
        let mut maps: Vec<_> = specs
            .into_iter()
            .map(|spec| FittedMap { image: Image::zeros(*grid, spec.n_volumes), spec })
            .collect();
        let part = processes::part_of(self.mask, on.comm);
        self.progress.start(self.name, part.len() as u64);
        let work = Work { job: *self, fit, plan };
        let has_devices = !on.devices.is_empty();
        let kernels = fit.on_device();
        let pays = |kernels: &dyn DeviceVoxelFit| {
            !on.only_where_it_pays || kernels.cost().pays(part.len(), on.workers.threads())
        };
        let left_to_threads = has_devices && kernels.is_some_and(|kernels| !pays(kernels));
        if left_to_threads {
            let name = self.name;
            self.progress.note(&format!("{name}: threads are expected to be faster than a device"));
        }
        let on_devices = kernels.filter(|_| has_devices && !left_to_threads);
        let block = match on_devices {
            Some(_) => BLOCK,
            None => task_len(part.len(), on.workers.threads(), fit.tile_len()),
        };
        let mut blocks = MaskBlock::cut(maps.iter_mut().map(|map| &mut map.image), &part, block);
        let (mut tally, shares) = match on_devices {
            Some(kernels) => work.on_devices(kernels, on, blocks)?,
            None => {
                if kernels.is_none() && has_devices {
                    let name = self.name;
                    self.progress.warn(&format!("no kernel does this: {name} runs on the CPU"));
                }
                let tally = work.on_cpu(on.workers, &mut blocks)?;
                (tally, Shares { devices: vec![0; on.devices.len()], cpu: 1 })
            }
        };
        if on.comm.size() > 1 {
            tally = processes::exchange(&mut maps, self.mask, tally, on.comm);
        }
        let Tally { status, raised } = tally;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Fitted { maps, status, raised, shares, left_to_threads, seconds })
    }
}

/// Numbers of each voxel, in and out.
#[derive(Clone, Copy)]
struct Plan {
    n_inputs: usize,
    n_rows: usize,
}

/// A job with its fit.
#[derive(Clone, Copy)]
struct Work<'a> {
    job: Job<'a>,
    fit: &'a dyn VoxelFit,
    plan: Plan,
}

impl Work<'_> {
    fn on_cpu(&self, workers: &Workers, blocks: &mut [MaskBlock<'_>]) -> Result<Tally, JobError> {
        workers.install(|| {
            blocks
                .par_iter_mut()
                .map(|block| {
                    self.job.progress.check()?;
                    let tally = self.block_on_cpu(block, workers.simd())?;
                    self.job.progress.advance(block.voxels.len() as u64);
                    Ok(tally)
                })
                .try_reduce(Tally::default, |a, b| Ok(a.merged(b)))
        })
    }

    fn block_on_cpu(&self, block: &mut MaskBlock<'_>, simd: SimdLevel) -> Result<Tally, JobError> {
        let stride = self.fit.tile_len();
        let mut inputs = vec![0.0; self.plan.n_inputs * stride];
        let mut rows = vec![0.0; self.plan.n_rows * stride];
        let mut raised = vec![0.0; stride];
        let mut scratch = HostBuffer::plain();
        let mut tally = Tally::default();
        let all = block.voxels;
        for (offset, voxels) in (0..).step_by(stride).zip(all.chunks(stride)) {
            if voxels.len() < stride {
                // Nothing of the tile before shall be fitted again.
                inputs.fill(0.0);
            }
            raised.fill(0.0);
            self.job.inputs.gather(voxels, stride, &mut inputs);
            let tile = Tile {
                voxels,
                stride,
                inputs: &inputs,
                rows: &mut rows,
                raised: &mut raised,
                scratch: &mut scratch,
            };
            self.fit.fit(tile, simd)?;
            // Voxels that do not converge may take seconds each.
            self.job.progress.check()?;
            let mut by_row: Vec<_> = rows.chunks_exact_mut(stride).collect();
            tally = tally.merged(self.marked(&mut by_row, &raised, voxels.len()));
            block.store(offset, voxels.len(), stride, &rows);
        }
        Ok(tally)
    }

    /// Corrects the status of rows of results, where samples were raised and where numbers are not finite,
    /// and counts the first `n` voxels.
    fn marked(&self, rows: &mut [&mut [f32]], raised: &[f32], n: usize) -> Tally {
        let Some((status, maps)) = rows.split_last_mut() else { return Tally::default() };
        mark_raised(maps, status, raised, self.fit.most_raised());
        mark_not_finite(maps, status);
        Tally::of(status, raised, n)
    }
}

/// Says in the status where samples had to be raised; voxels with more of them than `most` become zero.
fn mark_raised(maps: &mut [&mut [f32]], status: &mut [f32], raised: &[f32], most: usize) {
    for (voxel, &raised) in raised.iter().enumerate().filter(|(_, raised)| **raised > 0.0) {
        let before = Status::from_code(status[voxel]);
        if raised as usize > most && before.is_fitted() {
            maps.iter_mut().for_each(|map| map[voxel] = 0.0);
            status[voxel] = Status::Singular.code();
        } else if matches!(before, Status::Fitted | Status::Constrained) {
            status[voxel] = Status::NotPositive.code();
        }
    }
}

/// Voxels whose samples are so large or small that a result is beyond `f32` become zero, with a bad
/// signal for status; where the status says that some maps are undefined, these are NaN.
fn mark_not_finite(maps: &mut [&mut [f32]], status: &mut [f32]) {
    for (voxel, code) in status.iter_mut().enumerate() {
        let status = Status::from_code(*code);
        if status != Status::Undefined && !maps.iter().all(|map| map[voxel].is_finite()) {
            maps.iter_mut().for_each(|map| map[voxel] = 0.0);
            *code = Status::BadSignal.code();
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    status: StatusCounts,
    raised: RaisedSamples,
}

impl Tally {
    /// Of the first `n` voxels.
    fn of(status: &[f32], raised: &[f32], n: usize) -> Self {
        let mut tally = Self::default();
        for (&code, &raised) in status.iter().zip(raised).take(n) {
            tally.status.add(Status::from_code(code));
            tally.raised.samples += raised as u64;
            tally.raised.voxels += u64::from(raised > 0.0);
        }
        tally
    }

    fn merged(self, other: Self) -> Self {
        Self {
            status: self.status.merged(other.status),
            raised: RaisedSamples {
                samples: self.raised.samples + other.raised.samples,
                voxels: self.raised.voxels + other.raised.voxels,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_whole_tiles_and_enough_of_them_for_all_threads() {
        for (voxels, threads, tile) in [(20_555, 16, 272), (500_000, 2, 272), (100, 8, 1024)] {
            let len = task_len(voxels, threads, tile);
            assert!(len.is_multiple_of(tile) && (tile..=BLOCK).contains(&len), "{len}");
            assert!(len == tile || voxels.div_ceil(len) >= TASKS * threads / 2, "{len}");
        }
    }
}
