//! The stage that makes spin distributions by generalised q-sampling.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::gqi::{self, GqiOptions, Weighting};
use serde::Serialize;

use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::StageError;
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice, within};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice, Named};

/// The options of a reconstruction by q-sampling.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// How far displacements are counted, in units of how far free water diffuses
    #[arg(long, value_name = "L", number = within(0.1, 10.0, ""))]
    #[arg(default_value_t = GqiOptions::default().length)]
    pub length: f64,

    /// How displacements within that count
    #[arg(long, value_name = "HOW", default_value = "alike", value_parser = choice::<Weighting>())]
    pub weighting: Named<Weighting>,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

impl Choice for Weighting {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Alike, "alike", "one as the other: GQI"),
        (Self::Squared, "squared", "by their square, as in a density of directions: GQI2"),
    ];
}

impl Parameters {
    fn options(&self) -> GqiOptions {
        GqiOptions { length: self.length, weighting: self.weighting.0 }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "gqi";
    const BIDS_MODEL: &'static str = "gqi";
    const DESCRIPTION: &'static str = "Generalised q-sampling";
    const TEXT: &MethodText = &TEXT;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(gqi::check(gradients)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        gqi::maps()
    }

    fn shown(&self) -> Option<ShownMaps> {
        let above = "Spins along the main direction above those along the least.";
        let least = "Spins that move along all directions alike.";
        Some(ShownMaps::new(
            "Spin distributions",
            [
                ShownMap::new("QA", "Quantitative anisotropy", above),
                ShownMap::new("ISO", "Isotropic part", least),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        let weighted = match self.weighting.0 {
            Weighting::Alike => "",
            Weighting::Squared => ", weighted by the square of displacements",
        };
        let mut references =
            vec!["Yeh FC, Wedeen VJ, Tseng WYI. IEEE Trans Med Imaging 29, 1626 (2010)"];
        if self.weighting.0 == Weighting::Squared {
            references.push("Garyfallidis E. PhD thesis, University of Cambridge (2012)");
        }
        Some(Methods {
            text: format!(
                "Spin distributions were reconstructed by generalised q-sampling with a diffusion sampling \
                 length ratio of {}{weighted}.",
                self.length
            ),
            references,
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        Ok(gqi::fit(&**dwi, mask, gradients, &self.options(), job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Make spin distributions by generalised q-sampling (GQI): QA, ISO, GFA and the density",
    method: "\
Sum:
  How many spins move along u is the mean over all volumes of S H(L √(6 D b) g·u), with D the
  diffusivity of free water, 2.51e-3 mm²/s, and L of --length; H(x) is sin x / x, or with
  --weighting squared (2 x cos x + (x² - 2) sin x) / x³. No model of tissue is fitted. It takes any
  table, shells or a grid, of 15 weighted volumes. DSI Studio takes an L of 1.25, DIPY of 1.2.

Maps:
  ISO is the least over directions, QA the largest less that, GFA the standard deviation over the
  root mean square, all over 324 directions of half of the sphere. odf is the distribution less ISO,
  as harmonics of degree 12 in closed form, scaled to an integral of 1: `fimbria peaks` finds its
  maxima and `fimbria track` follows it.

Where it holds:
  Maxima are wide: fibres that cross at small angles share one. QA and ISO are in
  units of the input, and they compare between subjects after each is divided by the ISO of the same
  tissue, such as fluid. Noise makes GFA and QA where there is no fibre.",
    notes: "\
Units:
  b-values are read in s/mm²; QA and ISO have the unit of the series.

Order and frame:
  odf has harmonics in MRtrix3's basis and order, scanner RAS axes.",
    references: &[
        ("Yeh FC, Wedeen VJ, Tseng WYI. IEEE Trans Med Imaging 29, 1626 (2010)", "the sum, QA"),
        ("Garyfallidis E. PhD thesis, University of Cambridge (2012)", "the weighting by squares"),
        ("Tuch DS. Magn Reson Med 52, 1358 (2004)", "GFA"),
    ],
    examples: &[
        "fimbria fit gqi dwi.nii.gz --mask mask.nii.gz -o gqi",
        "fimbria fit gqi dwi.nii.gz --length 1.2 --weighting squared -o gqi",
        "fimbria fit gqi grid.nii.gz --bmax 4000 -o gqi",
    ],
};
