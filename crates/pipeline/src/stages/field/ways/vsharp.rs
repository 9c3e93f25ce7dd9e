//! V-SHARP: spherical means of varying radii.

use fimbria_qsm::background::Background;
use serde::{Deserialize, Serialize};

use crate::options::{Resolved, Values, values_of};
use crate::stages::field::FieldParameters;
use crate::stages::field::background::{BackgroundRemoval, Facts};

pub(super) struct VSharp;

pub(super) const FACTS: Facts = Facts {
    name: "vsharp",
    sentence: "spherical means of varying radii; loses a rim of one voxel",
    reference: "Wu B et al. Magn Reson Med 67, 137 (2012)",
};

#[derive(Serialize, Deserialize)]
struct Options {
    radius: f64,
}

impl BackgroundRemoval for VSharp {
    fn defaults(&self) -> Values {
        values_of(&Options { radius: Background::VSHARP_RADIUS_MM })
    }

    fn background(&self, options: &Resolved<FieldParameters>) -> Background {
        let Options { radius: radius_mm } = options.read();
        Background::VSharp { radius_mm, threshold: Background::VSHARP_THRESHOLD }
    }

    fn words(&self, options: &Resolved<FieldParameters>) -> String {
        let Options { radius } = options.read();
        format!("spherical means of radii up to {radius} mm (V-SHARP)")
    }
}
