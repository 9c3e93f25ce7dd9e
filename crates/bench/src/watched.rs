//! Devices that fail while they are measured.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::Progress;

use crate::{Benchmark, Console, Failure, Machine};

/// Runs a benchmark. Where a device fails, threads would do its work and their time would stand in its
/// row: the benchmark ends instead, with what the device said.
///
/// # Errors
/// As [`Benchmark::run`], and where a device fails.
pub fn run_watched(
    benchmark: impl Benchmark,
    machine: Machine,
    console: &dyn Console,
) -> Result<(), Failure> {
    let devices = machine.devices.iter().map(|device| device.info().name.clone()).collect();
    let watched = Watched { console, devices, failed: Mutex::default() };
    let done = benchmark.run(machine, &watched);
    match watched.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(message) => Err(message.into()),
        None => done,
    }
}

struct Watched<'a> {
    console: &'a dyn Console,
    devices: Vec<String>,
    /// The first thing that a device complained of.
    failed: Mutex<Option<String>>,
}

impl Watched<'_> {
    fn failed(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Watched<'_> {
    fn start(&self, what: &str, total: u64) {
        self.console.start(what, total);
    }

    fn advance(&self, items: u64) {
        self.console.advance(items);
    }

    fn warn(&self, message: &str) {
        // Every error of a device begins with its name.
        let of_device = |name: &String| message.strip_prefix(name.as_str())?.strip_prefix(": ");
        if self.devices.iter().any(|name| of_device(name).is_some()) {
            self.failed().get_or_insert_with(|| message.to_owned());
        } else {
            self.console.warn(message);
        }
    }

    fn note(&self, message: &str) {
        self.console.note(message);
    }

    fn is_cancelled(&self) -> bool {
        self.failed().is_some() || self.console.is_cancelled()
    }
}

impl Console for Watched<'_> {
    fn print(&self, text: &str) -> Result<(), Failure> {
        self.console.print(text)
    }
}
