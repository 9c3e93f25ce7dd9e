//! The part of the driver that shares blocks out to devices.

use fimbria_compute::Backend;
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::queue::{Shares, run_chunks};
use rayon::prelude::*;

use super::DtiError;
use super::device::{DeviceFit, DeviceMaps};
use super::fit::{BLOCK, Job, Tally};
use super::layout::Block;
use super::operators::{LanesFit, LanesMaps};

/// Bytes of samples that a chunk has at most: enough to fill a large card, little enough to be
/// held twice in memory.
const CHUNK_BYTES: usize = 64 << 20;

/// What a device takes at a time.
struct Chunk<'a> {
    blocks: Vec<Block<'a>>,
    tally: Tally,
}

impl<'a> Job<'a> {
    /// All blocks, in chunks, on the devices of `on`; on its threads what no device can do.
    pub(super) fn on_devices(
        &self,
        on: &Backend<'a>,
        mut blocks: Vec<Block<'_>>,
    ) -> Result<(Tally, Shares), DtiError> {
        let per_chunk = self.blocks_per_chunk(on.devices);
        let mut chunks = Vec::new();
        while !blocks.is_empty() {
            let rest = blocks.split_off(per_chunk.min(blocks.len()));
            chunks.push(Chunk { blocks, tally: Tally::default() });
            blocks = rest;
        }
        let shares = run_chunks(
            on.devices,
            &mut chunks,
            |device, chunk| {
                chunk.tally = self.chunk_on_device(on, device, &mut chunk.blocks)?;
                let voxels: usize = chunk.blocks.iter().map(|block| block.voxels.len()).sum();
                self.progress.advance(voxels as u64);
                Ok(())
            },
            |chunk| {
                let blocks = &mut chunk.blocks;
                chunk.tally = self.on_cpu(on.workers, blocks, LanesFit::new, LanesMaps::new)?;
                Ok::<(), DtiError>(())
            },
            self.progress,
        )?;
        let tally = chunks.iter().fold(Tally::default(), |sum, c| sum.merged(c.tally));
        Ok((tally, shares))
    }

    /// As many as every device has room for, and as make a chunk of reasonable size.
    fn blocks_per_chunk(&self, devices: &[Device]) -> usize {
        let rows =
            [self.problem.n_volumes(), self.problem.n_parameter_rows(), self.problem.n_map_rows()];
        let bytes = rows.map(|rows| rows * size_of::<f32>());
        // An eighth is left to the tables.
        let room = devices.iter().map(|device| device.chunk_len(&bytes) / 8 * 7).min();
        let reasonable = CHUNK_BYTES / bytes[0];
        (room.unwrap_or(0).min(reasonable) / BLOCK).max(1)
    }

    fn chunk_on_device(
        &self,
        on: &Backend<'_>,
        device: &Device,
        blocks: &mut [Block<'_>],
    ) -> Result<Tally, DeviceError> {
        let voxels: Vec<u32> = blocks.iter().flat_map(|block| block.voxels).copied().collect();
        let n = voxels.len();
        let fit = DeviceFit::new(device, self.problem, n)?;
        let maps = DeviceMaps::new(device, self.problem, n)?;

        let signals = on.workers.install(|| self.gather(blocks, n));
        let samples = fit.domain().upload(&signals)?;
        let mut fitted = fit.range().zeros()?;
        fit.apply(&samples, &mut fitted)?;

        let mut parameters = vec![0.0; fit.range().len()];
        fit.range().download(&fitted, &mut parameters)?;
        if self.finish_parameters(&voxels, n, &signals, &mut parameters) {
            fitted.write(0, &parameters)?;
        }

        let mut on_device = maps.range().zeros()?;
        maps.apply(&fitted, &mut on_device)?;
        let mut rows = vec![0.0; maps.range().len()];
        maps.range().download(&on_device, &mut rows)?;

        let mut offset = 0;
        let mut starts = Vec::new();
        for block in blocks.iter() {
            starts.push(offset);
            offset += block.voxels.len();
        }
        on.workers.install(|| {
            blocks.par_iter_mut().zip(starts).for_each(|(block, start)| {
                block.store(0, block.voxels.len(), n, &rows[start..]);
            });
        });
        Ok(self.count(n, n, &parameters, &rows))
    }

    /// The samples `[volume][voxel]` of all blocks: each block by a thread of its own, then the
    /// volumes put together.
    fn gather(&self, blocks: &[Block<'_>], n: usize) -> Vec<f32> {
        let n_volumes = self.problem.n_volumes();
        let parts: Vec<Vec<f32>> = blocks
            .par_iter()
            .map(|block| {
                let stride = block.voxels.len();
                let mut part = vec![0.0; stride * n_volumes];
                self.signals.gather(block.voxels, stride, &mut part);
                part
            })
            .collect();
        let mut signals = vec![0.0; n * n_volumes];
        signals.par_chunks_mut(n).enumerate().for_each(|(volume, row)| {
            let mut rest = row;
            for part in &parts {
                let stride = part.len() / n_volumes;
                let (place, after) = rest.split_at_mut(stride);
                place.copy_from_slice(&part[volume * stride..][..stride]);
                rest = after;
            }
        });
        signals
    }
}
