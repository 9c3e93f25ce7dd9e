//! What the stages of curves fitted by Levenberg and Marquardt's method share.

use std::path::PathBuf;
use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_image::read_mask;
use fimbria_models::curve::{CurveOptions, Direction, Earlier, Likelihood, Robust};
use fimbria_models::dti::Precision;
use fimbria_models::{Fitted, noise};
use serde::{Deserialize, Serialize};

use super::fit_maps::{FitModel, Maps};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Choice, Input, Logbook, Named, Products, StageError};

/// The file with the directions of a fit of each.
pub const DIRECTIONS: &str = "directions.txt";

/// Parameters of every such fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CurveParameters {
    /// Use only the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// The largest b that is used, s/mm²; `None` for all.
    pub bmax: Option<f64>,
    /// How noise enters.
    pub likelihood: Named<Likelihood>,
    /// Where the noise level comes from.
    pub noise: NoiseSource,
    /// The arithmetic.
    pub precision: Named<Precision>,
    /// Iterations after which a problem is given up.
    pub max_iterations: u32,
    /// How outliers are kept from pulling; `None` for least squares.
    pub robust: Option<Named<Robust>>,
    /// Also make maps of standard errors.
    pub errors: bool,
}

/// Where a noise level comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseSource {
    /// The spread of repeated unweighted volumes.
    #[default]
    Unweighted,
    /// It is known, in input units.
    Sigma(f64),
    /// The magnitude in the voxels of this mask, where there is no signal.
    Background(PathBuf),
}

impl Default for CurveParameters {
    /// Least squares in single precision, all b.
    fn default() -> Self {
        let default = CurveOptions::default();
        let CurveOptions { b_max_s_per_mm2, likelihood, precision, max_iterations, .. } = default;
        Self {
            shells: None,
            bmax: b_max_s_per_mm2,
            likelihood: Named(likelihood),
            noise: NoiseSource::Unweighted,
            precision: Named(precision),
            max_iterations,
            robust: None,
            errors: false,
        }
    }
}

impl Choice for Robust {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Huber, "huber", "outliers pull as if they were 1.345 standard deviations away"),
        (Self::Tukey, "tukey", "beyond 4.685 standard deviations they do not pull at all"),
    ];
}

impl CurveParameters {
    /// The volumes that the fit takes.
    pub fn choice(&self) -> VolumeChoice {
        VolumeChoice { shells: self.shells.clone(), bmax: self.bmax, usual_bmax: None }
    }

    /// The files that are read.
    pub fn inputs(&self) -> Vec<Input> {
        match &self.noise {
            NoiseSource::Background(path) => vec![("background".to_owned(), path.clone())],
            NoiseSource::Unweighted | NoiseSource::Sigma(_) => Vec::new(),
        }
    }

    /// The same for the model. A noise level, where it `takes_noise`, is given or that of
    /// background; else the model estimates it.
    ///
    /// # Errors
    /// Where that cannot be.
    pub fn options(
        &self,
        subject: &Subject,
        takes_noise: bool,
        log: &Logbook<'_>,
    ) -> Result<CurveOptions, StageError> {
        let sigma = match &self.noise {
            _ if !takes_noise => None,
            NoiseSource::Sigma(sigma) => Some(*sigma),
            NoiseSource::Background(path) => {
                let workers = log.session().on.workers;
                let background = workers.install(|| read_mask(path, subject.dwi.grid()))?;
                let sigma = noise::from_background(&*subject.dwi, &background)?;
                log.note(&format!("noise level {sigma:.4} (input units), from background"));
                Some(sigma)
            }
            NoiseSource::Unweighted => None,
        };
        Ok(CurveOptions {
            b_max_s_per_mm2: self.bmax,
            likelihood: self.likelihood.0,
            sigma,
            precision: self.precision.0,
            max_iterations: self.max_iterations,
            robust: self.robust.map(|robust| robust.0),
            errors: self.errors,
            earlier: None,
        })
    }

    /// True where the likelihood takes a noise level.
    pub fn likelihood_takes_noise(&self) -> bool {
        self.likelihood.0 != Likelihood::Gaussian
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
