//! What the BIDS validator and pybids make of data sets and derivatives.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::PARTICIPANT;
use crate::util::Folder;

/// The errors of the validator; `None` where it is not installed.
pub(super) fn errors(data_set: &Path) -> Option<Vec<String>> {
    const VALIDATOR: &str = "bids-validator-deno";
    let mut command = Command::new(VALIDATOR);
    let output = command.arg(data_set).args(["--format", "json", "--ignoreWarnings"]).output();
    let Ok(output) = output else {
        fimbria_testing::missing(VALIDATOR);
        return None;
    };
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    });
    let issues = said["issues"]["issues"].as_array().unwrap();
    Some(issues.iter().map(ToString::to_string).collect())
}

/// Entities of proposals to the standard, which pybids does not know.
const PYBIDS: &str = r#"
import json
from bids.layout import BIDSLayout, Config
known = {name for config in ("bids", "derivatives") for name in Config.load(config).entities}
more = [{"name": name, "pattern": f"_{name}-([a-zA-Z0-9]+)"} for name in ("model", "param")]
more = {"name": "more", "entities": [entity for entity in more if entity["name"] not in known]}
open("more.json", "w").write(json.dumps(more))
config = ["bids", "derivatives"] + (["more.json"] if more["entities"] else [])
layout = BIDSLayout("out", validate=False, is_derivative=True, config=config)
for found in layout.get(suffix="dwimap", model="tensor", param="fa", extension=".nii.gz"):
    entities = found.get_entities()
    print(entities["subject"], entities.get("session"), entities["space"], entities.get("desc"),
          len(found.get_metadata()["Sources"]), found.get_image().ndim)
"#;

/// All at once: a head takes long.
#[test]
fn data_set_and_derivatives_pass_the_validator_and_are_read_by_pybids() {
    let folder = Folder::new();
    // Coarse: only files and names are looked at.
    let head = "--voxel 9 --samples 2 --shells 1000:30,2000:30 --b0s 3 --gre 5,12,20";
    folder.done(&format!("phantom head --bids 3 --broken {head} -o in"));
    if let Some(errors) = errors(&folder.join("in")) {
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let said = folder.failed(&format!("{PARTICIPANT} --set track.select=200 --preset connectome"));
    assert!(said.contains("1 of 4 failed:\n  sub-03: "), "{said}");
    assert!(said.contains("is truncated"), "{said}");
    folder.done("bids in out group");
    folder.done(
        "bids in chi participant --device cpu --participant-label 01 --preset susceptibility",
    );
    // All that there is, with few samples.
    let few = "--set sticks.burn_in=20 --set sticks.jumps=40 --set sticks.sample_every=10";
    folder.done(&format!(
        "bids in all participant --device cpu --participant-label 01 --preset everything {few}"
    ));
    let dwi = folder.names("all/sub-01/dwi");
    for what in [
        "desc-sticks.bedpostX",
        "model-bs_param-vector_desc-mean_dwimap.nii.gz",
        "desc-pruned_tractogram.trx",
        "model-life_param-weights_dwimap.txt",
    ] {
        assert!(dwi.iter().any(|name| name.ends_with(what)), "no {what}: {dwi:?}");
    }
    for derivatives in ["out", "chi", "all"] {
        if let Some(errors) = errors(&folder.join(derivatives)) {
            assert!(errors.is_empty(), "{derivatives}: {errors:#?}");
        }
    }
    // It does look.
    std::fs::write(folder.join("chi/sub-01/anat/sub-01_strange.txt"), "x").unwrap();
    assert!(errors(&folder.join("chi")).is_none_or(|errors| !errors.is_empty()));
    let chi = folder.json("chi/sub-01/anat/sub-01_space-ACPC_Chimap.json");
    assert_eq!(chi["Units"], "ppm");
    assert!(chi["Sources"].as_array().unwrap().iter().any(|source| {
        source == "bids:input:sub-01/anat/sub-01_echo-3_part-phase_space-ACPC_MEGRE.nii.gz"
    }));
    let Some(mut python) = fimbria_testing::python("bids") else { return };
    let output = python.args(["-c", PYBIDS]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let mut found: Vec<&str> = said.lines().collect();
    found.sort_unstable();
    let expected = ["01 None ACPC None 2 3", "02 1 ACPC None 2 3", "02 2 ACPC None 2 3"];
    assert_eq!(found, expected, "{error}");
}
