//! How curves are fitted by Levenberg and Marquardt's method.

use std::path::PathBuf;

use clap::Args;
use fimbria_models::curve::{Likelihood, Robust};
use fimbria_models::dti::Precision;
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::curve::{CurveParameters, NoiseSource};

use super::choice;
use crate::failure::Failure;

/// Where the noise level comes from.
#[derive(Debug, Args)]
pub(crate) struct NoiseArgs {
    /// Standard deviation of the noise in input units [default: estimated from the spread of
    /// repeated unweighted volumes]
    #[arg(long, value_name = "SIGMA", value_parser = level, help_heading = "Noise")]
    sigma: Option<f64>,

    /// Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros
    #[arg(long, value_name = "MASK", conflicts_with = "sigma", help_heading = "Noise")]
    background: Option<PathBuf>,
}

/// How noise enters a fit.
#[derive(Debug, Args)]
pub(crate) struct LikelihoodArgs {
    /// How noise enters
    #[arg(long, value_name = "NAME", default_value = "gaussian", help_heading = "Noise")]
    #[arg(value_parser = choice::<Likelihood>())]
    likelihood: Named<Likelihood>,

    #[command(flatten)]
    noise: NoiseArgs,
}

/// How the solver works.
#[derive(Debug, Args)]
pub(crate) struct SolverArgs {
    /// Arithmetic of the fit
    #[arg(long, value_name = "PRECISION", default_value = "single")]
    #[arg(value_parser = choice::<Precision>())]
    precision: Named<Precision>,

    /// Iterations after which a fit is given up and marked [default: 100, of expressions 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,

    /// Keep outliers from pulling: fit again with weights made of the residuals, until these
    /// settle (the scale of the residuals is that of each fit by itself)
    #[arg(long, value_name = "HOW", value_parser = choice::<Robust>())]
    robust: Option<Named<Robust>>,

    /// Also write the standard error of each map of the model, NAME_error, in its unit: from the
    /// residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where
    /// unknown, as at a bound; with --robust some 10 % too small
    #[arg(long)]
    errors: bool,
}

impl NoiseArgs {
    /// Where the level comes from, for a fit that may not take any: `why` says when it does.
    pub(crate) fn source(self, takes_noise: bool, why: &str) -> Result<NoiseSource, Failure> {
        let Self { sigma, background } = self;
        let source = match (sigma, background) {
            (Some(sigma), _) => NoiseSource::Sigma(sigma),
            (None, Some(mask)) => NoiseSource::Background(mask),
            (None, None) => NoiseSource::Unweighted,
        };
        if !takes_noise && source != NoiseSource::Unweighted {
            return Err(Failure::usage(format!("--sigma and --background are used {why} only")));
        }
        Ok(source)
    }
}

impl LikelihoodArgs {
    /// Adds the options to those of a fit.
    pub(crate) fn add_to(self, curve: &mut CurveParameters) -> Result<(), Failure> {
        let Self { likelihood, noise } = self;
        curve.likelihood = likelihood;
        let why = "with --likelihood offset-gaussian and rician";
        curve.noise = noise.source(curve.likelihood_takes_noise(), why)?;
        Ok(())
    }
}

impl SolverArgs {
    /// Adds the options to those of a fit.
    pub(crate) fn add_to(self, curve: &mut CurveParameters) {
        let Self { precision, max_iterations, robust, errors } = self;
        curve.precision = precision;
        curve.max_iterations = max_iterations.unwrap_or(curve.max_iterations);
        curve.robust = robust;
        curve.errors = errors;
    }
}

fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(sigma) if sigma.is_finite() && sigma >= 0.0 => Ok(sigma),
        _ => Err("it must be a number from 0 on".to_owned()),
    }
}

/// A largest b, s/mm².
pub(crate) fn b_limit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(b) if b.is_finite() && b > 0.0 => Ok(b),
        _ => Err("it must be a number above 0, in s/mm²".to_owned()),
    }
}
