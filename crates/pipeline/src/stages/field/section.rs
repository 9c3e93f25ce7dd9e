//! What a page shows of the scan that a map of susceptibility is made of.

use std::path::Path;

use fimbria_image::{Image, Mask, read_image};
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window};

use super::Fields;
use crate::{Products, RunRecord, StageError};

/// The fields that a finished run left.
pub(super) struct FieldsOfRun {
    /// In ppm, 0 outside the mask.
    pub(super) local: Image,
    quality: Option<Image>,
    r2star: Option<Image>,
}

/// The files of [`FieldsOfRun`], as `record` has them.
pub(super) struct FieldFiles {
    local: String,
    quality: Option<String>,
    r2star: Option<String>,
}

impl FieldFiles {
    /// `None` where the record has no local field.
    pub(super) fn from_record(record: &RunRecord) -> Option<Self> {
        let file = |part: &str| {
            let mut files = record.outputs.iter().map(|output| &output.file);
            files.find(|file| file.contains(part) && !file.ends_with(".json")).cloned()
        };
        Some(Self { local: file("local")?, quality: file("quality"), r2star: file("r2star") })
    }

    pub(super) fn read(&self, folder: &Path) -> Result<FieldsOfRun, StageError> {
        let read = |file: &String| read_image(folder.join(file));
        Ok(FieldsOfRun {
            local: read(&self.local)?,
            quality: self.quality.as_ref().map(read).transpose()?,
            r2star: self.r2star.as_ref().map(read).transpose()?,
        })
    }
}

/// R2* and how reliable the phase is, of a run under way or a finished one.
pub(super) fn section(products: &Products) -> Result<Option<Section>, FigureError> {
    let made = products.find::<Fields>();
    let made = made.map(|made| (&made.local, Some(&made.quality), made.r2star.as_ref()));
    let read = || {
        let read = products.find::<FieldsOfRun>()?;
        Some((&read.local, read.quality.as_ref(), read.r2star.as_ref()))
    };
    let Some((local, quality, r2star)) = made.or_else(read) else { return Ok(None) };
    let mut section = Section::new("Gradient echoes").fold();
    if let Some(r2star) = r2star {
        let style = Scalar { window: Window::FromZero, ..Scalar::new("R2*", "1/s") };
        section = section.figure(
            mosaic_scalar(r2star, &with_value(local), &style)?,
            "How fast the magnitude decays: iron and myelin are bright, and so is what lies beside air. \
             Iron is bright in susceptibility too; myelin and calcium are dark there.",
        );
    }
    if let Some(quality) = quality {
        let style = Scalar {
            window: Window::Fixed([0.0, 1.0]),
            ..Scalar::new("Reliability of the phase", "")
        };
        section = section.figure(
            mosaic_scalar(quality, &with_value(quality), &style)?,
            "By each voxel's steps to its neighbours, 0 to 1. What is dark at the border has left the mask; what \
             is dark inside it, such as veins and bleeds, is mapped and less sure.",
        );
    }
    Ok(Some(section))
}

/// The voxels of a map that are not 0.
fn with_value(map: &Image) -> Mask {
    let voxels = (0..).zip(&map.data).filter(|(_, value)| **value != 0.0).map(|(v, _)| v);
    Mask { grid: map.grid, voxels: voxels.collect() }
}
