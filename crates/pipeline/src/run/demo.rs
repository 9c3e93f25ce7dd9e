//! The stages of the demo.

use std::path::Path;

use fimbria_image::BvecFrame;

use super::{ConfigError, RunConfig};
use crate::stages::accuracy::Compare;
use crate::stages::fits::{DKI, DTI};
use crate::stages::gradients::CheckGradients;
use crate::stages::head::{HeadOptions, HeadPhantom};
use crate::stages::in_run::InRun;
use crate::stages::methods;
use crate::stages::quality::{JudgeQuality, QualityOptions};
use crate::stages::report::Report;
use crate::{MapFormat, Stage};

/// What the demo makes besides fits.
const MADE: &[&str] = &["peaks", "sticks", "track", "life", "connectome", "field", "guide", "qsm"];

/// Where it is not as usual. Half as many jumps as by default: the demo is to be short. LiFE has a fibre as
/// white matter of the head has it where nothing crosses, and ends as near the optimum as pictures show. As many
/// streamlines as other programs are asked for beside it.
const SETTINGS: &[&str] = &[
    "sticks.burn_in=500",
    "sticks.jumps=500",
    "life.axial=1.45e-3",
    "life.radial=0.45e-3",
    "life.tolerance=1e-2",
    "track.select=20000",
];

/// What streamlines and matrices are told of the head, by the files that it leaves.
const OF_HEAD: &[(&str, &str, &str)] = &[
    ("track", "act", "5tt.nii.gz"),
    ("connectome", "labels", "labels.nii.gz"),
    ("connectome", "lut", "labels.txt"),
];

/// The stages of the demo: a head instead of a subject, and its truth to compare with.
pub fn demo_stages(options: HeadOptions, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
    let settings: Vec<String> = SETTINGS.iter().map(|&setting| setting.to_owned()).collect();
    let mut config = RunConfig::default().with_settings(&settings)?;
    for (table, key, file) in OF_HEAD {
        let path = root.join("head").join(file);
        let table = config.tables.entry((*table).to_owned()).or_default();
        table.insert((*key).to_owned(), path.to_string_lossy().into());
    }
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(HeadPhantom { options, format: MapFormat::NiiGz }),
        config.fit(DTI, "")?,
        Box::new(CheckGradients { axes: BvecFrame::Fsl }),
        Box::new(JudgeQuality { options: QualityOptions::default() }),
    ];
    let is_made = |name: &str, _: &InRun| MADE.contains(&name);
    let [before, after] = methods::beside_fits();
    // Tissues end streamlines through densities alone: where sticks come first, they are followed in their place.
    let (sticks, fibres): (Vec<_>, Vec<_>) =
        before.into_iter().partition(|(name, _)| *name == "sticks");
    let is_of_densities = |name: &str, _: &InRun| name != "sticks" && MADE.contains(&name);
    config.add_methods(&fibres, is_of_densities, &mut stages, root, "")?;
    config.add_methods(&sticks, is_made, &mut stages, root, "")?;
    stages.push(config.fit(DKI, "")?);
    config.add_methods(&after, is_made, &mut stages, root, "")?;
    stages.push(Box::new(Compare));
    stages.push(Box::new(Report { title: "fimbria demo: a head of known truth".to_owned() }));
    Ok(stages)
}
