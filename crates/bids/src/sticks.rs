//! Means of the samples of ball and sticks, as the proposal to BIDS for maps (BEP 16) has them. The samples
//! stay in the bedpostX folder, which trackers read.

use std::path::Path;

use fimbria_image::frames::turn_vectors;
use fimbria_image::{BvecFrame, ImageHeader, WriteOptions, read_image, write_image};
use fimbria_pipeline::{DerivativeNames, OutputFolder, RunRecord, Source};
use serde_json::{Value, json};

use crate::BidsError;
use crate::json::write_json;
use crate::sidecar::Common;

/// A map: its label, the images of a bedpostX folder that it is made of, with `*` for a fibre, its unit,
/// and what it is.
type Map = (&'static str, &'static str, &'static str, &'static str);

const MAPS: [Map; 6] = [
    ("s0", "mean_S0samples", "arbitrary", "signal without diffusion weighting"),
    ("diffusivity", "mean_dsamples", "mm^2/s", "diffusivity"),
    ("dstd", "mean_d_stdsamples", "mm^2/s", "spread of diffusivities in a voxel"),
    ("vf", "mean_f*samples", "", "volume fraction of each stick, a volume for each"),
    ("vfsum", "mean_fsumsamples", "", "sum of the volume fractions of all sticks"),
    (
        "vector",
        "dyads*",
        "",
        "unit principal direction of each stick, x y z in scanner RAS axes, sign arbitrary; of further \
         sticks 0 where their mean fraction is below 0.05",
    ),
];

/// Writes the means of a run that sampled sticks, before its files are moved.
pub(crate) fn publish(
    run: &Path,
    record: &RunRecord,
    names: &DerivativeNames,
    common: &Common,
    out: &mut OutputFolder,
) -> Result<(), BidsError> {
    let Some(parameters) = record.parameters.get("sticks").map(|stages| &stages["sticks"]) else {
        return Ok(());
    };
    let folder = run.join("sticks");
    let n_fibres = parameters["fibres"].as_u64().unwrap_or(1);
    for (param, stem, unit, what) in MAPS {
        let files: Vec<_> = match stem.split_once('*') {
            None => vec![stem.to_owned()],
            Some((before, after)) => {
                (1..=n_fibres).map(|fibre| fibre_name(before, fibre, after)).collect()
            }
        };
        let files: Vec<_> =
            files.iter().map(|file| folder.join(format!("{file}.nii.gz"))).collect();
        // Of models that have it.
        if !files[0].exists() {
            continue;
        }
        let space_codes = ImageHeader::read(&files[0])?.space_codes();
        let mut map = read_image(&files[0])?;
        for file in &files[1..] {
            let next = read_image(file)?;
            map.n_volumes += next.n_volumes;
            map.data.extend_from_slice(&next.data);
        }
        let is_vector = param == "vector";
        if is_vector {
            let turn = BvecFrame::Fsl.ras_from_frame(&map.grid.ras_from_vox);
            turn_vectors(&mut map, &turn);
        }
        let description = format!("{what}; mean over the samples");
        let place = format!("dwi/{}model-bs_param-{param}_desc-mean_dwimap", names.series);
        let options = WriteOptions {
            description: description.clone(),
            space_codes,
            ..WriteOptions::default()
        };
        write_image(out.stage(&format!("{place}.nii.gz"))?, &map, &options)?;
        let mut sidecar = json!({ "Description": description, "Model": model(parameters) });
        if !unit.is_empty() {
            sidecar["Units"] = json!(unit);
        }
        if is_vector {
            sidecar["OrientationEncoding"] = json!({
                "Type": "unit3vector", "EncodingAxis": 3, "Reference": "xyz",
                "AntipodalSymmetry": true, "FillValue": 0.0,
            });
        } else if param == "vf" {
            sidecar["OrientationEncoding"] = json!({ "Type": "scalar" });
        }
        write_json(
            out,
            &format!("{place}.json"),
            &common.complete(&[Source::Series, Source::Mask], sidecar),
        )?;
    }
    Ok(())
}

/// The image of a fibre; of further dyads that without those of fibres that are hardly there.
fn fibre_name(before: &str, fibre: u64, after: &str) -> String {
    match (before, fibre) {
        ("dyads", 2..) => format!("dyads{fibre}_thr0.05"),
        _ => format!("{before}{fibre}{after}"),
    }
}

/// The model, in the words of BEP 16.
fn model(parameters: &Value) -> Value {
    json!({
        "Description": "Ball and sticks, sampled as bedpostX does",
        "Parameters": {
            "Fibers": parameters["fibres"],
            "ARDFudgeFactor": parameters["fudge"],
            "DiffusivityModel": parameters["model"],
            "Relevance": parameters["ard"],
            "Noise": parameters["noise"],
            "Offset": parameters["f0"],
            "RandomSeed": parameters["rng_seed"],
        },
        "BootstrapParameters": {
            "Burnin": parameters["burn_in"],
            "Jumps": parameters["jumps"],
            "SampleEvery": parameters["sample_every"],
        },
    })
}
