//! Brain masks that are made where none is given.

use std::path::Path;

use fimbria_image::{Datatype, Grid, Image, Mask, WriteOptions, read_image, write_image};
use fimbria_report::Section;
use fimbria_report::figure::{Scalar, mosaic_outline};
use serde_json::Value;

use super::method::{PageSection, Shown};
use crate::{
    Carried, Logbook, OutputFolder, Page, Product, Products, RunRecord, Stage, StageError, Taken,
};

/// Volumes of adults' brains with the fluid around them, ml; a little beyond what studies report.
const ADULT_ML: std::ops::RangeInclusive<f64> = 1000.0..=1800.0;

/// How a mask that was made is written.
pub(super) fn mask_options(carried: &Carried) -> WriteOptions {
    WriteOptions {
        datatype: Datatype::UInt8,
        description: "brain mask of fimbria".to_owned(),
        keyvals: carried.keyvals.clone(),
        space_codes: carried.space_codes,
        ..WriteOptions::default()
    }
}

/// Warns that a mask was made of `source` since none was given, and of how many ml.
pub(super) fn warn_of_made_mask(mask: &Mask, source: &str, log: &Logbook<'_>) {
    let volume = mask.volume_ml();
    let doubt = doubt_of_volume(mask).map(|doubt| format!("; {doubt}")).unwrap_or_default();
    log.warn(
        Page::Troubleshooting,
        &format!("no mask given: one of {volume:.0} ml is made from {source}{doubt}"),
    );
}

/// Says so where a mask cannot be an adult's whole brain.
pub(super) fn doubt_of_volume(mask: &Mask) -> Option<String> {
    let volume = mask.volume_ml();
    let is_adult = ADULT_ML.contains(&volume);
    (!is_adult).then(|| {
        format!(
            "a mask of {volume:.0} ml is not that of an adult's whole brain (1,100 to 1,700 ml)"
        )
    })
}

/// The root of the sum of squares over echoes, coils or images: bright wherever one of them is.
pub(super) fn root_sum_of_squares(grid: Grid, magnitudes: &[Vec<f32>]) -> Image {
    let mut sum = Image::zeros(grid, 1);
    for magnitude in magnitudes {
        sum.data.iter_mut().zip(magnitude).for_each(|(sum, value)| {
            // NaN counts as 0.
            *sum = if value.is_finite() { sum.hypot(*value) } else { *sum };
        });
    }
    sum
}

/// The mean of the unweighted volumes of a series, of which the mask lies on the page.
pub(super) struct MeanB0(pub(super) Image);

impl MeanB0 {
    /// What its file is called, without extension.
    pub(super) const STEM: &str = "mean_b0";

    /// Writes it as a file with this extension.
    pub(super) fn write(
        &self,
        extension: &str,
        carried: &Carried,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let path = out.stage(&format!("{}.{extension}", Self::STEM))?;
        let options = WriteOptions {
            datatype: Datatype::Float32,
            description: "mean of the unweighted volumes".to_owned(),
            ..mask_options(carried)
        };
        Ok(log.session().on.workers.install(|| write_image(&path, &self.0, &options))?)
    }

    /// The one that a stage with this extension of maps left in a folder.
    pub(super) fn read(
        folder: &Path,
        extension: &str,
        log: &Logbook<'_>,
    ) -> Result<Self, StageError> {
        let path = folder.join(format!("{}.{extension}", Self::STEM));
        Ok(Self(log.session().on.workers.install(|| read_image(path))?))
    }
}

/// The part of the page with the outline of the mask.
pub(super) const OUTLINE: PageSection =
    PageSection { takes: || vec![Taken::where_made::<MeanB0>()], draw: outline };

fn outline(shown: &Shown<'_>) -> Result<Option<Section>, StageError> {
    let Some(MeanB0(mean)) = shown.products.find() else { return Ok(None) };
    let style = Scalar::new("Outline of the mask", "units of the series");
    let figure = mosaic_outline(mean, shown.mask, &style)?;
    let doubt = doubt_of_volume(shown.mask).map(|doubt| format!(" {doubt}.")).unwrap_or_default();
    let caption = format!(
        "Voxels that were fitted, over the mean unweighted volume: {:.0} ml.{doubt} The line belongs between the fluid \
         around the brain and the dark bone.",
        shown.mask.volume_ml()
    );
    Ok(Some(Section::new("Mask").figure(figure, caption)))
}

/// What of an earlier stage draws the outline once more: the mean unweighted volume, where it left one.
pub(super) struct RestoredMeanB0 {
    extension: String,
}

impl RestoredMeanB0 {
    /// Of the stage with this record.
    pub(super) fn of_record(record: &RunRecord) -> Option<Box<dyn Stage>> {
        let extension = record.outputs.iter().find_map(|output| {
            Some(output.file.strip_prefix(MeanB0::STEM)?.strip_prefix('.')?.to_owned())
        })?;
        Some(Box::new(Self { extension }))
    }
}

impl Stage for RestoredMeanB0 {
    fn name(&self) -> &'static str {
        MeanB0::STEM
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<MeanB0>()]
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    fn compute(&self, _products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        products.put(MeanB0::read(folder, &self.extension, log)?);
        Ok(())
    }
}
