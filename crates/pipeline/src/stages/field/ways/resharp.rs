//! RESHARP: least squares of spherical means.

use fimbria_qsm::background::Background;
use serde::{Deserialize, Serialize};

use crate::options::{Resolved, Values, values_of};
use crate::stages::field::FieldParameters;
use crate::stages::field::background::{BackgroundRemoval, Facts};

pub(super) struct Resharp;

pub(super) const FACTS: Facts = Facts {
    name: "resharp",
    sentence: "least squares of spherical means of one radius, which is lost",
    reference: "Sun H, Wilman AH. Magn Reson Med 71, 1151 (2014)",
};

#[derive(Serialize, Deserialize)]
struct Options {
    radius: f64,
    strength: f64,
}

impl BackgroundRemoval for Resharp {
    fn defaults(&self) -> Values {
        let (radius, strength) = (Background::RESHARP_RADIUS_MM, Background::RESHARP_LAMBDA);
        values_of(&Options { radius, strength })
    }

    fn background(&self, options: &Resolved<FieldParameters>) -> Background {
        let Options { radius: radius_mm, strength: lambda } = options.read();
        Background::Resharp { radius_mm, lambda }
    }

    fn words(&self, options: &Resolved<FieldParameters>) -> String {
        let Options { radius, strength } = options.read();
        format!("spherical means of {radius} mm regularised with λ = {strength} (RESHARP)")
    }
}
