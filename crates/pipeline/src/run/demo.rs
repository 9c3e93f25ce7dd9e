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
const MADE: &[&str] = &["peaks", "sticks", "track", "life", "field", "guide", "qsm"];

/// Where it is not as usual. Half as many jumps as by default: the demo is to be short. LiFE has a fibre as
/// white matter of the head has it where nothing crosses, and ends as near the optimum as pictures show.
const SETTINGS: &[&str] = &[
    "sticks.burn_in=500",
    "sticks.jumps=625",
    "life.axial=1.45e-3",
    "life.radial=0.45e-3",
    "life.tolerance=1e-2",
];

/// The stages of the demo: a head instead of a subject, and its truth to compare with.
pub fn demo_stages(options: HeadOptions, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
    let settings: Vec<String> = SETTINGS.iter().map(|&setting| setting.to_owned()).collect();
    let config = RunConfig::default().with_settings(&settings)?;
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(HeadPhantom { options, format: MapFormat::NiiGz }),
        config.fit(DTI, "")?,
        Box::new(CheckGradients { axes: BvecFrame::Fsl }),
        Box::new(JudgeQuality { options: QualityOptions::default() }),
    ];
    let is_made = |name: &str, _: &InRun| MADE.contains(&name);
    let [before, after] = methods::beside_fits();
    config.add_methods(&before, is_made, &mut stages, root, "")?;
    stages.push(config.fit(DKI, "")?);
    config.add_methods(&after, is_made, &mut stages, root, "")?;
    stages.push(Box::new(Compare));
    stages.push(Box::new(Report { title: "fimbria demo: a head of known truth".to_owned() }));
    Ok(stages)
}
