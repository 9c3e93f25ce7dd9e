//! Which stages still have to run, and running them.

mod plan;

use std::path::Path;

use fimbria_compute::{Interrupted, Progress as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::plan::Unmade;
use self::plan::{Plan, Step, makers};
use crate::hashing::hash_text;
use crate::left::untouched;
use crate::session::RESUMED_FROM;
use crate::{
    HashError, Hashed, Hashing, InputEntry, Logbook, OutputError, OutputFolder, Products,
    RunRecord, Session, Stage, StageEntry, StageError, StageRecords, refuse_name_of_file,
};

/// What to do where outputs exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Existing {
    /// Stop with a list of them.
    #[default]
    Refuse,
    /// Compute everything again and overwrite them.
    Overwrite,
    /// Keep what an earlier run finished from the same inputs with the same parameters.
    Resume,
}

/// Why a pipeline stopped.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// An input cannot be read.
    #[error(transparent)]
    Input(#[from] HashError),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A stage failed.
    #[error("stage {name} failed")]
    Stage {
        /// Which.
        name: &'static str,
        /// Why.
        source: StageError,
    },
    /// A stage takes what none before it makes.
    #[error(transparent)]
    Unmade(#[from] Unmade),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// What [`run_stages`] hands back.
pub struct Finished {
    /// The products of every stage that ran or was restored.
    pub products: Products,
    /// The record as written to `run.json`.
    pub record: RunRecord,
}

/// Runs `stages`, in the order given, into one folder each below `root`, and writes the record of
/// all as `root/run.json` at the end.
///
/// A stage's fingerprint covers its inputs, its parameters, fimbria's version and the
/// fingerprints of the stages it needs: those that make its products, and those that write its
/// inputs. With [`Existing::Resume`] a stage is skipped where its
/// folder holds a complete run of the same fingerprint; its products are read back only if a stage
/// that does run needs them.
///
/// # Errors
/// [`PipelineError`]; stages finished before the error stay, and can be resumed from.
pub fn run_stages(
    task: &str,
    stages: &[Box<dyn Stage>],
    root: &Path,
    existing: Existing,
    session: Session<'_>,
) -> Result<Finished, PipelineError> {
    let log = Logbook::new(session);
    refuse_name_of_file(root)?;
    if existing == Existing::Refuse {
        refuse_existing(stages, root)?;
    }
    let out = OutputFolder::create(root, &[], existing != Existing::Refuse, session.unfinished)?;
    let plan = Plan::new(stages, root, existing)?;
    let untouched = if existing == Existing::Refuse { Vec::new() } else { untouched(stages, root) };
    let mut products = Products::default();
    products.put(StageRecords::default());
    let mut outputs = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        log.check()?;
        let step = &plan.steps[index];
        let failed = |source| PipelineError::Stage { name: stage.name(), source };
        let record = match &step.earlier {
            Some(record) => {
                OutputFolder::clear_beside(&step.folder);
                if step.is_needed {
                    products.open_to(&**stage);
                    stage.restore(&step.folder, &mut products, &log).map_err(failed)?;
                    products.close();
                }
                log.adopt(record.stages.iter().map(|s| StageEntry { resumed: true, ..s.clone() }));
                record.clone()
            }
            None if !step.is_needed => continue,
            None => {
                // Stages of two runs are no run: until all are made, no record says that they are.
                out.remove_record()?;
                let read = plan.steps[..=index].iter().map(|step| &step.inputs);
                let position = (index + 1, stages.len());
                let record = run_one(&**stage, position, step, read, &mut products, session)?;
                products.rest();
                log.adopt(record.stages.clone());
                record
            }
        };
        outputs.extend(record.outputs_below(stage.name()));
        log.adopt_warnings(stage.name(), &record.warnings);
        products.note(record);
        if index + 1 < stages.len() {
            products.keep_for(&stages[index + 1..]);
        }
    }
    let mut parameters: Map<_, _> =
        stages.iter().map(|s| (s.name().to_owned(), s.parameters())).collect();
    for (name, record) in untouched {
        outputs.extend(record.outputs_below(&name));
        log.adopt(record.stages.into_iter().map(|s| StageEntry { resumed: true, ..s }));
        log.adopt_warnings(&name, &record.warnings);
        parameters.insert(name, record.parameters);
    }
    let mut record = log.record(task, plan.inputs(), Value::Object(parameters));
    record.outputs = outputs;
    Ok(Finished { products, record: out.commit(record)? })
}

/// What identifies the results of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Version, inputs by their hashes and parameters, its own and those of the stages that it needs.
    pub results: String,
    /// The same without inputs.
    pub options: String,
}

/// Identifies what [`run_stages`] would make below `root` by each of `stages`.
///
/// # Errors
/// [`PipelineError`] where an input cannot be read, or a stage takes what none makes.
pub fn fingerprints_of_run(
    stages: &[Box<dyn Stage>],
    root: &Path,
) -> Result<Vec<Fingerprint>, PipelineError> {
    let plan = Plan::new(stages, root, Existing::Refuse)?;
    let mut all: Vec<Fingerprint> = Vec::new();
    for (stage, step) in stages.iter().zip(plan.steps) {
        let upstream: Vec<_> = step.makers.iter().map(|&maker| &all[maker].options).collect();
        let options = fingerprint_of(&**stage, None, &upstream);
        all.push(Fingerprint { results: step.fingerprint, options });
    }
    Ok(all)
}

/// Runs one stage into its folder, or in memory where it has no outputs.
fn run_one<'s>(
    stage: &dyn Stage,
    position: (usize, usize),
    step: &Step,
    mut read: impl Iterator<Item = &'s Hashed>,
    products: &mut Products,
    session: Session<'_>,
) -> Result<RunRecord, PipelineError> {
    let name = stage.name();
    let failed = |source| PipelineError::Stage { name, source };
    let log = Logbook::for_stage(session, name, position);
    let planned = stage.outputs();
    let mut out = if planned.is_empty() {
        None
    } else {
        // What stood in the way was refused before the first stage, or is to be replaced.
        Some(OutputFolder::create(&step.folder, &planned, true, session.unfinished)?)
    };
    products.open_to(stage);
    log.stage(name, || {
        stage.compute_into(products, out.as_mut(), &log)?;
        log.check()?;
        out.as_mut().map_or(Ok(()), |out| stage.write(products, out, &log))
    })
    .map_err(failed)?;
    products.close();
    // What was loaded earlier may be read only now.
    read.try_for_each(Hashed::check)?;
    let mut inputs = step.inputs.entries.clone();
    inputs.extend(Hashing::start(step.written.clone()).wait()?.entries);
    let mut record = log.record(name, inputs, stage.parameters());
    record.fingerprint = Some(step.fingerprint.clone());
    match out {
        Some(out) => Ok(out.commit(record)?),
        None => Ok(record),
    }
}

/// Runs `stages` one after the other in memory and writes their outputs to `out`; how a single
/// command does the work of one stage.
///
/// # Errors
/// That of the stage that failed, or why the outputs cannot be written.
pub fn run_command(
    task: &str,
    stages: &[&dyn Stage],
    mut out: OutputFolder,
    session: Session<'_>,
) -> Result<RunRecord, StageError> {
    let log = Logbook::new(session);
    for index in 0..stages.len() {
        makers(stages, index)?;
    }
    let hashing = hash_inputs(stages);
    // What is not there is said before anything else is.
    hashing.iter().try_for_each(Hashing::check_there)?;
    let mut products = Products::default();
    for stage in stages {
        products.open_to(*stage);
        log.stage(stage.name(), || stage.compute_into(&mut products, Some(&mut out), &log))?;
        log.check()?;
    }
    log.stage("write", || {
        stages.iter().try_for_each(|stage| {
            products.open_to(*stage);
            stage.write(&products, &mut out, &log)
        })
    })?;
    let inputs = finish(hashing)?;
    let fingerprint = fingerprint_of_command(stages, &inputs);
    let inputs = inputs.concat();
    let parameters = stages.iter().map(|s| (s.name().to_owned(), s.parameters())).collect();
    let mut record = log.record(task, inputs, Value::Object(parameters));
    record.fingerprint = Some(match record.results.get(RESUMED_FROM) {
        Some(from) => hash_text(&format!("{fingerprint} {from}")),
        None => fingerprint,
    });
    Ok(out.commit(record)?)
}

/// What [`run_command`] left in a folder before.
pub struct Earlier {
    /// Its record.
    pub record: RunRecord,
    /// True where it was of the same version, inputs and parameters.
    pub is_same: bool,
}

/// The earlier run in `folder`, compared with one of `stages`; `None` where none is whole.
///
/// # Errors
/// [`HashError`] where an input cannot be read.
pub fn earlier_command(stages: &[&dyn Stage], folder: &Path) -> Result<Option<Earlier>, HashError> {
    let record = RunRecord::read(&folder.join(OutputFolder::RECORD));
    let Some(record) = record.ok().filter(|record| record.is_complete_in(folder)) else {
        return Ok(None);
    };
    let fingerprint = fingerprint_of_command(stages, &finish(hash_inputs(stages))?);
    let is_same = record.fingerprint == Some(fingerprint);
    if is_same {
        // What a run that was killed left behind.
        OutputFolder::clear_beside(folder);
    }
    Ok(Some(Earlier { record, is_same }))
}

/// Begins to hash what each of `stages` reads.
fn hash_inputs(stages: &[&dyn Stage]) -> Vec<Hashing> {
    stages.iter().map(|stage| Hashing::start(stage.inputs())).collect()
}

/// Waits for the inputs of every stage.
fn finish(hashing: Vec<Hashing>) -> Result<Vec<Vec<InputEntry>>, HashError> {
    hashing.into_iter().map(Hashing::finish).collect()
}

/// The fingerprint of stages that run one after the other, each upon all before it.
fn fingerprint_of_command(stages: &[&dyn Stage], inputs: &[Vec<InputEntry>]) -> String {
    let mut upstream = Vec::new();
    for (stage, own) in stages.iter().zip(inputs) {
        let fingerprint = fingerprint_of(*stage, own, &upstream.iter().collect::<Vec<_>>());
        upstream.push(fingerprint);
    }
    upstream.pop().unwrap_or_default()
}

/// Identifies the version, a stage, its inputs by their hashes, and what it builds upon.
fn fingerprint_of<'e>(
    stage: &dyn Stage,
    inputs: impl IntoIterator<Item = &'e InputEntry>,
    upstream: &[&String],
) -> String {
    let hashes: Vec<_> = inputs.into_iter().map(|e| (&e.role, &e.xxh3_128)).collect();
    hash_text(
        &json!({
            "stage": stage.name(),
            "version": env!("CARGO_PKG_VERSION"),
            "inputs": hashes,
            "parameters": stage.parameters(),
            "upstream": upstream,
        })
        .to_string(),
    )
}

fn refuse_existing(stages: &[Box<dyn Stage>], root: &Path) -> Result<(), OutputError> {
    let planned = stages.iter().flat_map(|stage| {
        let outputs = stage.outputs();
        let record = (!outputs.is_empty()).then(|| OutputFolder::RECORD.to_owned());
        outputs.into_iter().chain(record).map(|file| format!("{}/{file}", stage.name()))
    });
    let names: Vec<_> = planned.filter(|name| root.join(name).exists()).collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(OutputError::Exists { folder: root.to_owned(), names })
    }
}
