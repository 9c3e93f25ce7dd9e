//! QSIRecon's list of scalar maps (data/scalars/*.yaml): what it takes to templates and along bundles.

use std::collections::BTreeSet;

use super::engine::quoted;
use super::method::{Method, Output};

/// The list, each map once: two fits may have one in common.
pub(super) fn text(methods: &[Method]) -> String {
    let mut text = format!(
        "# The scalar maps of fimbria under QSIRecon's labels. Written by `fimbria describe --format qsirecon` of\n\
         # fimbria {}: not to be edited.\n",
        env!("CARGO_PKG_VERSION")
    );
    let mut names = BTreeSet::new();
    let fits = methods.iter().filter(|method| method.name.starts_with("fit "));
    for output in fits.flat_map(|method| &method.outputs) {
        if let Some((model, parameter)) = labels(output)
            && names.insert((model, parameter))
        {
            let (label, entities) = match parameter.split_once("_desc-") {
                Some((of, desc)) => (format!("{of}_{desc}"), format!("{of}\n        desc: {desc}")),
                None => (parameter.to_owned(), parameter.to_owned()),
            };
            text += &format!(
                "{model}_{label}:\n    bids:\n        model: {model}\n        param: {entities}\n    \
                 metadata:\n        Description: {}\n",
                quoted(&output.holds)
            );
        }
    }
    text
}

/// Model and parameter in the BIDS name of a map of one number a voxel, with the description where it has
/// one.
fn labels(output: &Output) -> Option<(&str, &str)> {
    let is_scalar = output.kind.as_deref() == Some("scalar") && output.volumes == Some(1);
    let name = output.files.get("bids").filter(|_| is_scalar)?;
    let name = name.strip_prefix("model-")?.strip_suffix("_dwimap.nii.gz")?;
    name.split_once("_param-")
}
