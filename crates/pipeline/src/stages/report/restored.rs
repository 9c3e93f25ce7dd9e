//! The page of a folder that an earlier run finished.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{JobPage, Report, ReportPage};
use crate::stages::fits::fit_maps::FitMaps;
use crate::stages::fits::{DTI, dti};
use crate::stages::methods;
use crate::stages::studies::labelled_folders;
use crate::{
    Input, Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, StageRecords,
    Taken,
};

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
        let dti = FitMaps::<dti::Parameters>::of_record(&dti_record).ok_or_else(|| {
            NotFinished::NoPage { folder: folder.to_owned(), task: record.task.clone() }
        })?;
        let mut shown: Vec<(Box<dyn Stage>, PathBuf)> = vec![(Box::new(dti), dti_folder)];
        let mut records = vec![dti_record];
        for method in methods::of_runs().filter(|method| method.name != DTI.name()) {
            let folder = folder.join(method.name);
            if folder.is_dir() {
                let record = read_record(&folder)?;
                shown.extend((method.restored)(&record).map(|stage| (stage, folder)));
                records.push(record);
            }
        }
        // Of what a study makes besides only the words are on the page.
        for folder in labelled_folders().map(|name| folder.join(name)) {
            if folder.is_dir() {
                records.push(read_record(&folder)?);
            }
        }
        Ok(Self { shown, records, report: Report { title }, file_name })
    }
}

/// The stage that draws the page of a finished folder: of a run or a tensor fit by its stages, of anything
/// else by its files.
///
/// # Errors
/// [`NotFinished`].
pub fn of_folder(
    folder: &Path,
    title: String,
    file_name: String,
) -> Result<Box<dyn Stage>, NotFinished> {
    match Restored::new(folder, title.clone(), file_name.clone()) {
        Ok(restored) => Ok(Box::new(restored)),
        Err(NotFinished::NoPage { folder, .. }) => {
            let record = read_record(&folder)?;
            if record.outputs.is_empty() {
                return Err(NotFinished::NoPage { folder, task: record.task });
            }
            Ok(Box::new(JobPage { folder, record, title, file_name }))
        }
        Err(error) => Err(error),
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

    fn takes(&self) -> Vec<Taken> {
        // Of what it restores itself.
        self.report.takes().iter().map(|taken| Taken::product_where_made(taken.product)).collect()
    }

    fn makes(&self) -> Vec<Product> {
        let restored = self.shown.iter().flat_map(|(stage, _)| stage.makes());
        let records = Product::of::<StageRecords>();
        restored.chain([records]).chain(self.report.makes()).collect()
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
