//! Where least squares are made: on a device, on several, on threads, and over processes that share them.

use fimbria_compute::comm::Comm;
use fimbria_compute::device::{Device, DeviceSpace};
use fimbria_compute::operator::LinearOperator;
use fimbria_compute::{Backend, HostSpace, Progress, Workers};

use crate::device::{DeviceOperatorError, SeveralDevices};
use crate::dqsm::{DqsmOptions, Journey, Reconstruction, minimise};
use crate::{Distributed, Edges, QsmError, Share};

/// A problem whose product A can be shared out: the sum of all parts is A, whoever makes them.
pub trait Shared: Sync {
    /// A part of A on threads.
    type OnThreads<'w>: LinearOperator<Domain = HostSpace<'w>, Range = HostSpace<'w>> + Sync;
    /// A part of A on a device.
    type OnDevice: LinearOperator<Domain = DeviceSpace, Range = DeviceSpace> + Send;
    /// D on threads.
    type PenaltyOnThreads<'w>: LinearOperator<Domain = HostSpace<'w>, Range = HostSpace<'w>>;
    /// D on a device.
    type PenaltyOnDevice: LinearOperator<Domain = DeviceSpace, Range = DeviceSpace>;

    /// Unknowns and receivers.
    fn lengths(&self) -> (usize, usize);

    /// Into how many parts A is shared out to `devices`, of which there are several.
    fn parts(&self, devices: usize) -> usize;

    /// A part of A, or with weights of W A, on threads.
    ///
    /// # Errors
    /// Where the volume is too large to transform, or weights are none.
    fn on_threads<'w>(
        &self,
        workers: &'w Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<Self::OnThreads<'w>, QsmError>;

    /// A part of A, or with weights of W A, on a device.
    ///
    /// # Errors
    /// As on threads, and where the device refuses.
    fn on_device(
        &self,
        device: &Device,
        workers: &Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<Self::OnDevice, DeviceOperatorError>;

    /// D on threads.
    ///
    /// # Errors
    /// None of a sound model.
    fn penalty_on_threads<'w>(
        &self,
        edges: Edges,
        workers: &'w Workers,
    ) -> Result<Self::PenaltyOnThreads<'w>, QsmError>;

    /// D on a device.
    ///
    /// # Errors
    /// Where the device refuses.
    fn penalty_on_device(
        &self,
        edges: Edges,
        device: &Device,
        workers: &Workers,
    ) -> Result<Self::PenaltyOnDevice, DeviceOperatorError>;
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
