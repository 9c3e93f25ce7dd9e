//! What the sidecars of derivatives say beside what a stage writes into them.

use std::path::Path;

use fimbria_pipeline::RunRecord;
use serde_json::{Value, json};

use crate::{DataSet, Series};

/// The name of the input in `DatasetLinks`, and in the URIs of its files.
pub(crate) const INPUT: &str = "input";

/// The URI of a file of the input.
pub(crate) fn uri(data_set: &DataSet, file: &Path) -> String {
    let below = file.strip_prefix(&data_set.root).unwrap_or(file);
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    format!("bids:{INPUT}:{}", parts.join("/"))
}

/// What all sidecars of a series say.
pub(crate) struct Common {
    dwi: String,
    mask: Option<String>,
    scan: Vec<String>,
    labels: Option<String>,
    tissues: Option<String>,
    /// Where the space of the series is none of the standard's.
    reference: Option<Value>,
}

impl Common {
    /// Of a series, whose streamlines were counted between `labels` and ended by `tissues`.
    pub(crate) fn of(
        data_set: &DataSet,
        series: &Series,
        labels: Option<&Path>,
        tissues: Option<&Path>,
    ) -> Self {
        let uri = |file: &Path| uri(data_set, file);
        let dwi = uri(&series.dwi);
        let said = fs_json(&series.dwi.with_file_name({
            let name =
                fimbria_pipeline::BidsName { extension: ".json".to_owned(), ..series.name.clone() };
            name.to_string()
        }));
        // A URI of the input's own data set is one of another data set here.
        let reference = match &said["SpatialReference"] {
            Value::String(own) => own
                .strip_prefix("bids::")
                .map_or_else(|| json!(own), |file| json!(format!("bids:{INPUT}:{file}"))),
            Value::Null => json!(dwi),
            other => other.clone(),
        };
        let reference = series.name.entity("space").map(|_| reference);
        Self {
            mask: series.mask.as_deref().map(uri),
            scan: series.echoes.iter().flatten().flatten().map(|file| uri(file)).collect(),
            labels: labels.map(uri),
            tissues: tissues.map(uri),
            dwi,
            reference,
        }
    }

    /// The sidecar of what `stage` made, from what the stage says itself.
    pub(crate) fn complete(&self, stage: &str, mut sidecar: Value) -> Value {
        let mut sources: Vec<&String> = match stage {
            "field" => self.scan.iter().collect(),
            "qsm" => self.scan.iter().chain([&self.dwi]).collect(),
            _ => std::iter::once(&self.dwi).chain(&self.mask).collect(),
        };
        if stage == "connectome" {
            sources.extend(&self.labels);
        }
        if matches!(stage, "track" | "life" | "sift2" | "connectome") {
            sources.extend(&self.tissues);
        }
        sidecar["Sources"] = json!(sources);
        if let Some(reference) = &self.reference {
            sidecar["SpatialReference"] = reference.clone();
        }
        if matches!(stage, "field" | "qsm") {
            // Nothing is mapped outside the mask.
            sidecar["SkullStripped"] = json!(true);
        }
        without_nulls(sidecar)
    }
}

/// What is said, without what is not.
fn without_nulls(said: Value) -> Value {
    match said {
        Value::Object(entries) => {
            let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(entries.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}

/// The JSON of a file; null where there is none.
pub(crate) fn fs_json(path: &Path) -> Value {
    let text = fimbria_image::read_regular_text(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The sidecar of a file for which its stage writes none; `None` where BIDS has none either.
pub(crate) fn own(stage: &str, file: &str, record: &RunRecord, run: &Path) -> Option<Value> {
    let parameters = || record.parameters.get(stage).cloned().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or(file);
    Some(match (stage, stem) {
        ("load", "mask") => json!({
            "Type": "Brain",
            "Description": "made of the mean unweighted volume, since the input has no mask",
        }),
        ("load", "mean_b0") => json!({ "Description": "mean of the unweighted volumes" }),
        ("track", "tracks") => tractogram(&parameters()),
        ("life", "pruned") => json!({
            "Description": "the streamlines of positive weight: those that explain the signal",
        }),
        ("track", "visits") => json!({ "Description": "streamlines through each voxel" }),
        ("sift2", "weights") => json!({
            "Description": "weight of each streamline of the tractogram, a line each, by the model of SIFT2",
            "Units": "arbitrary",
            "Parameters": parameters(),
        }),
        ("connectome", _) if file.ends_with(".csv") => {
            let labels =
                std::fs::read_to_string(run.join("connectome/labels.txt")).unwrap_or_default();
            let nodes: Vec<u32> = labels.lines().filter_map(|line| line.parse().ok()).collect();
            let (what, units) = match stem {
                "weights" | "counts" => ("number of streamlines", "arbitrary"),
                "sift2" => ("sum of SIFT2's weights of the streamlines", "arbitrary"),
                "lengths" => ("(weighted) mean length of the streamlines", "mm"),
                _ => ("(weighted) mean of a map along the streamlines", "arbitrary"),
            };
            json!({
                "Description": format!(
                    "{what} between two labels: a row and a column for each of Nodes, no heading"
                ),
                "Units": units,
                "Nodes": nodes,
                "Parameters": parameters(),
            })
        }
        _ => return None,
    })
}

/// The words of BEP 46.
fn tractogram(parameters: &Value) -> Value {
    let (track, anatomy) = (&parameters["track"], &parameters["anatomy"]);
    let is_on_boundary = anatomy["seed_boundary"] == true;
    json!({
        "Description": "streamlines in scanner RAS mm",
        "StreamlineSeeding": {
            "Method": match (is_on_boundary, track["select"].is_null()) {
                (true, _) => "boundary of grey and white matter",
                (false, true) => "every voxel with a fibre",
                (false, false) => "voxels with a fibre, drawn at random",
            },
            "SeedsPerVoxel": track["samples"],
            "StreamlinesWanted": track["select"],
            "RandomSeed": track["rng_seed"],
        },
        "StreamlinePropagation": {
            "Algorithm": track["algorithm"],
            "Interpolation": "linear",
            "StepSize": track["step"],
            "AnglePerStep": track["angle"],
            "Cutoff": track["cutoff"],
        },
        "StreamlineTermination": { "MaxLength": track["max_length"] },
        "AnatomicalConstraint": match anatomy.is_object() {
            true => json!({
                "Method": "both ends in grey matter or where the image ends, by Sources",
                "BackTrack": anatomy["backtrack"],
                "CropAtBoundary": anatomy["crop"],
            }),
            false => Value::Null,
        },
        "StreamlineAcceptanceCriteria": {
            "MinLength": track["min_length"], "MaxLength": track["max_length"],
        },
    })
}

/// What BIDS wants to know of densities: the response by which they were found.
pub(crate) fn of_density(mut sidecar: Value, run: &Path) -> Value {
    let text = std::fs::read_to_string(run.join("fod/response.txt")).unwrap_or_default();
    let numbers = |line: &str| -> Vec<f64> {
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(numbers);
    let rows: Vec<_> = rows.filter(|row| !row.is_empty()).collect();
    if !rows.is_empty() {
        sidecar["ResponseFunction"] = json!({ "Type": "zsh", "Coefficients": rows });
    }
    sidecar["NonNegativity"] = json!("constrained");
    sidecar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_not_given_is_not_in_a_sidecar() {
        let said = json!({ "a": null, "b": { "c": null, "d": [1] } });
        assert_eq!(without_nulls(said), json!({ "b": { "d": [1] } }));
    }

    #[test]
    fn a_sidecar_names_its_sources_below_the_input() {
        let data_set = DataSet { root: "/in".into(), sessions: Vec::new() };
        let file = Path::new("/in/sub-1/dwi/sub-1_dwi.nii");
        assert_eq!(uri(&data_set, file), "bids:input:sub-1/dwi/sub-1_dwi.nii");
    }
}
