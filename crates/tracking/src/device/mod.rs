//! Streamlines on a device: one sample per item, the oracle's operations and so its bits.
//!
//! The samples and the mask are on the device once; a chunk of samples brings their seeds and takes
//! their points away, and judgement and counting are the host's, as they are for lanes. Points
//! stand beside those of neighbouring items, so that items that move together write together; before
//! they are handed back they are moved together, so that the host sees no unused room.

mod plan;

use std::ops::Range;

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::{math, philox};

pub use plan::{MemoryPlan, Shortage};

use crate::draws::stream;
use crate::field::Field;
use crate::oracle::scale;
use crate::{EndReason, FirstFibre, Propagation, SampleChoice};

/// Samples of one seed region to be made: per item what its numbers depend on, and where it starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) region: u32,
    /// Low words of the items, then high ones.
    pub(crate) items: Vec<u64>,
    pub(crate) starts: Vec<[f32; 3]>,
}

/// The points of a batch.
pub(crate) struct Paths {
    /// Of the first half of every item, then of the second of every item.
    points: Vec<[f32; 3]>,
    /// Directions of travel at these points; empty where nobody asks for them.
    dirs: Vec<[f32; 3]>,
    /// Where the points of half `h` of item `i` start: at `[h * n + i]`, and one more.
    firsts: Vec<u64>,
    reasons: Vec<u32>,
}

impl Paths {
    /// Points of one half of an item, with the directions in which they were reached: zero where
    /// nobody asks for them.
    pub(crate) fn half(
        &self,
        half: usize,
        item: usize,
    ) -> impl Iterator<Item = ([f32; 3], [f32; 3])> + '_ {
        let at = half * self.reasons.len() / 2 + item;
        let range = self.firsts[at] as usize..self.firsts[at + 1] as usize;
        range.map(|at| (self.points[at], self.dirs.get(at).copied().unwrap_or_default()))
    }

    /// Why it ended.
    pub(crate) fn reason(&self, half: usize, item: usize) -> EndReason {
        EndReason::of_code(self.reasons[half * self.reasons.len() / 2 + item] as u8)
    }
}

/// The tracker of one field on one device.
pub(crate) struct DeviceTracker {
    track: Kernel,
    gather: Kernel,
    slot_plus_1: Buffer<u32>,
    sticks: Vec<Buffer<u32>>,
    half_points: usize,
    wants_dirs: bool,
    points_per_read: usize,
    rng_seed: u64,
}

impl DeviceTracker {
    /// Puts a field on a device.
    ///
    /// # Errors
    /// Where the device has no memory for it or refuses the kernel.
    pub(crate) fn new(
        device: &Device,
        field: &Field,
        options: &Propagation,
        rng_seed: u64,
        plan: &MemoryPlan,
    ) -> Result<Self, DeviceError> {
        let source = source(field, options, plan);
        let per_part = plan.slots_per_part * field.n_samples() * field.n_fibres();
        let parts = field.sticks().chunks(per_part.max(1));
        Ok(Self {
            track: device.kernel(&source, "track")?,
            gather: device.kernel(&source, "gather")?,
            slot_plus_1: device.upload(field.slots())?,
            sticks: parts
                .map(|part| device.upload(bytemuck::cast_slice(part)))
                .collect::<Result<_, _>>()?,
            half_points: options.half_points() as usize,
            wants_dirs: options.loop_check,
            points_per_read: plan.points_per_read,
            rng_seed,
        })
    }

    /// Makes a batch.
    pub(crate) fn make(&self, device: &Device, batch: &Batch) -> Result<Paths, DeviceError> {
        let n = batch.items.len();
        let low = batch.items.iter().map(|item| *item as u32);
        let items: Vec<_> = low.chain(batch.items.iter().map(|item| (item >> 32) as u32)).collect();
        let starts: Vec<_> =
            (0..3).flat_map(|axis| batch.starts.iter().map(move |start| start[axis])).collect();
        let (items, starts) = (device.upload(&items)?, device.upload(&starts)?);
        let room = 2 * self.half_points * 3 * n;
        let points = device.allocate::<f32>(room)?;
        let dirs = device.allocate::<f32>(if self.wants_dirs { room } else { 1 })?;
        let counts = device.zeros::<u32>(2 * n)?;
        let reasons = device.zeros::<u32>(2 * n)?;
        let mut arguments = vec![
            (n as u64).into(),
            self.rng_seed.into(),
            (batch.region * stream::PER_REGION).into(),
            (&self.slot_plus_1).into(),
            (&items).into(),
            (&starts).into(),
            (&points).into(),
            (&dirs).into(),
            (&counts).into(),
            (&reasons).into(),
        ];
        arguments.extend(self.sticks.iter().map(fimbria_compute::device::Argument::from));
        // SAFETY: the kernel's parameters. Two words of `items` and three numbers of `starts` per
        // item; `points`, and where they are written `dirs`, have three numbers for every point
        // that two halves may have; the slots and the parts of the sticks are those of the field
        // and the plan that the kernel was specialised for.
        unsafe { self.track.launch(Launch::items(n), &arguments)? };
        let counts = counts.to_vec()?;
        let mut firsts = vec![0; 2 * n + 1];
        for (at, count) in counts.iter().enumerate() {
            firsts[at + 1] = firsts[at] + u64::from(*count);
        }
        // SAFETY: `gather` is the kernel of that name, and the places of halves are those that `track` has written.
        let all = |from| unsafe {
            gathered(&self.gather, device, from, n, &firsts, self.points_per_read)
        };
        let dirs = if self.wants_dirs { all(&dirs)? } else { vec![] };
        Ok(Paths { points: all(&points)?, dirs, reasons: reasons.to_vec()?, firsts })
    }
}

/// Vectors of all halves that a kernel left in `from`, one after the other, in as many reads as memory asks for;
/// `n` is how many work items wrote them, and the vectors of a half begin at its place in `firsts`.
///
/// # Safety
/// `gather` has the six parameters given here, and reads of `from` what its halves have written.
pub(crate) unsafe fn gathered(
    gather: &Kernel,
    device: &Device,
    from: &Buffer<f32>,
    n: usize,
    firsts: &[u64],
    points_per_read: usize,
) -> Result<Vec<[f32; 3]>, DeviceError> {
    let total = firsts.last().map_or(0, |last| *last as usize);
    let mut all = vec![[0.0; 3]; total];
    if total == 0 {
        return Ok(all);
    }
    let on_device = device.upload(firsts)?;
    let to = device.allocate::<f32>(3 * points_per_read.min(total))?;
    let mut begun = 0;
    while begun + 1 < firsts.len() {
        let Range { start, end } = reach(firsts, begun, points_per_read);
        let arguments = [
            (n as u64).into(),
            (start as u64).into(),
            (end as u64).into(),
            (&on_device).into(),
            from.into(),
            (&to).into(),
        ];
        // SAFETY: as the caller says; `to` has room for the points of these halves.
        unsafe { gather.launch(Launch::items(end - start), &arguments)? };
        let range = firsts[start] as usize..firsts[end] as usize;
        to.read(0, bytemuck::cast_slice_mut(&mut all[range]))?;
        begun = end;
    }
    Ok(all)
}

/// The halves from `begun` on whose points, together, are no more than `most`; at least one.
fn reach(firsts: &[u64], begun: usize, most: usize) -> Range<usize> {
    let limit = firsts[begun] + most as u64;
    let end = firsts.partition_point(|first| *first <= limit) - 1;
    begun..end.max(begun + 1)
}

/// The kernels for a field and options.
pub(crate) fn source(field: &Field, options: &Propagation, plan: &MemoryPlan) -> KernelSource {
    let [nx, ny, nz] = field.grid().dims;
    let [sx, sy, sz] = scale(field, options);
    let (rule, first_fibre) = match options.first_fibre {
        FirstFibre::Number(fibre) => (0, fibre.min(field.n_fibres() - 1)),
        FirstFibre::Uniform => (1, 0),
        FirstFibre::Proportional => (2, 0),
        FirstFibre::Any => (3, 0),
    };
    let half_weight = options.sample_choice == SampleChoice::HalfWeightEnds;
    let parts = 0..plan.parts;
    let parameters = |restrict: &str| -> String {
        parts.clone().map(|part| format!(", GLOBAL const u32 *{restrict} sticks_{part}")).collect()
    };
    let arguments: String = parts.clone().map(|part| format!(", sticks_{part}")).collect();
    let last = plan.parts - 1;
    let choice: String =
        (0..last).map(|part| format!("(part) == {part}u ? sticks_{part} : ")).collect();
    let mut source = KernelSource::new("track", include_str!("track.cl"))
        .after(philox::KERNEL_TEXT)
        .after(math::KERNEL_TEXT)
        .with("STICKS_PARAMETERS", parameters(""))
        .with("KERNEL_STICKS_PARAMETERS", parameters("RESTRICT"))
        .with("STICKS", arguments)
        .with("STICKS_OF(part)", format_args!("({choice}sticks_{last})"))
        .with("SLOTS_PER_PART", format_args!("{}u", plan.slots_per_part))
        .with("N_FIBRES", field.n_fibres())
        .with("N_SAMPLES", format_args!("{}u", field.n_samples()))
        .with_f32("N_SAMPLES_F", field.n_samples() as f32)
        .with("HALF_POINTS", format_args!("{}u", options.half_points()))
        .with("ROW", format_args!("{}u", nx + 2))
        .with("SLICE", format_args!("{}u", (nx + 2) * (ny + 2)))
        .with("FIRST_FIBRE_RULE", rule)
        .with("FIRST_FIBRE", first_fibre)
        .with("USE_FRACTION", u8::from(options.use_fraction))
        .with("MODIFIED_EULER", u8::from(options.modified_euler))
        .with("KEEP_DIRECTIONS", u8::from(options.loop_check))
        .with("ENDS_INSIDE", u8::from(options.ends_inside))
        .with("HALF_WEIGHT_ENDS", u8::from(half_weight));
    for (name, value) in [
        ("LAST_X", nx as f32),
        ("LAST_Y", ny as f32),
        ("LAST_Z", nz as f32),
        ("SCALE_X", sx),
        ("SCALE_Y", sy),
        ("SCALE_Z", sz),
        ("MIN_COS", options.min_cos),
        ("FIBRE_THRESHOLD", options.fibre_threshold),
        ("COORDINATE_STEP", 1.0 / 8_388_607.0),
    ] {
        source = source.with_f32(name, value);
    }
    for (name, what) in
        [("HERE", stream::HERE), ("AHEAD", stream::AHEAD), ("CHOICES", stream::CHOICES)]
    {
        source = source.with(name, format_args!("{what}u"));
    }
    for (name, reason) in [
        ("OUTSIDE_SAMPLES", EndReason::OutsideSamples),
        ("FRACTION", EndReason::Fraction),
        ("CURVATURE", EndReason::Curvature),
        ("NO_DIRECTION", EndReason::NoDirection),
        ("OUTSIDE_MASK", EndReason::OutsideMask),
        ("LENGTH", EndReason::Length),
    ] {
        source = source.with(name, format_args!("{}u", reason as u8));
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_as_many_halves_as_fit_and_at_least_one() {
        let firsts = [0, 4, 4, 9, 11];
        assert_eq!(reach(&firsts, 0, 9), 0..3);
        assert_eq!(reach(&firsts, 0, 8), 0..2);
        assert_eq!(reach(&firsts, 0, 100), 0..4);
        // Never with a plan: it leaves room for the longest half.
        assert_eq!(reach(&firsts, 2, 3), 2..3);
    }
}
