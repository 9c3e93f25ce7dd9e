//! The stage that makes a brain mask: of a series, or of magnitudes.

use std::path::PathBuf;

use fimbria_image::{Mask, write_image};
use fimbria_models::brain_mask::magnitude_mask;
use serde_json::{Value, json};

use super::field::phase_files::volumes;
use super::load::SubjectFiles;
use super::made_mask::{doubt_of_volume, mask_options, root_sum_of_squares};
use crate::{
    Carried, Choice as _, Input, Logbook, MapFormat, OutputFolder, Page, Product, Products, Stage,
    StageError, Written,
};

/// What `fimbria mask` writes.
pub const MASK_WRITES: &[Written] =
    &[Written::code("mask", "1 in the brain and the fluid around it"), Written::RECORD];

/// What a mask is made of.
pub enum MaskSource {
    /// A diffusion series.
    Series(Box<SubjectFiles>),
    /// Magnitudes of one head on one grid.
    Magnitudes(Vec<PathBuf>),
}

/// Makes a mask.
pub struct MakeMask {
    /// Of what.
    pub source: MaskSource,
    /// In which format.
    pub format: MapFormat,
}

/// A mask, and what its header takes over.
struct Made(Mask, Carried);

impl Stage for MakeMask {
    fn name(&self) -> &'static str {
        "mask"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        match &self.source {
            MaskSource::Series(files) => files.inputs(),
            MaskSource::Magnitudes(paths) => {
                paths.iter().map(|path| ("magnitude".to_owned(), path.clone())).collect()
            }
        }
    }

    fn parameters(&self) -> Value {
        let mut parameters = match &self.source {
            MaskSource::Series(files) => files.table_parameters(),
            MaskSource::Magnitudes(_) => json!({}),
        };
        parameters["format"] = json!(self.format.name());
        parameters
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = match &self.source {
            MaskSource::Series(files) => {
                let subject = files.read_on(log, |series, gradients, workers| {
                    files.mask_for(series, gradients, workers)
                })?;
                Made(subject.mask, subject.carried)
            }
            MaskSource::Magnitudes(paths) => {
                let workers = log.session().on.workers;
                let (grid, magnitudes) = workers.install(|| volumes(paths, None))?;
                let mask = magnitude_mask(root_sum_of_squares(grid, &magnitudes), workers);
                Made(mask, Carried::default())
            }
        };
        if let Some(doubt) = doubt_of_volume(&made.0) {
            log.warn(Page::Troubleshooting, &doubt);
        }
        log.count("voxels", made.0.len() as u64);
        log.count("ml", made.0.volume_ml().round() as u64);
        products.put(made);
        Ok(())
    }

    fn outputs(&self) -> Vec<String> {
        vec![format!("mask.{}", self.format.name())]
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made(mask, carried) = products.get::<Made>()?;
        let path = out.stage(&self.outputs()[0])?;
        let workers = log.session().on.workers;
        let options = mask_options(carried);
        workers.install(|| write_image(&path, &mask.to_image(), &options))?;
        Ok(())
    }
}
