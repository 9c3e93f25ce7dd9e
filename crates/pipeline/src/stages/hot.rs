//! The stage that fits generalised diffusion tensors.

use fimbria_image::MapSpec;
use fimbria_models::hot::{self, HotMethod, HotOptions, HotOrder};
use serde::{Deserialize, Serialize};

use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Logbook, Named, Products, StageError};

/// The stage.
pub type Hot = FitMaps<HotParameters>;

/// The parameters of a fit of generalised diffusion tensors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HotParameters {
    /// The order of the form.
    pub order: Named<HotOrder>,
    /// How it is estimated.
    pub method: Named<HotMethod>,
    /// Keep the diffusivity positive.
    pub positive: bool,
    /// Use only the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// The largest b that is used, s/mm²; `None` for all.
    pub bmax: Option<f64>,
}

impl HotParameters {
    fn options(&self) -> HotOptions {
        HotOptions { order: self.order.0, method: self.method.0, positive: self.positive }
    }
}

impl FitModel for HotParameters {
    const STAGE: &'static str = "hot";
    const BIDS_MODEL: &'static str = "hot";
    const DESCRIPTION: &'static str = "Generalised diffusion tensor";

    fn choice(&self) -> VolumeChoice {
        VolumeChoice { shells: self.shells.clone(), bmax: self.bmax, usual_bmax: None }
    }

    fn maps(&self) -> Vec<MapSpec> {
        hot::maps(&self.options())
    }

    fn fit(
        &self,
        subject: &Subject,
        _: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let fitted = hot::fit(
            &*subject.dwi,
            &subject.mask,
            &subject.gradients,
            &self.options(),
            &log.session().on,
            log,
        )?;
        Ok(fitted.into())
    }
}
