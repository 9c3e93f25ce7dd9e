//! The stage that fits the stretched-exponential model to all volumes.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve::CurveOptions;
use fimbria_models::stremi::{self, Projection, StremiOptions};
use serde::Serialize;

use super::curve::{CurveParameters, PALOMBO};
use super::fit_maps::{FitJob, FitModel, InRun, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::{Choice, Named, StageError};

/// The options of a stretched-exponential fit.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// How b projects on an axis e of the tensor, for a gradient along g
    #[arg(long, value_name = "PROJECTION", default_value = "dti")]
    #[arg(value_parser = choice::<Projection>())]
    pub projection: Named<Projection>,

    /// Largest b of the tensor fit that gives the axes (volumes up to 5 % above count)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"))]
    #[arg(default_value_t = StremiOptions::default().axes_b_max_s_per_mm2)]
    pub axes_bmax: f64,

    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl Choice for Projection {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Dti, "dti", "b (g·e)²: with gamma = 1 the tensor's own"),
        (Self::Paper, "paper", "b |g·e|, as published"),
    ];
}

impl Parameters {
    fn options(&self, curve: CurveOptions) -> StremiOptions {
        StremiOptions { curve, projection: self.projection.0, axes_b_max_s_per_mm2: self.axes_bmax }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "stremi";
    const BIDS_MODEL: &'static str = "stremi";
    const DESCRIPTION: &'static str = "Stretched-exponential model along the axes of the tensor";

    const TEXT: &MethodText = &TEXT;
    const IN_RUN: InRun = InRun::WhereSupported;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        let curve = CurveOptions { b_max_s_per_mm2: self.curve.bmax, ..CurveOptions::default() };
        Ok(stremi::check(gradients, &self.options(curve))?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        stremi::maps(self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let mean = "1 where diffusion is Gaussian; falls with the disorder that water meets.";
        let anisotropy = "How far they differ along the axes of the tensor.";
        Some(ShownMaps::new(
            "Stretched exponentials",
            [
                ShownMap::new("Mgamma", "Mean exponent", mean),
                ShownMap::new("Agamma", "Anisotropy of the exponents", anisotropy),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let projection = match self.projection.0 {
            Projection::Dti => "b (g·e)²",
            Projection::Paper => "b |g·e|",
        };
        Some(Methods {
            text: format!(
                "ln S = ln S0 - Σ A_i b_i^γ_i over the axes e_i of a tensor fitted to volumes up to \
                 {} s/mm², b_i = {projection}, was fitted to the signals by Levenberg \
                 and Marquardt's method, 0.1 ≤ γ_i ≤ 1.",
                self.axes_bmax,
            ),
            references: vec!["De Santis S et al. Magn Reson Med 65, 1043 (2011)", PALOMBO],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        let options = self.options(job.curve_options::<Self>(&self.curve)?);
        Ok(stremi::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit the stretched-exponential model to all volumes: gamma, A, Mgamma and Agamma",
    method: "\
Model:
  ln S = ln S0 - sum of A_i b_i^gamma_i over the three axes e_i of the diffusion tensor, with b_i
  the projection of b on e_i and 0 < gamma_i <= 1: seven parameters, fitted to all volumes of all
  b. gamma is 1 where diffusion is Gaussian and falls with the disorder that water meets. The axes
  are those of a tensor fitted by weighted least squares to volumes up to --axes-bmax. Needed are
  directions enough for that tensor, 4 different b-values, each 0 or along directions that do not
  lie in a plane, and 8 volumes.

Projection:
  dti takes b_i = b (g·e_i)², with which the model is the diffusion tensor where all gamma are 1.
  paper takes b_i = b |g·e_i|, as published, with which it is not: exponents of the two are not
  comparable.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound, most often an exponent at 1: free water, or an
  axis along which too little signal is lost to say.

Units:
  b-values are read in s/mm². A has the unit that makes A b^gamma a number with b in ms/µm².

Order and frame:
  Volumes are in the order of the tensor's eigenvalues, largest first: those of V1 V2 V3 of fit dti
  with volumes up to --axes-bmax. The maps are numbers along these axes, without a frame.",
    references: &[
        ("De Santis S et al. Magn Reson Med 65, 1043 (2011)", "the model, Mgamma, Agamma"),
        (
            "Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR parametric imaging",
            "equation 4",
        ),
    ],
    examples: &[
        "fimbria fit stremi dwi.nii.gz -o stremi",
        "fimbria fit stremi dwi.nii.gz --mask mask.nii.gz --errors -o stremi",
        "fimbria fit stremi dwi.nii.gz --likelihood offset-gaussian --background air.nii.gz -o stremi",
    ],
};
