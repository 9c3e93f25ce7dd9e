//! Local field from total field: what sources outside the mask make is taken off.
//!
//! Inside the mask the background is a harmonic function. V-SHARP takes off spherical means, which
//! harmonic functions equal; RESHARP solves for the field whose differences from its spherical means are those
//! measured; PDF fits the field by dipoles outside; LBV solves Laplace's equation from the field on the mask's
//! border.

mod lbv;
mod pdf;
mod resharp;
mod vsharp;

use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Mask};

use crate::{Geometry, QsmError};

/// How the background is removed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Background {
    /// Sophisticated harmonic artifact reduction with varying radii (Schweser et al., NeuroImage
    /// 54, 2011; Wu et al., MRM 67, 2012).
    VSharp {
        /// Largest radius, mm.
        radius_mm: f64,
        /// Part of the kernel's spectrum that is not inverted.
        threshold: f64,
    },
    /// Projection onto dipole fields (Liu et al., NMR Biomed 24, 2011).
    Pdf {
        /// Relative residual to stop at.
        tolerance: f64,
    },
    /// Laplacian boundary value (Zhou et al., NMR Biomed 27, 2014).
    Lbv {
        /// Relative residual to stop at.
        tolerance: f64,
    },
    /// Regularisation enabled SHARP (Sun and Wilman, MRM 71, 2014).
    Resharp {
        /// Radius of the spherical means, mm.
        radius_mm: f64,
        /// λ, the weight of the local field's size.
        lambda: f64,
    },
}

impl Background {
    /// Defaults of other programs.
    pub const VSHARP_RADIUS_MM: f64 = 12.0;
    /// As [`VSHARP_RADIUS_MM`](Self::VSHARP_RADIUS_MM).
    pub const VSHARP_THRESHOLD: f64 = 0.05;
    /// As [`VSHARP_RADIUS_MM`](Self::VSHARP_RADIUS_MM).
    pub const RESHARP_RADIUS_MM: f64 = 6.0;
    /// As [`VSHARP_RADIUS_MM`](Self::VSHARP_RADIUS_MM).
    pub const RESHARP_LAMBDA: f64 = 1e-4;
    /// With their defaults.
    pub const VSHARP: Self =
        Self::VSharp { radius_mm: Self::VSHARP_RADIUS_MM, threshold: Self::VSHARP_THRESHOLD };
    /// Ended where the background is fitted: to 1e-5, as others do, it takes ten times as long and fits more of the
    /// local field.
    pub const PDF: Self = Self::Pdf { tolerance: 3e-3 };
    /// As [`VSHARP`](Self::VSHARP).
    pub const LBV: Self = Self::Lbv { tolerance: 1e-6 };
    /// As [`VSHARP`](Self::VSHARP).
    pub const RESHARP: Self =
        Self::Resharp { radius_mm: Self::RESHARP_RADIUS_MM, lambda: Self::RESHARP_LAMBDA };
}

/// A local field and where it is known.
#[derive(Clone, Debug)]
pub struct Local {
    /// In the unit of the total field, 0 outside the mask.
    pub field: Vec<f32>,
    /// The voxels where it is known: the border of the mask may be lost.
    pub mask: Mask,
}

/// Removes the background of `total` (every voxel of the grid) inside `mask`.
///
/// # Errors
/// Where the volume cannot be transformed, nothing of the mask is left, or `progress` says to
/// stop.
pub fn remove_background(
    grid: &Grid,
    geometry: &Geometry,
    total: &[f32],
    mask: &Mask,
    method: Background,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Local, QsmError> {
    // The scanner's frequency and turns that unwrapping chose are a constant: of it nothing is to stay, and numbers of f32
    // hold more of the rest without it.
    let sum: f64 = mask.voxels.iter().map(|&v| f64::from(total[v as usize])).sum();
    let mean = (sum / mask.len().max(1) as f64) as f32;
    let total: Vec<f32> = total.iter().map(|field| field - mean).collect();
    let total = total.as_slice();
    let local = match method {
        Background::VSharp { radius_mm, threshold } => {
            vsharp::remove(grid, total, mask, radius_mm, threshold, workers, progress)
        }
        Background::Pdf { tolerance } => {
            pdf::remove(geometry, total, mask, tolerance, workers, progress)
        }
        Background::Lbv { tolerance } => lbv::remove(grid, total, mask, tolerance, progress),
        Background::Resharp { radius_mm, lambda } => {
            resharp::remove(grid, total, mask, radius_mm, lambda, workers, progress)
        }
    }?;
    if local.mask.is_empty() {
        return Err(QsmError::EmptyMask);
    }
    Ok(local)
}
