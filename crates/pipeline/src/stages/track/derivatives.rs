//! Streamlines among derivatives of BIDS, in the words of BEP 46.

use serde_json::{Value, json};

use super::STEP_MM;
use crate::{DerivativeNames, Derivatives, Derived, OutputFolder, RunRecord, Source};

pub(super) const DERIVATIVES: Derivatives = Derivatives {
    sources: &[Source::Series, Source::Mask, Source::Tissues],
    place,
    describe: |file| match file.stem() {
        "tracks" => {
            let record = RunRecord::read(&file.folder.join(OutputFolder::RECORD)).ok();
            let step = record.and_then(|record| record.results.get(STEP_MM).cloned());
            Some(tractogram(file.parameters, step))
        }
        "visits" => Some(json!({ "Description": "streamlines through each voxel" })),
        _ => None,
    },
    ..Derivatives::FROM_SERIES
};

/// Streamlines are told apart by what they followed, for which BEP 46 has a closed list without
/// those through samples of sticks.
fn place(file: &Derived<'_>, names: &DerivativeNames) -> String {
    let (through, algorithm) =
        (&file.parameters["through"], &file.parameters["track"]["algorithm"]);
    let (track, model) = match (through.as_str(), algorithm.as_str()) {
        (Some("samples"), _) => ("desc-sticks", "bs"),
        (_, Some("deterministic")) => ("track-sdstream", "csd"),
        (_, Some("probabilistic")) => ("track-ifod", "csd"),
        _ => ("track-ptt", "csd"),
    };
    match file.stem() {
        "tracks" => names.beside_series(&format!("{track}_tractogram"), file.extension()),
        _ => names.map(model, file),
    }
}

/// What BEP 46 asks of streamlines; the length of a step where the record of the stage has it.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::BidsName;

    #[test]
    fn streamlines_are_named_by_what_they_followed() {
        let series = BidsName::parse(Path::new("sub-01_dwi.nii.gz")).unwrap();
        let names = DerivativeNames::from_series(&series, None);
        for (through, algorithm, track, model) in [
            ("densities", "probabilistic", "track-ifod", "csd"),
            ("densities", "deterministic", "track-sdstream", "csd"),
            ("densities", "transport", "track-ptt", "csd"),
            ("samples", "probabilistic", "desc-sticks", "bs"),
        ] {
            let parameters = json!({ "through": through, "track": { "algorithm": algorithm } });
            let place = |file| {
                let folder = Path::new("track");
                let parameters = &parameters;
                place(
                    &Derived { stage: "track", file, parameters, folder, label_names: None },
                    &names,
                )
            };
            assert_eq!(place("tracks.trx"), format!("dwi/sub-01_{track}_tractogram.trx"));
            let visits = format!("dwi/sub-01_model-{model}_param-visits_dwimap.nii.gz");
            assert_eq!(place("visits.nii.gz"), visits);
        }
    }
}
