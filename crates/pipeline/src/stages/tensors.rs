//! The stage that makes a sheet of higher-order tensors.

use fimbria_phantoms::{TensorSheet, TensorsSpec, tensors};
use serde_json::{Value, json};

use crate::stages::phantom::Files;
use crate::{Choice as _, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError};

/// Makes a sheet of tensors whose fibres are known, and writes both.
pub struct TensorsPhantom {
    /// What to make.
    pub spec: TensorsSpec,
    /// Format of its images.
    pub format: MapFormat,
}

impl Stage for TensorsPhantom {
    fn name(&self) -> &'static str {
        "phantom"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<TensorSheet>()]
    }

    fn parameters(&self) -> Value {
        let TensorsSpec { size, order, angles_deg, noise, seed } = &self.spec;
        json!({
            "kind": "tensors", "size": size, "order": order, "angles_deg": angles_deg,
            "noise": noise, "seed": seed, "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec![format!("hot.{}", self.format.name())]
    }

    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(tensors(&self.spec)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let sheet = products.get::<TensorSheet>()?;
        let mut files = Files { out, format: self.format, log };
        let hot = format!("unique entries of a form of order {}, scanner axes", self.spec.order);
        files.image("hot", &sheet.hot, &files.options(&hot))?;
        files.truth(&sheet.truth)
    }
}
