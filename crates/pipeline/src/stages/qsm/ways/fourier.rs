//! What the methods share that divide by the dipole in the Fourier domain.

use fimbria_qsm::FieldModel;
use fimbria_qsm::fourier::{FourierMethod, dipole_field, invert};
use serde::{Deserialize, Serialize};

use crate::StageError;
use crate::options::OptionError;
use crate::stages::qsm::chi_map::ChiMap;
use crate::stages::qsm::convergence::ConvergenceLog;
use crate::stages::qsm::job::{Job, stage_error, values_at};

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

/// The map of the field inside the mask, 0 outside; transforms are of the box of the mask.
pub(super) fn map(method: FourierMethod, job: &Job<'_>) -> Result<ChiMap, StageError> {
    let log = job.log;
    let on = &log.session().on;
    let (FieldModel { geometry, unknowns, .. }, field, _) = job.inside()?;
    let in_box = |values: &[f32]| {
        let mut volume = vec![0.0; geometry.len()];
        unknowns.iter().zip(values).for_each(|(&voxel, x)| volume[voxel as usize] = *x);
        volume
    };
    if job.parameters.method.0.takes_devices() {
        job.note_devices(&geometry);
    }
    let (chi, steps) = invert(&geometry, &in_box(&field), method, on, log).map_err(stage_error)?;
    if !steps.is_empty() {
        log.count("iterations", steps.len() as u64);
    }
    let chi = values_at(&unknowns, &chi);
    let of_map = dipole_field(&geometry, &in_box(&chi), on.workers)?;
    let convergence = ConvergenceLog::from_steps(&steps);
    Ok(ChiMap::new(job.field, &chi, &values_at(&unknowns, &of_map), convergence))
}
