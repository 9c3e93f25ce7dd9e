//! The part of the driver that shares blocks out to devices.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::Backend;
use fimbria_compute::device::{Device, DeviceError, HostBuffer};
use fimbria_compute::queue::{Shares, blocks_per_chunk, in_halves, run_pairs};
use fimbria_image::MaskBlock;
use rayon::prelude::*;

use super::columns::cut;
use super::{BLOCK, DeviceVoxelFit, JobError, Tally, Tile, Work};

/// Arrays of a chunk on a device, kept for its next: fresh ones would be cleared, and their pages asked of the
/// system, and locked for the device, one by one.
struct Staging {
    voxels: Vec<u32>,
    inputs: HostBuffer,
    rows: HostBuffer,
    raised: Vec<f32>,
    scratch: HostBuffer,
}

impl Staging {
    fn new(device: &Device) -> Self {
        let buffer = || HostBuffer::for_device(device);
        let (inputs, rows, scratch) = (buffer(), buffer(), buffer());
        Self { voxels: Vec::new(), inputs, rows, raised: Vec::new(), scratch }
    }
}

/// What is not in use of each device.
struct Kept<'a> {
    devices: &'a [Device],
    of_devices: Vec<Mutex<Vec<Staging>>>,
}

impl<'a> Kept<'a> {
    fn new(devices: &'a [Device]) -> Self {
        Self { devices, of_devices: devices.iter().map(|_| Mutex::default()).collect() }
    }

    /// Does `work` with arrays for a device, of which `queue` is a queue.
    fn with<R>(&self, queue: &Device, work: impl FnOnce(&mut Staging) -> R) -> R {
        let mut all = self.devices.iter().zip(&self.of_devices);
        let Some((device, kept)) = all.find(|(device, _)| queue.is_queue_of(device)) else {
            return work(&mut Staging::new(queue));
        };
        let kept = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        // What is kept is not locked while this is made.
        let before = kept().pop();
        let mut staging = before.unwrap_or_else(|| Staging::new(device));
        let result = work(&mut staging);
        kept().push(staging);
        result
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
        let kept = Kept::new(on.devices);
        let shares = run_pairs(
            on.devices,
            &mut chunks,
            |device, chunk| {
                chunk.tally = kept.with(device, |staging| {
                    let mut some = |blocks: &mut [MaskBlock<'_>]| {
                        self.chunk_on_device(kernels, on, device, blocks, staging)
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
        staging: &mut Staging,
    ) -> Result<Tally, DeviceError> {
        let stride = blocks.iter().map(|block| block.voxels.len()).sum();
        let Staging { voxels, inputs, rows, raised, scratch } = staging;
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
