//! The stage that estimates fibre orientation densities.

use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::fod::{self, FodFit, FodOptions, Response, Responses, Tissues};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::fit_maps::{Deviation, FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Logbook, Named, Products, StageError};

/// The stage.
pub type Fod = FitMaps<FodParameters>;

/// A response that is read and written as MRtrix3's text.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseText(pub Response);

impl Serialize for ResponseText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ResponseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Response::from_text(&text).map(Self).map_err(D::Error::custom)
    }
}

/// The parameters of a deconvolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FodParameters {
    /// Degree of the density: 4, 6 or 8.
    pub order: usize,
    /// The compartments of the signal.
    pub tissues: Named<Tissues>,
    /// The response of single fibres; estimated where it is not given, as are the others.
    pub response: Option<ResponseText>,
    /// The response of grey matter.
    pub response_gm: Option<ResponseText>,
    /// The response of fluid.
    pub response_csf: Option<ResponseText>,
    /// Preference for small coefficients.
    pub regularisation: f64,
    /// Use only the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// The largest b that is used, s/mm²; `None` for all.
    pub bmax: Option<f64>,
}

impl Default for FodParameters {
    /// Order 8, responses from the data.
    fn default() -> Self {
        let FodOptions { order, tissues, white, grey, fluid, regularisation } =
            FodOptions::default();
        Self {
            order,
            tissues: Named(tissues),
            response: white.map(ResponseText),
            response_gm: grey.map(ResponseText),
            response_csf: fluid.map(ResponseText),
            regularisation,
            shells: None,
            bmax: None,
        }
    }
}

impl FodParameters {
    /// True where a protocol has a shell on which fibres can be told apart.
    pub fn tells_fibres_apart(&self, gradients: &GradientTable) -> bool {
        /// As many as harmonics of degree 6 have coefficients.
        const LEAST_DIRECTIONS: usize = 28;
        let shells = gradients.shells();
        let weighted = |b: f64| b > gradients.b0_threshold;
        shells.iter().any(|s| weighted(s.b_s_per_mm2) && s.volumes.len() >= LEAST_DIRECTIONS)
    }
}

impl FitModel for FodParameters {
    const STAGE: &'static str = "fod";
    const BIDS_MODEL: &'static str = "csd";
    const DESCRIPTION: &'static str = "Constrained spherical deconvolution";
    const DEVIATION: Deviation = Deviation::Ignored;

    fn choice(&self) -> VolumeChoice {
        VolumeChoice { shells: self.shells.clone(), bmax: self.bmax, usual_bmax: None }
    }

    fn maps(&self) -> Vec<MapSpec> {
        fod::maps(self.order, 3)
    }

    fn texts(&self) -> &'static [&'static str] {
        &["response.txt", "response_gm.txt", "response_csf.txt"]
    }

    fn fit(
        &self,
        subject: &Subject,
        _: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let given = |response: &Option<ResponseText>| response.as_ref().map(|r| r.0.clone());
        let options = FodOptions {
            order: self.order,
            tissues: self.tissues.0,
            white: given(&self.response),
            grey: given(&self.response_gm),
            fluid: given(&self.response_csf),
            regularisation: self.regularisation,
        };
        let FodFit { fitted, responses } = fod::fit(
            &*subject.dwi,
            &subject.mask,
            &subject.gradients,
            &options,
            &log.session().on,
            log,
        )?;
        let Responses { white, isotropic } = responses;
        let texts = [white].into_iter().chain(isotropic.into_iter().flatten());
        Ok(Outcome { fitted, texts: texts.map(|response| response.to_string()).collect() })
    }
}
