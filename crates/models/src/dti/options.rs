//! What a user chooses.

use super::DtiMap;

/// How the tensor is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Ordinary least squares of ln S.
    Ols,
    /// Ordinary least squares, then one pass weighted by the squared predicted signal
    /// (Chung 2006).
    #[default]
    Wls,
    /// One pass weighted by the squared measured signal, then two weighted by the squared
    /// predicted signal (Veraart 2013).
    Iwls,
    /// Non-linear least squares of S itself, by Levenberg and Marquardt, from the WLS estimate.
    Nlls,
    /// RESTORE (Chang 2005) with Geman-McClure weights: NLLS; where a residual exceeds three
    /// standard deviations, up to ten reweighted fits, then NLLS without the outliers.
    Restore,
}

/// Whose numerics to follow where programs differ. Each choice changes only what is listed.
///
/// | | samples under the logarithm | `wls` | S0 | eigenvalues |
/// |---|---|---|---|---|
/// | none | a sample <= 0 becomes the voxel's smallest positive one | OLS, then weights Ŝ² | exp(intercept) | as they are |
/// | FSL | ln S = 0 where S <= 0; after one OLS fit, samples below 1 % of S0 become 1 % of S0 and the fit is repeated | weights S² (1 where S <= 0), no second pass | at least the mean signal | as they are |
/// | DIPY | at least 1e-4 | OLS, then weights Ŝ² | exp(intercept) | at least 1e-6 / b_max; not after `restore`, where they are at least 0 |
/// | MRtrix | at least 1e-6 of the voxel's largest | weights S², no second pass | exp(intercept) | ordered by magnitude |
///
/// (DIPY itself divides by the largest element of its design matrix, which is b_max but for a
/// factor that depends on the axes.) Under DIPY, `restore` estimates the residuals' scale anew for every reweighted fit even where
/// sigma is given, and `nlls` and `restore` also fit the raised samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// FSL's dtifit.
    Fsl,
    /// DIPY's TensorModel.
    Dipy,
    /// MRtrix3's dwi2tensor and tensor2metric.
    Mrtrix,
}

/// The arithmetic of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Precision {
    /// `f32`, centred and refined, many times faster: FA of linear fits within 1e-6 of `f64`, of
    /// iterative ones within 1e-4, where the data determine it.
    #[default]
    Single,
    /// `f64`, one voxel at a time; maps are stored as `f32` all the same.
    Double,
}

/// Everything a tensor fit may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct DtiOptions {
    /// How the tensor is estimated.
    pub method: Method,
    /// Whose numerics to follow; `None` for fimbria's own.
    pub compat: Option<Compat>,
    /// The arithmetic of the fit.
    pub precision: Precision,
    /// Standard deviation of the noise in input units, for [`Method::Restore`] only; estimated in
    /// each voxel from the residuals where `None`.
    pub sigma: Option<f64>,
    /// The maps to compute; what is not asked for costs nothing.
    pub maps: Vec<DtiMap>,
}

impl Default for DtiOptions {
    /// WLS in `f32`, all maps.
    fn default() -> Self {
        Self {
            method: Method::default(),
            compat: None,
            precision: Precision::default(),
            sigma: None,
            maps: DtiMap::ALL.to_vec(),
        }
    }
}
