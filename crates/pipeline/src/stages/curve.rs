//! What the stages of curves fitted by Levenberg and Marquardt's method share.

use std::path::PathBuf;

use fimbria_compute::Progress as _;
use fimbria_image::read_mask;
use fimbria_models::curve::{CurveOptions, Direction, Likelihood};
use fimbria_models::dti::Precision;
use fimbria_models::noise;
use serde::{Deserialize, Serialize};

use crate::stages::load::Subject;
use crate::{Input, Logbook, Named, StageError};

/// The file with the directions of a fit of each.
pub const DIRECTIONS: &str = "directions.txt";

/// Parameters of every such fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CurveParameters {
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

/// The fit cannot follow the gradients' non-linearity.
#[derive(Debug, thiserror::Error)]
#[error(
    "this fit takes one b and direction of a volume for all voxels: leave the gradient deviation \
     (--grad-dev) out"
)]
struct GradDevUnused;

impl Default for CurveParameters {
    /// Least squares in single precision, all b.
    fn default() -> Self {
        let CurveOptions { b_max_s_per_mm2, likelihood, sigma: _, precision, max_iterations } =
            CurveOptions::default();
        Self {
            bmax: b_max_s_per_mm2,
            likelihood: Named(likelihood),
            noise: NoiseSource::Unweighted,
            precision: Named(precision),
            max_iterations,
        }
    }
}

impl CurveParameters {
    /// The files that are read.
    pub fn inputs(&self) -> Vec<Input> {
        match &self.noise {
            NoiseSource::Background(path) => vec![("background".to_owned(), path.clone())],
            NoiseSource::Unweighted | NoiseSource::Sigma(_) => Vec::new(),
        }
    }

    /// The same for the model; the noise level, where it `takes_noise`, is estimated and said.
    ///
    /// # Errors
    /// Where that cannot be, or the subject asks for what these fits cannot do.
    pub fn options(
        &self,
        subject: &Subject,
        takes_noise: bool,
        log: &Logbook<'_>,
    ) -> Result<CurveOptions, StageError> {
        if subject.grad_dev.is_some() {
            return Err(GradDevUnused.into());
        }
        let Subject { dwi, mask, gradients, .. } = subject;
        let estimated = |from: &str, sigma: f64| {
            log.note(&format!("noise level {sigma:.4} (input units), from {from}"));
            sigma
        };
        let sigma = match &self.noise {
            _ if !takes_noise => None,
            NoiseSource::Sigma(sigma) => Some(*sigma),
            NoiseSource::Background(path) => {
                let workers = log.session().on.workers;
                let background = workers.install(|| read_mask(path, dwi.grid()))?;
                Some(estimated("background", noise::from_background(&**dwi, &background)?))
            }
            NoiseSource::Unweighted => {
                let sigma = noise::from_unweighted(&**dwi, mask, gradients)?;
                Some(estimated("the unweighted volumes", sigma))
            }
        };
        Ok(CurveOptions {
            b_max_s_per_mm2: self.bmax,
            likelihood: self.likelihood.0,
            sigma,
            precision: self.precision.0,
            max_iterations: self.max_iterations,
        })
    }

    /// True where the likelihood takes a noise level.
    pub fn likelihood_takes_noise(&self) -> bool {
        self.likelihood.0 != Likelihood::Gaussian
    }
}

/// The lines of [`DIRECTIONS`]: x y z, unit, scanner RAS axes.
pub(super) fn lines(directions: &[Direction]) -> String {
    let line = |Direction { dir_ras: [x, y, z], .. }: &Direction| format!("{x:.6} {y:.6} {z:.6}\n");
    directions.iter().map(line).collect()
}
