//! The fit on devices: a kernel made for the model, one problem per item.
//!
//! In single precision the kernel does what the lanes do in the same order, and so gives the same
//! bits wherever multiply-add is fused and the model's derivatives are those of dual numbers or
//! of the same formulas.

mod check;
mod source;

pub use check::checks;

use fimbria_compute::device::{Buffer, Device, DeviceError, Launch};

use self::source::source;
use super::fit::Shape;
use super::{
    Likelihood, LmError, LmOptions, Parameter, Problems, Rows, SignalFormulas, Starts, Weights,
};
use crate::expr::Precision;

/// Why a device did not fit.
#[derive(Debug, thiserror::Error)]
pub enum DeviceFitError {
    /// The arrays of the call do not fit together.
    #[error(transparent)]
    Problems(#[from] LmError),
    /// The device failed, or refused the kernel.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// True where kernels do such a fit: all but those by Bessel functions in double precision, which
/// are those of single.
pub fn supports(options: &LmOptions, precision: Precision) -> bool {
    precision == Precision::Single
        || !matches!(options.likelihood, Likelihood::Rician | Likelihood::RicianMean)
}

/// Fits `problems` on `device` and writes `[row][stride]` of [`Rows`] to `results`, as
/// [`lm::fit`](super::fit()) does on the CPU. Samples are `f32` in either precision; `f64` needs a
/// device that has it.
///
/// # Errors
/// As [`lm::fit`](super::fit()), and where the device fails.
///
/// # Panics
/// Where [`supports`] says no.
pub fn fit(
    device: &Device,
    formulas: &SignalFormulas,
    parameters: &[Parameter],
    problems: &Problems<'_>,
    options: &LmOptions,
    precision: Precision,
    results: &mut [f32],
) -> Result<(), DeviceFitError> {
    assert!(supports(options, precision), "Bessel functions in double precision");
    if precision == Precision::Double {
        device.has_double()?;
    }
    let SignalFormulas { n_covariates, n_constants, .. } = *formulas;
    let shape = Shape { n_covariates, n_constants, most_known: usize::MAX };
    shape.check(parameters, problems, options, results)?;
    let kernel =
        device.kernel(&source(formulas, parameters, problems, options, precision), "lm_fit")?;
    let table = Table::new(device, formulas, problems, precision)?;
    let samples = device.upload(problems.samples)?;
    let constants = device.upload(problems.constants)?;
    let weights = device.upload(match problems.weights {
        Weights::Equal => &[],
        Weights::PerSample(weights) | Weights::PerProblem(weights) => weights,
    })?;
    let starts = device.upload(match problems.starts {
        Starts::Shared => &[],
        Starts::PerProblem(starts) => starts,
    })?;
    let mut written =
        device.allocate::<f32>(Rows::new(parameters.len(), options).count() * problems.stride)?;
    if problems.stride > problems.n {
        written.write(0, &results[..written.len()])?;
    }
    let arguments = [
        (problems.n as u64).into(),
        (problems.stride as u64).into(),
        table.argument(),
        (&samples).into(),
        (&constants).into(),
        (&weights).into(),
        (&starts).into(),
        (&written).into(),
    ];
    // SAFETY: the kernel's eight parameters; `check` has seen that every array has its rows.
    unsafe { kernel.launch(Launch::items(problems.n), &arguments)? };
    written.read(0, &mut results[..written.len()])?;
    Ok(())
}

/// What depends on samples alone.
enum Table {
    Single(Buffer<f32>),
    Double(Buffer<f64>),
}

impl Table {
    fn new(
        device: &Device,
        formulas: &SignalFormulas,
        problems: &Problems<'_>,
        precision: Precision,
    ) -> Result<Self, DeviceError> {
        let covariates = &problems.covariates[..problems.n_samples() * formulas.n_covariates];
        Ok(match precision {
            Precision::Single => {
                let table = formulas.staged.table(covariates, formulas.n_covariates);
                Self::Single(device.upload(&table)?)
            }
            Precision::Double => {
                let covariates: Vec<f64> = covariates.iter().map(|&x| f64::from(x)).collect();
                let table = formulas.staged.table(&covariates, formulas.n_covariates);
                Self::Double(device.upload(&table)?)
            }
        })
    }

    fn argument(&self) -> fimbria_compute::device::Argument {
        match self {
            Self::Single(buffer) => buffer.into(),
            Self::Double(buffer) => buffer.into(),
        }
    }
}
