//! How a field and the samples of one launch share a device's memory.

use crate::field::FieldSize;

/// What is kept on a device from first to last, and how many samples a launch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// Buffers that hold the sticks, as none may be larger than the device allows.
    pub(crate) parts: usize,
    /// Voxels in each of them but the last.
    pub(crate) slots_per_part: usize,
    /// Samples of one launch at most, at least 1.
    pub(crate) samples_per_launch: u64,
    /// Points that are handed back at a time.
    pub(crate) points_per_read: usize,
    /// Places that are handed back at a time.
    pub(crate) met_per_read: usize,
    /// Streamlines that are counted at a time at most.
    pub(crate) counted_at_once: usize,
    /// Launches at a time.
    pub(crate) in_hand: usize,
}

/// Bytes that a job takes beside its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// From first to last, by buffer.
    pub(crate) fixed: [u64; 5],
    /// Of a launch, however many samples it makes, by buffer.
    pub(crate) of_launch: [u64; 3],
    /// Beside what its samples take of one buffer.
    pub(crate) of_edges: u64,
    /// Of each sample that is counted at a time, 0 where that needs no table.
    pub(crate) table: u64,
    /// Of each sample of a launch, by buffer.
    pub(crate) per_sample: [u64; 8],
    /// Points are handed back.
    pub(crate) reads_points: bool,
    /// Places that are met are handed back.
    pub(crate) reads_met: bool,
}

/// There is not enough memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "samples, seeds, regions and counts take {} MB and one streamline {sample} bytes, of {} MB that may be used in buffers \
     of {} MB",
    field >> 20, available >> 20, largest_buffer >> 20
)]
pub(crate) struct Shortage {
    field: u64,
    sample: u64,
    available: u64,
    largest_buffer: u64,
}

/// Bytes of a point.
const POINT: u64 = 12;
/// Bytes of a place that is met.
const MET: u64 = 8;
/// Bytes of a packed stick.
const STICK: u64 = 8;
/// Buffers of sticks that a kernel can choose between.
const MAX_PARTS: usize = 16;
/// Points handed back at a time, where memory allows: 192 MB.
const POINTS_PER_READ: u64 = 1 << 24;
/// Streamlines counted at a time, where memory allows: enough to fill a large card.
const COUNTED_AT_ONCE: u64 = 1 << 15;

/// Samples of a launch beyond which more do not help.
const ENOUGH: u64 = 1 << 17;

impl MemoryPlan {
    /// For `available` bytes in buffers of `largest_buffer` bytes at most, where a half has `half_points` points at
    /// most, and so many launches have memory at a time.
    ///
    /// # Errors
    /// Where the field or a single sample does not fit.
    pub(crate) fn new(
        field: FieldSize,
        half_points: u32,
        load: &Load,
        in_hand: usize,
        available: u64,
        largest_buffer: u64,
    ) -> Result<Self, Shortage> {
        let per_slot = field.sticks_per_slot as u64 * STICK;
        let sticks = field.slots as u64 * per_slot;
        let slots = 4 * field.padded_voxels as u64;
        let fixed = slots + sticks + load.fixed.iter().sum::<u64>();
        let of_launch = load.of_launch.iter().sum::<u64>() + load.of_edges;
        let per_sample = load.per_sample.iter().sum::<u64>();
        let shortage =
            Shortage { field: fixed + of_launch, sample: per_sample, available, largest_buffer };

        let slots_per_part = largest_buffer / per_slot.max(1);
        if slots_per_part == 0 {
            return Err(shortage);
        }
        let slots_per_part = usize::try_from(slots_per_part).unwrap_or(usize::MAX);
        let slots_per_part = slots_per_part.min(field.slots.max(1));
        let parts = field.slots.div_ceil(slots_per_part).max(1);

        // What is rounded up, and counted with one more.
        let of_all_launches = available.saturating_sub(fixed);
        let mut free = (of_all_launches / in_hand as u64).saturating_sub(of_launch + 256);
        // The longest list must fit: a run for each point, and a return.
        let longest = 2 * u64::from(half_points) + 1;
        let mut per_read = |reads: bool, bytes: u64| {
            if !reads {
                return 0;
            }
            let n = (free / (8 * bytes)).clamp(longest, POINTS_PER_READ.max(longest));
            free = free.saturating_sub(n * bytes);
            n as usize
        };
        let points_per_read = per_read(load.reads_points, POINT);
        let met_per_read = per_read(load.reads_met, MET);
        let mut counted_at_once = u64::MAX;
        if load.table > 0 {
            let most = (free / (8 * load.table)).min(largest_buffer / load.table);
            counted_at_once = most.clamp(1, COUNTED_AT_ONCE);
            free = free.saturating_sub(counted_at_once * load.table);
        }
        let largest_of_sample = load.per_sample.iter().copied().max().unwrap_or(0);
        let room = largest_buffer.saturating_sub(load.of_edges);
        let samples = (free / per_sample.max(1)).min(room / largest_of_sample.max(1));
        let is_too_large = load
            .fixed
            .iter()
            .chain(&load.of_launch)
            .chain([&slots, &load.table])
            .any(|bytes| *bytes > largest_buffer);
        if samples == 0 || parts > MAX_PARTS || is_too_large {
            return Err(shortage);
        }
        Ok(Self {
            parts,
            slots_per_part,
            samples_per_launch: samples,
            points_per_read,
            met_per_read,
            in_hand,
            counted_at_once: usize::try_from(counted_at_once).unwrap_or(usize::MAX),
        })
    }

    /// As [`new`](Self::new), with `in_hand` launches at a time; with one where they would be so small that waiting
    /// costs less: what is counted comes back with each of them.
    ///
    /// # Errors
    /// Where the field or a single sample does not fit.
    pub(crate) fn of_several(
        field: FieldSize,
        half_points: u32,
        load: &Load,
        in_hand: usize,
        available: u64,
        largest_buffer: u64,
    ) -> Result<Self, Shortage> {
        let of = |n| Self::new(field, half_points, load, n, available, largest_buffer);
        let one = of(1)?;
        let is_enough =
            |plan: &Self| 4 * plan.samples_per_launch >= one.samples_per_launch.min(ENOUGH);
        Ok(of(in_hand).ok().filter(is_enough).unwrap_or(one))
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

    /// Streamlines of 2000 points: all points handed back, or visits counted; with a check for loops.
    fn loads() -> [Load; 2] {
        let visits = 4 * 256 * 271 * 102;
        let plain = Load {
            fixed: [0; 5],
            of_launch: [0; 3],
            of_edges: 0,
            table: 0,
            per_sample: [0; 8],
            reads_points: false,
            reads_met: false,
        };
        [
            Load { per_sample: [24_000, 0, 0, 16_000, 0, 0, 44, 0], reads_points: true, ..plain },
            Load {
                of_launch: [visits, 0, 0],
                table: 4 * 4096,
                per_sample: [0, 8000, 0, 16_000, 0, 0, 44, 0],
                ..plain
            },
        ]
    }

    #[test]
    fn the_largest_data_set_of_the_paper_fits_four_gigabytes() {
        // 80 % of the memory is used, and no buffer may take more than a quarter of it.
        let (available, largest) = (4 * GIB * 8 / 10, GIB);
        for load in loads() {
            let plan = MemoryPlan::new(of_the_paper(), 1000, &load, 2, available, largest).unwrap();
            assert_eq!(plan.parts, 2);
            assert!(plan.slots_per_part as u64 * 800 <= largest);
            // The paper's own program had room for some thousand particles there.
            assert!(plan.samples_per_launch >= 10_000, "{plan:?}");
            let launch = plan.samples_per_launch * load.per_sample.iter().sum::<u64>()
                + load.of_launch.iter().sum::<u64>();
            let fixed = 4 * 258 * 273 * 104 + 1_600_000_000;
            let read = plan.points_per_read as u64 * POINT;
            assert_eq!(read > 0, load.reads_points);
            let tables = if load.table > 0 { plan.counted_at_once as u64 * load.table } else { 0 };
            assert!(fixed + 2 * (launch + read + tables) <= available, "{plan:?}");
            // As many as the cards with so little memory have threads.
            assert!(plan.counted_at_once >= 5_000 && tables <= largest, "{plan:?}");
            let largest_of_sample = *load.per_sample.iter().max().unwrap();
            assert!(plan.samples_per_launch * largest_of_sample <= largest, "{plan:?}");
        }
    }

    #[test]
    fn two_launches_that_would_be_small_are_one() {
        let [_, load] = loads();
        let of = |load: &Load, bytes| {
            MemoryPlan::of_several(of_the_paper(), 1000, load, 2, bytes, GIB).unwrap()
        };
        assert_eq!(of(&load, 4 * GIB).in_hand, 2);
        // Products of components: 48 bytes a voxel, once a launch.
        let products = Load { of_launch: [4 * 256 * 271 * 102, 0, 48 * 256 * 271 * 70], ..load };
        let fixed = 4 * 258 * 273 * 104 + 1_600_000_000;
        let room = 2 * products.of_launch.iter().sum::<u64>();
        let two = |bytes| MemoryPlan::new(of_the_paper(), 1000, &products, 2, bytes, GIB);
        let short = fixed + room + room / 16;
        assert!(two(short).is_ok());
        assert_eq!(of(&products, short).in_hand, 1);
        assert_eq!(of(&products, 4 * fixed).in_hand, 2);
    }

    #[test]
    fn what_does_not_fit_is_a_shortage() {
        let [load, _] = loads();
        let shortage = MemoryPlan::new(of_the_paper(), 1000, &load, 1, GIB, GIB).unwrap_err();
        assert!(shortage.to_string().contains("of 1024 MB that may be used"), "{shortage}");
        assert!(MemoryPlan::new(of_the_paper(), 1000, &load, 1, 16 * GIB, 64).is_err());
    }
}
