//! Fibre directions.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Glyphs, Status, glyphs, mosaic_status};
use fimbria_report::{FigureError, Layout, Section};
use fimbria_tensors::peaks::Peaks;

use super::{Methods, closer_look};
use crate::stages::fits::fod;
use crate::stages::peaks::PeaksParameters;

/// Where FA is smaller, sticks are those of grey matter and noise and would hide the others.
pub(in crate::stages::report) const LEAST_FA: f32 = 0.1;

/// All directions as sticks over `background` (FA), and how many there are.
pub(in crate::stages::report) fn peaks(
    found: &Peaks,
    background: &Image,
    mask: &Mask,
) -> Result<Section, FigureError> {
    const CATEGORIES: [(u8, &str); 5] =
        [(0, "none"), (1, "one"), (2, "two"), (3, "three"), (4, "four")];
    let sticks = Glyphs { threshold: LEAST_FA, ..Glyphs::new("Fibre directions over FA") };
    let sticks = glyphs(&found.peaks, background, &closer_look(mask), &sticks)?;
    let most = found.peaks.n_volumes / 3;
    let count = Status {
        heading: "Fibre directions per voxel",
        categories: &CATEGORIES[..(most + 1).min(CATEGORIES.len())],
        layout: Layout::default(),
    };
    let count = mosaic_status(&found.count, mask, &count)?;
    Ok(Section::new("Crossing fibres")
        .figure(
            sticks,
            "Every maximum of the fibre orientation density; the length of a stick is its value. \
             The middle of the brain, where FA is 0.1 or more.",
        )
        .figure(count, "Maxima above the thresholds."))
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(
    fod: &fod::Parameters,
    peaks: &PeaksParameters,
) -> Methods {
    let PeaksParameters { threshold, absolute_threshold, separation, .. } = peaks;
    let absolute = match *absolute_threshold {
        least if least > 0.0 => format!(", or of {least} at most"),
        _ => String::new(),
    };
    Methods {
        text: format!(
            "Fibre orientation densities of degree {} were estimated by constrained spherical \
             deconvolution of all shells, non-negative in every direction of a dense set, with \
             responses estimated from the data. Their maxima were found as eigenvectors of the \
             equivalent symmetric tensors and certified by the projected Hessian; maxima below \
             {threshold} of the voxel's largest{absolute}, or nearer than {separation}° to a larger \
             one, were left out.",
            fod.order.0.0,
        ),
        references: vec![
            "Tournier JD, Calamante F, Connelly A. NeuroImage 35, 1459 (2007)",
            "Jeurissen B et al. NeuroImage 103, 411 (2014)",
            "Kolda TG, Mayo JR. SIAM J Matrix Anal Appl 32, 1095 (2011)",
        ],
    }
}
