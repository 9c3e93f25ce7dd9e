//! What the sidecars of derivatives say beside what a stage writes into them.

use std::path::Path;

use fimbria_pipeline::Source;
use serde_json::{Value, json};

use crate::data_set::INPUT;
use crate::json::read_json;
use crate::{DataSet, Labels, OtherSet, Series};

/// The URI of a file of the input or of another data set, of several that hold it the innermost.
pub(crate) fn uri(data_set: &DataSet, file: &Path) -> String {
    let others = data_set.others.iter().map(|OtherSet { name, root }| (&**name, &**root));
    let sets = std::iter::once((INPUT, &*data_set.root)).chain(others);
    let below = sets.filter_map(|(name, root)| Some((name, file.strip_prefix(root).ok()?)));
    let innermost = below.min_by_key(|(_, below)| below.components().count());
    let (name, below) = innermost.unwrap_or((INPUT, file));
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    format!("bids:{name}:{}", parts.join("/"))
}

/// What all sidecars of a series say.
pub(crate) struct Common {
    series: Vec<String>,
    mask: Option<String>,
    scan: Vec<String>,
    labels: Vec<String>,
    tissues: Option<String>,
    t1w: Option<String>,
    /// What was done to the gradient table.
    mended: Option<String>,
    /// Where the space of the series is none of the standard's.
    reference: Option<Value>,
}

impl Common {
    /// Of a series, whose streamlines were counted between `labels` and ended by `tissues`.
    pub(crate) fn new(
        data_set: &DataSet,
        series: &Series,
        labels: Option<&Labels>,
        tissues: Option<&Path>,
    ) -> Self {
        let uri = |file: &Path| uri(data_set, file);
        let sidecar = read_json(&series.dwi.with_file_name({
            let name =
                fimbria_pipeline::BidsName { extension: ".json".to_owned(), ..series.name.clone() };
            name.to_string()
        }));
        // A URI of the input's own data set is one of another data set here.
        let reference = match &sidecar["SpatialReference"] {
            Value::String(own) => own
                .strip_prefix("bids::")
                .map_or_else(|| json!(own), |file| json!(format!("bids:{INPUT}:{file}"))),
            Value::Null => json!(uri(&series.dwi)),
            other => other.clone(),
        };
        let reference = series.name.entity("space").map(|_| reference);
        Self {
            mask: series.mask.as_deref().map(uri),
            scan: series.echoes.iter().flatten().flatten().map(|file| uri(file)).collect(),
            labels: labels
                .into_iter()
                .flat_map(|Labels { image, table }| std::iter::once(image).chain(table))
                .map(|file| uri(file))
                .collect(),
            tissues: tissues.map(uri),
            t1w: series.t1w.as_deref().map(uri),
            mended: None,
            series: series.series().map(uri).collect(),
            reference,
        }
    }

    /// The same of a gradient table to which this was done.
    pub(crate) fn with_mended_table(self, mended: Option<String>) -> Self {
        Self { mended, ..self }
    }

    /// A sidecar with what all have, of what is made of these.
    pub(crate) fn complete(&self, sources: &[Source], mut sidecar: Value) -> Value {
        let is_of_scan = sources.contains(&Source::Scan);
        let sources = sources.iter().flat_map(|source| match source {
            Source::Series => self.series.as_slice(),
            Source::Mask => self.mask.as_slice(),
            Source::Scan => &self.scan,
            Source::Labels => &self.labels,
            Source::Tissues => self.tissues.as_slice(),
            Source::T1w => self.t1w.as_slice(),
        });
        let sources: Vec<&String> = sources.collect();
        sidecar["Sources"] = json!(sources);
        if let Some(reference) = &self.reference {
            sidecar["SpatialReference"] = reference.clone();
        }
        if is_of_scan {
            // Nothing is mapped outside the mask.
            sidecar["SkullStripped"] = json!(true);
        } else if let Some(mended) = &self.mended {
            sidecar["GradientTableMended"] = json!(mended);
        }
        as_written(sidecar)
    }
}

/// A sidecar without what is null; numbers of single precision have the digits that they have in it.
fn as_written(sidecar: Value) -> Value {
    match sidecar {
        Value::Object(entries) => {
            let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(entries.map(|(key, value)| (key, as_written(value))).collect())
        }
        Value::Array(values) => values.into_iter().map(as_written).collect(),
        Value::Number(number) if number.is_f64() => {
            let double = number.as_f64().unwrap_or_default();
            let single = double as f32;
            let digits = single.to_string().parse::<f64>().ok();
            json!(digits.filter(|_| f64::from(single) == double).unwrap_or(double))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_not_given_is_not_in_a_sidecar() {
        let sidecar = json!({ "a": null, "b": { "c": null, "d": [1] } });
        assert_eq!(as_written(sidecar), json!({ "b": { "d": [1] } }));
    }

    #[test]
    fn a_number_of_single_precision_has_no_more_digits_than_it_was_given() {
        let sidecar = json!({ "a": 0.1_f32, "b": [0.7_f32, 45.0], "c": 0.1, "d": 1e-300, "e": 3 });
        assert_eq!(
            as_written(sidecar),
            json!({ "a": 0.1, "b": [0.7, 45.0], "c": 0.1, "d": 1e-300, "e": 3 })
        );
    }

    #[test]
    fn a_sidecar_names_its_sources_below_the_input() {
        let other = OtherSet { name: "recon".to_owned(), root: "/in/derivatives/recon".into() };
        let data_set = DataSet { root: "/in".into(), others: vec![other], sessions: Vec::new() };
        let uri = |file: &str| uri(&data_set, Path::new(file));
        assert_eq!(uri("/in/sub-1/dwi/sub-1_dwi.nii"), "bids:input:sub-1/dwi/sub-1_dwi.nii");
        let of_other = "/in/derivatives/recon/sub-1/dwi/sub-1_dseg.nii";
        assert_eq!(uri(of_other), "bids:recon:sub-1/dwi/sub-1_dseg.nii");
    }
}
