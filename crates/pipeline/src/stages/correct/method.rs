//! Correction among all methods.

use super::CORRECT_WRITES;
use crate::RunRecord;
use crate::stages::method::Method;
use crate::stages::shown::Methods;

pub(in crate::stages) const METHOD: Method =
    Method { writes: CORRECT_WRITES, text, ..Method::named("correct") };

/// What was done, where a record is that of a correction.
fn text(records: &[RunRecord]) -> Option<Methods> {
    let record = records.iter().find(|record| record.task == "correct")?;
    let parameters = record.parameters_of("correct")?;
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
