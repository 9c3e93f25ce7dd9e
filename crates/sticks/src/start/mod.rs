//! Where chains start: a tensor, then ball and sticks by Levenberg-Marquardt.
//!
//! The tensor gives S0, d (its largest eigenvalue) and three directions (its eigenvectors); the
//! fractions that fit best with these follow from linear least squares. From there up to three
//! sticks are fitted to the signals, as fractions of what those before them left; and once more
//! from a usual diffusivity, because where fibres cross the tensor's is too low to leave room for
//! all of them. The better of the two is sorted by fraction and brought inside the ranges of the priors. A fourth fibre starts with
//! next to nothing between the three. Gradients are taken as nominal here.

mod fractions;
mod model;

use std::f64::consts::TAU;

use fimbria_compute::operator::{Operator as _, VectorSpace as _};
use fimbria_compute::{HostError, Workers};
use fimbria_fitting::lm::{
    Arithmetic, LmError, LmOptions, Parameter, Problems, Rows, Starts, Weights, fit,
};
use fimbria_image::{GradientTable, Status};
use fimbria_models::dti::operators::{LanesFit, LanesMaps};
use fimbria_models::dti::{DtiError, DtiMap, DtiOptions, Method, Problem};

use self::model::{FITTED, GammaSticks, SingleSticks};
use crate::batch::BatchRows;
use crate::protocol::Protocol;
use crate::rules::{MOST_DIFFUSIVITY, MOST_ZEPPELIN_SPREAD};
use crate::slots::{DIFFUSIVITY, MOST, OFFSET, PRECISION, RATIO, S0, SPREAD, fraction, phi, theta};
use crate::{Diffusivity, Noise, SticksOptions};

/// Fractions start no smaller than this.
const LEAST_FRACTION: f64 = 1e-3;
/// Fractions start with no larger sum than this.
const MOST_SUM: f64 = 0.95;
/// A diffusivity to start with where the data give none, µm²/ms.
const USUAL_DIFFUSIVITY: f64 = 2.0;
/// Spreads to start from and to keep to in the fit, µm²/ms.
const SPREADS: (f64, f64, f64) = (0.5, 0.05, MOST_ZEPPELIN_SPREAD);
/// A signal that varies by no more than this fraction of its mean is constant but for rounding, and
/// tells nothing of fibres.
const CONSTANT: f32 = 1e-6;
/// Iterations after which the start is good enough.
const ITERATIONS: u32 = 50;

/// Why no chain can start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Memory(#[from] HostError),
    #[error(transparent)]
    Fit(#[from] LmError),
}

/// True where a fitted parameter is a fibre's share of what those before it left.
fn is_share(k: usize) -> bool {
    (2..FITTED).contains(&k) && (k - 2).is_multiple_of(3)
}

/// Ball and sticks of a voxel, parameters as `Starter::tensor_start` has them.
struct Fit {
    p: [f64; FITTED + 1],
    residual: f32,
}

/// Finds starts of voxels.
pub(crate) struct Starter<'a> {
    options: &'a SticksOptions,
    protocol: &'a Protocol,
    workers: &'a Workers,
    tensors: Problem,
    /// √b g and b of each measurement.
    covariates: Vec<f32>,
}

impl<'a> Starter<'a> {
    pub(crate) fn new(
        options: &'a SticksOptions,
        protocol: &'a Protocol,
        gradients: &GradientTable,
        workers: &'a Workers,
    ) -> Result<Self, DtiError> {
        let tensors =
            Problem::new(gradients, &DtiOptions { method: Method::Ols, ..DtiOptions::default() })?;
        let covariates = (0..protocol.len())
            .flat_map(|i| {
                let [x, y, z] = protocol.root[i];
                [x as f32, y as f32, z as f32, protocol.b[i] as f32]
            })
            .collect();
        Ok(Self { options, protocol, workers, tensors, covariates })
    }

    /// Takes the raw signals in `rows.y`, and leaves there what the sampler takes, and the starts;
    /// gives the status of each voxel and the scale that its signals were divided by. Voxels that
    /// cannot be sampled get harmless numbers.
    pub(crate) fn start(&self, rows: &mut BatchRows) -> Result<Vec<(Status, f32)>, StartError> {
        let scaled: Vec<(Status, f32)> = (0..rows.n).map(|l| self.scale(rows, l)).collect();
        rows.pad();
        let tensors = self.fit_tensors(&rows.y, rows.stride)?;
        let from = |d: Option<f64>| -> Result<Vec<Fit>, LmError> {
            let starts: Vec<_> =
                (0..rows.n).map(|lane| self.tensor_start(&tensors, rows, lane, d)).collect();
            self.fit_sticks(&starts, rows)
        };
        let fitted = from(None)?.into_iter().zip(from(Some(USUAL_DIFFUSIVITY))?);
        for (lane, (low, usual)) in fitted.enumerate() {
            let better = if usual.residual < low.residual { usual } else { low };
            let p = self.inside(&better.p, rows, lane);
            for slot in 0..MOST {
                rows.starts[slot * rows.stride + lane] = p[slot] as f32;
            }
        }
        rows.pad();
        Ok(scaled)
    }

    /// Divides the signals of a voxel by their mean.
    fn scale(&self, rows: &mut BatchRows, lane: usize) -> (Status, f32) {
        let stride = rows.stride;
        let signals = || rows.y.iter().skip(lane).step_by(stride);
        let sum: f64 = signals().map(|&y| f64::from(y)).sum();
        let least = signals().filter(|y| **y > 0.0).fold(f32::INFINITY, |a, &b| a.min(b));
        let mean = (sum / self.protocol.len() as f64) as f32;
        if !(mean.is_finite() && mean > 0.0 && least.is_finite()) {
            rows.y.iter_mut().skip(lane).step_by(stride).for_each(|y| *y = 1.0);
            return (Status::BadSignal, 0.0);
        }
        let most = signals().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
        if most - signals().fold(f32::INFINITY, |a, &b| a.min(b)) <= CONSTANT * mean {
            rows.y.iter_mut().skip(lane).step_by(stride).for_each(|y| *y = 1.0);
            return (Status::Singular, 0.0);
        }
        let is_rician = self.options.noise == Noise::Rician;
        for y in rows.y.iter_mut().skip(lane).step_by(stride) {
            let raised = if is_rician && *y <= 0.0 { least } else { *y };
            *y = raised / mean;
        }
        (Status::Fitted, mean)
    }

    /// Rows of the tensor maps.
    fn fit_tensors(&self, y: &Vec<f32>, stride: usize) -> Result<Vec<f32>, HostError> {
        let fit = LanesFit::new(&self.tensors, self.workers, stride);
        let maps = LanesMaps::new(&self.tensors, self.workers, stride);
        let mut parameters = fit.range().zeros()?;
        fit.apply(y, &mut parameters)?;
        let mut rows = maps.range().zeros()?;
        maps.apply(&parameters, &mut rows)?;
        Ok(rows)
    }

    /// S0, d (that of the tensor unless given), then fraction, θ, φ (radians) of three fibres, then
    /// the spread.
    fn tensor_start(
        &self,
        maps: &[f32],
        rows: &BatchRows,
        lane: usize,
        d: Option<f64>,
    ) -> [f64; FITTED + 1] {
        let stride = rows.stride;
        let value = |map: DtiMap, volume: usize| {
            let row = self.tensors.map_row(map).map_or(0, |row| row + volume);
            f64::from(maps[row * stride + lane])
        };
        let usable = |x: f64, most: f64| (x.is_finite() && x > 0.0 && x < most).then_some(x);
        let s0 = usable(value(DtiMap::S0, 0), 1e3).unwrap_or(1.0);
        let largest = usable(value(DtiMap::L1, 0) * 1e3, MOST_DIFFUSIVITY);
        let d = d.or(largest).unwrap_or(USUAL_DIFFUSIVITY);
        let mut dirs = [[0.0; 3]; 3];
        for (k, map) in [DtiMap::V1, DtiMap::V2, DtiMap::V3].into_iter().enumerate() {
            let v: [f64; 3] = std::array::from_fn(|axis| value(map, axis));
            dirs[k] = v;
            if (v.iter().map(|c| c * c).sum::<f64>() - 1.0).abs() > 0.01 {
                dirs[k] = [0.0; 3];
                dirs[k][k] = 1.0;
            }
        }
        let y: Vec<f64> =
            rows.y.iter().skip(lane).step_by(stride).map(|&y| f64::from(y) / s0).collect();
        let n_fibres = self.options.n_fibres.min(3);
        let f = fractions::least_squares(self.protocol, &y, d, &dirs[..n_fibres]);
        let mut p = [0.0; FITTED + 1];
        (p[0], p[1], p[FITTED]) = (s0, d, SPREADS.0);
        for k in 0..3 {
            let [x, y, z] = dirs[k];
            let (at, f) = (2 + 3 * k, f.get(k).copied().unwrap_or(0.0));
            (p[at], p[at + 1], p[at + 2]) = (f, x.hypot(y).atan2(z), y.atan2(x));
        }
        p
    }

    /// The same after Levenberg-Marquardt.
    fn fit_sticks(
        &self,
        starts: &[[f64; FITTED + 1]],
        rows: &BatchRows,
    ) -> Result<Vec<Fit>, LmError> {
        let is_gamma = self.options.diffusivity != Diffusivity::Single;
        let n_parameters = FITTED + usize::from(is_gamma);
        let stride = rows.stride;
        let mut columns = vec![0.0; n_parameters * stride];
        for (lane, start) in starts.iter().enumerate() {
            let mut rest = 1.0;
            for k in 0..n_parameters {
                let mut value = start[k];
                if is_share(k) {
                    let share = value / rest;
                    rest -= value;
                    value = share;
                }
                columns[k * stride + lane] = value as f32;
            }
        }
        let problems = Problems {
            n: rows.n,
            stride,
            samples: &rows.y,
            covariates: &self.covariates,
            constants: &[],
            weights: Weights::Equal,
            starts: Starts::PerProblem(&columns),
        };
        let options = LmOptions { max_iterations: ITERATIONS, ..LmOptions::default() };
        let mut results = vec![0.0; Rows::new(n_parameters, &options).count() * stride];
        let on = Arithmetic::Single(self.workers.simd());
        let parameters = self.parameters();
        if is_gamma {
            fit(&GammaSticks, &parameters, &problems, &options, on, &mut results)?;
        } else {
            let [parameters @ .., _] = parameters;
            fit(&SingleSticks, &parameters, &problems, &options, on, &mut results)?;
        }
        let residual = Rows::new(n_parameters, &options).residual();
        let fitted = |(lane, start): (usize, &[f64; FITTED + 1])| {
            let (mut p, mut residual_found) = (*start, f32::INFINITY);
            let value = |k: usize| f64::from(results[k * stride + lane]);
            // All zero where the fit could not begin.
            if (0..n_parameters).all(|k| value(k).is_finite()) && value(0) > 0.0 {
                residual_found = results[residual * stride + lane];
                let mut rest = 1.0;
                for k in 0..n_parameters {
                    p[k] = value(k);
                    if is_share(k) {
                        p[k] *= rest;
                        rest -= p[k];
                    }
                }
            }
            Fit { p, residual: residual_found }
        };
        Ok(starts.iter().enumerate().map(fitted).collect())
    }

    fn parameters(&self) -> [Parameter; FITTED + 1] {
        const FAR: f64 = 1e3;
        std::array::from_fn(|k| match k {
            0 => Parameter::new("S0", 1.0, 0.0, FAR),
            1 => Parameter::new("d", USUAL_DIFFUSIVITY, 1e-3, MOST_DIFFUSIVITY),
            FITTED => Parameter::new("d_std", SPREADS.0, SPREADS.1, SPREADS.2),
            _ if (k - 2) / 3 >= self.options.n_fibres => {
                Parameter::new("none", 0.0, 0.0, 0.0).fixed_at(0.0)
            }
            _ if is_share(k) => Parameter::new("share", 0.1, 0.0, 1.0),
            _ => Parameter::new("angle", 0.0, -FAR, FAR),
        })
    }

    /// Slots inside the ranges of the priors.
    fn inside(&self, fitted: &[f64; FITTED + 1], rows: &BatchRows, lane: usize) -> [f64; MOST] {
        let mut p = [0.0; MOST];
        p[S0] = fitted[0].max(1e-6);
        let d = fitted[1];
        p[DIFFUSIVITY] = if d > 0.0 && d < MOST_DIFFUSIVITY { d } else { USUAL_DIFFUSIVITY };
        if self.options.diffusivity != Diffusivity::Single {
            p[SPREAD] = fitted[FITTED].clamp(SPREADS.1, 0.99 * SPREADS.2);
        }
        if self.options.diffusivity == Diffusivity::Zeppelin {
            p[RATIO] = self.options.ratio.0;
        }
        let mut fibres: Vec<[f64; 3]> = (0..3)
            .map(|k| [fitted[2 + 3 * k], fitted[3 + 3 * k], fitted[4 + 3 * k]])
            .take(self.options.n_fibres)
            .collect();
        fibres.sort_by(|a, b| b[0].total_cmp(&a[0]));
        if self.options.n_fibres > 3 {
            // The diagonal between the axes, which the three are as good as.
            fibres.push([0.0, 0.955, 0.785]);
        }
        for fibre in &mut fibres {
            fibre[0] = fibre[0].max(LEAST_FRACTION);
        }
        if self.options.offset != crate::Offset::None {
            p[OFFSET] = LEAST_FRACTION;
        }
        let sum: f64 = fibres.iter().map(|f| f[0]).sum::<f64>() + p[OFFSET];
        let shrink = if sum > MOST_SUM { MOST_SUM / sum } else { 1.0 };
        for (k, [f, th, ph]) in fibres.into_iter().enumerate() {
            // θ of exactly 0 has no prior.
            let turns = |angle: f64| (angle / TAU) - (angle / TAU).round_ties_even();
            let th = turns(th);
            p[theta(k)] = if th.abs() < 1e-4 || th.abs() > 0.4999 { 1e-3 } else { th };
            p[phi(k)] = turns(ph);
            p[fraction(k)] = f * shrink;
        }
        if self.options.noise == Noise::Rician {
            let y: Vec<f64> =
                rows.y.iter().skip(lane).step_by(rows.stride).map(|&y| f64::from(y)).collect();
            let options = self.options;
            let posterior =
                crate::oracle::Posterior { options, protocol: self.protocol, y: &y, bend: None };
            p[PRECISION] = (y.len() as f64 / posterior.squares(&p).max(1e-9)).min(1e8);
        }
        p
    }
}
