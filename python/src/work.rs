//! How Python waits for work: without the lock of the interpreter, told how far it is, and ready to stop.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fimbria_compute::device::{DeviceOptions, Selection, list, may_have_gpu};
use fimbria_compute::{Backend, Progress, Workers};
use fimbria_pipeline::{Logbook, RunRecord, Session, StageError, Unfinished};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::FimbriaError;

/// How often Python looks whether it was interrupted, and tells of progress.
const POLL: Duration = Duration::from_millis(50);

/// Where work is done, and who is told how far it is.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Machine {
    /// 0: one per core.
    threads: usize,
    /// As the program names them; none where nothing is said.
    device: Option<String>,
    progress: Option<Py<PyAny>>,
}

/// What work said of itself once it is done.
pub(crate) struct Said {
    warnings: Vec<String>,
    record: RunRecord,
}

impl Said {
    /// Adds it to what a function gives.
    pub(crate) fn put_into(self, result: &Bound<'_, PyDict>) -> PyResult<()> {
        let counts = self.record.stages.iter().flat_map(|stage| &stage.counts);
        let counted = PyDict::new(result.py());
        for (what, number) in counts {
            counted.set_item(what, number)?;
        }
        for (what, value) in &self.record.results {
            match value {
                Value::Number(number) => counted.set_item(what, number.as_f64())?,
                Value::String(text) => counted.set_item(what, text)?,
                _ => {}
            }
        }
        result.set_item("warnings", self.warnings)?;
        result.set_item("counts", counted)?;
        result.set_item("seconds", self.record.stages.iter().map(|s| s.seconds).sum::<f64>())
    }
}

/// What work says of itself while it goes on.
#[derive(Default)]
struct Told {
    is_cancelled: AtomicBool,
    done: AtomicU64,
    step: Mutex<(String, u64)>,
    warnings: Mutex<Vec<String>>,
    is_finished: Mutex<bool>,
    finished: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every value is replaced whole, and so valid after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for Told {
    fn start(&self, what: &str, total: u64) {
        *locked(&self.step) = (what.to_owned(), total);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, items: u64) {
        self.done.fetch_add(items, Ordering::Relaxed);
    }

    fn warn(&self, message: &str) {
        locked(&self.warnings).push(in_python(message));
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

impl Told {
    fn finish(&self) {
        *locked(&self.is_finished) = true;
        self.finished.notify_all();
    }

    /// Waits a little; true once the work has ended.
    fn wait(&self) -> bool {
        let guard = locked(&self.is_finished);
        let waited = self.finished.wait_timeout_while(guard, POLL, |is_finished| !*is_finished);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells `callback(step, done, total)`.
    fn tell(&self, py: Python<'_>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(callback) = callback else { return Ok(()) };
        let (what, total) = locked(&self.step).clone();
        if !what.is_empty() {
            callback.call1(py, (what, self.done.load(Ordering::Relaxed).min(total), total))?;
        }
        Ok(())
    }
}

/// Does `work` on threads of its own, while `progress` is called from the thread that asked; its result,
/// and what it said.
///
/// # Errors
/// Those of the work as [`FimbriaError`], what the callback raises, and `KeyboardInterrupt`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    machine: &Machine,
    work: impl FnOnce(&Logbook<'_>) -> Result<T, StageError> + Send,
) -> PyResult<(T, Said)> {
    let progress = machine.progress.as_ref();
    let workers = Workers::new(machine.threads);
    let workers = workers.map_err(|e| PyRuntimeError::new_err(chain(&e)))?;
    let (told, unfinished) = (Told::default(), Unfinished::default());
    let selection: Selection = match &machine.device {
        Some(device) => device.parse().map_err(|e| FimbriaError::new_err(chain(&e)))?,
        None => Selection::Cpu,
    };
    let is_cpu = match selection {
        Selection::Cpu => true,
        Selection::Auto => !may_have_gpu(),
        _ => false,
    };
    let devices = if is_cpu {
        Vec::new()
    } else {
        let opened = py.detach(|| selection.open(&list(), &DeviceOptions::default(), &told));
        opened.map_err(|e| FimbriaError::new_err(chain(&e)))?
    };
    let log = Logbook::new(Session {
        on: match selection {
            Selection::Auto => Backend::new(&workers, &devices).only_where_it_pays(),
            _ => Backend::new(&workers, &devices),
        },
        progress: &told,
        unfinished: &unfinished,
        command_line: &[],
    });
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let work = || log.stage("work", || work(&log));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            told.finish();
            done
        });
        let mut raised = None;
        while !py.detach(|| told.wait()) {
            if raised.is_none() {
                let told = py.check_signals().and_then(|()| told.tell(py, progress));
                raised = told.err();
            }
            told.is_cancelled.store(raised.is_some(), Ordering::Relaxed);
        }
        let done = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        raised.map_or_else(|| Ok(done), Err)
    })?;
    let done = done.unwrap_or_else(|panic| resume_unwind(panic));
    let warnings = std::mem::take(&mut *locked(&told.warnings));
    match done {
        Ok(done) => {
            told.tell(py, progress)?;
            Ok((done, Said { warnings, record: log.record("work", Vec::new(), Value::Null) }))
        }
        Err(_) if told.is_cancelled() => Err(PyKeyboardInterrupt::new_err(())),
        Err(error) => Err(FimbriaError::new_err(chain(&*error))),
    }
}

/// Does `work` that cannot be told to stop, such as a read; its result, and what it warned of. An interrupt
/// is answered at once: the work then ends by itself, and should clear away what it made where it finds that
/// it was cancelled.
///
/// # Errors
/// Those of the work as [`FimbriaError`], and what a handler of signals raises.
pub(crate) fn run_apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Logbook<'_>) -> Result<T, StageError> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let told = Arc::new(Told::default());
    let ours = Arc::clone(&told);
    let worker = std::thread::spawn(move || {
        let work = || -> Result<T, StageError> {
            let (workers, unfinished) = (Workers::new(0)?, Unfinished::default());
            let (on, progress) = (Backend::new(&workers, &[]), &*ours);
            let session = Session { on, progress, unfinished: &unfinished, command_line: &[] };
            work(&Logbook::new(session))
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        ours.finish();
        done
    });
    while !py.detach(|| told.wait()) {
        if let Err(raised) = py.check_signals() {
            told.is_cancelled.store(true, Ordering::Relaxed);
            return Err(raised);
        }
    }
    let done = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
    let done = done.unwrap_or_else(|panic| resume_unwind(panic));
    let done = done.map_err(|error| FimbriaError::new_err(chain(&*error)))?;
    let warnings = std::mem::take(&mut *locked(&told.warnings));
    Ok((done, warnings))
}

/// An error with its causes, in a sentence.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    in_python(&text)
}

/// A message with options and records as Python calls them: `--b0-threshold` is `b0_threshold` there.
fn in_python(message: &str) -> String {
    let word = |word: &str| match word.trim_start_matches(['(', '`']).strip_prefix("--") {
        Some(option) if !option.is_empty() => {
            let before = &word[..word.len() - option.len() - 2];
            format!("{before}{}", option.replace('-', "_"))
        }
        _ => word.to_owned(),
    };
    let words: Vec<_> = message.split(' ').map(word).collect();
    words.join(" ").replace("see in run.json", "see in counts")
}
