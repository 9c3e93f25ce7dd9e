//! How close the results came to the truth.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_phantoms::Truth;
use fimbria_report::figure::{Scalar, mosaic_difference};
use fimbria_report::plot::{Axes, Axis, Guide, Sample, histogram};
use fimbria_report::{Figure, FigureError, Section, Table, Window, colour};

use crate::stages::accuracy::Accuracy;

pub(in crate::stages::report) fn truth(
    accuracy: &Accuracy,
    fit: &Fitted,
    truth: Option<&Truth>,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let rows = accuracy.rows.iter().map(|row| {
        let error = |error: f64| format!("{error:.3} {}", row.unit).trim_end().to_owned();
        vec![
            row.quantity.clone(),
            row.voxels.to_string(),
            error(row.median),
            error(row.percentile_95),
            error(row.worst),
        ]
    });
    let has = |name: &str| accuracy.rows.iter().any(|row| row.quantity.starts_with(name));
    let mut text = String::from(
        "FA and MD are compared where a voxel holds a single compartment, V1 where it holds a \
         single fibre. Noise sets a floor that no fit can go below.",
    );
    for (name, paragraph) in
        [("peaks", PEAKS), ("sticks", STICKS), ("streamlines", STREAMLINES), ("MK", MK)]
    {
        if has(name) {
            text += paragraph;
        }
    }
    let mut section = Section::new("How close to the truth").text(text).table(Table {
        caption: "Errors: absolute for FA, MK and numbers of directions, relative for MD, angles \
                      for directions."
            .to_owned(),
        columns: ["", "number", "median", "95 %", "worst"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    });
    if !accuracy.angles_deg.is_empty() {
        section = section.figure(angle_histogram(accuracy), "Voxels of a single fibre.");
    }
    if let (Some(fa), Some(true_fa)) =
        (fit.map(DtiMap::Fa), truth.and_then(|truth| truth.map("FA")))
    {
        let voxels = mask.voxels.iter().copied();
        let known = voxels.filter(|&v| true_fa.data[v as usize].is_finite()).collect();
        let style = Scalar {
            scale: colour::Scale::Difference,
            window: Window::Symmetric,
            ..Scalar::new("FA, estimated minus true", "")
        };
        let known = Mask { grid: mask.grid, voxels: known };
        section = section
            .figure(mosaic_difference(fa, true_fa, &known, &style)?, "Dark is no difference.");
    }
    Ok(section)
}

const PEAKS: &str = "\n\nPeaks and sticks are paired with the fibres of voxels in which each fibre \
                     has a fifth of the signal or more; a fibre without a direction of its own \
                     counts as 90° off. Crossings of 30 and 45° are among them.";
const STICKS: &str = "\n\nf1/(f1+f2) is compared where two fibres cross. The fractions themselves \
                      are not: sticks have no width, and what fibres let diffuse across them goes \
                      to the ball.";
const STREAMLINES: &str = "\n\nA streamline is astray where it is 20° or more off every fibre of \
                           the voxel it is in; the table has the part of its length.";
const MK: &str = "\n\nKurtosis in pure tissue is truly 0, the least that the constrained fit admits, so \
                  that noise can only make it larger; and at the larger b the signals of fluid and along \
                  fibres lie in the noise floor of the magnitude, which looks like kurtosis. Without \
                  noise both errors are 0.";

fn angle_histogram(accuracy: &Accuracy) -> Figure {
    let shown = accuracy.direction();
    let (median, end) = shown.map_or((0.0, 1.0), |row| (row.median, 1.5 * row.percentile_95));
    histogram(
        &[Sample { name: "V1", values: &accuracy.angles_deg }],
        48,
        &Axes {
            heading: "Angle to the true direction",
            x: Axis::new("angle", "°").over(0.0, end.max(1e-3)),
            y: Axis::new("share of voxels", "%"),
            guides: vec![Guide::Vertical(median, format!("median {median:.2}°"))],
        },
    )
}
