//! The image that was laid on a series, for the eye.

use fimbria_report::Section;
use fimbria_report::figure::{Scalar, mosaic_outline};

use super::{Made, method};
use crate::StageError;
use crate::stages::method::Shown;

pub(super) fn section(shown: &Shown<'_>) -> Result<Option<Section>, StageError> {
    let Some(Made { moved, .. }) = shown.products.find::<Made>() else { return Ok(None) };
    let style = Scalar::new("The image on the series", "units of the image");
    let figure = mosaic_outline(moved, shown.mask, &style)?;
    let motion = match method::moved(shown.records) {
        Some((mm, degrees)) => format!("moved by {mm:.1} mm and {degrees:.1} degrees"),
        None => "moved as files say".to_owned(),
    };
    let caption = format!(
        "The image of [align], {motion}, and the outline of the mask of the series. The line should run along the edge \
         of the brain; where the series is distorted by susceptibility it cannot, and labels are off by as much."
    );
    Ok(Some(Section::new("Alignment").figure(figure, caption)))
}
