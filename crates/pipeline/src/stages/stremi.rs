//! The stage that fits the stretched-exponential model to all volumes.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::curve::CurveOptions;
use fimbria_models::stremi::{self, Projection, StremiOptions};
use serde::{Deserialize, Serialize};

use super::curve::{CurveParameters, earlier};
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Choice, Input, Logbook, Named, Products, StageError};

/// The stage.
pub type Stremi = FitMaps<StremiParameters>;

/// The parameters of a stretched-exponential fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StremiParameters {
    /// Those of every fit of a curve.
    pub curve: CurveParameters,
    /// How b projects on the axes of the tensor.
    pub projection: Named<Projection>,
    /// Largest b of the tensor fit that gives the axes, s/mm².
    pub axes_bmax: f64,
}

impl Default for StremiParameters {
    fn default() -> Self {
        let StremiOptions { curve: _, projection, axes_b_max_s_per_mm2 } = StremiOptions::default();
        Self {
            curve: CurveParameters::default(),
            projection: Named(projection),
            axes_bmax: axes_b_max_s_per_mm2,
        }
    }
}

impl Choice for Projection {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Dti, "dti", "b (g·e)²: with gamma = 1 the tensor's own"),
        (Self::Paper, "paper", "b |g·e|, as published"),
    ];
}

impl StremiParameters {
    fn options(&self, curve: CurveOptions) -> StremiOptions {
        StremiOptions { curve, projection: self.projection.0, axes_b_max_s_per_mm2: self.axes_bmax }
    }
}

impl FitModel for StremiParameters {
    const STAGE: &'static str = "stremi";
    const BIDS_MODEL: &'static str = "stremi";
    const DESCRIPTION: &'static str = "Stretched-exponential model along the axes of the tensor";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        let curve = CurveOptions { b_max_s_per_mm2: self.curve.bmax, ..CurveOptions::default() };
        Ok(stremi::check(gradients, &self.options(curve))?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        stremi::maps(self.curve.errors)
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
        let takes_noise = self.curve.likelihood_takes_noise();
        let mut options = self.options(self.curve.options(subject, takes_noise, log)?);
        options.curve.earlier = earlier::<Self>(products);
        Ok(stremi::fit(&**dwi, mask, gradients, &options, &log.session().on, log)?.into())
    }
}
