//! From the numbers of a phase, or of a field, to radians.

use std::f32::consts::PI;
use std::path::Path;

use fimbria_qsm::phase::{PhaseError, radians_of_maker, radians_of_range, to_radians};

use super::claim::Claim;
use super::errors::PhaseFilesError;
use super::phase_files::PhaseFiles;

impl PhaseFiles {
    /// The factor and offset of radians of the phases' numbers.
    pub(super) fn scaling(
        &self,
        claim: &Claim,
        first: &Path,
        dims: [usize; 3],
        phases: &[Vec<f32>],
        mask: &[u32],
    ) -> Result<(f32, f32), PhaseFilesError> {
        let range = self.phase_range.as_deref().and_then(|range| range.try_into().ok());
        let contradicts = |says: &str, found: String| PhaseFilesError::Contradiction {
            path: first.to_owned(),
            says: says.to_owned(),
            found,
        };
        if let Some(kind) = claim.no_phase.as_ref().filter(|_| self.imaginary.is_empty()) {
            return Err(contradicts(
                &format!("ImageType {kind}"),
                "it is given as a phase".to_owned(),
            ));
        }
        let scaling = match range {
            Some(range) => radians_of_range(range, phases, mask),
            None if !self.imaginary.is_empty() => Ok((1.0, 0.0)),
            None if claim.is_radians => {
                let inside = phases.iter().flat_map(|p| mask.iter().map(|&v| p[v as usize]));
                let largest = inside.fold(0.0_f32, |m, v| m.max(v.abs()));
                // Of 0 to a turn, and stored as float.
                if largest > 2.0 * PI * 1.001 {
                    let found = format!("its numbers reach {largest}, more than a turn");
                    return Err(contradicts("Units rad", found));
                }
                Ok((1.0, 0.0))
            }
            None => to_radians(dims, phases, mask).or_else(|error| {
                let of_maker = claim.maker.and_then(|maker| radians_of_maker(maker, phases));
                let is_unsaid = matches!(error, PhaseError::NoTurn { .. });
                of_maker.filter(|_| is_unsaid && claim.is_phase).ok_or(error)
            }),
        };
        scaling.map_err(|source| PhaseFilesError::Phase { path: first.to_owned(), source })
    }
}

/// The time, seconds, in which a field turns the phase by less than half a turn everywhere in the mask,
/// and the radians of a unit of the field in it. A unit is so many `hertz`.
pub(super) fn phase_of_field(
    field: &[f32],
    mask: &[u32],
    hertz: f64,
) -> Result<(f32, f64), PhaseError> {
    let inside = mask.iter().map(|&v| field[v as usize].abs());
    let largest = f64::from(inside.fold(0.0, f32::max));
    if largest == 0.0 {
        return Err(PhaseError::Constant { value: 0.0 });
    }
    Ok(((0.5 * std::f64::consts::PI / largest) as f32, 0.25 / (hertz * largest)))
}

/// What weighs a difference of phases as its noise does: variances of the two phases, which are as the
/// squares of the magnitudes, add.
pub(super) fn magnitude_of_difference(first: &[f32], second: &[f32]) -> Vec<f32> {
    let of = |(a, b): (&f32, &f32)| if *a > 0.0 && *b > 0.0 { a * (b / a.hypot(*b)) } else { 0.0 };
    first.iter().zip(second).map(of).collect()
}
