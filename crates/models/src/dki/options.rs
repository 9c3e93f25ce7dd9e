//! What a user chooses.

use super::DkiMap;

/// How the two tensors are estimated.
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
    /// WLS without outliers, as RESTORE finds them (Chang 2005): where a residual of S exceeds three standard
    /// deviations, up to ten fits with Geman and McClure's weights, then WLS without what is beyond them.
    Restore,
}

/// Whose numerics to follow where programs differ; peers fit without constraints, and so does
/// every choice here. Each changes only what is listed.
///
/// | | samples under the logarithm | `wls` | eigenvalues of D |
/// |---|---|---|---|
/// | none | a sample <= 0 becomes the voxel's smallest positive one | OLS, then weights Ŝ² | raised to 1e-6 mm²/s where constrained, else as they are |
/// | DIPY | at least 1e-4 | OLS, then weights Ŝ² | at least 1e-6 / b_max |
/// | MRtrix | at least 1e-6 of the voxel's largest | weights S², no second pass | as they are |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// DIPY's DiffusionKurtosisModel.
    Dipy,
    /// MRtrix3's dwi2tensor -dkt.
    Mrtrix,
}

/// The range that MK, AK, RK, Kmax and Kmin are clipped to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KurtosisRange {
    /// The least.
    pub low: f32,
    /// The largest.
    pub high: f32,
}

impl Default for KurtosisRange {
    /// -3/7, the kurtosis of diffusion confined to a sphere and the least of any pore whose shape
    /// is convex (Jensen 2010), to 10: DIPY's range.
    fn default() -> Self {
        Self { low: -3.0 / 7.0, high: 10.0 }
    }
}

/// Everything a kurtosis fit may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct DkiOptions {
    /// How the tensors are estimated.
    pub method: Method,
    /// Whose numerics to follow; `None` for fimbria's own.
    pub compat: Option<Compat>,
    /// Keep D > 0, K >= 0 and K <= 3 / (b_max D) in every direction of a set; without effect under
    /// `compat`.
    pub constrained: bool,
    /// Volumes with b more than 5 % above this, in s/mm², are left out: the model is an expansion
    /// in b that stops at b².
    pub b_max_s_per_mm2: f64,
    /// The range that kurtosis maps are clipped to; from 0 at least where `constrained`.
    pub clip: KurtosisRange,
    /// The maps to compute; what is not asked for costs nothing.
    pub maps: Vec<DkiMap>,
}

impl Default for DkiOptions {
    /// Constrained WLS of the volumes up to b = 3000 s/mm², all maps.
    fn default() -> Self {
        Self {
            method: Method::default(),
            compat: None,
            constrained: true,
            b_max_s_per_mm2: 3000.0,
            clip: KurtosisRange::default(),
            maps: DkiMap::ALL.to_vec(),
        }
    }
}
