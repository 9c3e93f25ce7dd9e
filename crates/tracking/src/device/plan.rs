//! How a field and the samples of one launch share a device's memory.

use crate::Propagation;
use crate::field::FieldSize;

/// What is kept on a device from first to last, and how many samples a launch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Buffers that hold the sticks, as none may be larger than the device allows.
    pub parts: usize,
    /// Voxels in each of them but the last.
    pub slots_per_part: usize,
    /// Samples of one launch at most, at least 1.
    pub samples_per_launch: u64,
    /// Points that are handed back at a time.
    pub points_per_read: usize,
}

/// There is not enough memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the samples take {} MB and one streamline {sample} bytes, of {} MB that may be used in buffers \
     of {} MB",
    field >> 20, available >> 20, largest_buffer >> 20
)]
pub struct Shortage {
    field: u64,
    sample: u64,
    available: u64,
    largest_buffer: u64,
}

/// Bytes of a point or a direction.
const POINT: u64 = 12;
/// Bytes of a packed stick.
const STICK: u64 = 8;
/// Item, start, and for both halves count, reason and offset.
const PER_SAMPLE: u64 = 8 + 12 + 2 * (4 + 4 + 8);
/// Buffers of sticks that a kernel can choose between.
const MAX_PARTS: usize = 16;
/// Points handed back at a time, where memory allows: 192 MB.
const POINTS_PER_READ: u64 = 1 << 24;

impl MemoryPlan {
    /// For `available` bytes in buffers of `largest_buffer` bytes at most.
    ///
    /// # Errors
    /// Where the field or a single sample does not fit.
    pub fn new(
        field: FieldSize,
        propagation: &Propagation,
        available: u64,
        largest_buffer: u64,
    ) -> Result<Self, Shortage> {
        let per_slot = field.sticks_per_slot as u64 * STICK;
        let sticks = field.slots as u64 * per_slot;
        let fixed = 4 * field.padded_voxels as u64 + sticks;
        let points = u64::from(propagation.half_points()) * 2;
        // Where loops are looked for, directions come back as well.
        let vectors = if propagation.loop_check { 2 } else { 1 };
        let per_sample = points * POINT * vectors + PER_SAMPLE;
        let shortage = Shortage { field: fixed, sample: per_sample, available, largest_buffer };

        let slots_per_part = largest_buffer / per_slot.max(1);
        if slots_per_part == 0 {
            return Err(shortage);
        }
        let slots_per_part = usize::try_from(slots_per_part).unwrap_or(usize::MAX);
        let slots_per_part = slots_per_part.min(field.slots.max(1));
        let parts = field.slots.div_ceil(slots_per_part).max(1);

        let free = available.saturating_sub(fixed);
        let points_per_read =
            (free / (8 * POINT * vectors)).clamp(points, POINTS_PER_READ.max(points));
        let free = free.saturating_sub(points_per_read * POINT * vectors);
        let samples = (free / per_sample).min(largest_buffer / (points * POINT).max(PER_SAMPLE));
        if samples == 0 || parts > MAX_PARTS || 4 * field.padded_voxels as u64 > largest_buffer {
            return Err(shortage);
        }
        Ok(Self {
            parts,
            slots_per_part,
            samples_per_launch: samples,
            points_per_read: points_per_read as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// 256 x 271 x 102 voxels, two million in the brain, 50 samples of 2 fibres (Afsharian et al.).
    fn of_the_paper() -> FieldSize {
        FieldSize { padded_voxels: 258 * 273 * 104, slots: 2_000_000, sticks_per_slot: 100 }
    }

    #[test]
    fn the_largest_data_set_of_the_paper_fits_four_gigabytes() {
        // 80 % of the memory is used, and no buffer may take more than a quarter of it.
        let (available, largest) = (4 * GIB * 8 / 10, GIB);
        for loop_check in [false, true] {
            let options = Propagation { loop_check, ..Propagation::default() };
            let plan = MemoryPlan::new(of_the_paper(), &options, available, largest).unwrap();
            assert_eq!(plan.parts, 2);
            assert!(plan.slots_per_part as u64 * 800 <= largest);
            // The paper's own program had room for some thousand particles there.
            assert!(plan.samples_per_launch >= 20_000, "{plan:?}");
            let vectors = if loop_check { 2 } else { 1 };
            let launch = plan.samples_per_launch * (24_000 * vectors + PER_SAMPLE);
            let fixed = 4 * 258 * 273 * 104 + 1_600_000_000;
            let read = plan.points_per_read as u64 * POINT * vectors;
            assert!(fixed + launch + read <= available, "{plan:?}");
            assert!(plan.samples_per_launch * 24_000 <= largest, "{plan:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_a_shortage() {
        let options = Propagation::default();
        let shortage = MemoryPlan::new(of_the_paper(), &options, GIB, GIB).unwrap_err();
        assert!(shortage.to_string().contains("of 1024 MB that may be used"), "{shortage}");
        assert!(MemoryPlan::new(of_the_paper(), &options, 16 * GIB, 64).is_err());
    }
}
