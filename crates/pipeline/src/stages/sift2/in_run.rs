//! The weights of what a run has tracked itself.

use std::path::{Path, PathBuf};

use fimbria_image::NumberRows;
use fimbria_life::sift2::{Sift2, Sift2Step};
use serde_json::Value;

use super::{Sift2Parameters, WeighByDensities};
use crate::options::from_values;
use crate::stages::given_lines::GivenLines;
use crate::stages::load_orientations::OrientationField;
use crate::stages::track::Tracked;
use crate::{
    ByteSize, Input, Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, Taken,
};

/// [`WeighByDensities`] of the streamlines that an earlier stage wrote.
pub struct Sift2InRun {
    weigh: WeighByDensities,
}

impl Sift2InRun {
    /// Of the streamlines in this file, with the tissues that ended them.
    pub fn new(
        parameters: Sift2Parameters,
        tractogram: PathBuf,
        act: Option<PathBuf>,
        memory: Option<ByteSize>,
    ) -> Self {
        Self { weigh: WeighByDensities { tractogram, act, start: None, parameters, memory } }
    }

    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let mut values = record.parameters_of("sift2")?.as_object()?.clone();
        // Files are inputs, not parameters.
        for file in ["act", "start"] {
            values.remove(file);
        }
        Some(Self::new(from_values(&values).ok()?, PathBuf::new(), None, None))
    }

    /// How.
    pub fn parameters(&self) -> &Sift2Parameters {
        &self.weigh.parameters
    }
}

impl Stage for Sift2InRun {
    fn name(&self) -> &'static str {
        "sift2"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<OrientationField>(),
            Taken::always::<Tracked>(),
            Taken::where_made::<GivenLines>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Sift2>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.weigh.act.iter().map(|path| ("act".to_owned(), path.clone())).collect()
    }

    fn parameters(&self) -> Value {
        self.weigh.parameters()
    }

    fn outputs(&self) -> Vec<String> {
        self.weigh.outputs()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.weigh.compute(products, log)
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.weigh.write(products, out, log)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let numbers = |name: &str| NumberRows::read(&folder.join(name));
        let weights: Vec<f32> =
            numbers("weights.txt")?.numbers().map(|(_, weight)| weight as f32).collect();
        let mu = numbers("mu.txt")?.numbers().next().map(|(_, mu)| mu);
        let text = fimbria_image::read_regular_text(folder.join("iterations.tsv"))?;
        let step = |line: &str| {
            let mut cells = line.split('\t').skip(1).map(|cell| cell.parse::<f64>().ok());
            Some(Sift2Step { objective: cells.next()??, error: cells.next()?? })
        };
        let steps: Option<Vec<_>> = text.lines().skip(1).map(step).collect();
        products.put(Sift2 {
            astray: weights.iter().filter(|weight| **weight == 0.0).count(),
            weights,
            mu: mu.ok_or("mu.txt is empty")?,
            steps: steps.filter(|steps| !steps.is_empty()).ok_or("iterations.tsv has no steps")?,
            // What only the record of the stage says.
            unfilled: 0,
            converged: true,
        });
        Ok(())
    }
}
