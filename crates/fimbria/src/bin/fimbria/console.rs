//! What the user sees while a command works: everything but results goes to standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fimbria_compute::Progress;
use fimbria_pipeline::{Unfinished, final_names};
use indicatif::{ProgressBar, ProgressStyle};

use crate::printable::printable;

/// Progress, notes and warnings on standard error, results on standard output; and the flag that
/// Ctrl-C raises.
pub(crate) struct Console {
    level: i8,
    on_terminal: bool,
    cancelled: Arc<AtomicBool>,
    unfinished: Unfinished,
    stage: Mutex<Option<Stage>>,
}

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot print the result")]
pub(crate) struct PrintError(#[source] io::Error);

impl PrintError {
    /// Whether all could be printed; that a reader has gone away (`| head`) is no error.
    pub(crate) fn check(printed: io::Result<()>) -> Result<(), Self> {
        match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Self(error)),
            _ => Ok(()),
        }
    }
}

/// The stage of work whose progress is shown.
struct Stage {
    what: String,
    total: u64,
    done: u64,
    begun: Instant,
    shown: Shown,
}

enum Shown {
    /// A bar with the time left.
    Bar(ProgressBar),
    /// A line per ten percent; the number of tenths said so far.
    Lines { tenths: u64 },
}

impl Console {
    /// `level`: -1 quiet, 0 as usual, 1 verbose.
    pub(crate) fn new(level: i8) -> Self {
        let cancelled = Arc::<AtomicBool>::default();
        Self {
            level,
            on_terminal: io::stderr().is_terminal(),
            unfinished: Unfinished::until(cancelled.clone()),
            cancelled,
            stage: Mutex::new(None),
        }
    }

    /// The flag that stops the work.
    pub(crate) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// What to take away when the program is left at once.
    pub(crate) fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }

    pub(crate) fn was_interrupted(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Prints a result.
    pub(crate) fn print(&self, text: &str) -> Result<(), PrintError> {
        self.end_stage();
        let mut out = io::stdout().lock();
        PrintError::check(out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()))
    }

    /// True where more is to be said than usual.
    pub(crate) fn is_verbose(&self) -> bool {
        self.level > 0
    }

    /// Says something that only who asks for it (`-v`) wants to know.
    pub(crate) fn detail(&self, message: &str) {
        if self.is_verbose() {
            self.say(message);
        }
    }

    fn say(&self, message: &str) {
        let stage = self.stage();
        match stage.as_ref().map(|stage| &stage.shown) {
            Some(Shown::Bar(bar)) => bar.suspend(|| say_line(message)),
            _ => say_line(message),
        }
    }

    /// Ends the bar of the current stage, if there is one.
    fn end_stage(&self) {
        if let Some(Stage { shown: Shown::Bar(bar), .. }) = self.stage().take() {
            bar.finish_and_clear();
        }
    }

    fn stage(&self) -> MutexGuard<'_, Option<Stage>> {
        // Losing a bar to a panic elsewhere is no reason for another.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end_stage();
    }
}

/// A line on standard error; nobody there to read it is no error.
fn say_line(message: &str) {
    // At once: what ends the program for want of memory writes past the lock.
    let _ = io::stderr().write_all(format!("{}\n", printable(&final_names(message))).as_bytes());
}

impl Progress for Console {
    fn start(&self, what: &str, total: u64) {
        self.end_stage();
        if self.level < 0 {
            return;
        }
        let shown = if self.on_terminal {
            Shown::Bar(bar(what, total))
        } else {
            Shown::Lines { tenths: 0 }
        };
        let (what, begun) = (what.to_owned(), Instant::now());
        *self.stage() = Some(Stage { what, total, done: 0, begun, shown });
    }

    fn advance(&self, items: u64) {
        if let Some(stage) = self.stage().as_mut() {
            stage.advance(items);
        }
    }

    fn warn(&self, message: &str) {
        self.say(&format!("warning: {message}"));
    }

    fn note(&self, message: &str) {
        if self.level >= 0 {
            self.say(message);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.was_interrupted()
    }
}

impl Stage {
    fn advance(&mut self, items: u64) {
        /// Work that ends sooner needs no lines.
        const QUIET: Duration = Duration::from_secs(1);
        self.done += items;
        match &mut self.shown {
            Shown::Bar(bar) => bar.inc(items),
            Shown::Lines { tenths } => {
                let now = (10 * self.done).checked_div(self.total).unwrap_or(10).min(10);
                if now > *tenths && self.begun.elapsed() >= QUIET {
                    *tenths = now;
                    say_line(&format!("{}: {} %", self.what, 10 * now));
                }
            }
        }
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent} % ({eta} left)")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(total).with_style(style).with_message(printable(what).into_owned())
}
