//! The part of the driver that shares blocks out to devices.

use fimbria_compute::device::{Device, DeviceError, HostBuffer};
use fimbria_compute::queue::{Shares, blocks_per_chunk, in_halves, run_pairs};
use fimbria_compute::{Backend, Kept};
use fimbria_image::MaskBlock;
use rayon::prelude::*;

use super::columns::cut;
use super::{BLOCK, DeviceVoxelFit, JobError, Moved, Tally, Tile, Work};

/// Arrays of a chunk on a device.
struct Arrays {
    voxels: Vec<u32>,
    inputs: HostBuffer,
    rows: HostBuffer,
    raised: Vec<f32>,
    scratch: HostBuffer,
}

impl Arrays {
    /// For so many chunks.
    fn new(device: &Device, uses: usize, moved: Moved) -> Self {
        let buffer = |is_moved| match is_moved {
            true => HostBuffer::for_uses(device, uses),
            false => HostBuffer::plain(),
        };
        let (inputs, rows, scratch) = (buffer(moved.inputs), buffer(moved.rows), buffer(true));
        Self { voxels: Vec::new(), inputs, rows, raised: Vec::new(), scratch }
    }
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
        let kept = Kept::new(on.devices, chunks.len());
        let arrays = |device: &Device, uses| Arrays::new(device, uses, kernels.moved());
        let shares = run_pairs(
            on.devices,
            &mut chunks,
            |device, chunk| {
                chunk.tally = kept.with(device, arrays, |arrays| {
                    let mut some = |blocks: &mut [MaskBlock<'_>]| {
                        self.chunk_on_device(kernels, on, device, blocks, arrays)
                    };
                    in_halves(&mut chunk.blocks, &mut some, &Tally::merged)
                })?;
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
        arrays: &mut Arrays,
    ) -> Result<Tally, DeviceError> {
        let stride = blocks.iter().map(|block| block.voxels.len()).sum();
        let Arrays { voxels, inputs, rows, raised, scratch } = arrays;
        voxels.clear();
        voxels.extend(blocks.iter().flat_map(|block| block.voxels));
        let inputs = inputs.with_len(self.plan.n_inputs * stride);
        let rows = rows.with_len(self.plan.n_rows * stride);
        raised.clear();
        raised.resize(stride, 0.0);
        // As numbers, not as they are stored: gathering is bound by reading, so that sending integers would save
        // 4 % of the host's time for tensors (benches/runs/2026-11-26-epyc-2core/null-gpu.txt), and nothing
        // where the host makes starts of them.
        on.workers.install(|| self.job.inputs.gather_on_pool(voxels, inputs));
        let tile = Tile { voxels, stride, inputs, rows: &mut *rows, raised: &mut *raised, scratch };
        kernels.fit(tile, device, on.workers)?;
        // Only the last of all blocks is a short one, so that stretches of voxels are blocks.
        let tally = on.workers.install(|| {
            cut(stride, [rows])
                .into_par_iter()
                .zip(blocks)
                .map(|((range, [mut rows]), block)| {
                    let tally = self.marked(&mut rows, &raised[range.clone()], range.len());
                    block.store_rows(0, range.len(), rows.iter().map(|row| &**row));
                    tally
                })
                .reduce(Tally::default, Tally::merged)
        });
        device.stored();
        Ok(tally)
    }
}
