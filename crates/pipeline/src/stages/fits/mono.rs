//! The stage that fits mono-exponential decays.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::mono;
use serde::Serialize;

use super::curve::{CurveParameters, MORE};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::StageError;
use crate::method_text::MethodText;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};

/// The options of a mono-exponential fit.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "mono";
    const BIDS_MODEL: &'static str = "mono";
    const DESCRIPTION: &'static str = "Mono-exponential decay";

    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(mono::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        mono::maps(self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let caption = "In mm²/s, of all directions together.";
        let d = ShownMap::new("D", "Diffusivity", caption);
        Some(ShownMaps::new("One exponential", [d]))
    }

    fn methods(&self) -> Option<Methods> {
        let text = "S0 exp(-bD) was fitted by Levenberg and Marquardt's method.";
        Some(Methods { text: text.to_owned(), references: vec![MORE] })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let options = job.curve_options::<Self>(&self.curve)?;
        Ok(mono::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit one exponential, S0 exp(-b D), to all volumes: D and S0",
    method: "\
Model:
  S = S0 exp(-b D) over all volumes, directions not told apart: for powder averages, trace-weighted
  series, phantoms and gels. Where diffusion depends on direction, fit dti is the model of its
  kind. Needed are 2 different b-values.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.",
    notes: "\
Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Every map has one volume; none depends on axes.",
    references: &[
        ("Stejskal EO, Tanner JE. J Chem Phys 42, 288 (1965)", "the decay"),
        ("Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995)", "rician"),
    ],
    examples: &[
        "fimbria fit mono dwi.nii.gz -o mono",
        "fimbria fit mono dwi.nii.gz --mask mask.nii.gz --bmax 1000 -o mono",
        "fimbria fit mono dwi.nii.gz --likelihood rician --sigma 12 -o mono",
    ],
};
