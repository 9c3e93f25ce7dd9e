//! Where work runs, and who hears of it.

use std::sync::Arc;

use fimbria_compute::device::{Device, DeviceOptions, Selection, list};
use fimbria_compute::{Backend, Progress, Workers};
use fimbria_pipeline::{Logbook, Session, StageError, Unfinished};

use crate::Error;

/// Hears how far work is, and can stop it. Every method may be called from any thread.
pub trait Observer: Send + Sync {
    /// A step of `total` items begins.
    fn step(&self, _name: &str, _total: u64) {}

    /// `items` more items of the step are done.
    fn advance(&self, _items: u64) {}

    /// The result is to be read with care: what of the data or options makes it doubtful.
    fn warning(&self, _message: &str) {}

    /// True once the work should stop: it then ends with an error.
    fn is_cancelled(&self) -> bool {
        false
    }
}

struct Unobserved;

impl Observer for Unobserved {}

/// An observer as the crates below know it.
struct Heard<'a>(&'a dyn Observer);

impl Progress for Heard<'_> {
    fn start(&self, what: &str, total: u64) {
        self.0.step(what, total);
    }

    fn advance(&self, items: u64) {
        self.0.advance(items);
    }

    fn warn(&self, message: &str) {
        self.0.warning(message);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The threads and devices that work. One engine serves any number of calls, from several threads too.
pub struct Engine {
    workers: Workers,
    devices: Vec<Device>,
    /// Devices are used only for what they are faster at.
    chooses: bool,
    observer: Arc<dyn Observer>,
}

impl Engine {
    /// `threads` threads, 0 for one per core, and the devices that `device` names as `--device` does: `cpu`
    /// for none, `auto`, `gpu`, `gpu:0,1`.
    ///
    /// # Errors
    /// Where threads cannot be started, and where a named device does not exist or does not open.
    pub fn new(threads: usize, device: &str) -> Result<Self, Error> {
        let workers = Workers::new(threads).map_err(Error::new)?;
        let selection: Selection = device.parse().map_err(Error::new)?;
        let devices = match selection {
            Selection::Cpu => Vec::new(),
            _ => selection
                .open(&list(), &DeviceOptions::default(), &Heard(&Unobserved))
                .map_err(Error::new)?,
        };
        let chooses = matches!(selection, Selection::Auto);
        Ok(Self { workers, devices, chooses, observer: Arc::new(Unobserved) })
    }

    /// The same, heard by `observer`.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&Logbook<'_>) -> Result<T, StageError>,
    ) -> Result<T, Error> {
        let on = Backend::new(&self.workers, &self.devices);
        let (heard, unfinished) = (Heard(&*self.observer), Unfinished::default());
        let log = Logbook::new(Session {
            on: if self.chooses { on.only_where_it_pays() } else { on },
            progress: &heard,
            unfinished: &unfinished,
            command_line: &[],
        });
        work(&log).map_err(Error::new)
    }
}
