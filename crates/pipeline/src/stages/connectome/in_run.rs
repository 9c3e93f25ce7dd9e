//! The connectome of a run, of the streamlines that it made.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_life::sift2::Sift2;
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::Value;

use super::{Connections, CountConnections, Edges, Given, Reach};
use crate::options::{Described as _, Takes};
use crate::stages::track::Tracked;
use crate::{Input, Logbook, OutputFolder, Product, Products, Stage, StageError, Taken};

/// The table `[connectome]` of a run.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct ConnectomeOptions {
    /// Image of labels: whole numbers, 0 is background
    #[arg(long, value_name = "FILE", required = true)]
    #[arg(takes = Takes::LABELS)]
    pub labels: PathBuf,

    /// How ends meet labels.
    #[command(flatten)]
    #[serde(flatten)]
    pub reach: Reach,

    /// What is counted, and how it is written.
    #[command(flatten)]
    #[serde(flatten)]
    pub edges: Edges,
}

/// Counts between labels what was [`Tracked`], by the weights of [`Sift2`] where these were found, and hands
/// on the [`Connections`].
pub struct ConnectomeInRun {
    count: CountConnections,
    is_weighted: bool,
}

impl ConnectomeInRun {
    /// Of the streamlines in this file, which an earlier stage writes; `is_weighted` where one weighs them.
    pub fn new(options: ConnectomeOptions, tractogram: PathBuf, is_weighted: bool) -> Self {
        let ConnectomeOptions { labels, reach, edges } = options;
        let count = CountConnections { tractogram, labels, reach, weights: None, edges };
        Self { count: count.with_table_beside(), is_weighted }
    }
}

impl Stage for ConnectomeInRun {
    fn name(&self) -> &'static str {
        "connectome"
    }

    fn takes(&self) -> Vec<Taken> {
        match self.is_weighted {
            true => vec![Taken::always::<Tracked>(), Taken::always::<Sift2>()],
            false => vec![Taken::always::<Tracked>()],
        }
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Connections>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let labels = with_sidecar("labels", &self.count.labels);
        labels.chain(self.count.edges.inputs()).collect()
    }

    fn parameters(&self) -> Value {
        let mut parameters = self.count.parameters();
        if self.is_weighted {
            parameters["weights"] = "sift2".into();
        }
        parameters
    }

    fn outputs(&self) -> Vec<String> {
        self.count.edges.outputs(self.is_weighted)
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let weights = match self.is_weighted {
            true => Some(&products.get::<Sift2>()?.weights[..]),
            false => None,
        };
        let counted = self.count.count(Given { weights, ..Given::default() }, log)?;
        products.put(counted);
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
