//! The stage that fits kurtosis along each gradient direction.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve;
use fimbria_models::curve::{CurveOptions, rules};
use fimbria_models::dki1d::{self, Dki1dOptions, Eta};
use serde::Serialize;
use serde_json::{Value, json};

use super::curve::{DIRECTIONS, ERRORS, NoiseOptions, PALOMBO, SolverOptions, earlier, lines};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Input, Page, StageError, Written};

/// Share of directions with incredible K beyond which MK is not to be trusted.
const MUCH: f64 = 0.1;

/// The options of a kurtosis fit by direction. The likelihood is Gaussian, since the model has its
/// own floor.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// The noise floor relative to S0: sigma (sigma / S0), rms (sqrt(2) sigma / S0), fixed:V (V in
    /// all voxels, as in fixed:0.02) or fit (one for each direction, 0 to 0.5)
    #[arg(long, value_name = "sigma|rms|fixed:V|fit", default_value = "sigma")]
    pub eta: NoiseFloor,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", default_value_t = dki1d::B_MAX_S_PER_MM2)]
    #[arg(number = above(0.0, "s/mm²"))]
    pub bmax: f64,

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

/// A choice of [`Eta`] as users write it: `sigma`, `rms`, `fixed:V` or `fit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct NoiseFloor(pub Eta);

/// What is no noise floor.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is none of sigma, rms, fit and fixed:V, V from 0 to below 1")]
pub struct NoiseFloorError(String);

impl FromStr for NoiseFloor {
    type Err = NoiseFloorError;

    fn from_str(text: &str) -> Result<Self, NoiseFloorError> {
        let fixed = || text.strip_prefix("fixed:")?.parse::<f64>().ok();
        match text {
            "sigma" => Ok(Self(Eta::Sigma)),
            "rms" => Ok(Self(Eta::RootMeanSquare)),
            "fit" => Ok(Self(Eta::Fit)),
            _ => match fixed() {
                Some(eta) if (0.0..1.0).contains(&eta) => Ok(Self(Eta::Fixed(eta))),
                _ => Err(NoiseFloorError(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for NoiseFloor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Eta::Sigma => f.write_str("sigma"),
            Eta::RootMeanSquare => f.write_str("rms"),
            Eta::Fit => f.write_str("fit"),
            Eta::Fixed(eta) => write!(f, "fixed:{eta}"),
        }
    }
}

impl From<NoiseFloor> for String {
    fn from(floor: NoiseFloor) -> Self {
        floor.to_string()
    }
}

impl NoiseFloor {
    /// True where it follows from the noise level.
    pub fn takes_noise(self) -> bool {
        matches!(self.0, Eta::Sigma | Eta::RootMeanSquare)
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "dki1d";
    const BIDS_MODEL: &'static str = "dki1d";
    const DESCRIPTION: &'static str = "Diffusion kurtosis along each gradient direction";

    const TEXT: &MethodText = &TEXT;
    const TEXTS: &'static [Written] = &[DIRECTIONS];

    fn consistent(&self) -> Result<(), String> {
        self.noise.check(self.eta.takes_noise(), "with --eta sigma and rms")
    }

    fn in_effect(&self) -> Value {
        SolverOptions::in_effect(json!(self), rules::MAX_ITERATIONS)
    }

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(Some(self.bmax))
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        curve::directions(gradients, Some(self.bmax), dki1d::least_b(self.eta.0))?;
        Ok(())
    }

    fn described_others() -> Vec<Written> {
        vec![ERRORS]
    }

    fn maps(&self) -> Vec<MapSpec> {
        // How many directions there are stands in the data.
        dki1d::maps(0, self.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let caption = "The mean of the kurtosis of each direction, fitted without the others.";
        let mean = ShownMap::new("MK", "Mean kurtosis by direction", caption);
        Some(ShownMaps::new("Kurtosis by direction", [mean]))
    }

    fn methods(&self) -> Option<Methods> {
        Some(Methods {
            text: format!(
                "S0 √(exp(-bD + b²D²K/6)² + η²) was fitted to the volumes of each gradient direction by \
                 Levenberg and Marquardt's method, η: {}.",
                self.eta
            ),
            references: vec![PALOMBO],
        })
    }

    fn inputs(&self) -> Vec<Input> {
        self.noise.inputs()
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let needed = dki1d::least_b(self.eta.0);
        let directions = curve::directions(gradients, Some(self.bmax), needed)?;
        job.log.count("directions", directions.len() as u64);
        let takes_noise = self.eta.takes_noise();
        let sigma = if takes_noise { self.noise.level(job.subject, job.log)? } else { None };
        let curve = self.solver.options(Some(self.bmax), rules::MAX_ITERATIONS);
        let mut options = Dki1dOptions { curve: CurveOptions { sigma, ..curve }, eta: self.eta.0 };
        options.curve.earlier = earlier::<Self>(job.products);
        let fitted = dki1d::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?;
        let limited = dki1d::limited_share(&fitted);
        job.log.count("limited_percent", (100.0 * limited).round() as u64);
        if limited > MUCH {
            let [low, high] = dki1d::CREDIBLE_KURTOSIS;
            job.log.warn(Page::Kurtosis, &format!(
                "{:.0} % of the directions have K outside {low:.2} to {high}, and MK is the mean of \
                 K limited to that: too much noise for so little decay (see MK in the help)",
                100.0 * limited
            ));
        }
        Ok(Outcome { fitted, texts: vec![lines(&directions)] })
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit kurtosis along each gradient direction, above a noise floor: D, K and MK",
    method: "\
Model:
  S = S0 sqrt(exp(-b D + b² A)² + eta²) for each gradient direction by itself, A = D² K / 6, with
  the diffusivity D and the kurtosis K of that direction: K is 0 where diffusion is Gaussian and
  grows with the number and contrast of compartments. eta is the floor that noise leaves of a
  magnitude. The expansion stops at b², so that volumes above --bmax are left out. Needed are
  3 different b-values, 0 among them, in a direction (4 where eta is fitted); directions with
  fewer are left out. Volumes whose axes differ by 2 degrees or less share a direction.

Noise:
  sigma is the least biased floor for D and K; rms makes the mean square of the signal exact and K
  too low; fit takes many b-values and tells floor from kurtosis only where the signal reaches it.
  The noise level is that of --sigma, of air (--background), or else of the spread of the
  unweighted volumes; where there is one at most, of the residuals of a first fit without floor,
  for which directions need six samples.",
    notes: "\
Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Order and frame:
  Volumes of D and K are in the order of directions.txt, that in which directions first appear
  among the weighted volumes; its axes are those of the scanner (RAS), whatever the --layout.

MK and noise:
  K = 6 A / D² of one direction scatters far where b D stays small, further down than up. With S0
  50 times the noise and b up to 3000 s/mm² MK is 0.02 too low at D = 0.7e-3 mm²/s, 0.06 at
  0.35e-3; in fixed tissue, with D from 0.1e-3 to 0.3e-3, the limits leave it 0.15 too high (with b
  up to 8000, 0.03 too low). A warning says where more than a tenth of all K lie beyond the limits.
  fit dki fits all directions at once: there slow directions are steadied by the others.

MK here and that of fit dki:
  Both are means of K over directions. Here over those measured, each fitted by itself; there over
  all directions of a tensor fitted to everything at once, which takes fewer volumes.",
    references: &[
        ("Jensen JH et al. Magn Reson Med 53, 1432 (2005)", "the model, with its floor"),
        (
            "Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR parametric imaging",
            "the fit of each direction, MK",
        ),
    ],
    examples: &[
        "fimbria fit dki1d dwi.nii.gz -o dki1d",
        "fimbria fit dki1d dwi.nii.gz --mask mask.nii.gz -o dki1d",
        "fimbria fit dki1d dwi.nii.gz --device gpu -o dki1d",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noise_floor_is_read_as_it_is_written() {
        for text in ["sigma", "rms", "fit", "fixed:0.05"] {
            assert_eq!(text.parse::<NoiseFloor>().unwrap().to_string(), text);
        }
        for text in ["fixed", "fixed:-1", "fixed:nan", "fixed:1", "0.05"] {
            let error = text.parse::<NoiseFloor>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("fixed:V"), "{error}");
        }
    }
}
