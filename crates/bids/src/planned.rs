//! The runs of a session's series that are to be made: their stages, and where their files go.

use std::path::{Path, PathBuf};

use fimbria_pipeline::stages::methods::derivatives;
use fimbria_pipeline::{
    ByteSize, DerivativeNames, Derived, Hashing, InputEntry, PipelineError, RunRecord, Stage,
};
use serde_json::Value;

use crate::made::Earlier;
use crate::names::place;
use crate::participants::Participants;
use crate::seen::Seen;
use crate::work::Work;
use crate::{BidsError, Labels, Series, Session};

/// A run of a series that is to be made.
pub(crate) struct Planned<'a> {
    pub(crate) series: &'a Series,
    pub(crate) labels: Option<(&'a str, &'a Labels)>,
    pub(crate) folder: PathBuf,
    pub(crate) stages: Vec<Box<dyn Stage>>,
}

/// What tells the results of a stage from others of the series: those of other labels are others.
pub(crate) fn key(stage: &str, labels: Option<(&str, &Labels)>) -> String {
    match labels.filter(|_| derivatives(stage).is_some_and(|derivatives| derivatives.by_labels)) {
        Some((name, _)) => format!("{stage} {name}"),
        None => stage.to_owned(),
    }
}

impl Planned<'_> {
    pub(crate) fn names(&self) -> DerivativeNames {
        DerivativeNames::from_series(&self.series.called, self.labels.map(|(name, _)| name))
    }

    /// Where files of a stage go, below the folder of the session.
    pub(crate) fn places(&self, stage: &dyn Stage) -> Vec<String> {
        let (names, parameters) = (self.names(), stage.parameters());
        let files = stage.outputs();
        let place = |file: &String| {
            let folder = self.folder.join(stage.name());
            let (stage, parameters) = (stage.name(), &parameters);
            let label_names = self.label_names();
            place(&names, &Derived { stage, file, parameters, folder: &folder, label_names })
        };
        files.iter().filter_map(place).collect()
    }

    /// Takes from the record of a run what it says of stages that an interrupted one has left there.
    pub(crate) fn leave_out_others(&self, record: &mut RunRecord) {
        let is_planned = |name: &str| self.stages.iter().any(|stage| stage.name() == name);
        record.outputs.retain(|output| output.file.split('/').next().is_some_and(is_planned));
        record.stages.retain(|stage| is_planned(&stage.name));
        if let Value::Object(parameters) = &mut record.parameters {
            parameters.retain(|stage, _| is_planned(stage));
        }
    }

    /// What is read beside what the stages read: by what role, and where it is.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let table = self.label_names().map(|table| ("label_names", table));
        let image_qc = self.series.image_qc.as_deref().map(|table| ("image_qc", table));
        table.into_iter().chain(image_qc)
    }

    /// The table that says what the labels are called.
    pub(crate) fn label_names(&self) -> Option<&Path> {
        self.labels.and_then(|(_, labels)| labels.table.as_deref())
    }

    /// The same with their hashes.
    pub(crate) fn own_inputs(&self) -> Result<Vec<InputEntry>, BidsError> {
        let own = self.own().map(|(role, path)| (role.to_owned(), path.to_owned()));
        Ok(Hashing::start(own.collect()).finish().map_err(PipelineError::from)?)
    }
}

impl Participants {
    /// The runs of a session's series, within so much memory.
    pub(crate) fn plans<'a>(
        &'a self,
        session: &'a Session,
        memory: Option<ByteSize>,
    ) -> Result<Vec<Planned<'a>>, BidsError> {
        let work = Work::new(self.work.as_deref(), &self.out).session_folder(&session.name());
        let plan = |series| {
            self.plan(series, &work, memory).map_err(|error| named(session, series, error))
        };
        self.weighted(session).0.into_iter().map(plan).collect()
    }

    /// What a session that is finished looks like now.
    pub(crate) fn seen(
        &self,
        session: &Session,
        planned: &[Planned<'_>],
        Earlier { record, .. }: &Earlier,
    ) -> Seen {
        let stages = planned.iter().flat_map(|planned| &planned.stages).map(|stage| &**stage);
        let own = planned.iter().flat_map(Planned::own).map(|(_, path)| path);
        let folder = self.out.join(session.folder());
        Seen::now(&self.out, &session.name(), &folder, &self.shape(), stages, own, record)
    }
}

/// What is wrong with a series: of several the error says which.
pub(crate) fn named(session: &Session, series: &Series, error: BidsError) -> BidsError {
    match session.series.len() {
        1 => error,
        _ => BidsError::Series { series: series.name.to_string(), source: Box::new(error) },
    }
}
