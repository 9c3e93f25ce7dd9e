//! A run of every session, and what becomes of each.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fimbria_compute::{Backend, Progress, Workers};
use fimbria_image::counted;
use fimbria_pipeline::{Choice, Page, RunConfig, Session as Machine};

use crate::claim::{Claim, Claimed};
use crate::digest::finished;
use crate::failed::{self, Heard};
use crate::resources::{Resources, Share};
use crate::root::Root;
use crate::work::Work as WorkFolder;
use crate::{BidsError, DataSet, Session, citation};

/// Where pages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportLevel {
    /// At the root of the derivatives.
    #[default]
    Root,
    /// In the folders of subjects.
    Subject,
    /// In those of sessions.
    Session,
}

impl Choice for ReportLevel {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Root, "root", "beside the folders of subjects"),
        (Self::Subject, "subject", "in the folder of the subject"),
        (Self::Session, "session", "in the folder of the session"),
    ];
}

/// What is to be done with the sessions of a data set.
pub struct Participants {
    /// The sessions.
    pub data_set: DataSet,
    /// The folder of the derivatives.
    pub out: PathBuf,
    /// What each run is told; its series, and what belongs to it, come from the data set.
    pub config: RunConfig,
    /// The labels between which streamlines are counted, where there are several.
    pub atlas: Option<String>,
    /// Whether runs of one session are analysed each by itself although they are corrected.
    pub separate: bool,
    /// Whether streamlines through densities end where the tissues of a series say, if it has some.
    pub anatomy: bool,
    /// Where runs lie until they are finished; `None` for a hidden folder of the derivatives.
    pub work: Option<PathBuf>,
    /// Whether finished sessions are made again.
    pub force: bool,
    /// Where pages go.
    pub level: ReportLevel,
    /// How many threads a session has at most; `None` for all.
    pub threads_each: Option<usize>,
}

/// How a session ended.
#[derive(Debug)]
pub enum Ended {
    /// It was made.
    Done,
    /// An earlier call had made it, of the same inputs with the same parameters.
    Kept,
    /// Another process is at work on it.
    Elsewhere,
    /// It could not be made.
    Failed(BidsError),
}

/// A session and how it ended.
#[derive(Debug)]
pub struct Outcome {
    /// `sub-01_ses-2`.
    pub session: String,
    /// How.
    pub ended: Ended,
}

impl Participants {
    /// Makes every session that nobody else is at work on: as many beside each other as there are threads
    /// and memory for, where memory has a limit and no device works; one that fails does not stop the
    /// others. What is made does not depend on it.
    ///
    /// # Errors
    /// Where nothing can be done at all, or the user stops it.
    pub fn run(&self, machine: Machine<'_>) -> Result<Vec<Outcome>, BidsError> {
        self.check()?;
        let root = Root { data_set: &self.data_set, out: &self.out };
        root.check(&WorkFolder::new(self.work.as_deref(), &self.out))?;
        let tell = |names: Vec<&str>| {
            let warn = |name: &str| machine.progress.warn(&Page::Bids.behind(theirs(name)));
            names.into_iter().for_each(warn);
        };
        {
            let _claim = Claim::take_root(&self.out)?;
            tell(root.write()?);
        }
        let sessions = self.data_set.sessions.len();
        let threads = machine.on.workers.threads();
        let memory = self.config.input.memory.filter(|_| machine.on.devices.is_empty());
        let shares = Resources::new((threads, self.threads_each), memory, sessions);
        let work = Work { all: self, shares: &shares, machine, ended: Mutex::default() };
        std::thread::scope(|scope| {
            for _ in 1..shares.at_once() {
                // Where the system has no more threads, those there are do all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || work.go_on());
            }
            work.go_on();
        });
        let Outcomes { mut all, stopped, .. } =
            work.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        {
            let _claim = Claim::take_root(&self.out)?;
            tell(citation::write(&self.out, &finished(&self.out)?)?);
        }
        match stopped {
            Some(error) => Err(error),
            None => {
                all.sort_by_key(|(index, _)| *index);
                Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
            }
        }
    }

    /// Whether the configuration leaves to the data set what is its own.
    pub(crate) fn check(&self) -> Result<(), BidsError> {
        let input = &self.config.input;
        let given = [
            ("dwi", !input.dwi.as_os_str().is_empty()),
            ("mask", input.mask.is_some()),
            ("bval", input.bval.is_some()),
            ("bvec", input.bvec.is_some()),
            ("grad", input.grad.is_some()),
            ("bmatrix", input.bmatrix.is_some()),
            ("grad_dev", input.grad_dev.is_some()),
            ("joined", !input.joined.is_empty()),
        ];
        if let Some((what, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(BidsError::Given("input", what));
        }
        match self.config.tables.get("track").is_some_and(|track| track.contains_key("act")) {
            true => Err(BidsError::Given("track", "act")),
            false => Ok(()),
        }
    }
}

/// What is told of a file that would be written and is somebody else's.
pub fn theirs(name: &str) -> String {
    format!("{name} is not as fimbria wrote it, and stays as it is")
}

/// What became of sessions so far.
#[derive(Default)]
struct Outcomes {
    /// With the number of the session.
    all: Vec<(usize, Outcome)>,
    /// Why no more are begun.
    stopped: Option<BidsError>,
    /// Whether it was said that the file system has no locks.
    without_locks: bool,
}

/// What several threads do of all sessions, each one session at a time.
struct Work<'w> {
    all: &'w Participants,
    shares: &'w Resources,
    machine: Machine<'w>,
    ended: Mutex<Outcomes>,
}

impl Work<'_> {
    fn ended(&self) -> MutexGuard<'_, Outcomes> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sessions until none is left, or one says to stop.
    fn go_on(&self) {
        let sessions = &self.all.data_set.sessions;
        let needs = |index: usize| self.all.memory_needed(&sessions[index]);
        while let Some(share) = self.shares.next(needs, || self.ended().stopped.is_some()) {
            let session = &sessions[share.index];
            match self.ended_by(&share, session) {
                Ok(ended) => {
                    let outcome = Outcome { session: session.name(), ended };
                    self.ended().all.push((share.index, outcome));
                }
                Err(error) => {
                    self.ended().stopped.get_or_insert(error);
                }
            }
        }
    }

    /// Makes a session with its share; an error stops all.
    fn ended_by(&self, share: &Share<'_>, session: &Session) -> Result<Ended, BidsError> {
        let Self { all, machine, .. } = self;
        let name = session.name();
        let _claim = match Claim::take(&all.out, &name)? {
            Claimed::Ours(claim) => Some(claim),
            Claimed::Theirs => return Ok(Ended::Elsewhere),
            Claimed::Unknown => {
                if !std::mem::replace(&mut self.ended().without_locks, true) {
                    machine.progress.warn(&Page::Bids.behind(format_args!(
                        "the file system of {} has no locks: see to it that no other process works \
                         there",
                        all.out.display()
                    )));
                }
                None
            }
        };
        let heard = Heard::new(machine.progress);
        let machine = Machine { progress: &heard, ..*machine };
        let made = self.made(share, session, machine);
        match made {
            Err(error) if machine.progress.is_cancelled() => Err(error),
            Err(error) => {
                let work = WorkFolder::new(all.work.as_deref(), &all.out).session_folder(&name);
                // What cannot be written does not hide why the session failed.
                let written = heard.write(&all.out, (&name, &work), &error, machine);
                written.unwrap_or_else(|why| machine.progress.warn(&Page::Bids.behind(why)));
                Ok(Ended::Failed(error))
            }
            Ok(ended) => {
                failed::clear(&all.out, &name)?;
                Ok(ended)
            }
        }
    }

    /// The session with its share of the machine.
    fn made(
        &self,
        share: &Share<'_>,
        session: &Session,
        machine: Machine<'_>,
    ) -> Result<Ended, BidsError> {
        let (all, name) = (self.all, session.name());
        let of = all.data_set.sessions.len();
        let place = format!("{name}: {} of {of}", share.index + 1);
        if share.is_all() {
            machine.progress.note(&place);
            let memory = share.memory.or(all.config.input.memory);
            return all.session(session, memory, machine);
        }
        let threads = counted(share.threads, "thread");
        let memory = share.memory.map_or(String::new(), |memory| format!(" and {memory}"));
        machine.progress.note(&format!("{place}, with {threads}{memory}"));
        let progress = Told { name: &name, to: machine.progress };
        let workers = Workers::new(share.threads)?.with_simd(machine.on.workers.simd());
        let on = Backend { workers: &workers, ..machine.on };
        all.session(session, share.memory, Machine { on, progress: &progress, ..machine })
    }
}

/// What one of several sessions says, with its name; how far each is would be said across the others.
struct Told<'t> {
    name: &'t str,
    to: &'t dyn Progress,
}

impl Progress for Told<'_> {
    fn start(&self, _what: &str, _total: u64) {}

    fn advance(&self, _items: u64) {}

    fn warn(&self, message: &str) {
        self.to.warn(&format!("{}: {message}", self.name));
    }

    fn note(&self, message: &str) {
        self.to.note(&format!("{}: {message}", self.name));
    }

    fn is_cancelled(&self) -> bool {
        self.to.is_cancelled()
    }
}
