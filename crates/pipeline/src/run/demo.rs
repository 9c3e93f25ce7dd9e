//! The stages of the demo.

use std::path::Path;

use fimbria_image::BvecFrame;

use super::stages::{OfLines, fibre_stages, sampling, streamline_stages, susceptibility_stages};
use super::{ConfigError, RunConfig};
use crate::options::usual;
use crate::stages::accuracy::Compare;
use crate::stages::fits::{DKI, DTI, FOD};
use crate::stages::gradients::CheckGradients;
use crate::stages::head::{HeadOptions, HeadPhantom};
use crate::stages::life::LifeParameters;
use crate::stages::qsm::QsmParameters;
use crate::stages::quality::{JudgeQuality, QualityOptions};
use crate::stages::report::Report;
use crate::stages::sticks::{SticksInRun, SticksParameters};
use crate::stages::track::Through;
use crate::{MapFormat, MapStyle, Stage};

/// The stages of the demo: a head instead of a subject, and its truth to compare with.
pub fn demo_stages(options: HeadOptions, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
    let (style, entities, usual) = (MapStyle::default(), "", RunConfig::default());
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(HeadPhantom { options, format: MapFormat::NiiGz }),
        usual.fit(DTI, entities)?,
        Box::new(CheckGradients { axes: BvecFrame::Fsl }),
        Box::new(JudgeQuality { options: QualityOptions::default() }),
    ];
    let density = usual.fit(FOD, entities)?;
    stages.extend(fibre_stages(density, usual.options("peaks")?, style, entities));
    stages.push(sampling(demo_sticks(), root)?);
    let track = usual.options("track")?;
    let of_lines = OfLines { life: Some(demo_life()), ..OfLines::default() };
    let streamlines = (track, Through::Samples);
    stages.extend(streamline_stages(streamlines, of_lines, style, entities, root));
    stages.push(usual.fit(DKI, entities)?);
    stages.extend(susceptibility_stages(None, usual.options("field")?, demo_qsm(), style)?);
    stages.push(Box::new(Compare));
    stages.push(Box::new(Report { title: "fimbria demo: a head of known truth".to_owned() }));
    Ok(stages)
}

/// The usual map, its mean that of the truth.
fn demo_qsm() -> QsmParameters {
    QsmParameters { zero_mean: true, ..usual() }
}

/// Half as many jumps as by default: the demo is to be short.
fn demo_sticks() -> SticksInRun {
    let usual: SticksInRun = usual();
    let sampling = SticksParameters { burn_in: 500, jumps: 625, ..usual.sampling };
    SticksInRun { sampling, ..usual }
}

/// A fibre as white matter of the head has it where nothing crosses, and as near the optimum as pictures
/// show.
fn demo_life() -> LifeParameters {
    LifeParameters { axial: 1.45e-3, radial: 0.45e-3, tolerance: 1e-2, ..usual() }
}
