//! The sampler on devices: a group of 32 items per voxel, its signals in registers; what proposals make
//! of them, parameters and random numbers in the group's memory. The same bits as lanes that fuse
//! multiply-add.
//!
//! The items of a group draw the random numbers of a jump side by side, each the numbers of two
//! proposals; then the group judges one proposal after the other, each item summing its own
//! measurements.

mod check;
mod source;

#[cfg(test)]
pub(crate) use check::{acquisition, simulate};
pub(crate) use check::{check, short};
use source::GROUP;
pub(crate) use source::{GROUP_BYTES, source};

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::queue::IN_HAND;

use crate::batch::{Batch, Recorded};
use crate::lanes::Constants;
use crate::slots::MOST;

/// Voxels that a launch takes at most: a second or so of a small card.
const LAUNCH: usize = 4096;

/// The kernel on a device, and its tables.
pub(crate) struct DeviceSampler {
    device: Device,
    kernel: Kernel,
    n_measurements: usize,
    n_sampled: usize,
    seed: u64,
    root: Buffer<f32>,
    b: Buffer<f32>,
}

impl DeviceSampler {
    /// # Errors
    /// Where the device refuses the kernel or has no memory for the tables.
    pub(crate) fn new(
        device: &Device,
        constants: &Constants,
        is_bent: bool,
    ) -> Result<Self, DeviceError> {
        Self::with_source(device, constants, &source(constants, is_bent, GROUP_BYTES))
    }

    fn with_source(
        device: &Device,
        constants: &Constants,
        source: &KernelSource,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            kernel: device.kernel(source, "sample_sticks")?,
            n_measurements: constants.n,
            n_sampled: constants.sampled.len(),
            seed: constants.seed,
            root: device.upload(&constants.root.concat())?,
            b: device.upload(&constants.b)?,
            device: device.clone(),
        })
    }

    /// Voxels that the device has room for as often as chunks are in hand, `of_starts` rows before they are sampled too.
    pub(crate) fn most_voxels(&self, n_samples: usize, of_starts: usize) -> usize {
        let sampled = (n_samples * self.n_sampled).max(of_starts);
        let rows = [1, self.n_measurements, MOST, 9, sampled, 1];
        let bytes = rows.map(|rows| rows * size_of::<f32>());
        (self.device.chunk_len(&bytes) / (8 * IN_HAND) * 7).clamp(1, LAUNCH)
    }

    /// Samples a batch.
    ///
    /// # Errors
    /// Where the device fails.
    pub(crate) fn sample(&self, batch: &Batch<'_>, to: &mut Recorded) -> Result<(), DeviceError> {
        let items = self.device.upload(batch.items)?;
        let y = self.device.upload(batch.y)?;
        let starts = self.device.upload(batch.starts)?;
        let bend = self.device.upload(batch.bend.unwrap_or(&[0.0]))?;
        let samples = self.device.zeros::<f32>(to.samples.len())?;
        let acceptance = self.device.zeros::<f32>(to.acceptance.len())?;
        let arguments = [
            (batch.stride as u64).into(),
            self.seed.into(),
            (&items).into(),
            (&self.root).into(),
            (&self.b).into(),
            (&y).into(),
            (&starts).into(),
            (&bend).into(),
            (&samples).into(),
            (&acceptance).into(),
        ];
        // SAFETY: the kernel's ten parameters; rows are `stride` long and there are at least as
        // many elements as the kernel's constants, made from the same numbers, say.
        unsafe { self.kernel.launch(Launch::groups_of(GROUP, batch.n), &arguments)? };
        samples.read(0, &mut to.samples)?;
        acceptance.read(0, &mut to.acceptance)
    }
}
