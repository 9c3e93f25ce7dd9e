//! The search on a device: a group of items for each voxel, one direction or ascent per item,
//! selection included.

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;

use super::options::PeakStatus;
use super::tile::{Plan, entries};
use super::{ascent, scan};
use crate::unrolled::kernel_functions;

/// Items of a group.
const GROUP: usize = 64;

/// The search compiled for a device, its tables there.
#[derive(Debug)]
pub(super) struct DeviceSearch {
    device: Device,
    entries: usize,
    n_rows: usize,
    kernel: Kernel,
    from_sh: Buffer<f32>,
    scan: Buffer<f32>,
    unit: Buffer<f32>,
    first_neighbour: Buffer<u32>,
    neighbours: Buffer<u32>,
}

impl DeviceSearch {
    pub(super) fn new(device: &Device, plan: &Plan) -> Result<Self, DeviceError> {
        device.has_local_memory(local_memory(plan))?;
        let entries = entries(plan.order);
        let (by_direction, n) = (plan.scan.elements(), plan.unit.len());
        // Neighbouring items read neighbouring numbers.
        let scan: Vec<f32> =
            (0..n * entries).map(|i| by_direction[i % n * entries + i / n]).collect();
        let mut first = vec![0];
        let mut neighbours: Vec<u32> = Vec::new();
        for near in &plan.directions.neighbours {
            neighbours.extend(near);
            first.push(neighbours.len() as u32);
        }
        let from_sh = plan.from_sh.as_ref().map_or(vec![0.0], |matrix| matrix.elements());
        Ok(Self {
            device: device.clone(),
            entries,
            n_rows: plan.n_rows(),
            kernel: device.kernel(&source(plan), "find_peaks")?,
            from_sh: device.upload(&from_sh)?,
            scan: device.upload(&scan)?,
            unit: device.upload(plan.unit.as_flattened())?,
            first_neighbour: device.upload(&first)?,
            neighbours: device.upload(&neighbours)?,
        })
    }

    /// Output rows `[row][n]` of coefficients `[coefficient][n]`.
    pub(super) fn find(&self, input: &[f32], found: &mut [f32]) -> Result<(), DeviceError> {
        let n = input.len() / self.entries;
        let input = self.device.upload(input)?;
        let mut rows = self.device.allocate::<f32>(self.n_rows * n)?;
        let arguments = [
            (n as u64).into(),
            (&self.from_sh).into(),
            (&self.scan).into(),
            (&self.unit).into(),
            (&self.first_neighbour).into(),
            (&self.neighbours).into(),
            (&input).into(),
            (&mut rows).into(),
        ];
        // SAFETY: the kernel's eight parameters; it was compiled for these tables' sizes, and input
        // and rows have n elements for each of its rows.
        unsafe { self.kernel.launch(Launch::groups_of(GROUP, n), &arguments)? };
        rows.read(0, found)
    }
}

/// Ascents that a voxel has at most: no two begin at neighbours, of which every direction has five at
/// least.
fn most_ascents(plan: &Plan) -> usize {
    plan.unit.len() / 2
}

/// Bytes that a group shares: the arrays that `peaks.cl` declares.
fn local_memory(plan: &Plan) -> usize {
    let of_directions = 2 * plan.unit.len();
    let of_ascents = 5 * most_ascents(plan);
    size_of::<f32>() * (2 * entries(plan.order) + of_directions + of_ascents + 1)
}

/// The kernel's text for a plan.
pub(crate) fn source(plan: &Plan) -> KernelSource {
    let directions = plan.unit.len();
    let mut source = KernelSource::new("find_peaks", include_str!("peaks.cl"))
        .after(&kernel_functions(plan.order, 3))
        .after(math::KERNEL_TEXT)
        .with("GROUP", format_args!("{GROUP}u"))
        .with("ORDER", plan.order)
        .with("ENTRIES", entries(plan.order))
        .with("FROM_SH", u8::from(plan.from_sh.is_some()))
        .with("DIRECTIONS", format_args!("{directions}u"))
        .with("MOST", format_args!("{}u", most_ascents(plan)))
        .with("N_PEAKS", format_args!("{}u", plan.selection.n_peaks))
        .with("ITERATIONS", plan.max_iterations);
    for (name, value) in [
        ("NOISE", ascent::NOISE),
        ("SHRINK", ascent::SHRINK),
        ("STRICT", ascent::STRICT),
        ("DAMPING", ascent::DAMPING),
        ("RADIUS", ascent::RADIUS),
        ("TINY", ascent::TINY),
        ("FLAT", scan::FLAT),
        ("SMALLEST", scan::SMALLEST),
        ("LARGEST", scan::LARGEST),
        ("TOLERANCE2", plan.tolerance * plan.tolerance),
        ("RELATIVE", plan.relative),
        // No finite form is as low.
        ("ABSOLUTE", plan.absolute.max(f32::MIN)),
        ("SLACK", plan.slack),
        ("NEAR", plan.selection.near),
        ("STATUS_FOUND", PeakStatus::Found.code()),
        ("STATUS_BELOW", PeakStatus::Below.code()),
        ("STATUS_UNCERTAIN", PeakStatus::Uncertain.code()),
        ("STATUS_BAD_FORM", PeakStatus::BadForm.code()),
        ("STATUS_FLAT", PeakStatus::Flat.code()),
    ] {
        source = source.with_f32(name, value);
    }
    source
}
