//! Maps without guidance, in the Fourier domain: what most programs offer, for comparison.
//!
//! Every voxel is a dipole, D(k) = 1/3 - (b·k)²/|k|² (Salomir 2003, Marques and Bowtell 2005),
//! D(0) = 0, on a volume padded with zeros to keep its images apart.

mod periodic;
mod space;
mod two_step;

use fimbria_compute::{Backend, Progress, Workers};

pub(crate) use self::periodic::{ALIKE, Periodic};
pub(crate) use self::space::KSpace;
pub(crate) use self::two_step::two_step_source;
use crate::variation::Step;
use crate::{Geometry, QsmError};

/// How a map is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FourierMethod {
    /// Truncated k-space division: 1/D, at most 1/threshold (Shmueli et al., MRM 62, 2009).
    Tkd {
        /// Least |D| divided by.
        threshold: f64,
    },
    /// D / (D² + λ).
    Tikhonov {
        /// λ.
        lambda: f64,
    },
    /// D is inverted where it is well conditioned, the rest is filled in by total variation
    /// (Kames et al., NeuroImage 167, 2018).
    Rts {
        /// |D| above which it is inverted.
        delta: f64,
    },
}

impl FourierMethod {
    /// Default of the threshold, that of other programs.
    pub const THRESHOLD: f64 = 0.15;
    /// Default of λ, that of other programs.
    pub const LAMBDA: f64 = 0.01;
    /// Default of δ, that of other programs.
    pub const DELTA: f64 = 0.15;
    /// With its default.
    pub const TKD: Self = Self::Tkd { threshold: Self::THRESHOLD };
    /// With its default.
    pub const TIKHONOV: Self = Self::Tikhonov { lambda: Self::LAMBDA };
    /// With its default.
    pub const RTS: Self = Self::Rts { delta: Self::DELTA };
}

/// χ in the unit of `field` (a volume of the geometry, 0 outside the mask), in every voxel of the
/// volume, and how each iteration went, of a method that has some. Those run on the first device of `on`, or
/// on its threads where there is none or it fails, which `progress` is told; the others on its threads.
///
/// # Errors
/// Where the volume cannot be transformed, a parameter is not positive, or `progress` says to
/// stop.
pub fn invert(
    geometry: &Geometry,
    field: &[f32],
    method: FourierMethod,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
    if field.len() != geometry.len() {
        let (found, expected) = (field.len(), geometry.len());
        return Err(QsmError::Length { what: "the field", found, expected });
    }
    let (name, value) = match method {
        FourierMethod::Tkd { threshold } => ("threshold", threshold),
        FourierMethod::Tikhonov { lambda } => ("lambda", lambda),
        FourierMethod::Rts { delta } => ("delta", delta),
    };
    if !(value > 0.0 && value.is_finite()) {
        return Err(QsmError::Parameter { name, value, rule: "it is above 0" });
    }
    let filtered = |filter: &(dyn Fn(f32) -> f32 + Sync)| {
        let space = KSpace::new(geometry, on.workers)?;
        let spectrum = space.forward(&space.pad(field));
        Ok((space.crop(&space.back(space.filtered(spectrum, filter))), Vec::new()))
    };
    match method {
        FourierMethod::Tkd { threshold } => {
            let limit = threshold as f32;
            filtered(&|d| if d.abs() < limit { limit.copysign(d) } else { d }.recip())
        }
        FourierMethod::Tikhonov { lambda } => filtered(&|d| d / (d * d + lambda as f32)),
        FourierMethod::Rts { delta } => {
            two_step::invert(geometry, field, delta as f32, on, progress)
        }
    }
}

/// The field of the susceptibility `chi` (a volume of the geometry) in each of its voxels, in its unit.
///
/// # Errors
/// Where lengths differ or the volume cannot be transformed.
pub fn dipole_field(
    geometry: &Geometry,
    chi: &[f32],
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    if chi.len() != geometry.len() {
        let (found, expected) = (chi.len(), geometry.len());
        return Err(QsmError::Length { what: "the map", found, expected });
    }
    let space = KSpace::new(geometry, workers)?;
    let spectrum = space.forward(&space.pad(chi));
    Ok(space.crop(&space.back(space.filtered(spectrum, |d| d))))
}

/// The values of a padded volume at some of its places.
pub(crate) fn at(places: &[u32], volume: &[f32]) -> Vec<f32> {
    places.iter().map(|&place| volume[place as usize]).collect()
}
