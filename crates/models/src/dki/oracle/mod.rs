//! The kurtosis maps of one voxel in `f64`, written to be read: the truth the fast versions are
//! held to.

mod extremes;
mod means;

use self::extremes::extremes;
use self::means::{in_frame, means};
use super::form::{N_D, N_W};
use fimbria_compute::dense::jacobi::eigen3;

/// What the maps show of one voxel, not clipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KurtosisMaps {
    /// Mean, axial and radial kurtosis; NaN where D is not positive definite.
    pub(crate) mk: f64,
    pub(crate) ak: f64,
    pub(crate) rk: f64,
    /// Smallest and largest kurtosis; likewise.
    pub(crate) kmin: f64,
    pub(crate) kmax: f64,
    pub(crate) mkt: f64,
    pub(crate) kfa: f64,
    /// Westin's shares of the tensor: a line, a plane, a sphere. Their sum is 1.
    pub(crate) shares: [f64; 3],
    /// W, NaN where the mean diffusivity is not positive.
    pub(crate) w: [f64; N_W],
}

impl KurtosisMaps {
    /// The maps of D in µm²/ms and V = MD² W in µm⁴/ms².
    pub(crate) fn new(d: [f64; N_D], v: &[f64; N_W]) -> Self {
        let (l, e) = eigen3(d);
        let md = (d[0] + d[3] + d[5]) / 3.0;
        let w = if md > 0.0 { v.map(|v| v / (md * md)) } else { [f64::NAN; N_W] };
        let mut maps = Self {
            mk: f64::NAN,
            ak: f64::NAN,
            rk: f64::NAN,
            kmin: f64::NAN,
            kmax: f64::NAN,
            mkt: tensor_mean(&w),
            kfa: anisotropy(&w),
            shares: shares(l),
            w,
        };
        if l[2] > 0.0 {
            [maps.mk, maps.ak, maps.rk] = means(l, &in_frame(v, &e));
            if let Some([kmin, kmax]) = extremes(&d, v) {
                (maps.kmin, maps.kmax) = (kmin, kmax);
            }
        }
        maps
    }
}

/// How much of a tensor with these eigenvalues, largest first, is a line, a plane and a sphere (Westin CF et
/// al. Med Image Anal 6, 93 (2002), over the trace as DIPY has it).
fn shares([l1, l2, l3]: [f64; 3]) -> [f64; 3] {
    let trace = l1 + l2 + l3;
    [l1 - l2, 2.0 * (l2 - l3), 3.0 * l3].map(|share| share / trace)
}

/// The mean of W(n) over directions.
fn tensor_mean(w: &[f64; N_W]) -> f64 {
    (w[0] + w[10] + w[14] + 2.0 * (w[3] + w[5] + w[12])) / 5.0
}

/// ‖W - mean·I‖ / ‖W‖ with the isotropic tensor I: 1 at iiii, 1/3 at iijj.
fn anisotropy(w: &[f64; N_W]) -> f64 {
    let norm2 = |w: &[f64; N_W]| -> f64 {
        w.iter().zip(super::form::QUARTIC_TIMES).map(|(w, t)| f64::from(t) * w * w).sum()
    };
    let mean = tensor_mean(w);
    let rest = std::array::from_fn(|k| match k {
        0 | 10 | 14 => w[k] - mean,
        3 | 5 | 12 => w[k] - mean / 3.0,
        _ => w[k],
    });
    if norm2(w) == 0.0 { 0.0 } else { (norm2(&rest) / norm2(w)).sqrt() }
}

#[cfg(test)]
pub(super) mod tests;
