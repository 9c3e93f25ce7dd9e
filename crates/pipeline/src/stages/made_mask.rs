//! Brain masks that are made where none is given.

use fimbria_image::{Datatype, Grid, Image, Mask, WriteOptions};

use crate::{Carried, Logbook, Page};

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
