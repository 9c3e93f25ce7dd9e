//! Blocks at random, and their gradient in f64 and on a device: what checks of devices are made from.

use std::sync::Arc;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::philox::Philox;

use super::blocks::{Block, BlockEntry};
use super::on_device::{DevicePart, Subtracted};
use super::on_threads::Asked;
use super::{Blocks, Kept};
use crate::Dictionary;
use crate::exact::Lattice;

/// Blocks of a sample.
const BLOCKS: usize = 4;

impl Blocks {
    /// Entries of streamlines and atoms at random, as many for each voxel but the first, which
    /// has none; every streamline has a slot in each block.
    pub(crate) fn random(voxels: usize, streamlines: usize, atoms: usize, entries: usize) -> Self {
        let philox = Philox::new(17);
        let start: Vec<u64> =
            (0..=voxels as u64).map(|v| v.saturating_sub(1) * entries as u64).collect();
        let all = (0..start[voxels]).map(|k| {
            let [atom, streamline, value, _] = philox.at(k, 0);
            BlockEntry {
                atom: atom % atoms as u32,
                slot: streamline % streamlines as u32,
                value: 0.5 + value as f32 / u32::MAX as f32,
            }
        });
        let voxel: Vec<u32> = (0..voxels as u32).collect();
        let size = voxels.div_ceil(BLOCKS);
        let blocks: Vec<Block> = (0..voxels)
            .step_by(size)
            .enumerate()
            .map(|(number, from)| Block {
                voxels: from..voxels.min(from + size),
                slots: number * streamlines..(number + 1) * streamlines,
            })
            .collect();
        let (n_blocks, all_streamlines) = (blocks.len(), 0..streamlines as u32);
        Self {
            streamlines,
            compartments: 0,
            of_all: n_blocks,
            voxel,
            entries: all.collect(),
            start,
            blocks,
            slot_streamline: (0..n_blocks).flat_map(|_| all_streamlines.clone()).collect(),
            slots_start: (0..=streamlines).map(|f| (f * n_blocks) as u64).collect(),
            streamline_slots: all_streamlines
                .clone()
                .flat_map(|f| (0..n_blocks as u32).map(move |b| b * streamlines as u32 + f))
                .collect(),
        }
    }

    /// M'(M x - b) and ‖M x - b‖² on `device`, all in one part: with all columns, or with those of `kept`.
    pub(crate) fn gradient_on(
        &self,
        device: &Device,
        dictionary: &Dictionary,
        kept: Option<&[bool]>,
        x: &[f32],
        b: &[f32],
    ) -> Result<(Vec<f32>, f64), DeviceError> {
        let columns = Arc::new(device.upload(dictionary.columns())?);
        let all = 0..self.blocks.len();
        let mut part = DevicePart::new(device, columns, dictionary.stride(), self, all, b)?;
        part.restrict(kept.map(Kept::new).as_ref())?;
        let asked = Asked::Gradient { x, b: Some(b) };
        let told = part.slot_sums(asked, &Subtracted::Signal)?;
        let lattice = Lattice::new(told.largest, self.of_all);
        let mut sums = vec![0.0; x.len()];
        part.bring_onto(lattice)?;
        part.add(&mut sums);
        Ok((sums.iter().map(|sum| *sum as f32).collect(), told.squares.iter().sum()))
    }

    /// `data`, of each voxel as many numbers as the dictionary's rank, at the dictionary's stride.
    pub(crate) fn padded(&self, dictionary: &Dictionary, data: &[f32]) -> Vec<f32> {
        let mut padded = vec![0.0; self.voxels() * dictionary.stride()];
        for (to, from) in padded.chunks_mut(dictionary.stride()).zip(data.chunks(dictionary.rank()))
        {
            to[..from.len()].copy_from_slice(from);
        }
        padded
    }

    /// M'(M x - b), the sums of the magnitudes of its terms, and ‖M x - b‖², in f64.
    pub(crate) fn gradient_f64(
        &self,
        dictionary: &Dictionary,
        x: &[f32],
        b: &[f32],
    ) -> (Vec<f64>, Vec<f64>, f64) {
        let (mut g, mut magnitude) = (vec![0.0; self.streamlines], vec![0.0; self.streamlines]);
        let mut squares = 0.0;
        for block in &self.blocks {
            let members = &self.slot_streamline[block.slots.clone()];
            for at in block.voxels.clone() {
                let entries = &self.entries[self.start[at] as usize..self.start[at + 1] as usize];
                let data = &b[at * dictionary.stride()..][..dictionary.stride()];
                let mut residual: Vec<f64> = data.iter().map(|&b| -f64::from(b)).collect();
                let mut terms: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
                for entry in entries {
                    let weight = f64::from(x[members[entry.slot as usize] as usize]);
                    let column = dictionary.column(entry.atom as usize);
                    for ((r, t), d) in residual.iter_mut().zip(&mut terms).zip(column) {
                        let term = weight * f64::from(entry.value) * f64::from(*d);
                        *r += term;
                        *t += term.abs();
                    }
                }
                squares += residual.iter().map(|r| r * r).sum::<f64>();
                for entry in entries {
                    let f = members[entry.slot as usize] as usize;
                    let column = dictionary.column(entry.atom as usize);
                    for ((d, r), t) in column.iter().zip(&residual).zip(&terms) {
                        g[f] += f64::from(entry.value) * f64::from(*d) * r;
                        magnitude[f] += (f64::from(entry.value) * f64::from(*d) * t).abs();
                    }
                }
            }
        }
        (g, magnitude, squares)
    }
}
