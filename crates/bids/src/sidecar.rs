//! What the sidecars of derivatives say beside what a stage writes into them.

use std::path::Path;

use fimbria_pipeline::stages::track::STEP_MM;
use fimbria_pipeline::{OutputFolder, RunRecord};
use serde_json::{Value, json};

use crate::data_set::INPUT;
use crate::json::read_json;
use crate::tables::names_in;
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
    dwi: String,
    mask: Option<String>,
    scan: Vec<String>,
    labels: Vec<String>,
    tissues: Option<String>,
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
        let dwi = uri(&series.dwi);
        let said = read_json(&series.dwi.with_file_name({
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
            labels: labels
                .into_iter()
                .flat_map(|Labels { image, table }| std::iter::once(image).chain(table))
                .map(|file| uri(file))
                .collect(),
            tissues: tissues.map(uri),
            mended: None,
            dwi,
            reference,
        }
    }

    /// The same of a gradient table to which this was done.
    pub(crate) fn of_table(self, mended: Option<String>) -> Self {
        Self { mended, ..self }
    }

    /// The sidecar of what `stage` made, from what the stage says itself.
    pub(crate) fn complete(&self, stage: &str, mut sidecar: Value) -> Value {
        let mut sources: Vec<&String> = match stage {
            "field" => self.scan.iter().collect(),
            "qsm" => self.scan.iter().chain([&self.dwi]).collect(),
            _ => std::iter::once(&self.dwi).chain(&self.mask).collect(),
        };
        if matches!(stage, "connectome" | "regions") {
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
        } else if let Some(mended) = &self.mended {
            sidecar["GradientTableMended"] = json!(mended);
        }
        as_written(sidecar)
    }
}

/// What is said, without what is not; numbers of single precision with the digits that they have in it.
fn as_written(said: Value) -> Value {
    match said {
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

/// The sidecar of a file for which its stage writes none; `None` where BIDS has none either.
pub(crate) fn own(
    stage: &str,
    file: &str,
    record: &RunRecord,
    run: &Path,
    labels: Option<&Labels>,
) -> Option<Value> {
    let parameters = || record.parameters.get(stage).cloned().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or(file);
    Some(match (stage, stem) {
        ("load", "mask") => json!({
            "Type": "Brain",
            "Description": "made of the mean unweighted volume, since the input has no mask",
        }),
        ("load", "mean_b0") => json!({ "Description": "mean of the unweighted volumes" }),
        ("fix_gradients", _) => json!({
            "Description": "the gradient table in use, x y z in scanner RAS axes and b in s/mm^2, a row for \
                            each volume",
        }),
        ("track", "tracks") => {
            let track = RunRecord::read(&run.join("track").join(OutputFolder::RECORD)).ok();
            let step = track.and_then(|track| track.results.get(STEP_MM).cloned());
            tractogram(&parameters(), step)
        }
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
            let counted =
                std::fs::read_to_string(run.join("connectome/labels.txt")).unwrap_or_default();
            let nodes: Vec<u32> = counted.lines().filter_map(|line| line.parse().ok()).collect();
            let table = labels.and_then(|labels| labels.table.as_ref());
            let names = table.and_then(|table| names_in(table, &nodes));
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
                "NodeNames": names,
                "Parameters": parameters(),
            })
        }
        ("regions", _) => json!({
            "Description": "maps over the regions of a segmentation, a line for each region and map",
            "index": { "Description": "number of the region in the segmentation" },
            "name": { "Description": "what the region is called" },
            "map": { "Description": "the map, after the stage that made it (dti/FA)" },
            "voxels": { "Description": "voxels of the map in the region" },
            "volume_ml": { "Description": "their volume", "Units": "ml" },
            "n": { "Description": "those of them that have a value" },
            "mean": { "Description": "mean of the values, in the unit of the map" },
            "sd": { "Description": "standard deviation (n - 1)" },
            "median": { "Description": "median" },
            "p5": { "Description": "5th percentile; p25, p75 and p95 likewise" },
        }),
        _ => return None,
    })
}

/// The words of BEP 46; the length of a step where the record of the stage has it.
fn tractogram(parameters: &Value, step: Option<Value>) -> Value {
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
            "StepSize": step,
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
        assert_eq!(as_written(said), json!({ "b": { "d": [1] } }));
    }

    #[test]
    fn a_number_of_single_precision_has_no_more_digits_than_it_was_given() {
        let said = json!({ "a": 0.1_f32, "b": [0.7_f32, 45.0], "c": 0.1, "d": 1e-300, "e": 3 });
        assert_eq!(
            as_written(said),
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
