//! A tile of voxels made ready for the solver.

use std::convert::Infallible;

use fimbria_compute::SimdLevel;
use fimbria_compute::device::{Device, DeviceError};
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, LmOptions, Model, Parameter, Problems, Rows, Sigma, SignalFormulas, Starts,
    Weights, fit, keep_determined, robust,
};
use fimbria_image::Status;

use super::CurveOptions;
use crate::dti::Precision;
use crate::precision::{arithmetic_of, of_kernels};
use crate::voxelwise::Tile;

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
    /// What each voxel is divided by; 1 where there is no such signal.
    pub(super) scale: Vec<f32>,
    /// True where that is positive: without weighting if there are such volumes, else anywhere.
    pub(super) has_signal: Vec<bool>,
    /// True where a sample is not positive.
    has_holes: Vec<bool>,
}

impl<'a> Scaled<'a> {
    /// Of a tile whose first inputs are the volumes of the series.
    pub(super) fn new(tile: &Tile<'a>, unweighted: &[usize], weighted: &[usize]) -> Self {
        let (n, stride, inputs) = (tile.voxels.len(), tile.stride, &tile.inputs[..]);
        let mut scale = vec![0.0; stride];
        for &volume in unweighted {
            for (scale, s) in scale.iter_mut().zip(&inputs[volume * stride..]) {
                *scale += s / unweighted.len() as f32;
            }
        }
        if unweighted.is_empty() {
            for &volume in weighted {
                for (scale, &s) in scale.iter_mut().zip(&inputs[volume * stride..]) {
                    *scale = scale.max(s);
                }
            }
        }
        let has_signal: Vec<bool> = scale.iter().map(|s| s.is_normal() && *s > 0.0).collect();
        for (scale, _) in scale.iter_mut().zip(&has_signal).filter(|(_, has)| !**has) {
            *scale = 1.0;
        }
        let mut has_holes = vec![false; stride];
        for &volume in unweighted.iter().chain(weighted) {
            for (any, &s) in has_holes.iter_mut().zip(&inputs[volume * stride..]) {
                *any |= s <= 0.0;
            }
        }
        Self { n, stride, inputs, scale, has_signal, has_holes }
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

    /// One volume, divided.
    pub(super) fn push(&self, volume: usize, samples: &mut Vec<f32>) {
        let row = &self.inputs[volume * self.stride..][..self.stride];
        samples.extend(row.iter().zip(&self.scale).map(|(s, scale)| s / scale));
    }

    /// The mean of some volumes, divided.
    pub(super) fn push_mean(&self, volumes: &[usize], samples: &mut Vec<f32>) {
        let start = samples.len();
        samples.resize(start + self.stride, 0.0);
        for &volume in volumes {
            let row = &self.inputs[volume * self.stride..][..self.stride];
            for ((mean, s), scale) in samples[start..].iter_mut().zip(row).zip(&self.scale) {
                *mean += s / (scale * volumes.len() as f32);
            }
        }
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
}

impl Solver for OnDevice<'_> {
    type Error = DeviceError;

    fn arithmetic(&self) -> Arithmetic {
        arithmetic_of(self.precision, SimdLevel::best())
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

/// Fits them; `[row][stride]`. What the samples of a problem do not determine is NaN.
pub(super) fn solve<const P: usize, M: Model<P>, On: Solver>(
    model: &M,
    parameters: &[Parameter; P],
    scaled: &Scaled<'_>,
    batch: &Batch<'_>,
    options: &CurveOptions,
    on: &On,
) -> Result<(Rows, Vec<f32>), On::Error> {
    let stride = scaled.stride;
    let has_sigma = batch.constants.len() > model.n_constants() * stride;
    let sigma = match has_sigma {
        true => Sigma::Constant(model.n_constants()),
        false => Sigma::Shared(0.0),
    };
    let of_fit = options_of_fit(options, sigma);
    let rows = Rows::new(P, &of_fit);
    let mut results = vec![0.0; rows.count() * stride];
    let problems = Problems {
        n: scaled.n,
        stride,
        samples: batch.samples,
        covariates: batch.covariates,
        constants: batch.constants,
        weights: batch.weights,
        starts: Starts::PerProblem(batch.starts),
    };
    on.solve(model, parameters, &problems, &of_fit, &mut results)?;
    if let Some(robust) = options.robust {
        let signal = |p: &[f64], covariates: &[f64], constants: &[f64]| {
            let p = std::array::from_fn(|k| p[k]);
            model.signal(&p, covariates, &constants[..model.n_constants()])
        };
        let fit = |problems: &Problems<'_>, results: &mut [f32]| {
            on.solve(model, parameters, problems, &of_fit, results)
        };
        robust::refit(robust, parameters, &problems, &of_fit, signal, fit, &mut results)?;
    }
    keep_determined(model, parameters, &problems, &of_fit, on.arithmetic(), &mut results);
    Ok((rows, results))
}
