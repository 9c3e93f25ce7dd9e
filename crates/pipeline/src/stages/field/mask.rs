//! Which voxels a field is made of.

use fimbria_compute::Progress as _;
use fimbria_image::{Mask, counted};
use fimbria_qsm::phase::{reliable_voxels, with_signal};

use super::PhaseFilesError;
use crate::{Logbook, Page};

/// The voxels of `mask` that a field can be told in: without a magnitude there is no phase.
pub(super) fn measured(
    mask: &Mask,
    magnitudes: &[Vec<f32>],
    offset: bool,
    log: &Logbook<'_>,
) -> Result<Mask, PhaseFilesError> {
    if magnitudes.is_empty() {
        return Ok(mask.clone());
    }
    let voxels = with_signal(magnitudes, &mask.voxels, offset);
    let (lost, echoes) = (mask.len() - voxels.len(), if offset { 2 } else { 1 });
    log.count("voxels_without_signal", lost as u64);
    if voxels.is_empty() {
        return Err(PhaseFilesError::NoSignal(echoes));
    }
    if lost > 0 {
        log.warn(
            Page::Susceptibility,
            &format!(
                "{} left out of the mask: no magnitude above zero in {echoes} of the echoes",
                counted(lost, "voxel")
            ),
        );
    }
    Ok(Mask { voxels, ..*mask })
}

/// The voxels of `mask` whose phase has a quality of `least`, in one piece and without holes but for what was not
/// measured; all of it where `least` is 0.
pub(super) fn reliable(
    mask: Mask,
    quality: &[f32],
    least: f64,
    (magnitudes, offset): (&[Vec<f32>], bool),
    log: &Logbook<'_>,
) -> Result<Mask, PhaseFilesError> {
    if least == 0.0 {
        return Ok(mask);
    }
    let mut measured: Vec<u32> = (0..mask.grid.len() as u32).collect();
    if !magnitudes.is_empty() {
        measured = with_signal(magnitudes, &measured, offset);
    }
    let workers = log.session().on.workers;
    let kept = workers.install(|| reliable_voxels(&mask, quality, least, &measured));
    let filled = kept.voxels.iter().filter(|v| mask.voxels.binary_search(v).is_err()).count();
    let lost = mask.len() + filled - kept.len();
    log.count("voxels_of_low_quality", lost as u64);
    log.count("voxels_filled", filled as u64);
    log.note(&format!(
        "left out for a quality below {least}, or apart from the rest: {}; filled: {}",
        counted(lost, "voxel"),
        counted(filled, "voxel")
    ));
    if kept.is_empty() {
        return Err(PhaseFilesError::NoQuality(least));
    }
    Ok(kept)
}

/// The mask without the voxels beside which a fringe line that ends in it has `torn` the phase, but for a mask that
/// is taken as it is, of a quality of 0.
pub(super) fn without_tears(mask: &Mask, torn: &[u32], least: f64, log: &Logbook<'_>) -> Mask {
    log.count("voxels_of_open_fringes", torn.len() as u64);
    if torn.is_empty() {
        return mask.clone();
    }
    let stay = least == 0.0;
    let (of_mask, n) = (if stay { "stay in the mask" } else { "leave the mask" }, torn.len());
    log.warn(
        Page::Susceptibility,
        &format!(
            "fringe lines end inside the mask: {} {of_mask} beside which the phase steps by a turn; look at the \
             phase of each echo, as coils that were combined badly leave such",
            counted(n, "voxel")
        ),
    );
    let is_kept = |v: &u32| stay || torn.binary_search(v).is_err();
    Mask { voxels: mask.voxels.iter().copied().filter(is_kept).collect(), ..*mask }
}
