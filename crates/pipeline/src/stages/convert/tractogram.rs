//! Tractograms, as streams.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_image::{Datatype, ImageHeader};
use fimbria_streamlines::{Format, WriteOptions, copy, create, open};
use serde_json::{Value, json};

use super::ConvertOptions;
use crate::{Input, Logbook, OutputFolder, Page, Products, Stage, StageError};

/// Writes a tractogram in another format.
pub struct ConvertTractogram {
    /// What is read, and as what it is written.
    pub options: ConvertOptions,
    /// In which format.
    pub format: Format,
    /// Where.
    pub to: PathBuf,
}

impl ConvertTractogram {
    fn name_of_file(&self) -> String {
        self.to.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn convert(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let ConvertOptions { input, datatype, reference, .. } = &self.options;
        let (datatype, format) = (*datatype, self.format);
        let grid = match reference {
            Some(path) => Some(*ImageHeader::read(path)?.grid()),
            None => None,
        };
        let options = WriteOptions { position_type: datatype, grid };
        let mut reader = open(input)?;
        for loss in format.losses(reader.header()) {
            log.warn(Page::Troubleshooting, &format!("{format} has no place for {loss}: left out"));
        }
        if reader.header().position_type == Datatype::Float64 {
            log.warn(
                Page::Troubleshooting,
                "coordinates pass through float32: digits of float64 beyond it are lost",
            );
        }
        if let Some(why) = datatype.and_then(|datatype| format.seldom_read(datatype)) {
            log.warn(Page::Troubleshooting, why);
        }
        let to = match format.file_in_folder() {
            Some(_) => out.scratch("tractogram"),
            None => out.stage(&self.name_of_file())?,
        };
        let writer = create(&to, format, reader.header(), &options)?;
        let copied = copy(&mut *reader, writer, log).map_err(StageError::from);
        let counts = if format.file_in_folder().is_some() {
            let adopted = copied.and_then(|counts| adopt(out, &to, "").map(|()| counts));
            fs::remove_dir_all(&to)?;
            adopted?
        } else {
            copied?
        };
        log.count("streamlines", counts.streamlines);
        log.count("points", counts.points);
        Ok(())
    }
}

impl Stage for ConvertTractogram {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn inputs(&self) -> Vec<Input> {
        let reference =
            self.options.reference.iter().map(|path| ("reference".to_owned(), path.clone()));
        std::iter::once(("tractogram".to_owned(), self.options.input.clone()))
            .chain(reference)
            .collect()
    }

    fn parameters(&self) -> Value {
        let datatype = self.options.datatype.map(Datatype::name);
        json!({ "format": self.format.to_string(), "datatype": datatype })
    }

    fn outputs(&self) -> Vec<String> {
        let in_folder = self.format.file_in_folder().map(str::to_owned);
        vec![in_folder.unwrap_or_else(|| self.name_of_file())]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// Streamlines may be larger than memory: they are written as they are read.
    fn compute_into(
        &self,
        _products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.convert(out.ok_or("one process converts")?, log)
    }
}

/// Moves the files of a finished TRX folder to where they are staged.
fn adopt(out: &mut OutputFolder, folder: &Path, prefix: &str) -> Result<(), StageError> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            adopt(out, &entry.path(), &format!("{name}/"))?;
        } else {
            fs::rename(entry.path(), out.stage(&name)?)?;
        }
    }
    Ok(())
}
