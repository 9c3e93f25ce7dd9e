//! The stage that fits diffusion and kurtosis tensors.

use fimbria_compute::Silent;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::dki::{self, Compat, DkiMap, DkiOptions, KurtosisRange, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Choice, Logbook, Named, Products, StageError};

/// The stage.
pub type Dki = FitMaps<DkiParameters>;

/// The parameters of a kurtosis fit and of its maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DkiParameters {
    /// How the tensors are estimated; `None` for what the program of `compat` does, or WLS.
    pub method: Option<Named<Method>>,
    /// Whose numerics to follow.
    pub compat: Option<Named<Compat>>,
    /// Keep diffusivity and kurtosis within what diffusion can be.
    pub constrained: bool,
    /// Use only the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// The largest b that is used, s/mm².
    pub bmax: f64,
    /// The range that kurtosis maps are clipped to.
    pub clip: [f32; 2],
    /// The maps to write; the status map always is.
    pub maps: Vec<Named<DkiMap>>,
}

impl Default for DkiParameters {
    /// fimbria's own constrained WLS, all maps.
    fn default() -> Self {
        let DkiOptions { method: _, compat, constrained, b_max_s_per_mm2, clip, maps } =
            DkiOptions::default();
        Self {
            method: None,
            compat: compat.map(Named),
            constrained,
            shells: None,
            bmax: b_max_s_per_mm2,
            clip: [clip.low, clip.high],
            maps: maps.into_iter().map(Named).collect(),
        }
    }
}

impl DkiParameters {
    /// The method in effect: without one, that of the program that is followed, as it is when it
    /// is told nothing.
    pub fn method(&self) -> Method {
        let of_program = match self.compat.map(|compat| compat.0) {
            Some(Compat::Mrtrix) => Method::Iwls,
            Some(Compat::Dipy) | None => Method::Wls,
        };
        self.method.map_or(of_program, |method| method.0)
    }

    fn options(&self) -> DkiOptions {
        let [low, high] = self.clip;
        DkiOptions {
            method: self.method(),
            compat: self.compat.map(|compat| compat.0),
            constrained: self.constrained,
            b_max_s_per_mm2: self.bmax,
            clip: KurtosisRange { low, high },
            maps: self.maps.iter().map(|map| map.0).collect(),
        }
    }
}

impl FitModel for DkiParameters {
    const STAGE: &'static str = "dki";
    const BIDS_MODEL: &'static str = "dki";
    const DESCRIPTION: &'static str = "Diffusion kurtosis";

    fn choice(&self) -> VolumeChoice {
        let (shells, bmax) = (self.shells.clone(), Some(self.bmax));
        VolumeChoice { shells, bmax, usual_bmax: None }
    }

    fn in_effect(&self) -> Value {
        json!(Self { method: Some(Named(self.method())), ..self.clone() })
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        dki::Problem::new(gradients, &self.options(), &Silent)?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        let status = Named(DkiMap::Status);
        let others = self.maps.iter().filter(|map| **map != status);
        others.chain([&status]).map(|map| map.0.spec()).collect()
    }

    fn fit(
        &self,
        subject: &Subject,
        _: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let options = self.options();
        let on = &log.session().on;
        let fitted = dki::fit(&*subject.dwi, &subject.mask, &subject.gradients, &options, on, log)?;
        Ok(fitted.into())
    }
}

impl Choice for Method {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ols, "ols", "ordinary least squares of ln S"),
        (Self::Wls, "wls", "OLS, then one pass weighted by the squared predicted signal"),
        (Self::Iwls, "iwls", "a pass weighted by the squared signal, two by the predicted one"),
        (Self::Nlls, "nlls", "non-linear least squares of S, from the WLS estimate"),
    ];
}

impl Choice for Compat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Dipy, "dipy", "the numerics of DIPY's DiffusionKurtosisModel"),
        (Self::Mrtrix, "mrtrix", "the numerics of MRtrix3's dwi2tensor -dkt"),
    ];
}

impl Choice for DkiMap {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mk, "MK", "mean kurtosis"),
        (Self::Ak, "AK", "axial kurtosis"),
        (Self::Rk, "RK", "radial kurtosis"),
        (Self::Mkt, "MKT", "mean of the kurtosis tensor"),
        (Self::Kfa, "KFA", "kurtosis fractional anisotropy"),
        (Self::Kmax, "Kmax", "largest kurtosis of any direction"),
        (Self::Kmin, "Kmin", "smallest kurtosis of any direction"),
        (Self::Fa, "FA", "fractional anisotropy"),
        (Self::Md, "MD", "mean diffusivity"),
        (Self::Ad, "AD", "axial diffusivity"),
        (Self::Rd, "RD", "radial diffusivity"),
        (Self::V1, "V1", "first eigenvector of the tensor"),
        (Self::S0, "S0", "signal without weighting"),
        (Self::Tensor, "tensor", "the diffusion tensor"),
        (Self::Kurtosis, "kurtosis", "the kurtosis tensor"),
        (Self::Residual, "residual", "RMS of the residuals"),
        (Self::Status, "status", "what became of each voxel"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_has_the_name_of_its_file() {
        for map in DkiMap::ALL {
            assert_eq!(map.name(), Choice::name(map));
        }
    }
}
