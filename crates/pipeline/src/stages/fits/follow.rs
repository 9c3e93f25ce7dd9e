//! A fit that is done again and again while the volumes of its series arrive.

mod arrivals;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fimbria_compute::Progress;
use fimbria_image::{GradientTable, SignalSource as _, counted};
use serde_json::{Value, json};

use self::arrivals::{Arrivals, Arrived};
use crate::stages::fits::fit_maps::{FitMaps, FitModel};
use crate::stages::load::{GradDevUnused, Load, LoadError, Subject, SubjectFiles};
use crate::{
    Carried, Hashing, Input, Logbook, OutputFolder, Page, Products, RunRecord, Session, Stage as _,
    StageError, refuse_name_of_file,
};

/// How often the series is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// More volumes arrived than the gradient table has.
#[derive(Debug, thiserror::Error)]
#[error("{arrived} volumes are there, but the gradient table has {planned}")]
pub struct TooManyVolumes {
    arrived: usize,
    planned: usize,
}

/// Fits the series of `files`, a file that grows or is replaced or a folder that volumes are
/// written to, whenever there are more volumes, each with the first rows of the gradient table;
/// every fit starts from the maps of the one before. Maps in `root` are replaced file by file, each
/// whole at all times, the record last.
///
/// Ends with the record of the last fit once all volumes of the table are there, or once the caller
/// stops it. A model that the volumes so far do not support is waited for, if those of the whole
/// table do.
///
/// # Errors
/// Where the inputs cannot be used, the fit of all volumes fails, or outputs cannot be written; and
/// where the caller stops before the first maps.
pub fn follow<P: FitModel>(
    files: &SubjectFiles,
    fit: &FitMaps<P>,
    root: &Path,
    overwrite: bool,
    session: Session<'_>,
) -> Result<RunRecord, StageError> {
    if files.grad_dev.is_some() {
        return Err(GradDevUnused.into());
    }
    // Writes the mask that is made where none is given, and the mean that it is made of.
    let load = Load { files: files.clone(), found: Some(fit.style) };
    let planned = [fit.outputs(), load.outputs()].concat();
    refuse_name_of_file(root)?;
    // Refuses at once what must not be overwritten.
    let mut first = Some(OutputFolder::create(root, &planned, overwrite, session.unfinished)?);
    let unheard = CancelledOnly(session.progress);
    let mut follower = Follower {
        files,
        load: &load,
        fit,
        session,
        unheard: Session { progress: &unheard, ..session },
        table: None,
        is_hopeless: false,
        products: Products::default(),
    };
    let mut arrivals = Arrivals::new(&files.dwi);
    let (mut latest, mut waited_for) = (None, String::new());
    loop {
        let Some(arrived) = next(&mut arrivals, &session) else { break };
        match follower.round(&arrived) {
            Ok(Round { complete, log, inputs }) => {
                let mut out = match first.take() {
                    Some(out) => out,
                    None => OutputFolder::create(root, &planned, true, session.unfinished)?,
                };
                fit.write(&follower.products, &mut out, &log)?;
                load.write(&follower.products, &mut out, &log)?;
                let task = format!("fit {} --follow", P::STAGE);
                let record = log.record(&task, inputs.wait()?.entries, follower.parameters());
                latest = Some(out.commit(record)?);
                session.progress.note(&format!(
                    "{} of {} volumes: maps {:.2} s after the last arrived",
                    arrived.n_volumes(),
                    follower.planned(),
                    SystemTime::now().duration_since(arrived.at).unwrap_or_default().as_secs_f64()
                ));
                if complete {
                    break;
                }
            }
            Err(error) if session.progress.is_cancelled() && latest.is_none() => return Err(error),
            Err(_) if session.progress.is_cancelled() => break,
            Err(error) if follower.is_hopeless => return Err(error),
            Err(error) if arrived.n_volumes() >= follower.planned() => return Err(error),
            Err(error) => {
                let error = error.to_string();
                if error != waited_for {
                    let n = counted(arrived.n_volumes(), "volume");
                    session.progress.note(&format!("{n}: too few yet: {error}"));
                    waited_for = error;
                }
            }
        }
    }
    session
        .progress
        .check()
        .or_else(|stopped| if latest.is_some() { Ok(()) } else { Err(stopped) })?;
    latest.ok_or_else(|| "nothing was fitted".into())
}

/// Waits until there are other volumes than before; `None` once the caller stops.
fn next(arrivals: &mut Arrivals, session: &Session<'_>) -> Option<Arrived> {
    loop {
        if session.progress.is_cancelled() {
            return None;
        }
        match session.on.workers.install(|| arrivals.look(session.progress)) {
            Some(arrived) => return Some(arrived),
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Lets nothing through but the wish to stop: how far work is that is done often, and what it
/// warns of, is said of the last time only.
struct CancelledOnly<'a>(&'a dyn Progress);

impl Progress for CancelledOnly<'_> {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, _message: &str) {}
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

struct Follower<'a, P> {
    files: &'a SubjectFiles,
    load: &'a Load,
    fit: &'a FitMaps<P>,
    session: Session<'a>,
    /// For all fits but the last.
    unheard: Session<'a>,
    /// That of all volumes to come.
    table: Option<GradientTable>,
    /// Not even all volumes of the table support the model.
    is_hopeless: bool,
    /// The maps of the last round.
    products: Products,
}

/// What a fit of the volumes so far hands to writing.
struct Round<'a> {
    complete: bool,
    log: Logbook<'a>,
    inputs: Hashing,
}

impl<'a, P: FitModel> Follower<'a, P> {
    fn planned(&self) -> usize {
        self.table.as_ref().map_or(usize::MAX, GradientTable::len)
    }

    fn parameters(&self) -> Value {
        json!({ P::STAGE: self.fit.parameters() })
    }

    fn round(&mut self, arrived: &Arrived) -> Result<Round<'a>, StageError> {
        let n = arrived.n_volumes();
        if self.table.is_none() {
            let read = self.files.planned_gradients(arrived.series.grid())?;
            for repair in read.repairs {
                self.session.progress.warn(&Page::Troubleshooting.behind(repair));
            }
            let supported = self.fit.parameters.supports(&read.table);
            self.is_hopeless = supported.is_err();
            supported?;
            self.table = Some(read.table);
        }
        let planned = self.planned();
        let (Some(table), 1..) = (&self.table, n) else {
            return Err(LoadError::NoBrain(self.files.dwi.clone()).into());
        };
        if n > planned {
            return Err(TooManyVolumes { arrived: n, planned }.into());
        }
        let gradients = GradientTable {
            b_s_per_mm2: table.b_s_per_mm2[..n].to_vec(),
            dirs_ras: table.dirs_ras[..n].to_vec(),
            b0_threshold: table.b0_threshold,
        };
        let complete = n == planned;
        let log = Logbook::new(if complete { self.session } else { self.unheard });
        // They may grow meanwhile; what is fitted is what had arrived.
        let inputs = Hashing::start(self.inputs(arrived));
        let workers = self.session.on.workers;
        let mask = self.files.mask_for(&arrived.series, &gradients, workers)?;
        let dwi = Arc::new(arrived.series.clone());
        let carried = Carried::default();
        let subject = Subject { dwi, gradients, mask, grad_dev: None, carried };
        self.load.hand_on(subject, &mut self.products, &log);
        log.stage(P::STAGE, || {
            log.count("volumes", n as u64);
            self.fit.compute(&mut self.products, &log)?;
            let latency = SystemTime::now().duration_since(arrived.at).unwrap_or_default();
            log.count("milliseconds_since_last_volume", latency.as_millis() as u64);
            log.check().map_err(StageError::from)
        })?;
        Ok(Round { complete, log, inputs })
    }

    /// Every file that was read.
    fn inputs(&self, arrived: &Arrived) -> Vec<Input> {
        let beside = self.files.inputs().into_iter().filter(|(role, _)| role != "dwi");
        let volumes = arrived.files.iter().map(|file| ("dwi".to_owned(), file.clone()));
        volumes.chain(beside).chain(self.fit.inputs()).collect()
    }
}
