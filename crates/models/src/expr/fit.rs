//! The fit of a formula, a tile of voxels at a time.

use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{HostError, SimdLevel, Workers};
use fimbria_fitting::expr::Precision;
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, Expression, LmError, LmOptions, Problems, Rows, Sigma, Starts, Weights,
};
use fimbria_image::{MapSpec, Status};

use super::{ExprFitError, ExprOptions, Parameter, maps, read};
use crate::curve::{Likelihood, Protocol};
use crate::precision::{arithmetic_of, cost_in, of_kernels};
use crate::voxelwise::{Cost, DeviceVoxelFit, Moved, Tile, VoxelFit, in_columns};

/// Where the noise level comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// The row of constants behind the named ones.
    Map,
    /// The same everywhere.
    Level(f64),
    /// Nothing takes it, or it is not known yet.
    Unknown,
}

/// The formula with the acquisition.
pub(super) struct ExprFit<'a> {
    options: &'a ExprOptions,
    expression: Expression,
    lm: LmOptions,
    /// b gx gy gz of each volume, and what else the formula takes of it.
    covariates: Vec<f32>,
    n_covariates: usize,
    n_volumes: usize,
    /// Rows of constants after the samples, the noise map among them.
    n_constants: usize,
}

impl<'a> ExprFit<'a> {
    /// Of these volumes, with constants of these names.
    pub(super) fn new(
        protocol: &Protocol,
        volumes: &[usize],
        named: &[&str],
        noise: Noise,
        options: &'a ExprOptions,
    ) -> Result<Self, ExprFitError> {
        let expression = read(options, named)?;
        let sigma = match noise {
            Noise::Map => Sigma::Constant(named.len()),
            Noise::Level(sigma) => Sigma::Shared(sigma as f32),
            Noise::Unknown => Sigma::Shared(0.0),
        };
        let covariates = volumes.iter().flat_map(|&volume| {
            let [x, y, z] = protocol.dirs_ras[volume];
            let acquired = options.acquired.iter().map(move |(_, values)| values[volume]);
            [protocol.b[volume], x, y, z].into_iter().chain(acquired).map(|value| value as f32)
        });
        let fit = Self {
            options,
            expression,
            lm: LmOptions {
                likelihood: options.curve.likelihood,
                sigma,
                max_iterations: options.curve.max_iterations,
                covariance: options.curve.errors,
            },
            covariates: covariates.collect(),
            n_covariates: options.samples().len(),
            n_volumes: volumes.len(),
            n_constants: named.len() + usize::from(noise == Noise::Map),
        };
        fit.try_shape()?;
        if named.is_empty() {
            fit.try_start()?;
            fit.try_rank()?;
        }
        Ok(fit)
    }

    /// Fits one voxel of ones: what is wrong with the arrays of this call is wrong with all.
    fn try_shape(&self) -> Result<(), LmError> {
        let inputs = vec![1.0; self.n_volumes + self.n_constants];
        let mut results = vec![0.0; self.rows().count()];
        self.on_lanes(&self.problems(1, 1, &inputs), SimdLevel::Scalar, &mut results)
    }

    /// Where no map comes in, a formula without a value at its start has none in any voxel.
    fn try_start(&self) -> Result<(), ExprFitError> {
        let start: Vec<f64> = self.options.parameters.iter().map(|p| p.start).collect();
        let covariates = self.covariates.chunks_exact(self.n_covariates).enumerate();
        for (volume, covariates) in covariates {
            let known: Vec<f64> = covariates.iter().map(|&value| f64::from(value)).collect();
            let value = self.expression.value(&start, &known, &[]);
            if !value.is_finite() {
                let formula = self.options.formula.clone();
                return Err(ExprFitError::Start { formula, value, volume, b: covariates[0] });
            }
        }
        Ok(())
    }

    /// Where no map comes in, parameters that cannot be told apart by the derivatives of the signal in
    /// all volumes cannot be in any voxel. One point where they can be is enough: a start may be far
    /// from where the voxels are.
    fn try_rank(&self) -> Result<(), ExprFitError> {
        /// Towards larger and smaller values, and by how much they scatter.
        const TRIED: [(f64, f64); 7] = [
            (1.1, 0.0),
            (0.5, 0.3),
            (2.0, 0.5),
            (0.1, 0.05),
            (10.0, 5.0),
            (0.01, 0.005),
            (100.0, 50.0),
        ];
        let free = self.options.parameters.iter().filter(|p| !p.fixed).count();
        let mut told_apart = 0;
        for (place, (scale, scatter)) in TRIED.into_iter().enumerate() {
            match self.rank_near_start(scale, scatter) {
                Some(rank) if rank == free => return Ok(()),
                Some(rank) => told_apart = told_apart.max(rank),
                // The formula ends beside its start: the voxels will say.
                None if place == 0 => return Ok(()),
                None => {}
            }
        }
        let (formula, volumes) = (self.options.formula.clone(), self.n_volumes);
        Err(ExprFitError::Undetermined { formula, volumes, free, told_apart })
    }

    /// How many parameters the volumes tell apart at `scale` times the start, and more by `scatter`
    /// and less for each; `None` where the formula has no derivative there.
    fn rank_near_start(&self, scale: f64, scatter: f64) -> Option<usize> {
        /// Of the length of a column; far above the rounding of differences, far below what makes
        /// fits ill-conditioned.
        const DEPENDENT: f64 = 1e-7;
        let parameters = &self.options.parameters;
        // Off the start, where some parameters may have no influence yet.
        let inside = |(k, p): (usize, &Parameter)| {
            // Fractions of the golden section: no two alike.
            let fraction = (0.618_034 * k as f64).fract();
            let moved = p.start * (scale + scatter * fraction) + 0.01 * scale;
            let moved = moved.clamp(p.lower.max(-1e30), p.upper.min(1e30).max(p.start));
            if p.fixed { p.start } else { moved }
        };
        let at: Vec<f64> = parameters.iter().enumerate().map(inside).collect();
        let known: Vec<f64> = self.covariates.iter().map(|&value| f64::from(value)).collect();
        let signals = |p: &[f64]| -> Vec<f64> {
            let of_volumes = known.chunks_exact(self.n_covariates);
            of_volumes.map(|covariates| self.expression.value(p, covariates, &[])).collect()
        };
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let free: Vec<usize> = (0..at.len()).filter(|&k| !parameters[k].fixed).collect();
        for &k in &free {
            let step = 1e-5 * at[k].abs().max(1e-3);
            let moved = |by: f64| {
                let mut p = at.clone();
                p[k] += by;
                signals(&p)
            };
            let (up, down) = (moved(step), moved(-step));
            let mut column: Vec<f64> = up.iter().zip(&down).map(|(u, d)| u - d).collect();
            let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let whole = length(&column);
            if !whole.is_finite() {
                return None;
            }
            // Twice, so that rounding of the first time does not count.
            for _ in 0..2 {
                for unit in &basis {
                    let along: f64 = unit.iter().zip(&column).map(|(u, c)| u * c).sum();
                    column.iter_mut().zip(unit).for_each(|(c, u)| *c -= along * u);
                }
            }
            let left = length(&column);
            if left > DEPENDENT * whole {
                column.iter_mut().for_each(|c| *c /= left);
                basis.push(column);
            }
        }
        Some(basis.len())
    }

    fn rows(&self) -> Rows {
        Rows::new(self.options.parameters.len(), &self.lm)
    }

    fn problems<'b>(&'b self, n: usize, stride: usize, inputs: &'b [f32]) -> Problems<'b> {
        let (samples, constants) = inputs.split_at(self.n_volumes * stride);
        Problems {
            n,
            stride,
            samples,
            covariates: &self.covariates,
            constants,
            weights: Weights::Equal,
            starts: Starts::Shared,
        }
    }

    fn arithmetic(&self, simd: SimdLevel) -> Arithmetic {
        arithmetic_of(self.options.curve.precision, simd)
    }

    /// The precision by the name that kernels know.
    fn precision(&self) -> Precision {
        of_kernels(self.options.curve.precision)
    }

    fn on_lanes(
        &self,
        problems: &Problems<'_>,
        simd: SimdLevel,
        results: &mut [f32],
    ) -> Result<(), LmError> {
        let on = self.arithmetic(simd);
        let parameters = &self.options.parameters;
        let fit = |problems: &Problems<'_>, results: &mut [f32]| {
            self.expression.fit(parameters, problems, &self.lm, on, results)
        };
        fit(problems, results)?;
        if let Some(robust) = self.options.curve.robust {
            self.expression.refit(robust, parameters, problems, &self.lm, fit, results)?;
        }
        self.expression.keep_determined(parameters, problems, &self.lm, on, results);
        Ok(())
    }

    /// Map rows of `n` voxels from the rows of results, nothing but a status where a voxel has no result.
    fn write(
        &self,
        (n, stride): (usize, usize),
        inputs: &[f32],
        results: &[f32],
        rows: &mut [f32],
        workers: Option<&Workers>,
    ) {
        in_columns(workers, stride, [rows], |range, [mut rows]| {
            let range = range.start..range.end.min(n);
            self.write_some(inputs, results, stride, range, &mut rows);
        });
    }

    /// The same of some voxels, whose rows are without the others'.
    fn write_some(
        &self,
        inputs: &[f32],
        results: &[f32],
        stride: usize,
        voxels: Range<usize>,
        rows: &mut [&mut [f32]],
    ) {
        let of_fit = self.rows();
        let n = self.options.parameters.len();
        rows.iter_mut().for_each(|row| row.fill(0.0));
        let last = rows.len() - 1;
        for (lane, voxel) in voxels.enumerate() {
            let at = |row: usize| results[row * stride + voxel];
            let mut put = |row: usize, value: f32| rows[row][lane] = value;
            let status = match self.is_usable(inputs, stride, voxel) {
                true => Status::from_code(at(of_fit.status())),
                false => Status::BadSignal,
            };
            put(last, status.code());
            if !status.is_fitted() {
                continue;
            }
            for k in 0..n {
                put(k, at(k));
                if let Some(variance) = of_fit.covariance(k, k) {
                    put(n + k, at(variance).max(0.0).sqrt());
                }
            }
            put(last - 2, at(of_fit.residual()));
            put(last - 1, at(of_fit.iterations()));
        }
    }

    /// True where something was measured and a noise level that is needed is one.
    fn is_usable(&self, inputs: &[f32], stride: usize, voxel: usize) -> bool {
        let (samples, constants) = inputs.split_at(self.n_volumes * stride);
        // What is fitted by least squares may have any sign, such as a recovery after inversion.
        let any_sign = self.lm.likelihood == Likelihood::Gaussian;
        let mut of_voxel = samples.iter().skip(voxel).step_by(stride);
        let has_signal = of_voxel.any(|&sample| sample > 0.0 || any_sign && sample != 0.0);
        let has_level = match self.lm.sigma {
            Sigma::Constant(row) if self.lm.likelihood != Likelihood::Gaussian => {
                let sigma = constants[row * stride + voxel];
                sigma.is_finite() && sigma > 0.0
            }
            _ => true,
        };
        has_signal && has_level
    }
}

/// Why the arrays of a tile always go together.
const TRIED: &str = "the shape of the arrays was tried beforehand";

impl VoxelFit for ExprFit<'_> {
    fn maps(&self) -> Vec<MapSpec> {
        maps(&self.options.formula, &self.options.parameters, self.options.curve.errors)
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows, scratch, .. } = tile;
        let (n, results) = (voxels.len(), scratch.with_len(self.rows().count() * stride));
        results.fill(0.0);
        self.on_lanes(&self.problems(n, stride, inputs), simd, results).expect(TRIED);
        self.write((n, stride), inputs, results, rows, None);
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        device::supports(&self.lm, self.precision()).then_some(self)
    }
}

impl DeviceVoxelFit for ExprFit<'_> {
    fn cost(&self) -> Cost {
        cost_in(self.options.curve.precision, Cost::FORMULA)
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        let rows = [self.n_volumes, self.n_constants, self.rows().count()];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn moved(&self) -> Moved {
        Moved { inputs: true, rows: false }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        let Tile { voxels, stride, inputs, rows, scratch, .. } = tile;
        let (n, results) = (voxels.len(), scratch.with_len(self.rows().count() * stride));
        results.fill(0.0);
        let problems = self.problems(n, stride, inputs);
        let (formulas, parameters) = (self.expression.formulas(), &self.options.parameters);
        let fit = |problems: &Problems<'_>, results: &mut [f32]| {
            let precision = self.precision();
            device::fit(device, formulas, parameters, problems, &self.lm, precision, results)
        };
        let fitted = fit(&problems, results).and_then(|()| match self.options.curve.robust {
            Some(robust) => {
                self.expression.refit(robust, parameters, &problems, &self.lm, fit, results)
            }
            None => Ok(()),
        });
        match fitted {
            Ok(()) => {
                let on = self.arithmetic(SimdLevel::best());
                self.expression.keep_determined(parameters, &problems, &self.lm, on, results);
                self.write((n, stride), inputs, results, rows, Some(workers));
                Ok(())
            }
            Err(DeviceFitError::Device(error)) => Err(error),
            Err(DeviceFitError::Problems(error)) => panic!("{TRIED}: {error}"),
        }
    }
}
