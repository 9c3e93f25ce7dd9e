//! The fit on a device, one problem per item at a time, with the bits of the lanes.
//!
//! 22 to 46 unknowns have normal matrices that no registers hold: they, the weights and the
//! logarithms of a problem lie in device memory, interleaved over as many slots as items run.

use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::math;
use fimbria_compute::operator::Operator;

use super::fit::{LogLinearFit, Outcome};
use super::lanes::{LIMITS, REFINEMENTS};
use super::recipe::{FirstWeights, Floor};
use super::tables::{PANEL, Tables};

/// Items that run at a time: as many as large cards hold, and a third of a gigabyte of working
/// memory for the largest designs.
const SLOTS: usize = 1 << 16;

/// Samples `[sample][problem]` to results `[row][problem]` on a device.
#[derive(Debug)]
pub struct DeviceFit {
    n: usize,
    slots: usize,
    prediction: Buffer<f32>,
    moments: Buffer<f32>,
    pseudo_inverse: Buffer<f32>,
    moment_of_pair: Buffer<u32>,
    inverse_scales: Buffer<f32>,
    scratch: Buffer<f32>,
    kernel: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

/// Working memory of an item, in numbers.
fn scratch_rows(tables: &Tables) -> usize {
    let n = tables.n_unknowns;
    3 * tables.n_samples + tables.n_moments + n * (n + 1) / 2 + 2 * n
}

impl DeviceFit {
    /// Bytes that each problem takes, by buffer: samples, results and working memory (of which
    /// there is no more for more than 65536 problems).
    pub fn bytes_of_problem(fit: &LogLinearFit) -> Vec<usize> {
        let rows = [fit.design().n_samples(), fit.rows().count(), scratch_rows(fit.tables())];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    /// For `n` problems on `device`.
    ///
    /// # Errors
    /// Where the device refuses the kernel or has no memory.
    pub fn new(device: &Device, fit: &LogLinearFit, n: usize) -> Result<Self, DeviceError> {
        let tables = fit.tables();
        let slots = n.min(SLOTS);
        Ok(Self {
            n,
            slots,
            prediction: device.upload(tables.prediction.data())?,
            moments: device.upload(tables.moments.data())?,
            pseudo_inverse: device.upload(tables.pseudo_inverse.data())?,
            moment_of_pair: device.upload(&tables.moment_of_pair)?,
            inverse_scales: device.upload(&tables.inverse_scales)?,
            scratch: device.allocate(scratch_rows(tables) * slots)?,
            kernel: device.kernel(&source(fit), "log_linear_fit")?,
            domain: DeviceSpace::new(device, tables.n_samples * n)?,
            range: DeviceSpace::new(device, fit.rows().count() * n)?,
        })
    }
}

impl Operator for DeviceFit {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, samples: &Buffer<f32>, results: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(samples)?;
        self.range.check(results)?;
        let arguments = [
            (self.n as u64).into(),
            (self.slots as u64).into(),
            (&self.prediction).into(),
            (&self.moments).into(),
            (&self.pseudo_inverse).into(),
            (&self.moment_of_pair).into(),
            (&self.inverse_scales).into(),
            samples.into(),
            (&self.scratch).into(),
            results.into(),
        ];
        // SAFETY: the kernel's ten parameters; samples and results, just checked, have `n`
        // elements per row, the working memory `slots`, and the tables are those of the constants.
        unsafe { self.kernel.launch(Launch::items(self.slots), &arguments) }
    }
}

/// The kernel's text, specialised for one fit.
pub(super) fn source(fit: &LogLinearFit) -> KernelSource {
    let (tables, recipe) = (fit.tables(), fit.recipe());
    let (floor, value) = match recipe.floor {
        Floor::SmallestPositive => (0, 0.0),
        Floor::Absolute(least) => (1, least),
        Floor::OfLargest(fraction) => (2, fraction),
    };
    let measured = u8::from(recipe.passes.first == FirstWeights::Measured);
    let mut source = KernelSource::new("log_linear_fit", include_str!("fit.cl"))
        .after(math::KERNEL_TEXT)
        .with("N_SAMPLES", format_args!("{}u", tables.n_samples))
        .with("N_UNKNOWNS", format_args!("{}u", tables.n_unknowns))
        .with("N_MOMENTS", format_args!("{}u", tables.n_moments))
        .with("PANEL", format_args!("{PANEL}u"))
        .with("FLOOR_KIND", floor)
        .with_f32("FLOOR_VALUE", value as f32)
        .with("FIRST_MEASURED", measured)
        .with("REWEIGHTED_PASSES", recipe.passes.reweighted)
        .with("REFINEMENTS", format_args!("{REFINEMENTS}u"))
        .with("WANTS_RESIDUAL", u8::from(recipe.residual));
    for (name, value) in LIMITS {
        source = source.with_f32(name, value);
    }
    for (name, outcome) in [
        ("OUTCOME_FITTED", Outcome::Fitted),
        ("OUTCOME_BAD_SIGNAL", Outcome::BadSignal),
        ("OUTCOME_SINGULAR", Outcome::Singular),
    ] {
        source = source.with_f32(name, outcome.code());
    }
    source
}
