//! The stage that fits diffusion tensors.

use fimbria_image::GradientTable;
use fimbria_models::MapSpec;
use fimbria_models::dti::{self, Compat, DtiMap, DtiOptions, Method, Precision};
use serde::{Deserialize, Serialize};

use super::fit_maps::{Deviation, FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::{Logbook, Named, Products, StageError};

/// The stage.
pub type Dti = FitMaps<DtiParameters>;

/// The parameters of a tensor fit and of its maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DtiParameters {
    /// How the tensor is estimated.
    pub method: Named<Method>,
    /// Whose numerics to follow.
    pub compat: Option<Named<Compat>>,
    /// The arithmetic.
    pub precision: Named<Precision>,
    /// Noise level in input units, for RESTORE.
    pub sigma: Option<f64>,
    /// The maps to write; the status map always is.
    pub maps: Vec<Named<DtiMap>>,
}

impl Default for DtiParameters {
    /// fimbria's own WLS, all maps.
    fn default() -> Self {
        let DtiOptions { method, compat, precision, sigma, maps } = DtiOptions::default();
        Self {
            method: Named(method),
            compat: compat.map(Named),
            precision: Named(precision),
            sigma,
            maps: maps.into_iter().map(Named).collect(),
        }
    }
}

impl DtiParameters {
    fn options(&self) -> DtiOptions {
        DtiOptions {
            method: self.method.0,
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
            subject.grad_dev.as_ref(),
            &self.options(),
            &log.session().on,
            log,
        )?;
        Ok(fitted.into())
    }
}
