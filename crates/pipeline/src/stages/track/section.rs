//! Streamlines.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Scalar, Tracts, mosaic_scalar, tracts};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Tracked;
use crate::RunRecord;
use crate::stages::pictures::lines;

pub(in crate::stages) fn tracks(
    tracked: &Tracked,
    records: &[RunRecord],
    background: &Image,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let streamlines = &tracked.lines.streamlines;
    let points = (0..streamlines.len()).map(|line| streamlines.points(line));
    let style = Tracts::new("Streamlines over FA");
    let picture = tracts(points, background, mask, &style)?;
    let density = Scalar {
        scale: colour::Scale::Ember,
        window: Window::FromZero,
        ..Scalar::new("Tract density", "streamlines")
    };
    let mut section = Section::new("Tractography")
        .figure(
            picture,
            format!(
                "Within half a voxel of the middle slices, each piece in the colour of its \
                 direction; {} streamlines in all.",
                streamlines.len()
            ),
        )
        .fold()
        .figure(
            mosaic_scalar(&tracked.visits, mask, &density)?,
            "Streamlines through each voxel, from 0 to the 99th percentile.",
        );
    if let Some(lengths) = lines::lengths(streamlines) {
        section = section.figure(lengths, "Of those that were kept.");
    }
    Ok(match lines::ends(records) {
        Some(table) => section.table(table),
        None => section,
    })
}
