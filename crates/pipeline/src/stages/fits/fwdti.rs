//! The stage that fits the tensor of tissue beside free water.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::fwdti;
use serde::Serialize;

use super::curve::{CurveParameters, MORE};
use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::VolumeChoice;
use crate::{Page, StageError};

/// The page's words for the model.
const PASTERNAK: &str = "Pasternak O et al. Magn Reson Med 62, 717 (2009)";

/// Beyond this b the signal of tissue bends, which a fraction of water would take for its own.
const USUAL_B_MAX: f64 = 2000.0;

/// The options of a fit of the tensor beside free water.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Take a single shell too, where what tissue is has to be assumed: zeppelins of 1e-3 mm²/s along
    /// their axis and 0.1 to 1e-3 across, beside water of 2.5e-3, by non-negative least squares
    #[arg(long)]
    pub single_shell: bool,

    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "fwdti";
    const BIDS_MODEL: &'static str = "fwdti";
    const DESCRIPTION: &'static str = "Diffusion tensor beside free water";
    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn consistent(&self) -> Result<(), String> {
        if self.single_shell && self.curve.asks_of_solver() {
            return Err("--likelihood, --precision, --max-iterations, --robust and --errors are of the fit to \
                        several shells, not of --single-shell"
                .to_owned());
        }
        self.curve.check()
    }

    fn choice(&self) -> VolumeChoice {
        VolumeChoice { usual_bmax: Some(USUAL_B_MAX), ..self.curve.volumes() }
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        match self.single_shell {
            true => Ok(fwdti::check_assumed(gradients)?),
            false => Ok(fwdti::check(gradients, self.curve.bmax)?),
        }
    }

    fn maps(&self) -> Vec<MapSpec> {
        fwdti::maps(self.curve.solver.errors)
    }

    fn shown(&self) -> Option<ShownMaps> {
        let water = "Share of the signal that diffuses as water does by itself.";
        let anisotropy = "Of what is left once that is taken off; meaningless in fluid.";
        Some(ShownMaps::new(
            "Free water",
            [
                ShownMap::new("FWF", "Free water fraction", water),
                ShownMap::new("FA", "Fractional anisotropy of the tissue", anisotropy),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        if self.single_shell {
            let text = "The signal was shared out by non-negative least squares among water of 2.5 × 10⁻³ mm²/s and \
                        zeppelins along the first eigenvector, of 1 × 10⁻³ mm²/s along and 0.1 to 1 × 10⁻³ across; \
                        the tensor was fitted to what is left without the water.";
            let references = vec!["Daducci A et al. NeuroImage 105, 32 (2015)", PASTERNAK];
            return Some(Methods { text: text.to_owned(), references });
        }
        let text = "S0 ((1 - f) exp(-b gᵀDg) + f exp(-b d)), d = 3 × 10⁻³ mm²/s, with D positive definite and \
                    f within 0 and 1, was fitted to the signals by Levenberg and Marquardt's method, from \
                    weighted least squares of the logarithm at the best of several fractions.";
        let references = vec![PASTERNAK, "Hoy AR et al. NeuroImage 103, 323 (2014)", MORE];
        Some(Methods { text: text.to_owned(), references })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        if self.single_shell {
            job.log.warn(
                Page::Troubleshooting,
                "one shell does not tell free water from tissue: FWF and the tensor follow from the tissue that \
                 is assumed",
            );
            return Ok(fwdti::fit_assumed(&**dwi, mask, gradients, job.on(), job.log)?.into());
        }
        let options = job.curve_options::<Self>(&self.curve)?;
        Ok(fwdti::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit the tensor of tissue beside free water: FWF, and FA, MD, V1 of what is left",
    method: "\
Model:
  S = S0 ((1 - f) exp(-b gᵀDg) + f exp(-b d)) with d = 3e-3 mm²/s, that of water at 37 °C: the
  fraction of free water, f (FWF), and the tensor of the tissue, fitted to all volumes at once by
  non-linear least squares. D is positive definite and f within 0 and 1 whatever the samples
  are. Needed are 3 different b, 0 may be one, along directions all over space, and 10 volumes: of
  a single shell free water and fast tissue are the same, and it is refused.

A single shell:
  --single-shell takes one, and b = 0, all the same, by assuming what tissue is: a mixture of
  zeppelins along the first eigenvector that diffuse at 1e-3 mm²/s along it and at 0.1 to 1e-3
  across; water diffuses at 2.5e-3 (AMICO's dictionary). FWF is the share of water, the tensor that
  of the rest. Where tissue is otherwise (oedema, crossings, grey matter, infants) FWF takes up the
  difference: compare within one protocol, and not with fits of several shells. Where too much was
  taken off, an eigenvalue is negative (status 8).

Volumes:
  Used are those with b up to 2000 s/mm², where they determine the fit; else all, with a warning.
  Beyond, the signal of tissue bends, and the model would take that for free water. --shells and
  --bmax choose.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood rician-mean compares the measured
  signal with the mean of a magnitude; it takes sigma from --sigma, from air (--background), or
  else from the spread of the unweighted volumes, of which there must then be two or more.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound, most often f at 0: no free water. Status 7 says
  that there is no tissue to tell of: in fluid FA, MD, AD, RD, V1 and the tensor are NaN. Close to
  that they are hardly known; --errors says how well.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; FWF and FA have no unit.

Order and frame:
  Vectors and tensors are in scanner RAS axes, xx xy xz yy yz zz, as of fit dti.",
    references: &[
        (PASTERNAK, "the model"),
        ("Hoy AR et al. NeuroImage 103, 323 (2014)", "several shells, the start"),
        ("Daducci A et al. NeuroImage 105, 32 (2015)", "--single-shell: the dictionary's problem"),
        ("Neto Henriques R et al. ReScience 3, 2 (2017)", "the same in other words"),
    ],
    examples: &[
        "fimbria fit fwdti dwi.nii.gz -o fwdti",
        "fimbria fit fwdti dwi.nii.gz --single-shell -o fwdti",
        "fimbria fit fwdti dwi.nii.gz --mask mask.nii.gz --shells 500,1500 --errors -o fwdti",
        "fimbria fit fwdti dwi.nii.gz --likelihood rician-mean --sigma 12 --layout bids -o fwdti",
    ],
};
