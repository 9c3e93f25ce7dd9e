//! Devices while they are measured: that they do not fail, and where their time goes.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::Progress;
use fimbria_compute::device::{Device, Spent};

use crate::{Console, Failure};

/// How rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// As tables, and what stands between them.
    Text,
    /// Each as an object of JSON on a line of its own, and nothing else.
    Json,
}

/// Runs a benchmark on devices, with a console that watches them. Where one fails, threads would do its work
/// and their time would stand in its row: the benchmark ends instead, with what the device said.
///
/// # Errors
/// Those of `benchmark`, and where a device fails.
pub fn run_watched(
    devices: &[Device],
    rows: Rows,
    console: &dyn Console,
    benchmark: impl FnOnce(&dyn Console) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let watched = Watched { console, devices: devices.to_vec(), rows, failed: Mutex::default() };
    let done = benchmark(&watched);
    match watched.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(message) => Err(message.into()),
        None => done,
    }
}

struct Watched<'a> {
    console: &'a dyn Console,
    devices: Vec<Device>,
    rows: Rows,
    /// The first thing that a device complained of.
    failed: Mutex<Option<String>>,
}

/// What follows the name of a device that failed, or has not the memory.
fn is_complaint(rest: &str) -> bool {
    rest.starts_with(": ") || rest.starts_with(" is not used")
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
        // Every complaint of a device begins with its name.
        let of_device =
            |device: &Device| message.strip_prefix(&device.info().name).is_some_and(is_complaint);
        if self.devices.iter().any(of_device) {
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
        if self.rows == Rows::Json && !text.starts_with('{') {
            return Ok(());
        }
        self.console.print(text)
    }

    fn rows(&self) -> Rows {
        self.rows
    }

    fn spent(&self) -> Vec<Spent> {
        self.devices.iter().filter_map(Device::spent).collect()
    }
}
