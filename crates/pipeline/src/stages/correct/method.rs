//! Correction among all methods.

use serde_json::{Value, json};

use super::several::SCALES;
use super::{CORRECT_WRITES, CorrectSettings, section};
use crate::stages::made_mask::{MeanB0, RestoredMeanB0};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::shown::Methods;
use crate::{Derivatives, RunRecord};

pub(crate) const METHOD: Method = Method {
    table: Some(OptionTable::of::<CorrectSettings>()),
    writes: CORRECT_WRITES,
    restored: RestoredMeanB0::of_record,
    section: Some(PageSection {
        takes: Vec::new,
        draw: |shown| Ok(shown.records.iter().find_map(section)),
    }),
    derivatives: Some(Derivatives {
        place: |file, names| match file.stem() {
            "dwi" => names.beside_series("desc-preproc_dwi", file.extension()),
            "mask" => names.beside_series("desc-brain_mask", file.extension()),
            "outliers" if file.extension() != "tsv" => {
                names.beside_series("desc-droppedslices_dwi", file.extension())
            }
            MeanB0::STEM => names.beside_series("dwiref", file.extension()),
            "confounds" => names.beside_series("desc-confounds_timeseries", "tsv"),
            "outliers" => names.beside_series("desc-droppedslices_dwi", "tsv"),
            eddy => format!("dwi/{}desc-correct.eddy/{eddy}", names.series),
        },
        describe: |file| match (file.stem(), file.extension()) {
            (MeanB0::STEM, _) => Some(json!({ "Description": "mean of the unweighted volumes" })),
            ("mask", _) => Some(json!({ "Type": "Brain" })),
            ("outliers", "tsv") => None,
            ("outliers", _) => {
                Some(json!({ "Description": "dropped slices as they were measured" }))
            }
            _ => None,
        },
        ..Derivatives::FROM_SERIES
    }),
    text,
    ..Method::named("correct")
};

/// By what the distortion was undone, in words for a paper; `None` where it was not.
pub(super) fn undistorted_by(settings: &Value) -> Option<&'static str> {
    let is_given = |key: &str| match &settings[key] {
        Value::Array(files) => !files.is_empty(),
        number => number.as_u64().is_some_and(|files| files > 0),
    };
    if is_given("warp") {
        return Some("a warp of another program");
    }
    is_given("field").then_some(
        "a map of the field, continued beyond the head, which shifts along the phase encoding by field times readout time",
    )
}

/// What was done, where a record is that of a correction.
fn text(records: &[RunRecord]) -> Option<Methods> {
    let record = records.iter().find(|record| record.parameters_of(METHOD.name).is_some())?;
    let parameters = record.parameters_of(METHOD.name)?;
    let fields = match parameters["settings"]["eddy"].as_str()? {
        "none" => String::new(),
        order => format!(" and eddy-current fields ({order} harmonics along the phase encoding)"),
    };
    let dropped = record.stages.iter().find_map(|stage| stage.counts.get("dropped_slices"));
    let dropped = match dropped {
        Some(&n) if n > 0 && parameters["settings"]["keep_dropped"] == false => {
            format!(" Slices that lost their signal ({n}) were replaced by predictions.")
        }
        _ => String::new(),
    };
    let undistorted = undistorted_by(&parameters["settings"]);
    let distortion = undistorted.map(|by| {
        format!(
            " Distortion by susceptibility was undone in the same resampling by {by}; the field moved with the head, and its \
             Jacobian was applied."
        )
    });
    let distortion = distortion.unwrap_or_default();
    let series = record.results.get(SCALES).and_then(Value::as_array).map(|scales| {
        format!(
            "{} series were corrected as one, the later ones scaled to the median brightness of the first. ",
            scales.len()
        )
    });
    let series = series.unwrap_or_default();
    let text = format!(
        "{series}Rigid motion{fields} of every volume were estimated by registering all volumes together to what a Gaussian \
         process over q-space predicts of each from the others, with fields linear in the gradients but for a small \
         remainder, and motion piecewise smooth in time. Volumes were resampled once, by cubic splines with the Jacobian \
         of the fields, and gradients turned with the head.{dropped}{distortion}"
    );
    let mut references = vec![
        "Andersson JLR, Sotiropoulos SN. Non-parametric representation and prediction of single- and multi-shell \
         diffusion-weighted MRI data using Gaussian processes. NeuroImage 122, 166-176 (2015).",
    ];
    if undistorted.is_some() {
        references.push(
            "Jezzard P, Balaban RS. Correction for geometric distortion in echo planar images from B0 field variations. Magn \
             Reson Med 34, 65-73 (1995).",
        );
    }
    Some(Methods { text, references })
}
