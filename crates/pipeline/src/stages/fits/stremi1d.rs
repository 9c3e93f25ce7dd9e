//! The stage that fits a stretched exponential along each gradient direction.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::{curve, stremi1d};
use serde::Serialize;

use super::curve::{CurveParameters, DIRECTIONS, PALOMBO, lines};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::{StageError, Written};

/// The options of a stretched-exponential fit by direction.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "stremi1d";
    const BIDS_MODEL: &'static str = "stremi1d";
    const DESCRIPTION: &'static str = "Stretched exponential along each gradient direction";

    const TEXT: &MethodText = &TEXT;
    const TEXTS: &'static [Written] = &[DIRECTIONS];

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        curve::directions(gradients, self.curve.bmax, stremi1d::LEAST_B)?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        // How many directions there are stands in the data.
        stremi1d::maps(0, self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let caption = "The mean over directions; 1 where diffusion is Gaussian.";
        let mean = ShownMap::new("Mgamma", "Mean exponent by direction", caption);
        Some(ShownMaps::new("Stretched exponentials by direction", [mean]))
    }

    fn methods(&self) -> Option<Methods> {
        let text = "S0 exp(-A b^γ) was fitted along each gradient direction by Levenberg and \
                    Marquardt's method.";
        Some(Methods { text: text.to_owned(), references: vec![PALOMBO] })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let directions = curve::directions(gradients, self.curve.bmax, stremi1d::LEAST_B)?;
        job.log.count("directions", directions.len() as u64);
        let options = job.curve_options::<Self>(&self.curve)?;
        let fitted = stremi1d::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?;
        Ok(Outcome { fitted, texts: vec![lines(&directions)] })
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit a stretched exponential along each gradient direction: A, gamma and Mgamma",
    method: "\
Model:
  S = S0 exp(-A b^gamma) for each gradient direction by itself, 0 < gamma <= 1: gamma is 1 where
  diffusion is Gaussian and falls the more the signal is spread over fast and slow decays. Unlike
  kurtosis it holds at large b, so that all volumes are used. Needed are 4 different b-values, 0
  among them, in a direction; directions with fewer are left out. Volumes whose axes differ by
  2 degrees or less share a direction.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.",
    notes: "\
Status:
  Status 2 says that a direction rests at a bound, most often gamma at 1: free water.

Units:
  b-values are read in s/mm². A has the unit that makes A b^gamma a number with b in ms/µm².

Order and frame:
  Volumes of A and gamma are in the order of directions.txt, that in which directions first appear
  among the weighted volumes; its axes are those of the scanner (RAS), whatever the --layout.",
    references: &[
        ("Bennett KM et al. Magn Reson Med 50, 727 (2003)", "the stretched exponential"),
        (
            "Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR parametric imaging",
            "the fit of each direction, Mgamma",
        ),
    ],
    examples: &[
        "fimbria fit stremi1d dwi.nii.gz -o stremi1d",
        "fimbria fit stremi1d dwi.nii.gz --mask mask.nii.gz --bmax 5000 -o stremi1d",
        "fimbria fit stremi1d dwi.nii.gz --likelihood rician --sigma 12 -o stremi1d",
    ],
};
