//! Where chains start: a tensor, then ball and sticks by Levenberg-Marquardt.
//!
//! The tensor gives S0, d (its largest eigenvalue) and three directions (its eigenvectors); the
//! fractions that fit best with these follow from linear least squares. From there up to three
//! sticks are fitted to the signals, as fractions of what those before them left; and once more
//! from a usual diffusivity, because where fibres cross the tensor's is too low to leave room for
//! all of them. The better of the two is sorted by fraction and brought inside the ranges of the
//! priors. A fourth fibre starts with next to nothing between the three. Gradients are taken as
//! nominal here.
//!
//! [`Starter::begin`] finds the two starts of Levenberg-Marquardt, [`fit`](mod@fit) does that on lanes or on a
//! device, [`Starter::end`] judges and writes where chains start.

mod fit;
mod fractions;
mod model;

use std::f64::consts::TAU;

use fimbria_compute::device::Device;
use fimbria_compute::operator::{Operator as _, VectorSpace as _};
use fimbria_compute::{HostError, Workers};
use fimbria_fitting::lm::LmError;
use fimbria_fitting::lm::device::DeviceFitError;
use fimbria_image::{GradientTable, Status};
use fimbria_models::dti::operators::{LanesFit, LanesMaps};
use fimbria_models::dti::{DtiError, DtiMap, DtiOptions, Method, Problem};
use rayon::prelude::*;

use self::fit::{Fit, SticksFit};
use self::model::FITTED;
use crate::batch::BatchRows;
use crate::chunk::TILE;
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

/// Why no chain can start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Memory(#[from] HostError),
    #[error(transparent)]
    Fit(#[from] LmError),
}

/// S0, d (µm²/ms), then fraction, θ, φ (radians) of three fibres, then the spread.
type Point = [f64; FITTED + 1];

/// Voxels whose signals are ready to be fitted.
#[derive(Default)]
pub(crate) struct Begun {
    /// The status of each voxel, and the scale that its signals were divided by.
    pub(crate) scaled: Vec<(Status, f32)>,
    /// Where its fits start: with the tensor's diffusivity, and with a usual one.
    points: [Vec<Point>; 2],
}

impl Begun {
    /// Adds the voxels of `next` behind these.
    pub(crate) fn append(&mut self, next: Self) {
        self.scaled.extend(next.scaled);
        self.points.iter_mut().zip(next.points).for_each(|(all, of_next)| all.extend(of_next));
    }
}

/// Finds starts of voxels.
pub(crate) struct Starter<'a> {
    options: &'a SticksOptions,
    protocol: &'a Protocol,
    workers: &'a Workers,
    tensors: Problem,
    fit: SticksFit,
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
        Ok(Self { options, protocol, workers, tensors, fit: SticksFit::new(options, protocol) })
    }

    /// Takes the raw signals in `rows.y`, leaves there what the sampler takes, and finds where fits start.
    /// Voxels that cannot be sampled get harmless numbers.
    pub(crate) fn begin(&self, rows: &mut BatchRows) -> Result<Begun, StartError> {
        let scaled = (0..rows.n).map(|lane| self.scale(rows, lane)).collect();
        rows.pad();
        let tensors = self.fit_tensors(&rows.y, rows.stride)?;
        let points = [None, Some(USUAL_DIFFUSIVITY)]
            .map(|d| (0..rows.n).map(|lane| self.tensor_start(&tensors, rows, lane, d)).collect());
        Ok(Begun { scaled, points })
    }

    /// Leaves the starts of chains in `rows.starts`; the fits in the calling thread.
    pub(crate) fn end_on_lanes(
        &self,
        begun: &Begun,
        rows: &mut BatchRows,
    ) -> Result<(), StartError> {
        let [low, usual] =
            begun.points.each_ref().map(|p| self.fit.on_lanes(p, rows, self.workers.simd()));
        self.end(rows, &low?, &usual?);
        Ok(())
    }

    /// The same, the fits on a device and the rest on all threads.
    pub(crate) fn end_on_device(
        &self,
        begun: &Begun,
        rows: &mut BatchRows,
        device: &Device,
    ) -> Result<(), DeviceFitError> {
        let [low, usual] = &begun.points;
        let low = self.fit.on_device(low, rows, device)?;
        let usual = self.fit.on_device(usual, rows, device)?;
        self.end(rows, &low, &usual);
        Ok(())
    }

    /// Numbers of a voxel that a device holds beside its signals while it fits.
    pub(crate) fn rows_on_device(&self) -> usize {
        self.fit.rows_on_device()
    }

    /// The better of both fits of each voxel, inside the ranges of the priors.
    fn end(&self, rows: &mut BatchRows, low: &[Fit], usual: &[Fit]) {
        let read = &*rows;
        let start = |(lane, (low, usual)): (usize, (&Fit, &Fit))| {
            let better = if usual.residual < low.residual { usual } else { low };
            self.inside(&better.p, read, lane)
        };
        let both = low.par_iter().zip(usual).enumerate().with_min_len(TILE);
        let starts: Vec<[f64; MOST]> = self.workers.install(|| both.map(start).collect());
        for (slot, row) in rows.starts.chunks_exact_mut(rows.stride).enumerate() {
            row.iter_mut().zip(&starts).for_each(|(to, start)| *to = start[slot] as f32);
        }
        rows.pad();
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

    /// The tensor's directions and, unless given, its diffusivity, with the fractions that go with them.
    fn tensor_start(&self, maps: &[f32], rows: &BatchRows, lane: usize, d: Option<f64>) -> Point {
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
        let mut p: Point = [0.0; FITTED + 1];
        (p[0], p[1], p[FITTED]) = (s0, d, SPREADS.0);
        for k in 0..3 {
            let [x, y, z] = dirs[k];
            let (at, f) = (2 + 3 * k, f.get(k).copied().unwrap_or(0.0));
            (p[at], p[at + 1], p[at + 2]) = (f, x.hypot(y).atan2(z), y.atan2(x));
        }
        p
    }

    /// Slots inside the ranges of the priors.
    fn inside(&self, fitted: &Point, rows: &BatchRows, lane: usize) -> [f64; MOST] {
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
