//! The stage that fits kurtosis to the mean signal of each shell.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::msdki;
use serde::Serialize;

use super::fit_maps::{FitJob, FitModel, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, above};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Logbook, Page, StageError};

/// Directions of a shell whose mean hardly depends on how fibres lie: as many as harmonics of degree 4 have
/// coefficients.
const LEAST_DIRECTIONS: usize = 15;

/// The options of a fit of mean-signal kurtosis.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", default_value_t = 3000.0, number = above(0.0, "s/mm²"))]
    pub bmax: f64,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

impl FitModel for Parameters {
    const STAGE: &'static str = "msdki";
    const BIDS_MODEL: &'static str = "msdki";
    const DESCRIPTION: &'static str = "Mean-signal diffusion kurtosis";
    const IN_PRESETS: bool = true;
    const TEXT: &MethodText = &TEXT;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(Some(self.bmax))
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(msdki::check(gradients)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        msdki::maps()
    }

    fn shown(&self) -> Option<ShownMaps> {
        let kurtosis = "How far the decay of the mean signal is from that of free diffusion.";
        let axons = "By two compartments; directions of fibres do not enter.";
        Some(ShownMaps::new(
            "Mean-signal kurtosis",
            [
                ShownMap::new("MSK", "Mean-signal kurtosis", kurtosis),
                ShownMap::new("AWF", "Axonal water fraction", axons),
            ],
        ))
    }

    fn methods(&self) -> Option<Methods> {
        Some(Methods {
            text: "ln S = ln S0 - bD + b²D²K/6 was fitted to the mean signals of the shells by \
                   weighted least squares; the axonal water fraction, intrinsic diffusivity and \
                   microscopic anisotropy are those of two compartments with the same D and K."
                .to_owned(),
            references: vec![
                "Neto Henriques R. Advanced methods for diffusion MRI data analysis and their application \
                 to the healthy ageing brain. University of Cambridge (2018)",
                "Neto Henriques R, Jespersen SN, Shemesh N. Magn Reson Med 81, 3245 (2019)",
            ],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let Subject { dwi, mask, gradients, .. } = job.subject;
        warn_of_few_directions(gradients, "MSK, AWF and MFA do too", job.log);
        Ok(msdki::fit(&**dwi, mask, gradients, job.on(), job.log)?.into())
    }
}

/// Warns of shells whose mean depends on how fibres lie to their directions; `then` says what else does.
pub(super) fn warn_of_few_directions(gradients: &GradientTable, then: &str, log: &Logbook<'_>) {
    for shell in gradients.shells() {
        let directions = gradients.distinct_directions(shell.volumes.iter().copied());
        if !gradients.is_b0(shell.volumes[0]) && directions < LEAST_DIRECTIONS {
            log.warn(Page::Kurtosis, &format!(
                "the shell {shell} has {directions} distinct directions: the mean of fewer than \
                 {LEAST_DIRECTIONS} depends on how fibres lie to them, and {then}"
            ));
        }
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit kurtosis to the mean signal of each shell: MSD, MSK, and the fraction of axons",
    method: "\
Model:
  ln S = ln S0 - b D + b² D² K / 6 of the mean signal S over the directions of each shell, so that
  the directions and crossings of fibres do not enter: D is MSD, K is MSK. Shells are weighted by
  their number of volumes and their squared mean signal. Needed are 3 shells, b = 0 may be one, each
  with directions spread evenly over the sphere. The expansion stops at b², so that volumes above
  --bmax are left out.

Compartments:
  AWF, DI and MFA are those of the spherical mean technique with two compartments, axons and what
  is between them, that has the same MSD and MSK: K of 0 is no axons, 2.4 or more nothing else.",
    notes: "\
Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Order and frame:
  Every map has one volume; none depends on axes.",
    references: &[
        (
            "Neto Henriques R. Advanced methods for diffusion MRI data analysis and their application \
                 to the healthy ageing brain. University of Cambridge (2018)",
            "the model",
        ),
        ("Kaden E et al. NeuroImage 139, 346 (2016)", "the compartments"),
        (
            "Neto Henriques R, Jespersen SN, Shemesh N. Magn Reson Med 81, 3245 (2019)",
            "AWF, DI and MFA of MSD and MSK",
        ),
    ],
    examples: &[
        "fimbria fit msdki dwi.nii.gz -o msdki",
        "fimbria fit msdki dwi.nii.gz --mask mask.nii.gz --bmax 2500 -o msdki",
        "fimbria fit msdki dwi.nii.gz --shells 1000,2000 --layout bids -o msdki",
    ],
};
