//! What the methods share that divide by the dipole in the Fourier domain.

use fimbria_qsm::fourier::{FourierMethod, dipole_field, invert};
use serde::{Deserialize, Serialize};

use crate::StageError;
use crate::options::OptionError;
use crate::stages::qsm::chi_map::ChiMap;
use crate::stages::qsm::convergence::ConvergenceLog;
use crate::stages::qsm::job::{Job, masked, stage_error, values_at};

/// The one number of a method.
#[derive(Serialize, Deserialize)]
pub(in crate::stages) struct FourierOptions {
    pub(super) strength: f64,
}

/// Whether some of the dipole's kernel, which is -2/3 to 1/3 (without its sign 0 to 2/3), is beyond a limit.
pub(super) fn check_threshold(strength: f64) -> Result<(), OptionError> {
    if strength < 2.0 / 3.0 {
        return Ok(());
    }
    let text = format!("strength = {strength}: no part of the kernel is beyond 2/3");
    Err(OptionError::Unusable(text))
}

/// The map of the field inside the mask, 0 outside.
pub(super) fn map(method: FourierMethod, job: &Job<'_>) -> Result<ChiMap, StageError> {
    let (field, log) = (job.field, job.log);
    let on = &log.session().on;
    let data = masked(&field.field_ppm, &field.mask);
    let (chi, steps) = invert(&field.geometry, &data, method, on, log).map_err(stage_error)?;
    if !steps.is_empty() {
        log.count("iterations", steps.len() as u64);
    }
    let chi = masked(&chi, &field.mask);
    let field_of_map = dipole_field(&field.geometry, &chi, on.workers)?;
    let inside = |volume: &[f32]| values_at(&field.mask.voxels, volume);
    let convergence = ConvergenceLog::from_steps(&steps);
    Ok(ChiMap::new(field, &inside(&chi), &inside(&field_of_map), convergence))
}
