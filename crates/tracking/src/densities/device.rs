//! Halves of streamlines through densities on a device: one per item, the operations of the lanes and so
//! their bits.
//!
//! The densities are on the device once. A launch brings starts and takes points away, which the threads
//! then let streamlines take one by one as if they had just been found: tissues, regions and lengths are
//! theirs, as are starts.

use std::sync::Arc;

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::{math, philox};

use super::arcs::{Key, MARGIN, MAX_IN_VAIN, MAX_TRIALS, Pose, TRIAL_BITS, limited, reach};
use super::directions::{CAP, RINGS, cap};
use super::field::Densities;
use super::form::{multiplicities, terms};
use super::maximum::{LONGEST, weights};
use super::options::{DensityPropagation, DensityRule};
use super::ridges::{MAX_STEPS, SHORT};
use crate::EndReason;
use crate::device::Gather;

/// Where a streamline starts, and what its random numbers depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(super) place: Pose,
    pub(super) key: Key,
}

/// Halves of streamlines as a device made them.
#[derive(Default)]
pub(crate) struct Halves {
    /// Of all first halves, then of all second ones; without seeds.
    points: Vec<[f32; 3]>,
    /// Where those of half `h` of streamline `i` start: at `[h * n + i]`, and one more.
    firsts: Vec<u64>,
    reasons: Vec<u32>,
}

/// Why a half has no further point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// This.
    Reason(EndReason),
    /// No arc was kept.
    NoArc,
}

/// For a half that ends for want of an arc.
const NO_ARC: u32 = 255;

impl Halves {
    /// The points of a half of a streamline, and why there are no more.
    pub(super) fn half(&self, half: usize, streamline: usize) -> (&[[f32; 3]], Last) {
        let at = half * self.reasons.len() / 2 + streamline;
        let points = &self.points[self.firsts[at] as usize..self.firsts[at + 1] as usize];
        let last = match self.reasons[at] {
            0 => Last::Reason(EndReason::Length),
            NO_ARC => Last::NoArc,
            code => Last::Reason(EndReason::of_code(code as u8)),
        };
        (points, last)
    }
}

/// How densities and streamlines share a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DensityPlan {
    /// Streamlines of a launch at most.
    pub(crate) per_launch: u64,
    /// Points that are handed back at a time.
    points_per_read: usize,
    /// Launches at a time.
    pub(crate) in_hand: usize,
}

/// Bytes of a point.
const POINT: u64 = 12;
/// Key, start, count, reason and place of the points of a half.
const PER_HALF: u64 = 16 + 24 + 8 + 8;
/// Points handed back at a time, where memory allows: 192 MB.
const POINTS_PER_READ: u64 = 1 << 24;

impl DensityPlan {
    /// For `available` bytes in buffers of `largest` bytes at most, where so many launches have memory at a time;
    /// `None` where densities, or one streamline of each, do not fit.
    pub(crate) fn new(
        densities: &Densities,
        propagation: &DensityPropagation,
        in_hand: usize,
        available: u64,
        largest: u64,
    ) -> Option<Self> {
        let (slots, forms) = densities.as_stored();
        let (slots, forms) = (size_of_val(slots) as u64, size_of_val(forms) as u64);
        let points = u64::from(propagation.max_steps()).max(1);
        let free = available.checked_sub(slots + forms)? / in_hand as u64;
        let points_per_read = (free / (8 * POINT)).clamp(points, POINTS_PER_READ.max(points));
        let free = free.saturating_sub(points_per_read * POINT);
        let halves = (free / (points * POINT + PER_HALF)).min(largest / (points * POINT));
        let fits = slots <= largest && forms <= largest && halves >= 2;
        let points_per_read = points_per_read as usize;
        fits.then_some(Self { per_launch: halves / 2, points_per_read, in_hand })
    }

    /// As [`new`](Self::new), with one launch at a time where there is no memory for `in_hand`.
    pub(crate) fn of_several(
        densities: &Densities,
        propagation: &DensityPropagation,
        in_hand: usize,
        available: u64,
        largest: u64,
    ) -> Option<Self> {
        let of = |n| Self::new(densities, propagation, n, available, largest);
        of(in_hand).or_else(|| of(1))
    }
}

/// Densities on a device: launches on any queue of it read them, and none writes.
pub(crate) struct Stored {
    slot_plus_1: Buffer<u32>,
    forms: Buffer<f32>,
}

impl Stored {
    /// Puts densities on a device, for kernels of any queue of it.
    ///
    /// # Errors
    /// Where the device has no memory for them.
    pub(crate) fn new(device: &Device, densities: &Densities) -> Result<Self, DeviceError> {
        let (slots, forms) = densities.as_stored();
        let stored = Self { slot_plus_1: device.upload(slots)?, forms: device.upload(forms)? };
        // Other queues do not wait for this one.
        device.synchronize()?;
        Ok(stored)
    }
}

/// The kernel that follows densities, for one queue of a device.
pub(crate) struct Follower {
    follow: Kernel,
    gather: Gather<[f32; 3]>,
    stored: Arc<Stored>,
    half_points: usize,
    rng_seed: u64,
}

impl Follower {
    /// Through densities that are on the device.
    ///
    /// # Errors
    /// Where the device refuses the kernel.
    pub(crate) fn new(
        device: &Device,
        stored: Arc<Stored>,
        densities: &Densities,
        propagation: &DensityPropagation,
        rng_seed: u64,
        plan: DensityPlan,
    ) -> Result<Self, DeviceError> {
        let source = source(densities, propagation);
        Ok(Self {
            follow: device.kernel(&source, "follow")?,
            gather: Gather::new(device.kernel(&source, "gather")?, plan.points_per_read),
            stored,
            half_points: propagation.max_steps() as usize,
            rng_seed,
        })
    }

    /// Both halves of streamlines, no more than the plan's.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn make(
        &mut self,
        device: &Device,
        starts: &[Start],
    ) -> Result<Halves, DeviceError> {
        let n = 2 * starts.len();
        if n == 0 {
            return Ok(Halves { firsts: vec![0], ..Halves::default() });
        }
        let both = || (0..2_u32).flat_map(|half| starts.iter().map(move |start| (half, start)));
        let words = |of: &dyn Fn(u32, &Start) -> u32| -> Vec<u32> {
            both().map(|(half, start)| of(half, start)).collect()
        };
        let keys = [
            words(&|_, start| start.key.item as u32),
            words(&|_, start| (start.key.item >> 32) as u32),
            words(&|_, start| start.key.region),
            words(&|half, _| half),
        ]
        .concat();
        let axis = |of: &dyn Fn(&Start) -> f32| -> Vec<f32> {
            both().map(|(_, start)| of(start)).collect()
        };
        let starts: Vec<f32> = (0..6)
            .flat_map(|a| {
                axis(&|Start { place, .. }| if a < 3 { place.pos[a] } else { place.dir[a - 3] })
            })
            .collect();
        let (keys, starts) = (device.upload(&keys)?, device.upload(&starts)?);
        let points = device.allocate::<f32>((3 * self.half_points * n).max(1))?;
        let (counts, reasons) = (device.zeros::<u32>(n)?, device.zeros::<u32>(n)?);
        let arguments = [
            (n as u64).into(),
            self.rng_seed.into(),
            (&self.stored.slot_plus_1).into(),
            (&self.stored.forms).into(),
            (&keys).into(),
            (&starts).into(),
            (&points).into(),
            (&counts).into(),
            (&reasons).into(),
        ];
        // SAFETY: the kernel's nine parameters. Per half four words of `keys`, six numbers of `starts`,
        // and in `points` three for each point that a half may have; slots and forms are those of the
        // densities that the kernel was specialised for.
        unsafe { self.follow.launch(Launch::items(n), &arguments)? };
        let mut firsts = vec![0_u64; n + 1];
        for (at, count) in counts.to_vec()?.iter().enumerate() {
            firsts[at + 1] = firsts[at] + u64::from(*count);
        }
        let mut all = Vec::new();
        // SAFETY: `gather` is the kernel of that name, and the places of halves are those that `follow` has written.
        unsafe { self.gather.read(device, &[(&points).into()], n, &firsts, &mut all)? };
        Ok(Halves { points: all, firsts, reasons: reasons.to_vec()? })
    }
}

/// True for rules that the kernel has.
pub(crate) fn has_kernel(rule: DensityRule) -> bool {
    !matches!(rule, DensityRule::Transport { .. })
}

/// The kernels for densities and options.
pub(crate) fn source(densities: &Densities, propagation: &DensityPropagation) -> KernelSource {
    let order = densities.order();
    let n = terms(order);
    let [nx, ny, nz] = densities.grid().dims;
    let numbers = |all: &mut dyn Iterator<Item = f32>| -> String {
        all.map(|x| format!("{x:e}f")).collect::<Vec<_>>().join(", ")
    };
    let whole = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let few: &[f32] = match order {
        4 => &const { weights::<2, 6>() },
        6 => &const { weights::<4, 15>() },
        8 => &const { weights::<6, 28>() },
        10 => &const { weights::<8, 45>() },
        _ => &const { weights::<10, 66>() },
    };
    let (places, power) = match propagation.rule {
        DensityRule::Arcs { power, places } => (limited(places), power),
        _ => (1, 1.0),
    };
    let exponent = power / places as f32;
    let half = (0.5 * f64::from(propagation.max_angle)).sin();
    let reaches: Vec<_> = (1..=places).map(|place| reach(place, places)).collect();
    let is_maximum = propagation.rule == DensityRule::Maximum;
    let mut source = KernelSource::new("follow", include_str!("follow.cl"))
        .after(philox::KERNEL_TEXT)
        .after(math::KERNEL_TEXT)
        .with("MAXIMUM", u8::from(is_maximum))
        .with("ORDER", order)
        .with("TERMS", n)
        .with("ROOM", densities.stride())
        .with("LESS", order - 2)
        .with("WEIGHTS", numbers(&mut few.iter().copied()))
        .with("OVER", numbers(&mut multiplicities(order).into_iter().map(|m| 1.0 / m)))
        .with("VOX_FROM_DIR", numbers(&mut densities.vox_from_dir().iter().flatten().copied()))
        .with("CAP", numbers(&mut cap(propagation.max_angle).iter().flatten().copied()))
        .with("CAP_SIZE", CAP)
        .with("N_RINGS", RINGS.len())
        .with("RING_SIZES", whole(&RINGS.map(|(n, _)| n)))
        .with("REACH", whole(&reaches))
        .with("PLACES", places)
        .with("TELLING", (2 * places / 3).max(1) - 1)
        .with("HALF_POINTS", format_args!("{}u", propagation.max_steps()))
        .with("MAX_STEPS", MAX_STEPS)
        .with("MAX_TRIALS", format_args!("{MAX_TRIALS}u"))
        .with("MAX_IN_VAIN", format_args!("{MAX_IN_VAIN}u"))
        .with("TRIAL_BITS", TRIAL_BITS)
        .with("NONE_REASON", format_args!("{NO_ARC}u"))
        .with("ROW", format_args!("{}u", nx + 2))
        .with("SLICE", format_args!("{}u", (nx + 2) * (ny + 2)));
    for (name, value) in [
        ("LAST_X", nx as f32),
        ("LAST_Y", ny as f32),
        ("LAST_Z", nz as f32),
        ("ORDER_F", order as f32),
        ("SECOND", (order * (order - 1)) as f32),
        ("LEAST_F", 0.2 * order as f32),
        ("LONGEST", LONGEST),
        ("SHORT", SHORT),
        ("STEP_MM", propagation.step_mm),
        ("LEAST_COS", propagation.max_angle.cos()),
        (
            "CUTOFF",
            if is_maximum { propagation.cutoff } else { propagation.cutoff.max(f32::MIN_POSITIVE) },
        ),
        ("MARGIN", MARGIN),
        ("EXPONENT", exponent),
        ("WHOLE_EXPONENT", exponent * (places as f32 - 0.5)),
        ("HALF_HEIGHT", 0.5 * (2.0 * half * half) as f32),
        ("PLACES_F", places as f32),
    ] {
        source = source.with_f32(name, value);
    }
    for (name, reason) in [
        ("CUTOFF_REASON", EndReason::Cutoff),
        ("CURVATURE_REASON", EndReason::Curvature),
        ("OUTSIDE_REASON", EndReason::OutsideMask),
    ] {
        source = source.with(name, format_args!("{}u", reason as u8));
    }
    source
}
