//! The stage that fits diffusion tensors.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::dti::{self, Compat, DtiMap, DtiOptions, Method, Precision};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fit_maps::{Deviation, FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Logbook, Named, Products, StageError};

/// The largest b, s/mm², up to which ln S falls in tissue as that of a tensor does; beyond it
/// kurtosis makes diffusivities too small.
pub const USUAL_B_MAX: f64 = 1500.0;

/// The stage.
pub type Dti = FitMaps<DtiParameters>;

/// The parameters of a tensor fit and of its maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DtiParameters {
    /// How the tensor is estimated; `None` for what the program of `compat` does, or WLS.
    pub method: Option<Named<Method>>,
    /// Whose numerics to follow.
    pub compat: Option<Named<Compat>>,
    /// The arithmetic.
    pub precision: Named<Precision>,
    /// Noise level in input units, for RESTORE.
    pub sigma: Option<f64>,
    /// Use only the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// The largest b to use, s/mm²; `None` for [`USUAL_B_MAX`] where that is enough and no other
    /// program is followed.
    pub bmax: Option<f64>,
    /// The maps to write; the status map always is.
    pub maps: Vec<Named<DtiMap>>,
}

impl Default for DtiParameters {
    /// fimbria's own WLS, all maps.
    fn default() -> Self {
        let DtiOptions { method: _, compat, precision, sigma, maps } = DtiOptions::default();
        Self {
            method: None,
            shells: None,
            bmax: None,
            compat: compat.map(Named),
            precision: Named(precision),
            sigma,
            maps: maps.into_iter().map(Named).collect(),
        }
    }
}

impl DtiParameters {
    /// The method in effect: without one, that of the program that is followed, as it is when it
    /// is told nothing.
    pub fn method(&self) -> Method {
        let of_program = match self.compat.map(|compat| compat.0) {
            Some(Compat::Fsl) => Method::Ols,
            Some(Compat::Mrtrix) => Method::Iwls,
            Some(Compat::Dipy) | None => Method::Wls,
        };
        self.method.map_or(of_program, |method| method.0)
    }

    fn options(&self) -> DtiOptions {
        DtiOptions {
            method: self.method(),
            compat: self.compat.map(|compat| compat.0),
            precision: self.precision.0,
            sigma: self.sigma,
            maps: self.maps.iter().map(|map| map.0).collect(),
        }
    }
}

impl FitModel for DtiParameters {
    const STAGE: &'static str = "dti";
    const BIDS_MODEL: &'static str = "tensor";
    const DESCRIPTION: &'static str = "Diffusion tensor";
    const DEVIATION: Deviation = Deviation::Followed;

    fn choice(&self) -> VolumeChoice {
        let usual_bmax = self.compat.is_none().then_some(USUAL_B_MAX);
        VolumeChoice { shells: self.shells.clone(), bmax: self.bmax, usual_bmax }
    }

    fn in_effect(&self) -> Value {
        json!(Self { method: Some(Named(self.method())), ..self.clone() })
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        dti::Problem::new(gradients, &self.options())?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        let status = Named(DtiMap::Status);
        let others = self.maps.iter().filter(|map| **map != status);
        others.chain([&status]).map(|map| map.0.spec()).collect()
    }

    fn fit(
        &self,
        subject: &Subject,
        _: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let fitted = dti::fit(
            &*subject.dwi,
            &subject.mask,
            &subject.gradients,
            subject.grad_dev.as_deref(),
            &self.options(),
            &log.session().on,
            log,
        )?;
        Ok(fitted.into())
    }
}
