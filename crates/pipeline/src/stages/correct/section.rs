//! Motion and residuals of a corrected folder, drawn.

use fimbria_report::Section;
use fimbria_report::plot::{Axes, Axis, Guide, Marks, Series, xy};

use super::compared::Agreement;
use crate::RunRecord;

/// The section of a table of confounds; `None` of another program's.
pub(in crate::stages) fn section(confounds: &str, record: &RunRecord) -> Option<Section> {
    let agreement = record.results.get(Agreement::RESULT)?;
    let mut lines = confounds.lines();
    let heads: Vec<&str> = lines.next()?.split('\t').collect();
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split('\t').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect())
        .collect();
    let column = |name: &str| -> Option<Vec<[f64; 2]>> {
        let at = heads.iter().position(|head| *head == name)?;
        let point = |(volume, row): (usize, &Vec<f64>)| Some([volume as f64, *row.get(at)?]);
        rows.iter().enumerate().map(point).collect()
    };
    let moved = column("framewise_displacement")?;
    let [before, after] = [column("residual_before")?, column("residual_after")?];
    let x = || Axis::new("volume", "");
    let displaced = Series { name: "displacement", points: &moved, marks: Marks::LineAndDots };
    let motion = Axes {
        heading: "Motion from volume to volume",
        x: x(),
        y: Axis::new("framewise displacement", "mm"),
        guides: vec![Guide::Horizontal(0.5, "0.5 mm".to_owned())],
    };
    let left = [("as measured", &before), ("corrected", &after)].map(|(name, points)| Series {
        name,
        points: &points[..],
        marks: Marks::LineAndDots,
    });
    let residual = Axes {
        heading: "What predictions leave",
        x: x(),
        y: Axis::new("residual over the mean", ""),
        ..Axes::default()
    };
    let figures = vec![
        (
            xy(&[displaced], &motion),
            "A turn counts as the way of a point 50 mm from the middle.".to_owned(),
        ),
        (
            xy(&left, &residual),
            "Root mean square of each volume over its mean, both smoothed alike.".to_owned(),
        ),
    ];
    let agreement = Agreement::in_words(&agreement["before"], &agreement["after"]);
    Some(
        Section::new("Motion and eddy currents")
            .text(format!("From before to after: {agreement}."))
            .figures(figures),
    )
}
