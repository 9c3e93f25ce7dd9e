//! Correction among all methods.

use serde_json::json;

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
            ("dwi", "bval" | "bvec") => None,
            ("dwi", _) => Some(json!({
                "Description": "motion, eddy currents and dropped slices corrected; susceptibility not",
                "SkullStripped": false,
            })),
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
    let text = format!(
        "Rigid motion{fields} of every volume were estimated by registering all volumes together to what a Gaussian \
         process over q-space predicts of each from the others, with fields linear in the gradients but for a small \
         remainder, and motion piecewise smooth in time. Volumes were resampled once, by cubic splines with the Jacobian \
         of the fields, and gradients turned with the head.{dropped}"
    );
    let references = vec![
        "Andersson JLR, Sotiropoulos SN. Non-parametric representation and prediction of single- and multi-shell \
         diffusion-weighted MRI data using Gaussian processes. NeuroImage 122, 166-176 (2015).",
    ];
    Some(Methods { text, references })
}
