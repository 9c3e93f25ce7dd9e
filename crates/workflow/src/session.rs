//! What the caller of a pipeline brings along, and the log of what it did.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress};
use jiff::Timestamp;
use serde_json::Value;

use crate::{InputEntry, Machine, Page, RunRecord, StageEntry, StepEntry, Unfinished};

/// What every pipeline function gets from its caller; nothing is global.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// The threads and devices that work.
    pub on: Backend<'a>,
    /// Whom to tell how far the work is, and who may stop it.
    pub progress: &'a dyn Progress,
    /// Where outputs register while they are unfinished.
    pub unfinished: &'a Unfinished,
    /// The command line, for the record.
    pub command_line: &'a [String],
}

impl Session<'_> {
    /// What headers of .mif files say of where they come from, as MRtrix3's own do.
    pub fn header_entries(&self) -> Vec<(String, String)> {
        let version = format!("fimbria {}", env!("CARGO_PKG_VERSION"));
        let history = format!("{}  (version={version})", self.command_line.join(" "));
        vec![("command_history".to_owned(), history)]
    }
}

/// The result that [`Logbook::goes_on_from`] notes.
pub(crate) const RESUMED_FROM: &str = "resumed_from";

/// Collects what a run record says while the work goes on: warnings on their way to the caller's
/// [`Progress`], and time, steps and counts of each stage.
pub struct Logbook<'a> {
    session: Session<'a>,
    /// The stage that warnings are told with, where there are several, its number from 1, and how
    /// many there are.
    stage: Option<(&'static str, (usize, usize))>,
    started: Timestamp,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    warnings: Vec<String>,
    stages: Vec<StageEntry>,
    steps: Vec<StepEntry>,
    counts: BTreeMap<String, u64>,
    results: BTreeMap<String, Value>,
    /// The step under way, and when it began.
    step: Option<(String, Instant)>,
}

impl Entries {
    /// Notes what the step under way took, beside what it took before under the same name.
    fn end_step(&mut self) {
        let Some((name, began)) = self.step.take() else { return };
        let seconds = began.elapsed().as_secs_f64();
        match self.steps.iter_mut().find(|step| step.name == name) {
            Some(step) => step.seconds += seconds,
            None => self.steps.push(StepEntry { name, seconds }),
        }
    }
}

impl<'a> Logbook<'a> {
    /// An empty log that begins now.
    pub fn new(session: Session<'a>) -> Self {
        Self { session, stage: None, started: Timestamp::now(), entries: Mutex::default() }
    }

    /// The same for one of several stages.
    pub(crate) fn for_stage(
        session: Session<'a>,
        stage: &'static str,
        position: (usize, usize),
    ) -> Self {
        Self { stage: Some((stage, position)), ..Self::new(session) }
    }

    /// What the caller brought along.
    pub fn session(&self) -> &Session<'a> {
        &self.session
    }

    /// Runs one stage and notes its time and the counts made meanwhile.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn stage<T, E>(&self, name: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let start = Instant::now();
        let result = work()?;
        let seconds = start.elapsed().as_secs_f64();
        let mut entries = self.entries();
        entries.end_step();
        let steps = std::mem::take(&mut entries.steps);
        let counts = std::mem::take(&mut entries.counts);
        let name = name.to_owned();
        entries.stages.push(StageEntry { name, seconds, steps, counts, resumed: false });
        Ok(result)
    }

    /// Notes stages that another log or an earlier run timed.
    pub fn adopt(&self, stages: impl IntoIterator<Item = StageEntry>) {
        self.entries().stages.extend(stages);
    }

    /// Notes what a stage with a log of its own warned of.
    pub(crate) fn adopt_warnings(&self, stage: &str, warnings: &[String]) {
        self.entries()
            .warnings
            .extend(warnings.iter().map(|warning| format!("{stage}: {warning}")));
    }

    /// Notes how many of `what` the current stage met.
    pub fn count(&self, what: &str, number: u64) {
        self.entries().counts.insert(what.to_owned(), number);
    }

    /// Records that devices which nobody named were left out.
    pub fn left_to_threads(&self) {
        self.result("left_to_threads", "the threads are expected to be faster than a device here");
    }

    /// Counts who did the work, in chunks, where there was a choice. Of devices with one name, the second
    /// and those after it count under theirs with a number.
    pub fn count_shares(&self, shares: &Shares) {
        self.count_shares_of("chunks", shares);
    }

    /// The same of work that is shared out by something else.
    pub fn count_shares_of(&self, what: &str, shares: &Shares) {
        if shares.devices.is_empty() {
            return;
        }
        self.count(&format!("{what}_on_cpu"), shares.cpu as u64);
        let names = self.session.on.devices.iter().map(|device| device.info().name.as_str());
        for (name, share) in each_its_own(names).into_iter().zip(&shares.devices) {
            self.count(&format!("{what}_on_{name}"), *share as u64);
        }
    }

    /// Notes a number that the work came to; the record has it under its name.
    pub fn result(&self, what: &str, value: impl Into<Value>) {
        self.entries().results.insert(what.to_owned(), value.into());
    }

    /// Notes that the work went on from something that an interrupted run had come to and that does
    /// not lead to the same bits: the record tells it by this hash, and its fingerprint is another.
    pub fn goes_on_from(&self, hash: u64) {
        self.result(RESUMED_FROM, format!("{hash:016x}"));
    }

    /// Tells and notes something that the user should know, though the work goes on, and where the manual
    /// says more about it. What the systems warn of through [`Progress`] is of the machine and of what they
    /// are given, and has its place in the list of all messages.
    pub fn warn(&self, page: Page, message: &str) {
        let message = page.behind(message);
        match self.stage {
            Some((stage, _)) => self.session.progress.warn(&format!("{stage}: {message}")),
            None => self.session.progress.warn(&message),
        }
        self.entries().warnings.push(message);
    }

    /// The record of everything so far.
    pub fn record(&self, task: &str, inputs: Vec<InputEntry>, parameters: Value) -> RunRecord {
        let Session { on: Backend { workers, devices, comm, .. }, command_line, .. } = self.session;
        let entries = self.entries();
        RunRecord {
            program: "fimbria".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: command_line.to_vec(),
            task: task.to_owned(),
            inputs,
            parameters,
            fingerprint: None,
            machine: Machine {
                system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                processes: comm.size(),
                threads: workers.threads(),
                simd: format!("{:?}", workers.simd()),
                devices: devices.iter().map(|d| d.info().name.clone()).collect(),
            },
            results: entries.results.clone(),
            stages: entries.stages.clone(),
            warnings: entries.warnings.clone(),
            outputs: Vec::new(),
            started: self.started,
            finished: Timestamp::now(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Every entry is pushed whole, so that the log is valid after a panic elsewhere.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Logbook<'_> {
    fn start(&self, what: &str, total: u64) {
        let mut entries = self.entries();
        entries.end_step();
        entries.step = Some((what.to_owned(), Instant::now()));
        drop(entries);
        match self.stage {
            Some((stage, (number, of))) => {
                let what = format!("stage {number} of {of}, {stage}: {what}");
                self.session.progress.start(&what, total);
            }
            None => self.session.progress.start(what, total),
        }
    }

    fn advance(&self, items: u64) {
        self.session.progress.advance(items);
    }

    fn warn(&self, message: &str) {
        self.warn(Page::Troubleshooting, message);
    }

    fn note(&self, message: &str) {
        self.session.progress.note(message);
    }

    fn is_cancelled(&self) -> bool {
        self.session.progress.is_cancelled()
    }
}

/// The names, those met before with their number: "card", "card #2".
fn each_its_own<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut met: Vec<&str> = Vec::new();
    names
        .map(|name| {
            met.push(name);
            match met.iter().filter(|other| **other == name).count() {
                1 => name.to_owned(),
                number => format!("{name} #{number}"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_one_name_are_counted_apart() {
        let names = ["card", "processor", "card", "card"].into_iter();
        assert_eq!(each_its_own(names), ["card", "processor", "card #2", "card #3"]);
    }

    /// Remembers what began and what was warned of.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Progress for Heard {
        fn start(&self, what: &str, _: u64) {
            self.0.lock().unwrap().push(what.to_owned());
        }
        fn advance(&self, _: u64) {}
        fn is_cancelled(&self) -> bool {
            false
        }
        fn warn(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }

    #[test]
    fn of_several_stages_work_and_warnings_are_told_with_theirs() {
        let (workers, heard) = (fimbria_compute::Workers::new(1).unwrap(), Heard::default());
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &heard,
            unfinished: &Unfinished::default(),
            command_line: &[],
        };
        let stage = Logbook::for_stage(session, "dki", (3, 8));
        stage.start("fitting kurtosis", 10);
        stage.warn(Page::Sticks, "no signal");
        Progress::warn(&stage, "no device");
        Logbook::new(session).start("fitting tensors", 10);
        let expected = [
            "stage 3 of 8, dki: fitting kurtosis",
            "dki: no signal (fimbria help sticks)",
            "dki: no device (fimbria help troubleshooting)",
            "fitting tensors",
        ];
        assert_eq!(*heard.0.lock().unwrap(), expected);
        let noted = stage.record("fit", Vec::new(), Value::Null).warnings;
        let of_record =
            ["no signal (fimbria help sticks)", "no device (fimbria help troubleshooting)"];
        assert_eq!(noted, of_record);
    }
}
