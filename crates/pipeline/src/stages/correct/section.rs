//! What was corrected of a series and what was not; motion and residuals, drawn.

use fimbria_report::plot::{Axes, Axis, Guide, Marks, Series, xy};
use fimbria_report::{Figure, Section, Table};
use serde_json::Value;

use super::METHOD;
use super::compared::Agreement;
use super::distortion;
use super::several::SCALES;
use crate::RunRecord;

/// What records call the numbers of each volume.
pub(super) const VOLUMES: &str = "volumes";

/// And among them the framewise displacement.
pub(super) const MOVED: &str = "framewise_displacement";

/// Of a record with a correction.
pub(in crate::stages) fn section(record: &RunRecord) -> Option<Section> {
    let agreement = record.results.get(Agreement::RESULT)?;
    let agreement = Agreement::in_words(&agreement["before"], &agreement["after"]);
    let volumes = record.results.get(VOLUMES)?;
    Some(
        Section::new("From the scanner")
            .table(corrections(record)?)
            .text(format!("How volumes agree before and after: {agreement}."))
            .figures(figures(volumes)),
    )
}

/// The framewise displacement of each volume, mm; the first has none.
pub(in crate::stages) fn framewise_mm(record: &RunRecord) -> Vec<Option<f64>> {
    let moved = record.results.get(VOLUMES).and_then(|volumes| volumes[MOVED].as_array());
    moved.into_iter().flatten().map(Value::as_f64).collect()
}

/// A row for each fault of a raw series: what was done to it, and what it means.
fn corrections(record: &RunRecord) -> Option<Table> {
    let settings = &record.parameters_of(METHOD.name)?["settings"];
    let is_better = record.results.get("is_better")?.as_bool()?;
    let done = |does: bool, done: &str| match (does, is_better) {
        (false, _) => "not corrected".to_owned(),
        (true, true) => done.to_owned(),
        (true, false) => "left: volumes agreed no better".to_owned(),
    };
    let slices = record.stages.iter().find_map(|stage| stage.counts.get("dropped_slices"));
    let slices = slices.copied().unwrap_or(0);
    let kept = settings["keep_dropped"].as_bool()?;
    let dropped = match (slices, kept) {
        (0, _) => "none seen".to_owned(),
        (n, true) => format!("{n} listed, left as measured"),
        (n, false) => format!("{n} replaced by predictions"),
    };
    let eddy = settings["eddy"].as_str()?;
    let together = record.results.get(SCALES).and_then(Value::as_array).map(|scales| {
        let series = format!("{} corrected together, made as bright as the first", scales.len());
        let means = "All volumes lie on each other; framewise displacement has none from one series to the next.";
        ("Series", series, means)
    });
    let rows = [
        (
            "Head motion",
            done(true, "corrected, the table turned with the head"),
            "Every fit takes all volumes as of one place.",
        ),
        (
            "Eddy currents",
            done(eddy != "none", &format!("corrected ({eddy} fields)")),
            "Left, they blur maps along the phase encoding.",
        ),
        (
            "Dropped slices",
            dropped,
            "Left, they pull fits of whole slices towards false directions.",
        ),
        ("Susceptibility", susceptibility(record), SUSCEPTIBILITY_MEANS),
        (
            "Noise, ringing",
            "not corrected".to_owned(),
            "At high b noise raises signals, so that kurtosis and tissue fractions are biased; ringing changes \
             kurtosis beside fluid. Denoise and unring before, in this order.",
        ),
        (
            "Bias field",
            "densities only, where they are normalised".to_owned(),
            "Ratios such as FA, MD and kurtosis do not see it; S0 does.",
        ),
    ];
    let rows = together.into_iter().chain(rows);
    let rows = rows.map(|(what, done, means)| vec![what.to_owned(), done, means.to_owned()]);
    Some(Table {
        caption: String::new(),
        columns: ["", "done", "what it means"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    })
}

/// What was done about susceptibility where nothing is given that says how.
pub(super) const NOT_UNDISTORTED: &str = "not corrected: a map of the field (--field) says how, or a warp (--warp), which \
     topup, DRBUDDI or unpile make of opposed encodings";

const SUSCEPTIBILITY_MEANS: &str = "Left, tissue near air (frontal and temporal lobes) lies millimetres from where a T1w image \
     has it: maps, streamlines and regions there do not fit anatomy. Corrected, what was squeezed there is still less sharp.";

/// What was done about susceptibility.
fn susceptibility(record: &RunRecord) -> String {
    let Some(distortion) = record.results.get(distortion::RESULT) else {
        return NOT_UNDISTORTED.to_owned();
    };
    let largest = distortion["shifts"]["largest_mm"].as_f64().unwrap_or(0.0);
    let source = match distortion["source"].as_str() {
        Some("phases") => "a field made of phases",
        Some("warp") => "a warp of another program",
        _ => "a map of the field",
    };
    format!("corrected by {source}: shifts of up to {largest:.1} mm")
}

/// Motion from volume to volume, and what predictions leave before and after.
fn figures(volumes: &Value) -> Vec<(Figure, String)> {
    let column = |name: &str| -> Vec<[f64; 2]> {
        let values = volumes[name].as_array().into_iter().flatten().enumerate();
        values.map(|(volume, x)| [volume as f64, x.as_f64().unwrap_or(f64::NAN)]).collect()
    };
    let line = |name, points| Series { name, points, marks: Marks::LineAndDots };
    let x = || Axis::new("volume", "");
    let moved = column(MOVED);
    let motion = Axes {
        heading: "Motion from volume to volume",
        x: x(),
        y: Axis::new("framewise displacement", "mm"),
        guides: vec![Guide::Horizontal(0.5, "0.5 mm".to_owned())],
    };
    let [before, after] = ["residual_before", "residual_after"].map(column);
    let residual = Axes {
        heading: "What predictions leave",
        x: x(),
        y: Axis::new("residual over the mean", ""),
        ..Axes::default()
    };
    vec![
        (
            xy(&[line("displacement", &moved)], &motion),
            "A turn counts as the way of a point 50 mm from the middle.".to_owned(),
        ),
        (
            xy(&[line("as measured", &before), line("corrected", &after)], &residual),
            "Root mean square of each volume over its mean, both smoothed alike.".to_owned(),
        ),
    ]
}
