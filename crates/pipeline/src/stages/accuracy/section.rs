//! How close the results came to the truth.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_phantoms::Truth;
use fimbria_report::figure::{Scalar, mosaic_difference};
use fimbria_report::plot::{Axes, Axis, Guide, Sample, histogram};
use fimbria_report::{Figure, FigureError, Section, Table, Window, colour};

use super::{Accuracy, usual};

pub(in crate::stages) fn truth(
    accuracy: &Accuracy,
    fit: &Fitted,
    truth: Option<&Truth>,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let has = |name: &str| accuracy.rows.iter().any(|row| row.quantity.starts_with(name));
    let mut text = String::from(
        "Voxels count that are of one tissue nearly alone. The truth of FA, MD and MK is that of the \
         signal at b = 0. Noise sets a floor that no fit can go below; what is above it is said here.",
    );
    for (name, paragraph) in [
        ("MD", MD),
        ("peaks", PEAKS),
        ("sticks", STICKS),
        ("streamlines", STREAMLINES),
        ("bundles", BUNDLES),
        ("MK", MK),
        ("susceptibility", SUSCEPTIBILITY),
    ] {
        if has(name) {
            text += paragraph;
        }
    }
    let mut section = Section::new("How close to the truth");
    section = match beside_usual(accuracy) {
        Some(table) => section.table(table).fold().text(text).table(all(accuracy)),
        None => section.table(all(accuracy)).fold().text(text),
    };
    if !accuracy.angles_deg.is_empty() {
        section =
            section.figure(angle_histogram(accuracy), "Voxels of white matter with one fibre.");
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

fn with_unit(error: f64, unit: &str) -> String {
    format!("{error:.3} {unit}").trim_end().to_owned()
}

/// Every quantity.
fn all(accuracy: &Accuracy) -> Table {
    let rows = accuracy.rows.iter().map(|row| {
        let mut cells = vec![row.quantity.clone(), row.voxels.to_string()];
        let errors = [row.median, row.percentile_95, row.worst];
        cells.extend(errors.map(|error| with_unit(error, &row.unit)));
        cells
    });
    Table {
        caption:
            "Errors: absolute for FA, MK and numbers of directions, relative for MD, angles for \
                  directions."
                .to_owned(),
        columns: ["", "number", "median", "95 %", "worst"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// What other programs make as well; of other heads than the demo's `None`.
fn beside_usual(accuracy: &Accuracy) -> Option<Table> {
    let usual = usual::beside(&accuracy.rows);
    let rows: Vec<Vec<String>> = accuracy
        .rows
        .iter()
        .filter_map(|row| {
            let theirs = usual.get(row.quantity.as_str())?;
            let errors = [row.median, row.percentile_95, theirs.median, theirs.percentile_95];
            let mut cells = vec![row.quantity.clone()];
            cells.extend(errors.map(|error| with_unit(error, &row.unit)));
            cells.push(theirs.program.to_owned());
            Some(cells)
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Errors here, and those of a program that people use, of the same data as its manual has it."
            .to_owned(),
        columns: ["", "median", "95 %", "theirs", "95 %", "of"].map(str::to_owned).to_vec(),
        rows,
    })
}

const MD: &str = "\n\nA tensor has no kurtosis: at b of 1000 s/mm² it finds MD too low by a tenth and more, \
                  the more the higher the kurtosis is. The fit of kurtosis does not.";
const PEAKS: &str = "\n\nPeaks and sticks are paired with the fibres of voxels in which each fibre \
                     has a fifth of the signal or more, or less than a tenth, which counts as none; a \
                     fibre without a direction of its own counts as 90° off. Of three fibres in a voxel \
                     these b-values seldom tell more than two.";
const STICKS: &str = "\n\nf1/(f1+f2) is compared where two fibres cross. The fractions themselves \
                      are not: sticks have no width, and what fibres let diffuse across them goes \
                      to the ball. Where fibres disperse, a second stick is found that is not there.";
const STREAMLINES: &str = "\n\nA streamline is astray where it is 20° or more off every fibre of \
                           the voxel it is in, and in no fibre where it is in grey matter or fluid; the \
                           table has the part of its length. That it is on fibres does not say that it \
                           joins what they join.";
const BUNDLES: &str = "\n\nA streamline is of a bundle where it joins its ends (within 5 mm) along its way (95 % \
                       within 4 mm). Of each of the 33 bundles the table has the part of its voxels that no \
                       such streamline passes, and how many others these pass; nothing is missed of 0 %, and \
                       100 % is a bundle that was not found.";
const MK: &str = "\n\nKurtosis is that at b = 0, where a fit has no measurement: at b of 2000 s/mm² terms \
                  beyond it make MK too low in white matter.";
const SUSCEPTIBILITY: &str = "\n\nField and susceptibility are compared less their mean. A field says little of \
                              what varies along 55° to B0, whose errors are streaks at 35°, and near the rim of the brain its own field is \
                              not told from that of bone and air: there and in veins, thinner than \
                              voxels, errors are largest.";

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
