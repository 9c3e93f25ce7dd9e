//! What streamlines explain.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Scalar, Tracts, mosaic_scalar, tracts};
use fimbria_report::plot::{Axes, Axis, Sample, histogram};
use fimbria_report::{Figure, FigureError, Section, Window, colour};

use super::Weighed;

pub(in crate::stages) fn weights(
    weighed: &Weighed,
    background: &Image,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let Weighed { weights, rmse_s0, rmse_s0_without, kept } = weighed;
    let error = Scalar {
        scale: colour::Scale::Ember,
        // The same colours before and after.
        window: rmse_s0_without
            .as_ref()
            .map_or(Window::FromZero, |without| Window::Fixed([0.0, nearly_most(without)])),
        ..Scalar::new("Error over S0, with streamlines", "")
    };
    let lines = (0..kept.len()).map(|line| kept.points(line));
    let each: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
    let (figure, caption) = of_weights(&each);
    let mut section = Section::new("What streamlines explain").fold();
    if let Some(without) = rmse_s0_without {
        section = section.figure(errors(without, rmse_s0), BEFORE_AND_AFTER);
    }
    section = section
        .figure(
            figure,
            format!(
                "{caption} The others have weight zero: beside those that have some, none of them \
                 would explain the signal better.",
            ),
        )
        .figure(
            tracts(lines, background, mask, &Tracts::new("Streamlines with weight, over FA"))?,
            "Within half a voxel of the middle slices.",
        )
        .figure(
            mosaic_scalar(rmse_s0, mask, &error)?,
            "Root mean square of measured minus predicted signal, over the unweighted signal.",
        );
    let Some(without) = rmse_s0_without else { return Ok(section) };
    let before = Scalar { heading: "Error over S0, without streamlines", ..error };
    Ok(section.figure(
        mosaic_scalar(without, mask, &before)?,
        "The same where no streamline has a weight: how far the signal is from its mean over the \
         directions.",
    ))
}

/// What stands below [`errors`].
pub(in crate::stages) const BEFORE_AND_AFTER: &str = "Of each voxel that streamlines pass: without them, all weights zero, and with the weights found. What \
     is left is noise, and what no streamline explains.";

/// The errors of voxels without streamlines and with them.
pub(in crate::stages) fn errors(without: &Image, with: &Image) -> Figure {
    let pairs = || without.data.iter().zip(&with.data);
    let there = || pairs().filter(|(before, _)| before.is_finite() && **before > 0.0);
    let before: Vec<f64> = there().map(|(before, _)| f64::from(*before)).collect();
    let after: Vec<f64> = there().map(|(_, after)| f64::from(*after)).collect();
    let axes = Axes {
        heading: "Errors before and after",
        x: Axis::new("root mean squared error over S0", "").over(0.0, 1.2 * nearly_most(without)),
        y: Axis::new("share of voxels", "%"),
        ..Axes::default()
    };
    let samples = [
        Sample { name: "without streamlines", values: &before },
        Sample { name: "with their weights", values: &after },
    ];
    histogram(&samples, 60, &axes)
}

/// The 99th percentile of what is above zero.
pub(in crate::stages) fn nearly_most(errors: &Image) -> f64 {
    let above = errors.data.iter().filter(|error| error.is_finite() && **error > 0.0);
    let mut above: Vec<f32> = above.copied().collect();
    above.sort_by(f32::total_cmp);
    above.get(above.len().saturating_sub(1) * 99 / 100).map_or(1.0, |most| f64::from(*most))
}

/// How weights are spread, and how many are above zero.
pub(in crate::stages) fn of_weights(weights: &[f64]) -> (Figure, String) {
    let positive: Vec<f64> = weights.iter().filter(|w| **w > 0.0).map(|w| w.log10()).collect();
    let axes = Axes {
        heading: "Weights of streamlines",
        x: Axis::new("log₁₀ weight", ""),
        y: Axis::new("share", "%"),
        ..Axes::default()
    };
    let sample = [Sample { name: "streamlines", values: &positive }];
    let caption =
        format!("{} of {} streamlines have a weight above zero.", positive.len(), weights.len());
    (histogram(&sample, 40, &axes), caption)
}
