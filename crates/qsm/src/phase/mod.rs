//! From the scanner's phase to the field: scaling, unwrapping, combination of echoes, R2*.
//!
//! Phase grows with time as φ = φ₀ + 2π γ B0 δ TE (γ in Hz per tesla, δ the field in parts of B0)
//! where a paramagnetic sphere raises it along B0; scanners that count the other way are told
//! apart by a sign. Volumes are f32 of every voxel of a grid, x fastest; masks are voxel lists.

mod bipolar;
mod coils;
mod combine;
mod fringes;
mod laplacian;
mod offset;
mod quality;
mod region;
mod scale;
mod start;
mod turn;

pub use bipolar::{ReadoutRamp, readout_ramp};
pub use coils::{CombinedCoils, alternates, combine_coils, turn_every_second};
pub use combine::{Combined, combine_echoes, r2star, with_signal};
pub use fringes::open_fringes;
pub use laplacian::unwrap_laplacian;
pub use quality::{MASK_QUALITY, phase_quality, reliable_voxels};
pub(crate) use region::neighbours;
pub use region::{EchoPhase, unwrap_region};
pub use scale::{Maker, PhaseError, radians_of_maker, radians_of_range, to_radians};
pub use start::PhaseAtStart;

/// The proton's gyromagnetic ratio over 2π, Hz per tesla (CODATA 2018).
pub const HZ_PER_TESLA: f64 = 42.577_478_518e6;

/// A magnitude as it counts: one that is no number, or below zero, is none.
fn strength(magnitude: f32) -> f32 {
    if magnitude.is_finite() { magnitude.max(0.0) } else { 0.0 }
}

/// The angle nearest to zero that `phase` differs from by whole turns.
fn wrapped(phase: f32) -> f32 {
    use std::f32::consts::TAU;
    phase - TAU * (phase / TAU).round()
}
