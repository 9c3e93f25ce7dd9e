//! Levenberg-Marquardt from the points that a tensor gives, on lanes or on a device: the same bits where
//! multiply-add is fused.

use fimbria_compute::SimdLevel;
use fimbria_compute::device::Device;
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, LmError, LmOptions, Parameter, Problems, Rows, SignalFormulas, Starts, Weights, fit,
};

use super::model::{FITTED, GammaSticks, SingleSticks};
use super::{Point, SPREADS, USUAL_DIFFUSIVITY};
use crate::batch::BatchRows;
use crate::protocol::Protocol;
use crate::rules::MOST_DIFFUSIVITY;
use crate::{Diffusivity, SticksOptions};

/// Iterations after which the start is good enough: more of them drive fibres that are none to where noise
/// asks for them, from where chains take long to come back.
const ITERATIONS: u32 = 20;

/// True where a fitted parameter is a fibre's share of what those before it left.
fn is_share(k: usize) -> bool {
    (2..FITTED).contains(&k) && (k - 2).is_multiple_of(3)
}

/// Where a voxel's fit ended.
pub(super) struct Fit {
    pub(super) p: Point,
    /// Infinite where the fit could not begin.
    pub(super) residual: f32,
}

/// The fit of one job.
pub(super) struct SticksFit {
    is_gamma: bool,
    parameters: [Parameter; FITTED + 1],
    /// √b g and b of each measurement.
    covariates: Vec<f32>,
}

impl SticksFit {
    pub(super) fn new(options: &SticksOptions, protocol: &Protocol) -> Self {
        let covariates = (0..protocol.len())
            .flat_map(|i| {
                let [x, y, z] = protocol.root[i];
                [x as f32, y as f32, z as f32, protocol.b[i] as f32]
            })
            .collect();
        let is_gamma = options.diffusivity != Diffusivity::Single;
        Self { is_gamma, parameters: parameters(options.n_fibres), covariates }
    }

    /// From `points`, one a voxel of `rows`, in the calling thread.
    pub(super) fn on_lanes(
        &self,
        points: &[Point],
        rows: &BatchRows,
        simd: SimdLevel,
    ) -> Result<Vec<Fit>, LmError> {
        let on = Arithmetic::Single(simd);
        self.fit_from(points, rows, |problems, options, results| match &self.parameters {
            parameters if self.is_gamma => {
                fit(&GammaSticks, parameters, problems, options, on, results)
            }
            [parameters @ .., _] => fit(&SingleSticks, parameters, problems, options, on, results),
        })
    }

    /// The same by a kernel.
    pub(super) fn on_device(
        &self,
        points: &[Point],
        rows: &BatchRows,
        device: &Device,
    ) -> Result<Vec<Fit>, DeviceFitError> {
        let formulas = match self.is_gamma {
            true => SignalFormulas::trace(&GammaSticks),
            false => SignalFormulas::trace(&SingleSticks),
        };
        let parameters = &self.parameters[..self.n_parameters()];
        let single = fimbria_fitting::expr::Precision::Single;
        self.fit_from(points, rows, |problems, options, results| {
            device::fit(device, &formulas, parameters, problems, options, single, results)
        })
    }

    fn n_parameters(&self) -> usize {
        FITTED + usize::from(self.is_gamma)
    }

    /// Numbers of a voxel that a device holds beside its signals while it fits.
    pub(super) fn rows_on_device(&self) -> usize {
        self.n_parameters() + Rows::new(self.n_parameters(), &options_of_fit()).count()
    }

    fn fit_from<E>(
        &self,
        points: &[Point],
        rows: &BatchRows,
        fit: impl FnOnce(&Problems<'_>, &LmOptions, &mut [f32]) -> Result<(), E>,
    ) -> Result<Vec<Fit>, E> {
        let (stride, n_parameters) = (rows.stride, self.n_parameters());
        let mut columns = vec![0.0; n_parameters * stride];
        for (lane, point) in points.iter().enumerate() {
            let mut rest = 1.0;
            for k in 0..n_parameters {
                let mut value = point[k];
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
        let options = options_of_fit();
        let of_fit = Rows::new(n_parameters, &options);
        let mut results = vec![0.0; of_fit.count() * stride];
        fit(&problems, &options, &mut results)?;
        let fitted = |(lane, point): (usize, &Point)| {
            let (mut p, mut residual) = (*point, f32::INFINITY);
            let value = |k: usize| f64::from(results[k * stride + lane]);
            // All zero where the fit could not begin.
            if (0..n_parameters).all(|k| value(k).is_finite()) && value(0) > 0.0 {
                residual = results[of_fit.residual() * stride + lane];
                let mut rest = 1.0;
                for k in 0..n_parameters {
                    p[k] = value(k);
                    if is_share(k) {
                        p[k] *= rest;
                        rest -= p[k];
                    }
                }
            }
            Fit { p, residual }
        };
        Ok(points.iter().enumerate().map(fitted).collect())
    }
}

fn options_of_fit() -> LmOptions {
    LmOptions { max_iterations: ITERATIONS, ..LmOptions::default() }
}

fn parameters(n_fibres: usize) -> [Parameter; FITTED + 1] {
    const FAR: f64 = 1e3;
    std::array::from_fn(|k| match k {
        0 => Parameter::new("S0", 1.0, 0.0, FAR),
        1 => Parameter::new("d", USUAL_DIFFUSIVITY, 1e-3, MOST_DIFFUSIVITY),
        FITTED => Parameter::new("d_std", SPREADS.0, SPREADS.1, SPREADS.2),
        _ if (k - 2) / 3 >= n_fibres => Parameter::new("none", 0.0, 0.0, 0.0).fixed_at(0.0),
        _ if is_share(k) => Parameter::new("share", 0.1, 0.0, 1.0),
        _ => Parameter::new("angle", 0.0, -FAR, FAR),
    })
}
