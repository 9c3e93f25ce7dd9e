//! A tile of voxels made ready for the solver.

use std::convert::Infallible;
use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{SimdLevel, Workers};
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, LmOptions, Model, Parameter, Problems, Rows, Sigma, SignalFormulas, Starts,
    Weights, fit, keep_determined, robust,
};
use fimbria_image::Status;

use super::CurveOptions;
use crate::dti::Precision;
use crate::precision::{arithmetic_of, of_kernels};
use crate::voxelwise::{Tile, in_columns, of_columns};

/// A noise level relative to the signal without weighting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Floor {
    /// The same everywhere.
    Relative(f64),
    /// This in input units.
    Absolute(f64),
}

/// The signals of a tile, divided by their scale.
pub(super) struct Scaled<'a> {
    pub(super) n: usize,
    pub(super) stride: usize,
    /// All volumes of the series, `[volume][stride]`, as they came.
    inputs: &'a [f32],
    /// Who shares the work, none but the calling thread where `None`.
    workers: Option<&'a Workers>,
    /// What each voxel is divided by; 1 where there is no such signal.
    pub(super) scale: Vec<f32>,
    /// True where that is positive: without weighting if there are such volumes, else anywhere.
    pub(super) has_signal: Vec<bool>,
    /// True where a sample is not positive.
    has_holes: Vec<bool>,
}

impl<'a> Scaled<'a> {
    /// Of a tile whose first inputs are the volumes of the series.
    pub(super) fn new(
        tile: &Tile<'a>,
        unweighted: &[usize],
        weighted: &[usize],
        workers: Option<&'a Workers>,
    ) -> Self {
        let (n, stride, inputs) = (tile.voxels.len(), tile.stride, tile.inputs);
        let mut whole = Self {
            n,
            stride,
            inputs,
            workers,
            scale: Vec::new(),
            has_signal: Vec::new(),
            has_holes: Vec::new(),
        };
        let parts = of_columns(workers, stride, |range| whole.judged(range, unweighted, weighted));
        for (scale, has_signal, has_holes) in parts {
            whole.scale.extend(scale);
            whole.has_signal.extend(has_signal);
            whole.has_holes.extend(has_holes);
        }
        whole
    }

    /// Scales of some voxels, whether they have a signal, and whether samples are not positive.
    fn judged(
        &self,
        range: Range<usize>,
        unweighted: &[usize],
        weighted: &[usize],
    ) -> (Vec<f32>, Vec<bool>, Vec<bool>) {
        let row = |volume: usize| &self.inputs[volume * self.stride..][range.clone()];
        let mut scale = vec![0.0; range.len()];
        for &volume in unweighted {
            for (scale, s) in scale.iter_mut().zip(row(volume)) {
                *scale += s / unweighted.len() as f32;
            }
        }
        if unweighted.is_empty() {
            for &volume in weighted {
                for (scale, &s) in scale.iter_mut().zip(row(volume)) {
                    *scale = f32::max(*scale, s);
                }
            }
        }
        let has_signal: Vec<bool> = scale.iter().map(|s| s.is_normal() && *s > 0.0).collect();
        for (scale, _) in scale.iter_mut().zip(&has_signal).filter(|(_, has)| !**has) {
            *scale = 1.0;
        }
        let mut has_holes = vec![false; range.len()];
        for &volume in unweighted.iter().chain(weighted) {
            for (any, &s) in has_holes.iter_mut().zip(row(volume)) {
                *any |= s <= 0.0;
            }
        }
        (scale, has_signal, has_holes)
    }

    /// What became of a voxel whose fit ended with this code.
    pub(super) fn status(&self, voxel: usize, of_fit: f32) -> Status {
        let status = Status::from_code(of_fit);
        match status {
            _ if !self.has_signal[voxel] => Status::BadSignal,
            Status::Fitted | Status::Constrained if self.has_holes[voxel] => Status::NotPositive,
            _ => status,
        }
    }

    /// Rows of samples, divided: each the mean of some volumes.
    pub(super) fn samples(&self, of_rows: &[&[usize]], samples: &mut [f32]) {
        in_columns(self.workers, self.stride, [samples], |range, [rows]| {
            let scale = &self.scale[range.clone()];
            for (row, &volumes) in rows.into_iter().zip(of_rows) {
                let of_volume = |v: usize| &self.inputs[v * self.stride..][range.clone()];
                if let &[volume] = volumes {
                    for ((sample, s), scale) in row.iter_mut().zip(of_volume(volume)).zip(scale) {
                        *sample = s / scale;
                    }
                    continue;
                }
                row.fill(0.0);
                for &volume in volumes {
                    for ((mean, s), scale) in row.iter_mut().zip(of_volume(volume)).zip(scale) {
                        *mean += s / (scale * volumes.len() as f32);
                    }
                }
            }
        });
    }

    /// A noise level, relative to the scale of each voxel.
    pub(super) fn push_floor(&self, floor: Floor, constants: &mut Vec<f32>) {
        constants.extend(self.scale.iter().map(|&scale| match floor {
            Floor::Relative(value) => value as f32,
            Floor::Absolute(sigma) => sigma as f32 / scale,
        }));
    }
}

/// Problems of a tile.
pub(super) struct Batch<'a> {
    pub(super) samples: &'a [f32],
    pub(super) covariates: &'a [f32],
    /// The constants of the model, and below them, if the likelihood asks for it, the noise level.
    pub(super) constants: &'a [f32],
    pub(super) weights: Weights<'a>,
    pub(super) starts: &'a [f32],
}

/// Who fits the problems of a tile.
pub(super) trait Solver {
    /// What can go wrong.
    type Error;

    /// The arithmetic of its fits.
    fn arithmetic(&self) -> Arithmetic;

    /// Who prepares them and writes their results, none but the calling thread where `None`.
    fn workers(&self) -> Option<&Workers> {
        None
    }

    /// Fits them into `results`, whose arrays go together.
    fn solve<const P: usize, M: Model<P>>(
        &self,
        model: &M,
        parameters: &[Parameter; P],
        problems: &Problems<'_>,
        options: &LmOptions,
        results: &mut [f32],
    ) -> Result<(), Self::Error>;
}

/// Why the arrays of a batch always go together.
const MADE: &str = "the arrays were made for this, and the protocol has enough samples";

/// The calling thread, in an arithmetic.
impl Solver for Arithmetic {
    type Error = Infallible;

    fn arithmetic(&self) -> Arithmetic {
        *self
    }

    fn solve<const P: usize, M: Model<P>>(
        &self,
        model: &M,
        parameters: &[Parameter; P],
        problems: &Problems<'_>,
        options: &LmOptions,
        results: &mut [f32],
    ) -> Result<(), Infallible> {
        fit(model, parameters, problems, options, *self, results).expect(MADE);
        Ok(())
    }
}

/// A kernel made of the model's signal.
pub(super) struct OnDevice<'a> {
    pub(super) device: &'a Device,
    pub(super) precision: Precision,
    pub(super) workers: &'a Workers,
}

impl Solver for OnDevice<'_> {
    type Error = DeviceError;

    fn arithmetic(&self) -> Arithmetic {
        arithmetic_of(self.precision, SimdLevel::best())
    }

    fn workers(&self) -> Option<&Workers> {
        Some(self.workers)
    }

    fn solve<const P: usize, M: Model<P>>(
        &self,
        model: &M,
        parameters: &[Parameter; P],
        problems: &Problems<'_>,
        options: &LmOptions,
        results: &mut [f32],
    ) -> Result<(), DeviceError> {
        let formulas = SignalFormulas::trace(model);
        let precision = of_kernels(self.precision);
        match device::fit(self.device, &formulas, parameters, problems, options, precision, results)
        {
            Ok(()) => Ok(()),
            Err(DeviceFitError::Device(error)) => Err(error),
            Err(DeviceFitError::Problems(error)) => panic!("{MADE}: {error}"),
        }
    }
}

/// True where kernels do the fits that `options` ask for.
pub(super) fn has_kernels(options: &CurveOptions) -> bool {
    device::supports(&options_of_fit(options, Sigma::Shared(1.0)), of_kernels(options.precision))
}

/// The arithmetic that `options` ask of the calling thread.
pub(super) fn arithmetic(options: &CurveOptions, simd: SimdLevel) -> Arithmetic {
    arithmetic_of(options.precision, simd)
}

fn options_of_fit(options: &CurveOptions, sigma: Sigma) -> LmOptions {
    LmOptions {
        likelihood: options.likelihood,
        sigma,
        max_iterations: options.max_iterations,
        covariance: options.errors,
    }
}

/// Rows of results of a problem of `n` parameters.
pub(super) fn results_of(n: usize, options: &CurveOptions) -> usize {
    Rows::new(n, &options_of_fit(options, Sigma::Shared(0.0))).count()
}

/// Fits them into `results` ([`results_of`] rows of `[row][stride]`). What the samples of a problem do not determine
/// is NaN.
pub(super) fn solve<const P: usize, M: Model<P>, On: Solver>(
    model: &M,
    parameters: &[Parameter; P],
    scaled: &Scaled<'_>,
    batch: &Batch<'_>,
    options: &CurveOptions,
    on: &On,
    results: &mut [f32],
) -> Result<Rows, On::Error> {
    let stride = scaled.stride;
    let has_sigma = batch.constants.len() > model.n_constants() * stride;
    let sigma = match has_sigma {
        true => Sigma::Constant(model.n_constants()),
        false => Sigma::Shared(0.0),
    };
    let of_fit = options_of_fit(options, sigma);
    let rows = Rows::new(P, &of_fit);
    results.fill(0.0);
    let problems = Problems {
        n: scaled.n,
        stride,
        samples: batch.samples,
        covariates: batch.covariates,
        constants: batch.constants,
        weights: batch.weights,
        starts: Starts::PerProblem(batch.starts),
    };
    on.solve(model, parameters, &problems, &of_fit, results)?;
    if let Some(robust) = options.robust {
        let signal = |p: &[f64], covariates: &[f64], constants: &[f64]| {
            let p = std::array::from_fn(|k| p[k]);
            model.signal(&p, covariates, &constants[..model.n_constants()])
        };
        let fit = |problems: &Problems<'_>, results: &mut [f32]| {
            on.solve(model, parameters, problems, &of_fit, results)
        };
        robust::refit(robust, parameters, &problems, &of_fit, signal, fit, results)?;
    }
    keep_determined(model, parameters, &problems, &of_fit, on.arithmetic(), results);
    Ok(rows)
}
