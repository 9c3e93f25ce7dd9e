//! The part of the driver that shares blocks out to devices.

use fimbria_compute::device::{Device, DeviceError, HostBuffer};
use fimbria_compute::queue::{Shares, blocks_per_chunk, in_halves, run_pairs};
use fimbria_compute::{Backend, Kept};
use fimbria_image::MaskBlock;
use rayon::prelude::*;

use super::PeaksError;
use super::device::DeviceSearch;
use super::find::{BLOCK, Job, PeakCounts};

/// Arrays of a chunk on a device.
struct Arrays {
    voxels: Vec<u32>,
    input: HostBuffer,
    rows: HostBuffer,
}

impl Arrays {
    /// For so many chunks.
    fn new(device: &Device, uses: usize) -> Self {
        let buffer = || HostBuffer::for_uses(device, uses);
        Self { voxels: Vec::new(), input: buffer(), rows: buffer() }
    }
}

/// What a device takes at a time.
struct Chunk<'a> {
    blocks: Vec<MaskBlock<'a>>,
    counts: PeakCounts,
}

impl Job<'_> {
    /// All blocks, in chunks, on the devices of `on`; on its threads what no device can do.
    pub(super) fn on_devices(
        &self,
        on: &Backend<'_>,
        mut blocks: Vec<MaskBlock<'_>>,
    ) -> Result<(PeakCounts, Shares), PeaksError> {
        let bytes = [self.source.n_volumes(), self.plan.n_rows()].map(|rows| 4 * rows);
        let per_chunk = blocks_per_chunk(on.devices, &bytes, bytes[0], (blocks.len(), BLOCK));
        let mut chunks = Vec::new();
        while !blocks.is_empty() {
            let rest = blocks.split_off(per_chunk.min(blocks.len()));
            chunks.push(Chunk { blocks, counts: PeakCounts::default() });
            blocks = rest;
        }
        let kept = Kept::new(on.devices, chunks.len());
        let shares = run_pairs(
            on.devices,
            &mut chunks,
            |device, chunk| {
                chunk.counts = kept.with(device, Arrays::new, |arrays| {
                    let mut some = |blocks: &mut [MaskBlock<'_>]| {
                        self.chunk_on_device(on, device, blocks, arrays)
                    };
                    in_halves(&mut chunk.blocks, &mut some, &PeakCounts::merged)
                })?;
                let voxels: usize = chunk.blocks.iter().map(|block| block.voxels.len()).sum();
                self.progress.advance(voxels as u64);
                Ok(())
            },
            |chunk| {
                chunk.counts = self.on_cpu(on.workers, &mut chunk.blocks)?;
                Ok::<(), PeaksError>(())
            },
            self.progress,
        )?;
        let counts = chunks.iter().fold(PeakCounts::default(), |sum, c| sum.merged(c.counts));
        Ok((counts, shares))
    }

    fn chunk_on_device(
        &self,
        on: &Backend<'_>,
        device: &Device,
        blocks: &mut [MaskBlock<'_>],
        arrays: &mut Arrays,
    ) -> Result<PeakCounts, DeviceError> {
        let search = DeviceSearch::new(device, self.plan)?;
        let Arrays { voxels, input, rows } = arrays;
        voxels.clear();
        voxels.extend(blocks.iter().flat_map(|block| block.voxels));
        let n = voxels.len();
        let input = input.with_len(self.source.n_volumes() * n);
        let rows = rows.with_len(self.plan.n_rows() * n);
        on.workers.install(|| self.source.gather_on_pool(voxels, input));
        search.find(input, rows)?;
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
        device.stored();
        Ok(self.count(n, n, rows))
    }
}
