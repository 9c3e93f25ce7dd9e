//! What the stages of curves fitted by Levenberg and Marquardt's method share.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::read_mask;
use fimbria_models::curve::{CurveOptions, Direction, Earlier, Likelihood, Robust, rules};
use fimbria_models::dti::Precision;
use fimbria_models::{Fitted, noise};
use serde::Serialize;
use serde_json::Value;

use super::fit_maps::{FitModel, Maps};
use crate::options::{Described as _, Takes, above, at_least, choice};
use crate::stages::load::Subject;
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice, FileKind, Input, Logbook, Named, Products, StageError, Written};

/// The file with the directions of a fit of each.
pub const DIRECTIONS: Written = Written::file(
    "directions.txt",
    FileKind::Table,
    "x y z of each direction, a line each, unit, in the order of the volumes",
);

/// The maps of what is uncertain.
pub(super) const ERRORS: Written =
    Written::scalar("*_error", "", "the standard error of the map of that name, in its unit")
        .only("with --errors");

/// The page's words for the paper that fits of each direction follow.
pub(super) const PALOMBO: &str = "Palombo M et al. GPU-parallelized model fitting for realtime \
                                  non-Gaussian diffusion NMR parametric imaging (2014)";

/// The page's words for the method.
pub(super) const MORE: &str = "Moré JJ. Lecture Notes in Mathematics 630, 105 (1978)";

/// Options of every fit of a curve to all volumes.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct CurveParameters {
    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,

    /// How noise enters
    #[arg(long, value_name = "NAME", default_value = "gaussian", help_heading = "Noise")]
    #[arg(value_parser = choice::<Likelihood>())]
    pub likelihood: Named<Likelihood>,

    /// Where the noise level comes from.
    #[command(flatten)]
    #[serde(flatten)]
    pub noise: NoiseOptions,

    /// How the solver works.
    #[command(flatten)]
    #[serde(flatten)]
    pub solver: SolverOptions,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

/// Where the noise level comes from.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct NoiseOptions {
    /// Standard deviation of the noise
    #[arg(long, value_name = "SIGMA", help_heading = "Noise")]
    #[arg(number = at_least(0.0, "units of the input"))]
    #[arg(usually = "estimated from the spread of repeated unweighted volumes")]
    pub sigma: Option<f64>,

    /// Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros
    #[arg(long, value_name = "MASK", conflicts_with = "sigma", help_heading = "Noise")]
    #[arg(takes = Takes::MASK)]
    pub background: Option<PathBuf>,
}

/// How the solver works.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct SolverOptions {
    /// Arithmetic of the fit; measurements and maps are held in single precision
    #[arg(long, value_name = "PRECISION", default_value = "single")]
    #[arg(value_parser = choice::<Precision>())]
    pub precision: Named<Precision>,

    /// Iterations after which a fit is given up and marked
    #[arg(long, value_name = "N", number = at_least(1_u32, ""))]
    #[arg(usually = "100, of expressions 1000")]
    pub max_iterations: Option<u32>,

    /// Keep outliers from pulling: fit again with weights made of the residuals, until these
    /// settle (the scale of the residuals is that of each fit by itself)
    #[arg(long, value_name = "HOW", value_parser = choice::<Robust>())]
    pub robust: Option<Named<Robust>>,

    /// Also write the standard error of each map of the model, NAME_error, in its unit: from the
    /// residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where
    /// unknown, as at a bound; with --robust tukey some 10 to 20 % too small, with huber too large
    /// beside gross outliers
    #[arg(long)]
    pub errors: bool,
}

impl Choice for Robust {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Huber, "huber", "outliers pull as if they were 1.345 standard deviations away"),
        (Self::Tukey, "tukey", "beyond 4.685 standard deviations they do not pull at all"),
    ];
}

impl Choice for Likelihood {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Gaussian, "gaussian", "least squares of S"),
        (Self::OffsetGaussian, "offset-gaussian", "least squares against sqrt(S² + sigma²)"),
        (Self::RicianMean, "rician-mean", "least squares against the mean of a magnitude"),
        (Self::Rician, "rician", "the likelihood of a magnitude"),
    ];
}

impl CurveParameters {
    /// The volumes that the fit takes.
    pub fn volumes(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    /// Whether a noise level is given that no likelihood takes.
    ///
    /// # Errors
    /// What to do instead.
    pub fn check(&self) -> Result<(), String> {
        let why = "with --likelihood offset-gaussian, rician-mean and rician";
        self.noise.check(self.likelihood.0 != Likelihood::Gaussian, why)
    }

    /// Whether anything is asked that only the fit of a curve knows: how noise enters, how it is solved.
    pub(super) fn asks_of_solver(&self) -> bool {
        let SolverOptions { precision, max_iterations, robust, errors } = &self.solver;
        self.likelihood.0 != Likelihood::Gaussian
            || precision.0 != Precision::Single
            || max_iterations.is_some()
            || robust.is_some()
            || *errors
    }

    /// The same for the model. A noise level, where the likelihood takes one, is given or that of
    /// background; else the model estimates it.
    ///
    /// # Errors
    /// Where that cannot be.
    pub fn options(
        &self,
        subject: &Subject,
        log: &Logbook<'_>,
    ) -> Result<CurveOptions, StageError> {
        let takes_noise = self.likelihood.0 != Likelihood::Gaussian;
        let sigma = if takes_noise { self.noise.level(subject, log)? } else { None };
        let options = self.solver.options(self.bmax, rules::MAX_ITERATIONS);
        Ok(CurveOptions { likelihood: self.likelihood.0, sigma, ..options })
    }
}

impl NoiseOptions {
    /// Whether a level is given to a fit that does not take one; `why` says when it does.
    ///
    /// # Errors
    /// What to do instead.
    pub fn check(&self, takes_noise: bool, why: &str) -> Result<(), String> {
        let is_given = self.sigma.is_some() || self.background.is_some();
        match is_given && !takes_noise {
            true => Err(format!("--sigma and --background are used {why} only")),
            false => Ok(()),
        }
    }

    /// The files that are read.
    pub fn inputs(&self) -> Vec<Input> {
        let background = self.background.iter();
        background.map(|path| ("background".to_owned(), path.clone())).collect()
    }

    /// The noise level that is given, in input units; `None` where the model is to estimate it.
    ///
    /// # Errors
    /// Where the background cannot be read or holds no noise.
    pub fn level(&self, subject: &Subject, log: &Logbook<'_>) -> Result<Option<f64>, StageError> {
        let Some(path) = &self.background else { return Ok(self.sigma) };
        let workers = log.session().on.workers;
        let background = workers.install(|| read_mask(path, subject.dwi.grid()))?;
        let sigma = noise::from_background(&*subject.dwi, &background)?;
        log.note(&format!("noise level {sigma:.4} (input units), from background"));
        Ok(Some(sigma))
    }
}

impl SolverOptions {
    /// The same for the model, of Gaussian likelihood, with b up to `bmax` and as many iterations
    /// as `usual` where nothing is said.
    pub fn options(&self, bmax: Option<f64>, usual: u32) -> CurveOptions {
        CurveOptions {
            b_max_s_per_mm2: bmax,
            precision: self.precision.0,
            max_iterations: self.max_iterations.unwrap_or(usual),
            robust: self.robust.map(|robust| robust.0),
            errors: self.errors,
            ..CurveOptions::default()
        }
    }

    /// The values of options with the iterations in effect where nothing was said.
    pub(super) fn in_effect(mut values: Value, usual: u32) -> Value {
        let entry = values.get_mut("max_iterations").filter(|value| value.is_null());
        if let Some(entry) = entry {
            *entry = usual.into();
        }
        values
    }
}

/// The maps of an earlier fit of fewer volumes, where `products` have them.
pub(super) fn earlier<P: FitModel>(products: &Products) -> Option<Earlier> {
    let maps = products.find::<Maps<P>>()?;
    let numbers = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    };
    let dirs_ras = maps.text(0).unwrap_or_default().lines().filter_map(numbers).collect();
    Some(Earlier { fitted: Arc::new(Fitted::clone(maps)), dirs_ras })
}

/// The lines of [`DIRECTIONS`]: x y z, unit, scanner RAS axes.
pub(super) fn lines(directions: &[Direction]) -> String {
    let line = |Direction { dir_ras: [x, y, z], .. }: &Direction| format!("{x:.6} {y:.6} {z:.6}\n");
    directions.iter().map(line).collect()
}
