//! Fibre directions.

use fimbria_image::{Image, Mask, counted};
use fimbria_report::figure::{Glyphs, Scalar, glyphs, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window, colour};
use fimbria_tensors::peaks::Peaks;

use crate::stages::pictures::{FA, LEAST_FA, closer_look};

/// All directions as sticks over `background`, which is called so, and how many there are. Over FA only
/// where that is 0.1 or more.
pub(in crate::stages) fn peaks(
    found: &Peaks,
    background: &Image,
    called: &str,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let heading = format!("Fibre directions over {called}");
    let threshold = if called == FA { LEAST_FA } else { 0.0 };
    let sticks = Glyphs { threshold, ..Glyphs::new(&heading) };
    let sticks = glyphs(&found.peaks, background, &closer_look(mask), &sticks)?;
    let most = (found.peaks.n_volumes / 3).max(1);
    let style = Scalar {
        scale: colour::Scale::Lagoon,
        window: Window::Fixed([0.0, most as f64]),
        ..Scalar::new("Fibre directions per voxel", "")
    };
    let count = mosaic_scalar(&found.count, mask, &style)?;
    let voxels_of = |n: usize| {
        let of_n = mask.voxels.iter().filter(|&&v| found.count.data[v as usize] == n as f32);
        format!("{n} in {}", counted(of_n.count() as u64, "voxel"))
    };
    let shares: Vec<String> = (0..=most).map(voxels_of).collect();
    Ok(Section::new("Crossing fibres")
        .figure(
            sticks,
            format!(
                "Every maximum of the fibre orientation density; the length of a stick is its value. \
                 The middle of the brain{}.",
                if called == FA { ", where FA is 0.1 or more" } else { "" }
            ),
        )
        .fold()
        .figure(
            count,
            format!(
                "Maxima above the thresholds: {}. In grey matter and fluid most are those of noise.",
                shares.join(", ")
            ),
        ))
}
