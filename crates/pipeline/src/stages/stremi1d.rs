//! The stage that fits a stretched exponential along each gradient direction.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::{curve, stremi1d};
use serde::{Deserialize, Serialize};

use super::curve::{CurveParameters, DIRECTIONS, earlier, lines};
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Input, Logbook, Products, StageError};

/// The stage.
pub type Stremi1d = FitMaps<Stremi1dParameters>;

/// The parameters of a stretched-exponential fit by direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stremi1dParameters {
    /// Those of every such fit.
    pub curve: CurveParameters,
}

impl FitModel for Stremi1dParameters {
    const STAGE: &'static str = "stremi1d";
    const BIDS_MODEL: &'static str = "stremi1d";
    const DESCRIPTION: &'static str = "Stretched exponential along each gradient direction";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        curve::directions(gradients, self.curve.bmax, stremi1d::LEAST_B)?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        // How many directions there are stands in the data.
        stremi1d::maps(0, self.curve.errors)
    }

    fn texts(&self) -> &'static [&'static str] {
        &[DIRECTIONS]
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
        let directions = curve::directions(gradients, self.curve.bmax, stremi1d::LEAST_B)?;
        log.count("directions", directions.len() as u64);
        let mut options = self.curve.options(subject, self.curve.likelihood_takes_noise(), log)?;
        options.earlier = earlier::<Self>(products);
        let fitted = stremi1d::fit(&**dwi, mask, gradients, &options, &log.session().on, log)?;
        Ok(Outcome { fitted, texts: vec![lines(&directions)] })
    }
}
