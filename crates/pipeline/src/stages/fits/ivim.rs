//! The stage that fits intravoxel incoherent motion.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::ivim;
use serde::Serialize;

use super::curve::CurveParameters;
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::StageError;
use crate::method_text::MethodText;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};

/// The options of a fit of intravoxel incoherent motion.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "ivim";
    const BIDS_MODEL: &'static str = "ivim";
    const DESCRIPTION: &'static str = "Intravoxel incoherent motion";

    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(ivim::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        ivim::maps(self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let (f, d) = ("Of the signal without weighting.", "In mm²/s, without perfusion.");
        Some(ShownMaps::new(
            "Intravoxel incoherent motion",
            [
                ShownMap::new("f", "Perfusion fraction", f),
                ShownMap::new("D", "Tissue diffusivity", d),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let text = "S0 (f exp(-bD*) + (1 - f) exp(-bD)) was fitted by Levenberg and Marquardt's \
                    method.";
        let references = vec!["Le Bihan D et al. Radiology 168, 497 (1988)"];
        Some(Methods { text: text.to_owned(), references })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let options = job.curve_options::<Self>(&self.curve)?;
        Ok(ivim::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit intravoxel incoherent motion: perfusion fraction, D and D* of two exponentials",
    method: "\
Model:
  S = S0 (f exp(-b D*) + (1 - f) exp(-b D)) over all volumes, directions not told apart: blood in
  capillaries that point everywhere loses its signal fast, D* >= 3e-3 mm²/s, tissue slowly,
  D <= 3e-3 mm²/s. Needed are 2 different b-values below 200 s/mm² (0 is one) and 2 from there on;
  f and D* take several small b and a high signal-to-noise ratio.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both take
  sigma from --sigma, from air (--background), or else from the spread of the unweighted volumes, of
  which there must then be two or more. In IVIM protocols small b may lie below --b0-threshold (50):
  set it to 0 to tell them from b = 0.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound: D or D* at 3e-3 mm²/s. Status 7 says that no
  perfusion was seen: f is 0 and D* NaN, D and S0 are those of what is left, an exponential.
  Elsewhere f may come to rest at 0 too; D* is then where the fit left it.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Every map has one volume; none depends on axes.",
    references: &[
        ("Le Bihan D et al. Radiology 168, 497 (1988)", "the model"),
        ("Federau C. NMR Biomed 30, e3780 (2017)", "what protocols and fits it takes"),
    ],
    examples: &[
        "fimbria fit ivim dwi.nii.gz -o ivim",
        "fimbria fit ivim dwi.nii.gz --mask mask.nii.gz --bmax 800 -o ivim",
        "fimbria fit ivim dwi.nii.gz --errors --precision double -o ivim",
    ],
};
