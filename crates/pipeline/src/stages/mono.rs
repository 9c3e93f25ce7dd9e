//! The stage that fits mono-exponential decays.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::mono;
use serde::{Deserialize, Serialize};

use super::curve::{CurveParameters, earlier};
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Input, Logbook, Products, StageError};

/// The stage.
pub type Mono = FitMaps<MonoParameters>;

/// The parameters of a mono-exponential fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MonoParameters {
    /// Those of every fit of a curve.
    pub curve: CurveParameters,
}

impl FitModel for MonoParameters {
    const STAGE: &'static str = "mono";
    const BIDS_MODEL: &'static str = "mono";
    const DESCRIPTION: &'static str = "Mono-exponential decay";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(mono::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        mono::maps(self.curve.errors)
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
        let mut options = self.curve.options(subject, self.curve.likelihood_takes_noise(), log)?;
        options.earlier = earlier::<Self>(products);
        Ok(mono::fit(&**dwi, mask, gradients, &options, &log.session().on, log)?.into())
    }
}
