//! The iteration of the methods that weigh the data against smoothness, with its checkpoints.

use fimbria_compute::{Interrupted, Progress as _};
use fimbria_image::{Image, Mask};
use fimbria_qsm::dqsm::{DqsmOptions, Journey, Reconstruction};
use fimbria_qsm::fourier::{FourierMethod, invert};
use fimbria_qsm::solver::Checkpoint;
use fimbria_qsm::{FieldModel, QsmError};
use fimbria_workflow::ensure_same_work;

use super::smooth::SmoothOptions;
use crate::stages::qsm::chi_map::ChiMap;
use crate::stages::qsm::choices::Start;
use crate::stages::qsm::convergence::{ConvergenceLog, PENALTY};
use crate::stages::qsm::fingerprint::fingerprint;
use crate::stages::qsm::job::{Job, masked, stage_error, values_at};
use crate::{CheckpointFile, OutputFolder, StageError};

/// Name of the file that an interrupted iteration goes on from.
const CHECKPOINT: &str = "iteration";

/// The voxels whose field is data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receivers {
    /// Those of the mask.
    Mask,
    /// All.
    Everywhere,
}

/// A map to be made.
pub(super) struct SmoothMap<'a> {
    pub(super) options: &'a SmoothOptions,
    /// The same in units of B0.
    pub(super) solver: DqsmOptions,
    pub(super) receivers: Receivers,
    /// Unknowns of a voxel with a fibre.
    pub(super) n_of_cylinder: usize,
}

impl SmoothMap<'_> {
    /// The map that `solve` comes to from the model, its data and weights, and a start.
    pub(super) fn make(
        &self,
        job: &Job<'_>,
        solve: impl FnOnce(
            &FieldModel,
            &[f32],
            Option<&[f32]>,
            Journey<'_>,
        ) -> Result<Reconstruction, QsmError>,
    ) -> Result<ChiMap, StageError> {
        let (field, log) = (job.field, job.log);
        let receivers = match self.receivers {
            Receivers::Mask => field.mask.voxels.clone(),
            Receivers::Everywhere => Mask::full(field.grid).voxels,
        };
        let shapes = field.shapes.clone();
        let model = FieldModel::new(&field.geometry, &field.mask.voxels, shapes, &receivers)?
            .with_support(self.options.support);
        let data = values_at(&receivers, &field.field_ppm);
        let weights = field.weights.as_deref().map(|volume| values_at(&receivers, volume));
        let weights = weights.as_deref();
        let start = self.start(&model, job)?;
        let made = resumable(job, |resume, after| {
            let journey = Journey { start: start.as_deref(), resume, after };
            solve(&model, &data, weights, journey)
        })?;
        let mut chi = Image::zeros(field.grid, 1);
        for (&voxel, x) in field.mask.voxels.iter().zip(&made.chi) {
            chi.data[voxel as usize] = *x;
        }
        log.count("iterations", made.log.len() as u64);
        log.result("kappa", self.solver.kappa);
        if let Some(step) = made.step {
            log.result("step", step);
        }
        log.result("stopped", made.stopped.as_str());
        log.note(&format!("{} iterations, ended by {}", made.log.len(), made.stopped.as_str()));
        let residual = Some(residual(&receivers, &made.residual, weights, &field.mask));
        let convergence = ConvergenceLog::from_iterations(PENALTY, &made.log);
        let (stopped, b0_tesla) = (Some(made.stopped), field.b0_tesla);
        Ok(ChiMap {
            chi,
            unguided: None,
            anisotropy: None,
            residual,
            convergence,
            stopped,
            metrics: None,
            b0_tesla,
        })
    }

    /// A first guess of the unknowns, where it is not zero.
    fn start(&self, model: &FieldModel, job: &Job<'_>) -> Result<Option<Vec<f32>>, StageError> {
        let (field, log) = (job.field, job.log);
        match self.options.start.0 {
            Start::Zero => Ok(None),
            Start::Tikhonov => {
                let data = masked(&field.field_ppm, &field.mask);
                let (on, method) = (&log.session().on, FourierMethod::TIKHONOV);
                let (chi, _) = invert(&field.geometry, &data, method, on, log)?;
                let mut start = values_at(&field.mask.voxels, &chi);
                start.resize(start.len() + (self.n_of_cylinder - 1) * model.cylinders(), 0.0);
                Ok(Some(start))
            }
        }
    }
}

/// Called after each iteration with a way to make a checkpoint of it.
type After<'a> =
    &'a mut dyn FnMut(&dyn Fn() -> Result<Checkpoint, QsmError>) -> Result<(), QsmError>;

/// What `iterate` comes to, from where an earlier process left it if the job resumes; its iterations are kept
/// where the job says.
fn resumable(
    job: &Job<'_>,
    iterate: impl FnOnce(Option<Checkpoint>, After<'_>) -> Result<Reconstruction, QsmError>,
) -> Result<Reconstruction, StageError> {
    let log = job.log;
    let on = &log.session().on;
    let fingerprint = fingerprint(job);
    let mut file = job.checkpointing.map(|checkpointing| {
        let path = OutputFolder::kept(&checkpointing.folder, "qsm").join(CHECKPOINT);
        CheckpointFile::new(&path, fingerprint, checkpointing.every)
    });
    let _guard = file.as_ref().map(|_| log.session().unfinished.hold());
    let resumes = job.checkpointing.is_some_and(|checkpointing| checkpointing.resume);
    let resume = match &file {
        Some(file) if resumes => file.read(Checkpoint::from_bytes)?,
        _ => None,
    };
    let begins_at = resume.as_ref().map_or(0, |resume| resume.saved.number as u64);
    ensure_same_work(on.comm, fingerprint, begins_at)?;
    if let Some(resume) = &resume {
        log.note(&format!("going on after iteration {}", resume.saved.number));
    }
    // Ctrl-C is noticed here, after an iteration, so that nothing done is lost.
    let mut after = |checkpoint: &dyn Fn() -> Result<Checkpoint, QsmError>| {
        let Some(file) = file.as_mut().filter(|_| on.comm.rank() == 0) else {
            return Ok(());
        };
        let cancelled = log.is_cancelled();
        if cancelled || file.is_due() {
            let written = file.write(&checkpoint()?.to_bytes());
            written.map_err(|error| QsmError::Space(error.to_string()))?;
        }
        if cancelled { Err(Interrupted.into()) } else { Ok(()) }
    };
    iterate(resume, &mut after).map_err(stage_error)
}

/// What is left of the field at the receivers without their weights, in the voxels of the mask; 0 where there
/// is no weight.
fn residual(receivers: &[u32], left: &[f32], weights: Option<&[f32]>, mask: &Mask) -> Image {
    let mut residual = Image::zeros(mask.grid, 1);
    for (place, (&voxel, left)) in receivers.iter().zip(left).enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[place]);
        residual.data[voxel as usize] = if weight > 0.0 { -left / weight } else { 0.0 };
    }
    residual.data = masked(&residual.data, mask);
    residual
}
