//! What is kept of a session that failed: `logs/failed/SESSION.txt`, until the session is made.

use std::error::Error;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fimbria_compute::Progress;
use fimbria_pipeline::{Logbook, Session as Machine, final_names};
use serde_json::Value;

use crate::BidsError;
use crate::claim::Claim;
use crate::own::{put, remove};

/// The folder of these files, below that of the derivatives.
pub const FAILED: &str = "logs/failed";

/// The file of a session.
fn file(session: &str) -> String {
    format!("{FAILED}/{session}.txt")
}

/// Hands on what a session says, and keeps its words.
pub(crate) struct Heard<'p> {
    to: &'p dyn Progress,
    words: Mutex<String>,
}

impl<'p> Heard<'p> {
    pub(crate) fn new(to: &'p dyn Progress) -> Self {
        Self { to, words: Mutex::default() }
    }

    fn keep(&self, kind: &str, message: &str) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        *words += &format!("{kind}{message}\n");
    }

    /// Writes why the session failed, where it was at work, and what it said before.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn write(
        &self,
        out: &Path,
        (session, work): (&str, &Path),
        error: &BidsError,
        machine: Machine<'_>,
    ) -> Result<(), BidsError> {
        let record = Logbook::new(machine).record("bids", Vec::new(), Value::Null);
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!(
            "session: {session}\nfailed: {}\nprogram: {} {} on {}, {} threads\ncommand: {}\nerror: {}\n\
             what is finished of it lies in {}: the same command goes on from there\n\n{words}",
            record.started,
            record.program,
            record.version,
            record.machine.system,
            record.machine.threads,
            record.command_line.join(" "),
            chain(error),
            work.display(),
        );
        let _claim = Claim::take_root(out)?;
        put(out, &file(session), final_names(&text).as_bytes(), true).map(drop)
    }
}

/// Takes away what is kept of a session that is made now.
pub(crate) fn clear(out: &Path, session: &str) -> Result<(), BidsError> {
    // Nothing is there of nearly all.
    if out.join(file(session)).symlink_metadata().is_err() {
        return Ok(());
    }
    let _claim = Claim::take_root(out)?;
    remove(out, &file(session))
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |&error| error.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

impl Progress for Heard<'_> {
    fn start(&self, what: &str, total: u64) {
        self.to.start(what, total);
    }

    fn advance(&self, items: u64) {
        self.to.advance(items);
    }

    fn warn(&self, message: &str) {
        self.keep("warning: ", message);
        self.to.warn(message);
    }

    fn note(&self, message: &str) {
        self.keep("", message);
        self.to.note(message);
    }

    fn is_cancelled(&self) -> bool {
        self.to.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Backend, Silent, Workers};
    use fimbria_pipeline::Unfinished;

    use super::*;

    #[test]
    fn a_failed_session_leaves_its_words_until_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let workers = Workers::new(1).unwrap();
        let machine = Machine {
            on: Backend::cpu(&workers),
            progress: &Silent,
            unfinished: &Unfinished::default(),
            command_line: &["fimbria".to_owned(), "bids".to_owned()],
        };
        let heard = Heard::new(&Silent);
        heard.warn("few directions");
        let error = BidsError::io("read", "dwi.nii")(std::io::Error::other("bad disk"));
        let session = ("sub-1_ses-2", Path::new("work/sub-1_ses-2"));
        heard.write(out, session, &error, machine).unwrap();
        let path = out.join("logs/failed/sub-1_ses-2.txt");
        let text = std::fs::read_to_string(&path).unwrap();
        for part in ["error: cannot read dwi.nii: bad disk\n", "fimbria bids\n", "few directions"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        clear(out, "sub-1_ses-2").unwrap();
        assert!(!path.exists());
    }
}
