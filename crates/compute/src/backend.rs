//! Where a computation runs: the caller's threads, and the caller's devices if there are any.

use crate::Workers;
use crate::device::Device;

/// Threads, and devices that come before them. With no devices everything runs on the threads;
/// with some, [`run_chunks`](crate::queue::run_chunks) shares the work out and falls back.
#[derive(Clone, Copy, Debug)]
pub struct Backend<'a> {
    /// The threads, always there.
    pub workers: &'a Workers,
    /// The devices to use, none for the CPU alone.
    pub devices: &'a [Device],
}

impl<'a> Backend<'a> {
    /// The CPU alone.
    pub fn cpu(workers: &'a Workers) -> Self {
        Self { workers, devices: &[] }
    }
}
