//! The stage that fits kurtosis along each gradient direction.

use std::fmt;
use std::str::FromStr;

use fimbria_compute::Progress as _;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve;
use fimbria_models::dki1d::{self, Dki1dOptions, Eta};
use serde::{Deserialize, Serialize};

use super::curve::{CurveParameters, DIRECTIONS, earlier, lines};
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Input, Logbook, Products, StageError};

/// Share of directions with incredible K beyond which MK is not to be trusted.
const MUCH: f64 = 0.1;

/// The stage.
pub type Dki1d = FitMaps<Dki1dParameters>;

/// The parameters of a kurtosis fit by direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dki1dParameters {
    /// Those of every such fit; the likelihood is Gaussian, since the model has its own floor.
    pub curve: CurveParameters,
    /// The noise floor.
    pub eta: NoiseFloor,
}

/// A choice of [`Eta`] as users write it: `sigma`, `rms`, `fixed:V` or `fit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl TryFrom<String> for NoiseFloor {
    type Error = NoiseFloorError;

    fn try_from(text: String) -> Result<Self, NoiseFloorError> {
        text.parse()
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

impl Default for Dki1dParameters {
    /// b up to 3000 s/mm², η = σ/S0.
    fn default() -> Self {
        let bmax = Some(dki1d::B_MAX_S_PER_MM2);
        Self {
            curve: CurveParameters { bmax, ..CurveParameters::default() },
            eta: NoiseFloor::default(),
        }
    }
}

impl FitModel for Dki1dParameters {
    const STAGE: &'static str = "dki1d";
    const BIDS_MODEL: &'static str = "dki1d";
    const DESCRIPTION: &'static str = "Diffusion kurtosis along each gradient direction";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        curve::directions(gradients, self.curve.bmax, dki1d::least_b(self.eta.0))?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        // How many directions there are stands in the data.
        dki1d::maps(0, self.curve.errors)
    }

    fn texts(&self) -> &'static [&'static str] {
        &[DIRECTIONS]
    }

    fn inputs(&self) -> Vec<Input> {
        self.curve.inputs()
    }

    fn fit(
        &self,
        subject: &Subject,
        products: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = subject;
        let needed = dki1d::least_b(self.eta.0);
        let directions = curve::directions(gradients, self.curve.bmax, needed)?;
        log.count("directions", directions.len() as u64);
        let mut options = Dki1dOptions {
            curve: self.curve.options(subject, self.eta.takes_noise(), log)?,
            eta: self.eta.0,
        };
        options.curve.earlier = earlier::<Self>(products);
        let fitted = dki1d::fit(&**dwi, mask, gradients, &options, &log.session().on, log)?;
        let limited = dki1d::limited_share(&fitted);
        log.count("limited_percent", (100.0 * limited).round() as u64);
        if limited > MUCH {
            let [low, high] = dki1d::CREDIBLE_KURTOSIS;
            log.warn(&format!(
                "{:.0} % of the directions have K outside {low:.2} to {high}, and MK is the mean of \
                 K limited to that: too much noise for so little decay (see MK in the help)",
                100.0 * limited
            ));
        }
        Ok(Outcome { fitted, texts: vec![lines(&directions)] })
    }
}

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
