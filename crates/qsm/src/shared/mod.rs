//! Products that are shared out: over processes, over several devices, on threads.

mod several;

use fimbria_compute::device::{Device, DeviceSpace};
use fimbria_compute::operator::LinearOperator;
use fimbria_compute::{HostSpace, Workers};

pub use self::several::SeveralDevices;
use crate::device::DeviceOperatorError;
use crate::{Edges, QsmError, Share};

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
