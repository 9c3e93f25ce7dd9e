//! Streamlines.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Scalar, Tracts, mosaic_scalar, tracts};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Methods;
use crate::stages::peaks::LEAST_DENSITY;
use crate::stages::track::{TrackParameters, Tracked};

pub(in crate::stages::report) fn tracks(
    tracked: &Tracked,
    background: &Image,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let streamlines = &tracked.lines.streamlines;
    let lines = (0..streamlines.len()).map(|line| streamlines.points(line));
    let style = Tracts::new("Streamlines over FA");
    let picture = tracts(lines, background, mask, &style)?;
    let density = Scalar {
        scale: colour::Scale::Ember,
        window: Window::FromZero,
        ..Scalar::new("Tract density", "streamlines")
    };
    Ok(Section::new("Tractography")
        .figure(
            picture,
            format!(
                "Within half a voxel of the middle slices, each piece in the colour of its \
                 direction; {} streamlines in all.",
                streamlines.len()
            ),
        )
        .figure(
            mosaic_scalar(&tracked.visits, mask, &density)?,
            "Streamlines through each voxel, from 0 to the 99th percentile.",
        ))
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(track: &TrackParameters, sampled: bool) -> Methods {
    let TrackParameters { samples, step, min_length, max_length, angle, .. } = track;
    let step = match step {
        Some(mm) => format!("{mm} mm"),
        None => "a quarter of a voxel".to_owned(),
    };
    let (directions, within) = if sampled {
        ("random samples of the sticks", "with a direction".to_owned())
    } else {
        ("the directions found", format!("whose density has a peak above {LEAST_DENSITY}"))
    };
    let starts = if *samples == 1 { "a point".to_owned() } else { format!("{samples} points") };
    Methods {
        text: format!(
            "From {starts} in every voxel {within}, streamlines followed {directions} both \
             ways in steps of {step}, interpolated by random corners, turning by at most \
             {angle:.0}° a step; those of {min_length} to {max_length} mm were kept."
        ),
        references: vec!["Behrens TEJ et al. NeuroImage 34, 144 (2007)"],
    }
}
