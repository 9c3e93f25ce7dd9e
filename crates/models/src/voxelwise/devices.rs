//! The part of the driver that shares blocks out to devices.

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{Shares, blocks_per_chunk, in_halves, run_pairs};
use fimbria_compute::{Backend, Workers};
use fimbria_image::MaskBlock;
use rayon::prelude::*;

use super::{BLOCK, DeviceVoxelFit, JobError, Tally, Tile, Work, mark_not_finite, mark_raised};

/// Shares voxels out to threads: `work` gets some of them, their number, their inputs and the rows
/// it is to change, both without the others' (`[row][voxels it got]`).
pub(crate) fn on_threads(
    workers: &Workers,
    stride: usize,
    inputs: &[f32],
    rows: &mut [f32],
    work: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) {
    let columns = |rows: &[f32], first: usize, n: usize| -> Vec<f32> {
        rows.chunks_exact(stride).flat_map(|row| &row[first..first + n]).copied().collect()
    };
    workers.install(|| {
        let firsts: Vec<usize> = (0..stride).step_by(BLOCK).collect();
        let parts: Vec<Vec<f32>> = firsts
            .par_iter()
            .map(|&first| {
                let n = BLOCK.min(stride - first);
                let mut part = columns(rows, first, n);
                work(n, &columns(inputs, first, n), &mut part);
                part
            })
            .collect();
        rows.par_chunks_exact_mut(stride).enumerate().for_each(|(r, row)| {
            for (place, part) in row.chunks_mut(BLOCK).zip(&parts) {
                place.copy_from_slice(&part[r * place.len()..][..place.len()]);
            }
        });
    });
}

/// What a device takes at a time.
struct Chunk<'a> {
    blocks: Vec<MaskBlock<'a>>,
    tally: Tally,
}

impl Work<'_> {
    /// All blocks, in chunks, on the devices of `on`; on its threads what no device can do.
    pub(super) fn on_devices(
        &self,
        kernels: &dyn DeviceVoxelFit,
        on: &Backend<'_>,
        mut blocks: Vec<MaskBlock<'_>>,
    ) -> Result<(Tally, Shares), JobError> {
        let bytes_of_input = self.plan.n_inputs * size_of::<f32>();
        let per_chunk = blocks_per_chunk(
            on.devices,
            &kernels.bytes_of_voxel(),
            bytes_of_input,
            (blocks.len(), BLOCK),
        );
        let mut chunks = Vec::new();
        while !blocks.is_empty() {
            let rest = blocks.split_off(per_chunk.min(blocks.len()));
            chunks.push(Chunk { blocks, tally: Tally::default() });
            blocks = rest;
        }
        let shares = run_pairs(
            on.devices,
            &mut chunks,
            |device, chunk| {
                let some = |blocks: &mut [MaskBlock<'_>]| {
                    self.chunk_on_device(kernels, on, device, blocks)
                };
                chunk.tally = in_halves(&mut chunk.blocks, &some, &Tally::merged)?;
                let voxels: usize = chunk.blocks.iter().map(|block| block.voxels.len()).sum();
                self.job.progress.advance(voxels as u64);
                Ok(())
            },
            |chunk| {
                chunk.tally = self.on_cpu(on.workers, &mut chunk.blocks)?;
                Ok::<(), JobError>(())
            },
            self.job.progress,
        )?;
        let tally = chunks.iter().fold(Tally::default(), |sum, c| sum.merged(c.tally));
        Ok((tally, shares))
    }

    fn chunk_on_device(
        &self,
        kernels: &dyn DeviceVoxelFit,
        on: &Backend<'_>,
        device: &Device,
        blocks: &mut [MaskBlock<'_>],
    ) -> Result<Tally, DeviceError> {
        let voxels: Vec<u32> = blocks.iter().flat_map(|block| block.voxels).copied().collect();
        let stride = voxels.len();
        let inputs = on.workers.install(|| self.gather(blocks, stride));
        let mut rows = vec![0.0; self.plan.n_rows * stride];
        let mut raised = vec![0.0; stride];
        let tile =
            Tile { voxels: &voxels, stride, inputs: &inputs, rows: &mut rows, raised: &mut raised };
        kernels.fit(tile, device, on.workers)?;
        mark_raised(&mut rows, &raised, self.fit.most_raised());
        mark_not_finite(&mut rows, stride);

        let mut offset = 0;
        let mut starts = Vec::new();
        for block in blocks.iter() {
            starts.push(offset);
            offset += block.voxels.len();
        }
        on.workers.install(|| {
            blocks.par_iter_mut().zip(starts).for_each(|(block, start)| {
                block.store(0, block.voxels.len(), stride, &rows[start..]);
            });
        });
        Ok(Tally::from_rows(&rows, &raised, stride))
    }

    /// The inputs `[input][voxel]` of all blocks: each block by a thread of its own, then the
    /// rows put together.
    fn gather(&self, blocks: &[MaskBlock<'_>], n: usize) -> Vec<f32> {
        let n_inputs = self.plan.n_inputs;
        let parts: Vec<Vec<f32>> = blocks
            .par_iter()
            .map(|block| {
                let stride = block.voxels.len();
                let mut part = vec![0.0; stride * n_inputs];
                self.job.inputs.gather(block.voxels, stride, &mut part);
                part
            })
            .collect();
        let mut inputs = vec![0.0; n * n_inputs];
        inputs.par_chunks_mut(n).enumerate().for_each(|(row, values)| {
            let mut rest = values;
            for part in &parts {
                let stride = part.len() / n_inputs;
                let (place, after) = rest.split_at_mut(stride);
                place.copy_from_slice(&part[row * stride..][..stride]);
                rest = after;
            }
        });
        inputs
    }
}
