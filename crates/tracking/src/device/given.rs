//! What every launch of a job reads.

use fimbria_compute::device::{Buffer, Device, DeviceError};

use super::plan::MemoryPlan;
use super::work::Work;

/// What every launch of a job reads on one device, by any queue of it, and none writes.
pub(crate) struct Given {
    pub(super) slot_plus_1: Buffer<u32>,
    pub(super) sticks: Vec<Buffer<u32>>,
    /// Keys, then regions.
    pub(super) seeds: Buffer<u32>,
    /// Of seeds, where the device draws starts.
    pub(super) places: Buffer<f32>,
    pub(super) labels: Buffer<u32>,
    /// Of the grid of the seeds, and of another.
    pub(super) places_at: [Buffer<u32>; 2],
}

impl Given {
    /// Puts a job on a device, for kernels of any queue of it.
    ///
    /// # Errors
    /// Where the device has no memory for it.
    pub(crate) fn new(
        device: &Device,
        work: &Work<'_>,
        plan: &MemoryPlan,
    ) -> Result<Self, DeviceError> {
        let (field, seeds) = (work.tracking.field, work.tracking.seeds);
        let per_part = plan.slots_per_part * field.n_samples() * field.n_fibres();
        let parts = field.sticks().chunks(per_part.max(1));
        let keys = seeds.iter().map(|seed| seed.key).chain(seeds.iter().map(|seed| seed.region));
        let labels = work.regions.as_ref().map_or(&[][..], |bits| &bits.values);
        let marks = |at: usize| work.places.as_ref().map_or(&[][..], |places| &places.marks[at]);
        let given = Self {
            slot_plus_1: device.upload(field.slots())?,
            sticks: parts
                .map(|part| device.upload(bytemuck::cast_slice(part)))
                .collect::<Result<_, _>>()?,
            seeds: device.upload(&keys.collect::<Vec<_>>())?,
            places: device.upload(&by_axis(seeds.iter().map(|seed| seed.pos)))?,
            labels: device.upload(labels)?,
            places_at: [device.upload(marks(0))?, device.upload(marks(1))?],
        };
        // Other queues do not wait for this one.
        device.synchronize()?;
        Ok(given)
    }
}

/// Three coordinates of each point, axis by axis.
pub(super) fn by_axis(points: impl Iterator<Item = [f32; 3]> + Clone) -> Vec<f32> {
    (0..3).flat_map(|axis| points.clone().map(move |point| point[axis])).collect()
}
