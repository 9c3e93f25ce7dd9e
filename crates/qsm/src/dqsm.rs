//! Diffusion-guided susceptibility mapping from a local field.

use fimbria_compute::comm::Comm;
use fimbria_compute::device::Device;
use fimbria_compute::operator::{LinearOperator, Operator};
use fimbria_compute::{Backend, Progress, Workers};

use crate::device::{DeviceLaplacian, DeviceOperator, DeviceOperatorError};
use crate::shared::{SeveralDevices, Shared};
use crate::solver::{
    Checkpoint, Iteration, Method, Objective, Solver, Stopped, StoppingRule, run, safe_step,
};
use crate::{Distributed, Edges, FieldModel, HostOperator, Laplacian, Products, QsmError, Share};

/// Which iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iterate {
    /// Conjugate gradients.
    #[default]
    Cgls,
    /// Bidiagonalisation.
    Lsmr,
    /// Landweber's, as published.
    Landweber,
}

/// How a map is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DqsmOptions {
    /// How products are made.
    pub products: Products,
    /// Which iteration.
    pub iterate: Iterate,
    /// κ, the share of the data, in units of B0.
    pub kappa: f64,
    /// The step of a Landweber iteration; where it would diverge, or is not given, a safe one.
    pub step: Option<f64>,
    /// What lies beyond the unknowns.
    pub edges: Edges,
    /// When to stop.
    pub stop: StoppingRule,
}

impl DqsmOptions {
    /// The default of [`kappa`](Self::kappa): the published κ of 0.75 as it acts at the 4.7 T of
    /// the publication, at which the data term in tesla² weighs 22 times that in units of B0.
    pub const KAPPA: f64 = 0.985;
}

impl Default for DqsmOptions {
    fn default() -> Self {
        Self {
            products: Products::default(),
            iterate: Iterate::default(),
            kappa: Self::KAPPA,
            step: None,
            edges: Edges::default(),
            stop: StoppingRule::default(),
        }
    }
}

/// A map and how it was found.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// The susceptibility of each unknown, in units of the field.
    pub chi: Vec<f32>,
    /// What it leaves of the field at each receiver: w (b - A x), in units of the field.
    pub residual: Vec<f32>,
    /// Every iteration.
    pub log: Vec<Iteration>,
    /// Why it ended.
    pub stopped: Stopped,
    /// The step of a Landweber iteration that was used.
    pub step: Option<f64>,
}

/// Where to start, and what to do with what is reached.
pub struct Journey<'a> {
    /// A first guess of the unknowns.
    pub start: Option<&'a [f32]>,
    /// Where an earlier process came to; goes before `start`.
    pub resume: Option<Checkpoint>,
    /// Called after each iteration with a way to make a checkpoint of it.
    #[allow(clippy::type_complexity, reason = "named where it is made")]
    pub after: &'a mut dyn FnMut(&dyn Fn() -> Result<Checkpoint, QsmError>) -> Result<(), QsmError>,
}

/// The susceptibility of the unknowns of `model` whose field at its receivers is `field`, with a
/// weight for each receiver; on the devices of `on`, or on its threads where there is none or one
/// fails, which `progress` is told. Several processes share the sources, each on one device or on
/// its threads, and each returns the whole.
///
/// # Errors
/// Where lengths differ, numbers are not finite, memory is short, the volume cannot be
/// transformed, or `progress` says to stop.
pub fn reconstruct(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    options: &DqsmOptions,
    on: &Backend<'_>,
    comm: &dyn Comm,
    progress: &dyn Progress,
    journey: Journey<'_>,
) -> Result<Reconstruction, QsmError> {
    model.check_cylinders()?;
    let problem = ShapeProducts { model, products: options.products };
    share_out(&problem, field, weights, options, on, comm, progress, journey)
}

/// The fields of spheres and cylinders, their sources shared out.
#[derive(Clone, Copy)]
pub struct ShapeProducts<'m> {
    /// Unknowns, their shapes, and receivers.
    pub model: &'m FieldModel,
    /// How products are made.
    pub products: Products,
}

impl Shared for ShapeProducts<'_> {
    type OnThreads<'w> = HostOperator<'w>;
    type OnDevice = DeviceOperator;
    type PenaltyOnThreads<'w> = Laplacian<'w>;
    type PenaltyOnDevice = DeviceLaplacian;

    fn lengths(&self) -> (usize, usize) {
        (self.model.unknowns.len(), self.model.receivers.len())
    }

    /// Enough that a fast device takes more than a slow one.
    fn parts(&self, devices: usize) -> usize {
        4 * devices
    }

    fn on_threads<'w>(
        &self,
        workers: &'w Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<HostOperator<'w>, QsmError> {
        let operator = HostOperator::of_share(self.model, self.products, workers, share)?;
        match weights {
            None => Ok(operator),
            Some(weights) => operator.weighted(weights.to_vec()),
        }
    }

    fn on_device(
        &self,
        device: &Device,
        workers: &Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<DeviceOperator, DeviceOperatorError> {
        let operator = DeviceOperator::of_share(self.model, self.products, device, workers, share)?;
        match weights {
            None => Ok(operator),
            Some(weights) => operator.weighted(weights),
        }
    }

    fn penalty_on_threads<'w>(
        &self,
        edges: Edges,
        workers: &'w Workers,
    ) -> Result<Laplacian<'w>, QsmError> {
        Ok(Laplacian::new(self.model, edges, workers))
    }

    fn penalty_on_device(
        &self,
        edges: Edges,
        device: &Device,
        workers: &Workers,
    ) -> Result<DeviceLaplacian, DeviceOperatorError> {
        Ok(DeviceLaplacian::new(self.model, edges, device, workers)?)
    }
}

/// The unknowns of `problem` whose field at its receivers is `field`, with a weight for each; on the
/// devices of `on`, or on its threads where there is none or one fails, which `progress` is told. Several
/// processes share the product, each on one device or on its threads, and each returns the whole.
pub(crate) fn share_out<P: Shared>(
    problem: &P,
    field: &[f32],
    weights: Option<&[f32]>,
    options: &DqsmOptions,
    on: &Backend<'_>,
    comm: &dyn Comm,
    progress: &dyn Progress,
    journey: Journey<'_>,
) -> Result<Reconstruction, QsmError> {
    let field: Vec<f32> = match weights {
        None => field.to_vec(),
        Some(weights) => field.iter().zip(weights).map(|(b, w)| b * w).collect(),
    };
    if comm.size() == 1 && on.devices.len() > 1 {
        let operator = SeveralDevices::new(problem, on, progress)?;
        let operator = match weights {
            None => operator,
            Some(weights) => operator.weighted(weights.to_vec())?,
        };
        let penalty = problem.penalty_on_threads(options.edges, on.workers)?;
        return minimise(&operator, &penalty, &field, options, progress, journey);
    }
    let share = Share { rank: comm.rank(), size: comm.size() };
    let on_device = |device: &Device| -> Result<_, DeviceOperatorError> {
        let operator = problem.on_device(device, on.workers, share, weights)?;
        Ok((operator, problem.penalty_on_device(options.edges, device, on.workers)?))
    };
    let prepared = match on.devices.len() {
        0 => None,
        // Processes of one machine take turns at its devices.
        n => match on_device(&on.devices[comm.device_of(n)]) {
            Ok(prepared) => Some(prepared),
            Err(DeviceOperatorError::Qsm(error)) => return Err(error),
            Err(error) => {
                progress.warn(&format!("{error}; the threads do the work"));
                None
            }
        },
    };
    // The processes' vectors are the same to the bit where all make them alike.
    let mut ready = [i64::from(prepared.is_some())];
    comm.sum_i64(&mut ready);
    if let Some((operator, penalty)) = prepared.filter(|_| ready == [share.size as i64]) {
        let operator = Distributed::new(operator, comm);
        let resume = journey.resume.clone();
        let part = Journey { after: &mut *journey.after, resume, ..journey };
        match minimise(&operator, &penalty, &field, options, progress, part) {
            Err(QsmError::Space(error)) if share.size == 1 => {
                progress.warn(&format!("{error}; the threads begin again"));
            }
            done => return done,
        }
    }
    let operator = problem.on_threads(on.workers, share, weights)?;
    let penalty = problem.penalty_on_threads(options.edges, on.workers)?;
    let operator = Distributed::new(operator, comm);
    minimise(&operator, &penalty, &field, options, progress, journey)
}

/// [`reconstruct`] over any operators, `field` weighted as `operator` is.
///
/// # Errors
/// As [`reconstruct`].
pub fn minimise<A, D>(
    operator: &A,
    penalty: &D,
    field: &[f32],
    options: &DqsmOptions,
    progress: &dyn Progress,
    journey: Journey<'_>,
) -> Result<Reconstruction, QsmError>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    let objective = Objective::new(operator, penalty, field, options.kappa)?;
    let Journey { start, resume, after } = journey;
    let step = match (options.iterate, &resume) {
        (Iterate::Cgls | Iterate::Lsmr, _) => None,
        (Iterate::Landweber, Some(checkpoint)) => Some(checkpoint.step),
        (Iterate::Landweber, None) => Some(safe_step(&objective, options.step)?),
    };
    if let (Some(wanted), Some(step)) = (options.step, step)
        && step < wanted
    {
        progress.warn(&format!("a step of {wanted} would diverge: {step:.4} is used"));
    }
    let method = match (step, options.iterate) {
        (Some(step), _) => Method::Landweber { step },
        (None, Iterate::Lsmr) => Method::Lsmr,
        (None, _) => Method::Cgls,
    };
    let (mut solver, mut log) = match resume {
        Some(Checkpoint { saved, log, .. }) => (Solver::restore(&objective, method, &saved)?, log),
        None => (Solver::new(&objective, method, start)?, Vec::new()),
    };
    let rule = &options.stop;
    let met = log.last().and_then(|last| rule.met(last, field.len()));
    let stopped = match met {
        // The checkpoint was the end.
        Some(stopped) => stopped,
        None => run(&mut solver, rule, progress, |iteration, solver| {
            log.push(*iteration);
            after(&|| {
                let step = step.unwrap_or(0.0);
                Ok(Checkpoint { saved: solver.save()?, log: log.clone(), step })
            })
        })?,
    };
    Ok(Reconstruction { chi: solver.x()?, residual: solver.residual()?, log, stopped, step })
}
