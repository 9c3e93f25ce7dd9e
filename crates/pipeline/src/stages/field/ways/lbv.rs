//! Laplacian boundary value.

use fimbria_qsm::background::Background;

use crate::options::{Resolved, Values};
use crate::stages::field::FieldParameters;
use crate::stages::field::background::{BackgroundRemoval, Facts};

pub(super) struct Lbv;

pub(super) const FACTS: Facts = Facts {
    name: "lbv",
    sentence: "Laplace's equation from the mask's border, which is lost",
    reference: "Zhou D et al. NMR Biomed 27, 312 (2014)",
};

impl BackgroundRemoval for Lbv {
    fn defaults(&self) -> Values {
        Values::new()
    }

    fn background(&self, _: &Resolved<FieldParameters>) -> Background {
        Background::LBV
    }

    fn words(&self, _: &Resolved<FieldParameters>) -> String {
        "solving Laplace's equation from the border of the mask (LBV)".to_owned()
    }
}
