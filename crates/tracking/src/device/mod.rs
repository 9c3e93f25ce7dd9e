//! Streamlines on a device: one sample per item, the oracle's operations and so its bits.
//!
//! The samples and the mask are on the device once; a chunk of samples brings their seeds and takes
//! their points away, and judgement and counting are the host's, as they are for lanes. Points
//! stand beside those of neighbouring items, so that items that move together write together.

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::{math, philox};

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
    n: usize,
    half_points: usize,
    points: Vec<f32>,
    counts: Vec<u32>,
    reasons: Vec<u32>,
}

impl Paths {
    /// Points of one half of an item.
    pub(crate) fn half(&self, half: usize, item: usize) -> impl Iterator<Item = [f32; 3]> + '_ {
        let count = self.counts[half * self.n + item] as usize;
        (0..count).map(move |point| {
            let row = (half * self.half_points + point) * 3;
            std::array::from_fn(|axis| self.points[(row + axis) * self.n + item])
        })
    }

    /// Why it ended.
    pub(crate) fn reason(&self, half: usize, item: usize) -> EndReason {
        EndReason::of_code(self.reasons[half * self.n + item] as u8)
    }
}

/// The tracker of one field on one device.
pub struct DeviceTracker {
    kernel: Kernel,
    slot_plus_1: Buffer<u32>,
    sticks: Buffer<u32>,
    half_points: usize,
    rng_seed: u64,
}

impl DeviceTracker {
    /// True where a device makes these streamlines: all but those that start with a fibre drawn at
    /// random or look for loops.
    pub fn supports(options: &Propagation) -> bool {
        matches!(options.first_fibre, FirstFibre::Number(_)) && !options.loop_check
    }

    /// Puts a field on a device.
    ///
    /// # Errors
    /// Where the device has no memory for it or refuses the kernel.
    pub fn new(
        device: &Device,
        field: &Field,
        options: &Propagation,
        rng_seed: u64,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            kernel: device.kernel(&source(field, options), "track")?,
            slot_plus_1: device.upload(field.slots())?,
            sticks: device.upload(bytemuck::cast_slice(field.sticks()))?,
            half_points: options.half_points() as usize,
            rng_seed,
        })
    }

    /// Bytes on the device per sample.
    pub fn bytes_per_sample(options: &Propagation) -> usize {
        options.half_points() as usize * 2 * 12 + 36
    }

    /// Makes a batch.
    pub(crate) fn make(&self, device: &Device, batch: &Batch) -> Result<Paths, DeviceError> {
        let n = batch.items.len();
        let low = batch.items.iter().map(|item| *item as u32);
        let items: Vec<_> = low.chain(batch.items.iter().map(|item| (item >> 32) as u32)).collect();
        let starts: Vec<_> =
            (0..3).flat_map(|axis| batch.starts.iter().map(move |start| start[axis])).collect();
        let (items, starts) = (device.upload(&items)?, device.upload(&starts)?);
        let points = device.allocate::<f32>(2 * self.half_points * 3 * n)?;
        let counts = device.zeros::<u32>(2 * n)?;
        let reasons = device.zeros::<u32>(2 * n)?;
        let arguments = [
            (n as u64).into(),
            self.rng_seed.into(),
            (batch.region * stream::PER_REGION).into(),
            (&self.slot_plus_1).into(),
            (&self.sticks).into(),
            (&items).into(),
            (&starts).into(),
            (&points).into(),
            (&counts).into(),
            (&reasons).into(),
        ];
        // SAFETY: the kernel's ten parameters. Two words of `items` and three numbers of `starts`
        // per item; `points` has three numbers for every point that two halves may have; the slots
        // and sticks are those of the field that the kernel was specialised for.
        unsafe { self.kernel.launch(Launch::items(n), &arguments)? };
        let counts = counts.to_vec()?;
        // Rows after the longest path were never written.
        let longest = counts.iter().copied().max().unwrap_or(0) as usize;
        let mut host = vec![0.0; 2 * self.half_points * 3 * n];
        for half in 0..2 {
            let start = half * self.half_points * 3 * n;
            points.read(start, &mut host[start..start + longest * 3 * n])?;
        }
        let reasons = reasons.to_vec()?;
        Ok(Paths { n, half_points: self.half_points, points: host, counts, reasons })
    }
}

/// The kernel for a field and options.
pub(crate) fn source(field: &Field, options: &Propagation) -> KernelSource {
    let [nx, ny, nz] = field.grid().dims;
    let [sx, sy, sz] = scale(field, options);
    let first_fibre = match options.first_fibre {
        FirstFibre::Number(fibre) => fibre.min(field.n_fibres() - 1),
        _ => 0,
    };
    let half_weight = options.sample_choice == SampleChoice::HalfWeightEnds;
    let mut source = KernelSource::new("track", include_str!("track.cl"))
        .after(philox::KERNEL_TEXT)
        .after(math::KERNEL_TEXT)
        .with("N_FIBRES", field.n_fibres())
        .with("N_SAMPLES", format_args!("{}u", field.n_samples()))
        .with_f32("N_SAMPLES_F", field.n_samples() as f32)
        .with("HALF_POINTS", format_args!("{}u", options.half_points()))
        .with("ROW", format_args!("{}u", nx + 2))
        .with("SLICE", format_args!("{}u", (nx + 2) * (ny + 2)))
        .with("FIRST_FIBRE", first_fibre)
        .with("USE_FRACTION", u8::from(options.use_fraction))
        .with("MODIFIED_EULER", u8::from(options.modified_euler))
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
