//! The stage that makes one response of those of a group.

use std::path::PathBuf;

use clap::Args;
use fimbria_models::fod::{Brightness, Response};
use serde_json::{Value, json};

use super::fits::fod::read_response;
use crate::options::{Described as _, Takes};
use crate::{
    FileKind, Input, Logbook, OutputFolder, Product, Products, Stage, StageError, Written,
};

/// What `fimbria response` writes.
pub const RESPONSE_WRITES: &[Written] = &[
    Written::file(
        "OUT",
        FileKind::Table,
        "the mean, a row of zonal harmonics for each shell, as MRtrix3 writes it",
    ),
    Written::RECORD_BESIDE,
];

/// Which responses, and what becomes of their brightness.
#[derive(Clone, Debug, Args)]
pub struct ResponseOptions {
    /// Response of one tissue of each subject, MRtrix3's text
    #[arg(value_name = "RESPONSE", required = true)]
    #[arg(takes = Takes::TABLE)]
    pub subjects: Vec<PathBuf>,

    /// Leave subjects as bright as they are, as `responsemean -legacy` does
    #[arg(long)]
    pub legacy: bool,
}

/// Makes the mean of responses.
pub struct MeanResponse {
    /// Of which, and how.
    pub options: ResponseOptions,
    /// The file.
    pub file: String,
}

/// The mean.
struct Mean(Response);

impl Stage for MeanResponse {
    fn name(&self) -> &'static str {
        "response"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Mean>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.options.subjects.iter().map(|path| ("response".to_owned(), path.clone())).collect()
    }

    fn parameters(&self) -> Value {
        json!({ "legacy": self.options.legacy })
    }

    fn outputs(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        let ResponseOptions { subjects: paths, legacy } = &self.options;
        let read = paths.iter().map(|path| read_response(path)).collect::<Result<Vec<_>, _>>();
        let subjects = read?;
        let brightness = if *legacy { Brightness::Own } else { Brightness::Common };
        let Some(mean) = Response::mean(&subjects, brightness) else {
            let other = subjects.iter().position(|subject| !subject.is_like(&subjects[0]));
            let other = other.and_then(|other| paths.get(other)).unwrap_or(&paths[0]);
            let (other, first) = (other.display(), paths[0].display());
            return Err(format!("{other} has other shells or degrees than {first}").into());
        };
        products.put(Mean(mean));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(&self.file, products.get::<Mean>()?.0.to_string().as_bytes())?)
    }
}
