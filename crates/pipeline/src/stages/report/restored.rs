//! The page of a folder that an earlier run finished.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Report, ReportPage};
use crate::stages::accuracy::Compare;
use crate::stages::dki::Dki;
use crate::stages::dki1d::Dki1d;
use crate::stages::dti::Dti;
use crate::stages::expr::Expr;
use crate::stages::ivim::Ivim;
use crate::stages::life::LifeInRun;
use crate::stages::mono::Mono;
use crate::stages::peaks::FindPeaks;
use crate::stages::qsm::MapSusceptibility;
use crate::stages::sticks::Sticks;
use crate::stages::stremi::Stremi;
use crate::stages::stremi1d::Stremi1d;
use crate::stages::track::WholeBrain;
use crate::{Input, Logbook, OutputFolder, Products, RunRecord, Stage, StageError, StageRecords};

/// A folder that is not what a finished run leaves.
#[derive(Debug, thiserror::Error)]
pub enum NotFinished {
    /// There is no record.
    #[error("{} holds no finished run: there is no run.json that can be read", folder.display())]
    NoRecord {
        /// The folder.
        folder: PathBuf,
        /// Why the record cannot be read.
        source: std::io::Error,
    },
    /// The record is that of something that has no page.
    #[error("{} was written by `{task}`, of which no page can be drawn", folder.display())]
    NoPage {
        /// The folder.
        folder: PathBuf,
        /// What wrote it.
        task: String,
    },
    /// Outputs are missing or have another size.
    #[error("{} is not complete: files that its run.json lists are missing or cut off", .0.display())]
    Incomplete(PathBuf),
}

/// Draws the page of what `fit dti`, `run` or `demo` left in a folder.
pub struct Restored {
    /// The stages with something to show, and where they left it.
    shown: Vec<(Box<dyn Stage>, PathBuf)>,
    records: Vec<RunRecord>,
    report: Report,
    file_name: String,
}

impl Restored {
    /// Looks at `folder`; the page will be written as `file_name`.
    ///
    /// # Errors
    /// [`NotFinished`].
    pub fn new(folder: &Path, title: String, file_name: String) -> Result<Self, NotFinished> {
        let record = read_record(folder)?;
        let inner = folder.join("dti");
        let dti_folder = if inner.is_dir() { inner } else { folder.to_owned() };
        let dti_record = read_record(&dti_folder)?;
        let dti = Dti::of_record(&dti_record).ok_or_else(|| NotFinished::NoPage {
            folder: folder.to_owned(),
            task: record.task.clone(),
        })?;
        let mut shown: Vec<(Box<dyn Stage>, PathBuf)> = vec![(Box::new(dti), dti_folder)];
        let mut records = vec![dti_record];
        // The page tells how the densities were made, but shows only what came of them.
        for (name, stage) in [
            ("fod", None),
            ("peaks", Some((|record| Some(boxed(FindPeaks::of_record(record)?))) as OfRecord)),
            ("sticks", Some(|record| Some(boxed(Sticks::of_record(record)?)))),
            ("track", Some(|record| Some(boxed(WholeBrain::of_record(record)?)))),
            ("life", Some(|record| Some(boxed(LifeInRun::of_record(record)?)))),
            ("dki", Some(|record| Some(boxed(Dki::of_record(record)?)))),
            ("stremi", Some(|record| Some(boxed(Stremi::of_record(record)?)))),
            ("dki1d", Some(|record| Some(boxed(Dki1d::of_record(record)?)))),
            ("stremi1d", Some(|record| Some(boxed(Stremi1d::of_record(record)?)))),
            ("ivim", Some(|record| Some(boxed(Ivim::of_record(record)?)))),
            ("mono", Some(|record| Some(boxed(Mono::of_record(record)?)))),
            ("expr", Some(|record| Some(boxed(Expr::of_record(record)?)))),
            ("qsm", Some(|record| Some(boxed(MapSusceptibility::of_record(record)?)))),
            ("accuracy", Some(|_| Some(boxed(Compare)))),
        ] {
            let folder = folder.join(name);
            if folder.is_dir() {
                let record = read_record(&folder)?;
                let stage = stage.and_then(|of_record| of_record(&record));
                shown.extend(stage.map(|stage| (stage, folder)));
                records.push(record);
            }
        }
        Ok(Self { shown, records, report: Report { title }, file_name })
    }
}

/// The stage that wrote a folder, by its record.
type OfRecord = fn(&RunRecord) -> Option<Box<dyn Stage>>;

fn boxed(stage: impl Stage + 'static) -> Box<dyn Stage> {
    Box::new(stage)
}

fn read_record(folder: &Path) -> Result<RunRecord, NotFinished> {
    let record = RunRecord::read(&folder.join(OutputFolder::RECORD))
        .map_err(|source| NotFinished::NoRecord { folder: folder.to_owned(), source })?;
    if record.is_complete_in(folder) {
        Ok(record)
    } else {
        Err(NotFinished::Incomplete(folder.to_owned()))
    }
}

impl Stage for Restored {
    fn name(&self) -> &'static str {
        "report"
    }

    fn inputs(&self) -> Vec<Input> {
        let records = self.shown.iter().map(|(_, folder)| folder.join(OutputFolder::RECORD));
        records.map(|record| ("record".to_owned(), record)).collect()
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.report.title })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        for (stage, folder) in &self.shown {
            stage.restore(folder, products, log)?;
        }
        products.put(StageRecords(self.records.clone()));
        self.report.compute(products, log)
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(&self.file_name, products.get::<ReportPage>()?.0.as_bytes())?)
    }
}
