//! The connectome of a run, of the streamlines that it made.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{Connections, CountConnections, Reach};
use crate::stages::track::Tracked;
use crate::{Input, Logbook, OutputFolder, Product, Products, Stage, StageError, Taken};

/// The table `[connectome]` of a run.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct ConnectomeOptions {
    /// Image of labels: whole numbers, 0 is background
    #[arg(long, value_name = "FILE", required = true)]
    pub labels: PathBuf,

    /// How ends meet labels.
    #[command(flatten)]
    #[serde(flatten)]
    pub reach: Reach,
}

/// Counts between labels what was [`Tracked`], and hands on the [`Connections`].
pub struct ConnectomeInRun {
    count: CountConnections,
}

impl ConnectomeInRun {
    /// Of the streamlines in this file, which an earlier stage writes.
    pub fn new(options: ConnectomeOptions, tractogram: PathBuf) -> Self {
        let ConnectomeOptions { labels, reach } = options;
        Self { count: CountConnections { tractogram, labels, reach, weights: None } }
    }
}

impl Stage for ConnectomeInRun {
    fn name(&self) -> &'static str {
        "connectome"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Tracked>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Connections>()]
    }

    fn inputs(&self) -> Vec<Input> {
        vec![("labels".to_owned(), self.count.labels.clone())]
    }

    fn parameters(&self) -> Value {
        self.count.parameters()
    }

    fn outputs(&self) -> Vec<String> {
        self.count.outputs()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.count.count(None, None, log)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.count.write(products, out, log)
    }

    /// Counts again, which takes no longer than reading.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}
