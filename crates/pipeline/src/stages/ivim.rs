//! The stage that fits intravoxel incoherent motion.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::ivim;
use serde::{Deserialize, Serialize};

use super::curve::{CurveParameters, earlier};
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Input, Logbook, Products, StageError};

/// The stage.
pub type Ivim = FitMaps<IvimParameters>;

/// The parameters of a fit of intravoxel incoherent motion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IvimParameters {
    /// Those of every fit of a curve.
    pub curve: CurveParameters,
}

impl FitModel for IvimParameters {
    const STAGE: &'static str = "ivim";
    const BIDS_MODEL: &'static str = "ivim";
    const DESCRIPTION: &'static str = "Intravoxel incoherent motion";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(ivim::check(gradients, self.curve.bmax)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        ivim::maps(self.curve.errors)
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
        Ok(ivim::fit(&**dwi, mask, gradients, &options, &log.session().on, log)?.into())
    }
}
