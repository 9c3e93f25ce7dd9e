//! The stage that fits diffusion and kurtosis tensors that are round about one axis.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::axdki;
use serde::Serialize;

use super::curve::{CurveParameters, MORE};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::StageError;
use crate::method_text::MethodText;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::VolumeChoice;

/// Beyond this the expansion in b does not hold in tissue.
const USUAL_B_MAX: f64 = 3000.0;

/// The options of a fit of axially symmetric kurtosis.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "axdki";
    const BIDS_MODEL: &'static str = "axdki";
    const DESCRIPTION: &'static str = "Axially symmetric kurtosis";
    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn choice(&self) -> VolumeChoice {
        VolumeChoice { usual_bmax: Some(USUAL_B_MAX), ..self.curve.volumes() }
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(axdki::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        axdki::maps(self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let mean = "How far diffusion is from Gaussian, averaged over directions.";
        let across = "Across the axis, where membranes are.";
        Some(ShownMaps::new(
            "Kurtosis about one axis",
            [
                ShownMap::new("MK", "Mean kurtosis", mean),
                ShownMap::new("RK", "Radial kurtosis", across),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let text = "Diffusion and kurtosis tensors that are symmetric about one axis were fitted with that \
                    axis to the signals by Levenberg and Marquardt's method, S = S0 exp(-b D(n) + b² MD² W(n) \
                    / 6); the mean kurtosis is the closed form of its integral over the sphere.";
        let references = vec![
            "Hansen B, Shemesh N, Jespersen SN. NeuroImage 142, 381 (2016)",
            "Hansen B et al. NMR Biomed 30, e3741 (2017)",
            MORE,
        ];
        Some(Methods { text: text.to_owned(), references })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let options = job.curve_options::<Self>(&self.curve)?;
        let Subject { dwi, mask, gradients, .. } = job.subject;
        Ok(axdki::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit kurtosis about one axis: MK, AK, RK and more of few directions",
    method: "\
Model:
  S = S0 exp(-b D(n) + (b²/6) MD² W(n)) with diffusion and kurtosis tensors that are symmetric about
  one axis u: with c = n·u, D = RD + (AD - RD) c² and W = Wperp + B c² + C c⁴, where C = 5/2 Wpar +
  5 Wperp - 15/2 MKT and B = Wpar - Wperp - C. S0, AD, RD, Wpar, Wperp, MKT and the axis, eight
  numbers in place of 22, are fitted to the signals by non-linear least squares; AD, RD, Wpar, Wperp
  and MKT are not negative. Needed are 3 different b, 0 may be one, along directions all over
  space, and 10 volumes: also the fast protocols of 13 to 19 images.

Kurtosis:
  AK = MD² Wpar / AD² and RK = MD² Wperp / RD² are along and across the axis, MK is the mean of MD²
  W(n) / D(n)² over the sphere in closed form, MKT that of W.

Where it holds:
  In one bundle, and in tissue without a direction. The axis starts from the tensor's first
  eigenvector: where fibres cross AK, RK, Wpar and Wperp are of an axis that is none, and MD, MK
  and MKT hold roughly. --bmax is 3000 where these volumes determine the fit.

Noise:
  The magnitude of a weak signal is biased upwards, and with it kurtosis. --likelihood rician-mean
  compares the measured signal with the mean of a magnitude; it takes sigma from --sigma, from
  air (--background), or else from the spread of the unweighted volumes, of which there must
  then be two or more.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound, most often a kurtosis at 0.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Order and frame:
  direction is x y z in scanner RAS axes, of length 1; its sign means nothing. Other maps have one
  volume.",
    references: &[
        ("Hansen B, Shemesh N, Jespersen SN. NeuroImage 142, 381 (2016)", "the tensors, the means"),
        ("Hansen B et al. NMR Biomed 30, e3741 (2017)", "the fit to few images"),
        ("Jensen JH, Helpern JA. NMR Biomed 23, 698 (2010)", "kurtosis"),
    ],
    examples: &[
        "fimbria fit axdki dwi.nii.gz -o axdki",
        "fimbria fit axdki dwi.nii.gz --mask mask.nii.gz --bmax 2500 --errors -o axdki",
        "fimbria fit axdki dwi.nii.gz --likelihood rician-mean --sigma 12 --layout bids -o axdki",
    ],
};
