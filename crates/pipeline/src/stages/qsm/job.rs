//! What a method is given to map, and what methods do alike.

use std::path::PathBuf;
use std::time::Duration;

use fimbria_compute::Progress as _;
use fimbria_compute::queue::Shares;
use fimbria_image::{Mask, counted};
use fimbria_qsm::phase::HZ_PER_TESLA;
use fimbria_qsm::{FieldModel, Geometry, QsmError, device};

use super::QsmParameters;
use super::inversion::Devices;
use crate::options::Resolved;
use crate::stages::local_field::LocalField;
use crate::{Logbook, StageError};

/// Where an iteration is kept, so that it can go on.
#[derive(Clone, Debug)]
pub struct Checkpointing {
    /// The folder of the outputs.
    pub folder: PathBuf,
    /// Time between two checkpoints.
    pub every: Duration,
    /// Goes on from one that is there.
    pub resume: bool,
}

/// A field to be mapped.
pub(in crate::stages) struct Job<'a> {
    pub(super) field: &'a LocalField,
    /// Which tell one job from another.
    pub(super) parameters: &'a Resolved<QsmParameters>,
    pub(super) checkpointing: Option<&'a Checkpointing>,
    pub(super) log: &'a Logbook<'a>,
}

/// The model of a field whose data and unknowns are those of the mask; the data, and their weights.
pub(super) type Inside = (FieldModel, Vec<f32>, Option<Vec<f32>>);

/// The phase is to be explained, and how the field turned it is not known.
#[derive(Debug, thiserror::Error)]
#[error(
    "the phase is explained by the field in an echo time and B0: give --te and --b0, or a field \
     whose .json has EchoTime and MagneticFieldStrength, as `fimbria field` writes them"
)]
pub struct NeedsPhase;

impl Job<'_> {
    /// The model of the mask, its data and weights.
    pub(super) fn inside(&self) -> Result<Inside, QsmError> {
        let field = self.field;
        let voxels = &field.mask.voxels;
        let model = FieldModel::new(&field.geometry, voxels, field.shapes.clone(), voxels)?;
        let pick = |volume: &[f32]| values_at(voxels, volume);
        Ok((model, pick(&field.field_ppm), field.weights.as_deref().map(pick)))
    }

    /// Radians that a field of 1 ppm turns the phase by in the echo time of the field.
    pub(super) fn radians_per_ppm(&self) -> Result<f64, NeedsPhase> {
        let field = self.field;
        let radians = match (field.relative, field.b0_tesla, field.echo_time_s) {
            // It is in radians.
            (Some(factor), ..) => 1.0 / factor,
            (None, Some(b0), Some(time)) => std::f64::consts::TAU * HZ_PER_TESLA * b0 * time * 1e-6,
            _ => return Err(NeedsPhase),
        };
        self.log.result("radians_per_ppm", radians);
        Ok(radians)
    }

    /// Notes that devices which nobody named are left out, where transforms of a volume are no faster there; of a
    /// method that takes one device alone, which of several that is.
    pub(super) fn note_devices(&self, geometry: &Geometry) {
        let on = &self.log.session().on;
        if !on.devices.is_empty() && !device::gains(on, geometry.dims) {
            return self.log.left_to_threads();
        }
        let method = self.parameters.method.0.facts();
        if let (Devices::First, [_, others @ ..]) = (method.can.devices, on.devices) {
            let mut shares = Shares::none(on.devices.len());
            shares.devices[0] = 1;
            self.log.count_shares_of("maps", &shares);
            if !others.is_empty() {
                self.log.note(&format!(
                    "--method {} is made on one device: {} nothing here",
                    method.name,
                    match others.len() {
                        1 => "the other does".to_owned(),
                        n => format!("the other {n} do"),
                    }
                ));
            }
        }
    }

    /// Notes how an iteration ended, where the rule for it is one of change alone.
    pub(super) fn note_end(&self, iterations: usize, has_settled: bool, tolerance: f64) {
        self.log.count("iterations", iterations as u64);
        self.log.result("stopped", if has_settled { "tolerance" } else { "iterations" });
        if !has_settled {
            self.log.note(&format!(
                "the map still changed by more than {} % of itself in the last of {}",
                100.0 * tolerance,
                counted(iterations, "iteration")
            ));
        }
    }
}

/// The values of a volume at some of its voxels.
pub(super) fn values_at(voxels: &[u32], volume: &[f32]) -> Vec<f32> {
    voxels.iter().map(|&voxel| volume[voxel as usize]).collect()
}

/// `volume` with zeros outside the mask.
pub(super) fn masked(volume: &[f32], mask: &Mask) -> Vec<f32> {
    let mut inside = vec![0.0; volume.len()];
    mask.voxels.iter().for_each(|&v| inside[v as usize] = volume[v as usize]);
    inside
}

/// An error of a map, an interruption as such.
pub(super) fn stage_error(error: QsmError) -> StageError {
    match error {
        QsmError::Interrupted(interrupted) => interrupted.into(),
        other => other.into(),
    }
}
