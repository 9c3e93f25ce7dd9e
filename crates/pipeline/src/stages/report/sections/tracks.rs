//! Streamlines.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Scalar, Tracts, mosaic_scalar, tracts};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Methods;
use crate::Named;
use crate::stages::peaks::LEAST_DENSITY;
use crate::stages::track::{Algorithm, Through, TrackParameters, Tracked, WholeBrain};

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

/// What was done, in words for a paper; the options are those in effect.
pub(in crate::stages::report) fn methods(track: &WholeBrain) -> Methods {
    let TrackParameters { samples, step, min_length, max_length, angle, cutoff, .. } =
        &track.parameters;
    let is_deterministic = track.parameters.algorithm == Some(Named(Algorithm::Deterministic));
    let (within, followed, part, reference) = match track.through {
        Through::Samples => (
            "with a direction".to_owned(),
            "random samples of the sticks, interpolated by random corners,".to_owned(),
            "a quarter",
            "Behrens TEJ et al. NeuroImage 34, 144 (2007)",
        ),
        Through::Densities => {
            let along = if is_deterministic {
                "the nearest maxima of the interpolated densities"
            } else {
                "arcs drawn by the interpolated densities along them"
            };
            let end = cutoff.map_or(String::new(), |cutoff| format!(" down to {cutoff}"));
            (
                format!("whose density has a peak above {LEAST_DENSITY}"),
                format!("{along}{end},"),
                if is_deterministic { "a fifth" } else { "half" },
                "Tournier J-D et al. Proc ISMRM 18, 1670 (2010)",
            )
        }
    };
    let step = step.map_or_else(|| format!("{part} of a voxel"), |mm| format!("{mm} mm"));
    let starts = match samples {
        Some(1) | None => "a point".to_owned(),
        Some(n) => format!("{n} points"),
    };
    let [angle, least, most] = [angle, min_length, max_length].map(|x| x.unwrap_or_default());
    Methods {
        text: format!(
            "From {starts} in every voxel {within}, streamlines followed {followed} both ways in \
             steps of {step}, turning by at most {angle:.0}° a step; those of {least} to {most} mm \
             were kept."
        ),
        references: vec![reference],
    }
}
