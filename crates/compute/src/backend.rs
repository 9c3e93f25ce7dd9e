//! Where a computation runs: the caller's threads, the caller's devices if there are any, and the
//! processes that share the work.

use crate::Workers;
use crate::comm::{Comm, Solo};
use crate::device::Device;

/// Threads, and devices that come before them. With no devices everything runs on the threads;
/// with some, [`run_chunks`](crate::queue::run_chunks) or [`run_pairs`](crate::queue::run_pairs) shares the
/// work out and falls back.
#[derive(Clone, Copy)]
pub struct Backend<'a> {
    /// The threads, always there.
    pub workers: &'a Workers,
    /// The devices to use, none for the CPU alone.
    pub devices: &'a [Device],
    /// True where nobody named the devices: what threads are expected to be faster at is theirs.
    pub only_where_it_pays: bool,
    /// The processes that do the same work, each a part of it.
    pub comm: &'a dyn Comm,
}

impl<'a> Backend<'a> {
    /// The CPU alone.
    pub fn cpu(workers: &'a Workers) -> Self {
        Self::new(workers, &[])
    }

    /// Threads and devices of one process.
    pub fn new(workers: &'a Workers, devices: &'a [Device]) -> Self {
        Self { workers, devices, only_where_it_pays: false, comm: &Solo }
    }

    /// The same with devices that nobody named.
    #[must_use]
    pub fn only_where_it_pays(self) -> Self {
        Self { only_where_it_pays: true, ..self }
    }

    /// The same as one of several processes, which take turns at the devices: each has one.
    #[must_use]
    pub fn among(self, comm: &'a dyn Comm) -> Self {
        let devices = match self.devices.len() {
            n if n > 0 && comm.size() > 1 => std::slice::from_ref(&self.devices[comm.device_of(n)]),
            _ => self.devices,
        };
        Self { devices, comm, ..self }
    }
}
