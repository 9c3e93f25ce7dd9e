//! The stage that fits the mean signals of shells over all directions.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve::CurveOptions;
use fimbria_models::smt::{self, Compartments, SmtOptions};
use serde::Serialize;

use super::curve::{CurveParameters, ERRORS, MORE};
use super::fit_maps::{FitJob, FitModel, Outcome};
use super::msdki::warn_of_few_directions;
use crate::method_text::MethodText;
use crate::options::choice;
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::{Choice, Named, StageError, Written};

/// The options of a fit of spherical means.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// What the mean signal is taken for
    #[arg(long, value_name = "NUMBER", default_value = "one")]
    #[arg(value_parser = choice::<Compartments>())]
    pub compartments: Named<Compartments>,

    /// Those of every fit of a curve.
    #[command(flatten)]
    #[serde(flatten)]
    pub curve: CurveParameters,
}

impl Choice for Compartments {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::One, "one", "a microscopic tensor: long, trans, MD, uFA"),
        (Self::Two, "two", "sticks and what they hinder: intra, diff, extratrans, extramd"),
    ];
}

impl Parameters {
    fn options(&self, curve: CurveOptions) -> SmtOptions {
        SmtOptions { curve, compartments: self.compartments.0 }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "smt";
    const BIDS_MODEL: &'static str = "smt";
    const DESCRIPTION: &'static str = "Spherical means";
    const TEXT: &MethodText = &TEXT;

    fn curve(&self) -> Option<&CurveParameters> {
        Some(&self.curve)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(smt::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        smt::maps(self.compartments.0, self.curve.solver.errors)
    }

    fn described_others() -> Vec<Written> {
        let of_two = "with --compartments two";
        vec![
            Written::scalar("intra", "", "share of the signal that is in sticks").only(of_two),
            Written::scalar("diff", "mm^2/s", "axial diffusivity of both compartments, mm²/s")
                .only(of_two),
            Written::scalar("extratrans", "mm^2/s", "radial diffusivity outside the sticks, mm²/s")
                .only(of_two),
            Written::scalar("extramd", "mm^2/s", "mean diffusivity outside the sticks, mm²/s")
                .only(of_two),
            ERRORS,
        ]
    }

    fn shown(&self) -> Option<ShownMaps> {
        let maps = match self.compartments.0 {
            Compartments::One => [
                ("uFA", "Microscopic anisotropy", "Of single fibres, however they lie."),
                ("MD", "Mean diffusivity", "Of the microscopic tensor, mm²/s."),
            ],
            Compartments::Two => [
                ("intra", "Share of sticks", "Of the signal; free water is not told apart."),
                ("diff", "Axial diffusivity", "The same inside and outside, mm²/s."),
            ],
        };
        let shown = |(name, heading, caption)| ShownMap::new(name, heading, caption);
        Some(ShownMaps::new("Spherical means", maps.map(shown)))
    }

    fn methods(&self) -> Option<Methods> {
        let (what, paper) = match self.compartments.0 {
            Compartments::One => (
                "a microscopic tensor that is the same about its axis",
                "Kaden E, Kruggel F, Alexander DC. Magn Reson Med 75, 1752 (2016)",
            ),
            Compartments::Two => (
                "sticks and water hindered by them, with one axial diffusivity λ and (1 - v) λ across",
                "Kaden E et al. NeuroImage 139, 346 (2016)",
            ),
        };
        Some(Methods {
            text: format!(
                "The mean over all directions of the signal of {what} was fitted to the mean signals of \
                 the shells, each weighted by its number of volumes, by Levenberg and Marquardt's method."
            ),
            references: vec![paper, MORE],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        warn_of_few_directions(gradients, "all maps do", job.log);
        let options = self.options(job.curve_options::<Self>(&self.curve)?);
        Ok(smt::fit(&**dwi, mask, gradients, &options, job.on(), job.log)?.into())
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit the mean signals of shells: microscopic anisotropy, or the share of sticks",
    method: "\
Model:
  The mean of a shell over all directions does not depend on how fibres lie: dispersion and
  crossings do not enter. --compartments one: a microscopic tensor with an axial and a radial
  diffusivity, 0 <= trans <= long <= 3.05e-3 mm²/s. two: a share intra of sticks of diffusivity
  diff, and water beside them that diffuses with diff along and (1 - intra) diff across. S0 is
  fitted, too; shells count by their volumes. Needed are 3 different b, 0 may be one, each along
  directions all over space: one shell has one mean, and is refused. 15 directions and more are
  wanted in each.

Noise:
  The magnitude of a weak signal is biased upwards, and means do not take that out. --likelihood
  rician-mean compares with the mean of a magnitude of the mean signal, which is near the mean of
  magnitudes where a shell lies well above or wholly in the noise. It takes sigma from --sigma,
  from air (--background), or else from the spread of the unweighted volumes.",
    notes: "\
Status:
  Status 2 says that a parameter rests at a bound: trans or intra at 0, long at 3.05e-3
  mm²/s (fluid).

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; uFA and intra have no unit.

Order and frame:
  Every map has one volume; none depends on axes.",
    references: &[
        ("Kaden E, Kruggel F, Alexander DC. Magn Reson Med 75, 1752 (2016)", "one compartment"),
        ("Kaden E et al. NeuroImage 139, 346 (2016)", "two compartments"),
    ],
    examples: &[
        "fimbria fit smt dwi.nii.gz -o smt",
        "fimbria fit smt dwi.nii.gz --mask mask.nii.gz --compartments two -o mcsmt",
        "fimbria fit smt dwi.nii.gz --shells 1000,2000 --likelihood rician-mean --sigma 12 -o smt",
    ],
};
