//! The page of a folder that an earlier run finished.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Report, ReportPage};
use crate::stages::accuracy::Compare;
use crate::stages::dti::Dti;
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
    dti: Dti,
    dti_folder: PathBuf,
    accuracy_folder: Option<PathBuf>,
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
        let mut records = vec![read_record(&dti_folder)?];
        let dti = Dti::of_record(&records[0]).ok_or_else(|| NotFinished::NoPage {
            folder: folder.to_owned(),
            task: record.task.clone(),
        })?;
        let accuracy_folder = folder.join("accuracy");
        let accuracy_folder = accuracy_folder.is_dir().then_some(accuracy_folder);
        if let Some(folder) = &accuracy_folder {
            records.push(read_record(folder)?);
        }
        Ok(Self { dti, dti_folder, accuracy_folder, records, report: Report { title }, file_name })
    }
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
        let folders = std::iter::once(&self.dti_folder).chain(&self.accuracy_folder);
        folders.map(|folder| ("record".to_owned(), folder.join(OutputFolder::RECORD))).collect()
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.report.title })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.dti.restore(&self.dti_folder, products, log)?;
        if let Some(folder) = &self.accuracy_folder {
            Compare.restore(folder, products, log)?;
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
