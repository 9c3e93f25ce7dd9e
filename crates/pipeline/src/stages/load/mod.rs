//! The stage that reads a subject: series, gradient table, mask.

mod error;
mod files;
mod joined;

use std::path::Path;
use std::sync::Arc;

use fimbria_image::{GradientTable, Image, Mask, SignalSource, read_mask, write_image};
use fimbria_models::brain_mask::mean_unweighted;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

pub use self::error::LoadError;
pub(crate) use self::files::Opened;
pub use self::files::SubjectFiles;
pub use self::joined::JoinedSeries;
use super::made_mask::{MeanB0, OUTLINE, RestoredMeanB0, mask_options};
use super::method::Method;
use crate::{
    Carried, Derivatives, Input, Logbook, MapStyle, OutputFolder, Product, Products, Stage,
    StageError,
};

pub(super) const METHOD: Method = Method {
    restored: RestoredMeanB0::of_record,
    section: Some(OUTLINE),
    derivatives: Some(Derivatives {
        place: |file, names| {
            let mask = file.stem() == "mask";
            names.beside_series(if mask { "desc-brain_mask" } else { "dwiref" }, file.extension())
        },
        describe: |file| {
            Some(match file.stem() {
                "mask" => json!({
                    "Type": "Brain",
                    "Description": "made of the mean unweighted volume, since the input has no mask",
                }),
                _ => json!({ "Description": "mean of the unweighted volumes" }),
            })
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("load")
};

/// A subject in memory: what every fit takes.
#[derive(Clone)]
pub struct Subject {
    /// The series.
    pub dwi: Arc<dyn SignalSource + Send + Sync>,
    /// Its gradient table.
    pub gradients: GradientTable,
    /// The voxels to work on.
    pub mask: Mask,
    /// FSL's gradient non-linearity.
    pub grad_dev: Option<Arc<Image>>,
    /// What of the header of the series goes on into maps.
    pub carried: Carried,
}

/// The fit cannot follow the gradients' non-linearity.
#[derive(Debug, thiserror::Error)]
#[error(
    "this fit takes one b and direction of a volume for all voxels: leave the gradient deviation \
     (--grad-dev) out"
)]
pub(crate) struct GradDevUnused;

impl Subject {
    /// Hands it on; between stages its series gives back the memory that it can read again.
    pub(crate) fn put(self, products: &mut Products) {
        products.put_resting(self, |subject| subject.dwi.let_go());
    }

    /// What works with one b and direction of a volume for all voxels asks this before.
    ///
    /// # Errors
    /// Where every voxel has its own.
    pub(crate) fn has_one_table(&self) -> Result<(), GradDevUnused> {
        if self.grad_dev.is_some() { Err(GradDevUnused) } else { Ok(()) }
    }

    /// Adds to `hash` all that a fit may depend on, for several processes to compare.
    pub(crate) fn hash(&self, hash: &mut Xxh3) {
        /// Voxels read at a time.
        const TILE: usize = 4096;
        let Self { dwi, gradients, mask, grad_dev, carried: _ } = self;
        hash.update(format!("{gradients:?} {:?}", mask.grid).as_bytes());
        hash.update(bytemuck::cast_slice(&mask.voxels));
        hash.update(bytemuck::cast_slice(grad_dev.as_ref().map_or(&[][..], |image| &image.data)));
        let mut samples = vec![0.0_f32; TILE * dwi.n_volumes()];
        for voxels in mask.voxels.chunks(TILE) {
            dwi.gather(voxels, TILE, &mut samples);
            hash.update(bytemuck::cast_slice(&samples));
        }
    }
}

/// Reads a [`Subject`].
pub struct Load {
    /// Where it is.
    pub files: SubjectFiles,
    /// How the mask that is made where none is given is written, with the mean unweighted volume
    /// that it is made of; `None` writes neither.
    pub found: Option<MapStyle>,
}

impl Load {
    /// Names of the mask and the mean, where they are written.
    fn found(&self) -> Option<[String; 2]> {
        let style = self.found.filter(|_| self.files.mask.is_none())?;
        Some(["mask", MeanB0::STEM].map(|name| format!("{name}.{}", style.extension())))
    }

    /// Hands on a subject that was read, with what [`Stage::write`] takes.
    pub(super) fn hand_on(&self, subject: Subject, products: &mut Products, log: &Logbook<'_>) {
        if self.found().is_some() {
            let Subject { dwi, gradients, .. } = &subject;
            products.put(MeanB0(mean_unweighted(&**dwi, gradients, log.session().on.workers)));
        }
        subject.put(products);
    }
}

impl Stage for Load {
    fn name(&self) -> &'static str {
        "load"
    }

    fn makes(&self) -> Vec<Product> {
        let mean = self.found().map(|_| Product::of::<MeanB0>());
        [Product::of::<Subject>()].into_iter().chain(mean).collect()
    }

    fn inputs(&self) -> Vec<Input> {
        self.files.inputs()
    }

    fn parameters(&self) -> Value {
        let mut parameters = self.files.table_parameters();
        parameters["mask"] = json!(if self.files.mask.is_some() { "given" } else { "brain_mask" });
        parameters
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.hand_on(self.files.read(log)?, products, log);
        Ok(())
    }

    fn outputs(&self) -> Vec<String> {
        self.found().into_iter().flatten().collect()
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Some((style, [mask, _])) = self.found.zip(self.found()) else { return Ok(()) };
        let Subject { mask: voxels, carried, .. } = products.get::<Subject>()?;
        let workers = log.session().on.workers;
        let path = out.stage(&mask)?;
        workers.install(|| write_image(&path, &voxels.to_image(), &mask_options(carried)))?;
        products.get::<MeanB0>()?.write(style.extension(), carried, out, log)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let subject = match self.found() {
            Some([mask, _]) => {
                let extension = self.found.unwrap_or_default().extension();
                products.put(MeanB0::read(folder, extension, log)?);
                self.files.read_on(log, |series, _, workers| {
                    Ok(workers.install(|| read_mask(folder.join(mask), series.grid()))?)
                })?
            }
            None => self.files.read(log)?,
        };
        subject.put(products);
        Ok(())
    }
}
