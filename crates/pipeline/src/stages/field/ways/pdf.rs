//! Projection onto dipole fields.

use fimbria_qsm::background::Background;

use crate::options::{Resolved, Values};
use crate::stages::field::FieldParameters;
use crate::stages::field::background::{BackgroundRemoval, Facts};

pub(super) struct Pdf;

pub(super) const FACTS: Facts = Facts {
    name: "pdf",
    sentence: "dipoles outside the mask; keeps all of the mask",
    reference: "Liu T et al. NMR Biomed 24, 1129 (2011)",
};

impl BackgroundRemoval for Pdf {
    fn defaults(&self) -> Values {
        Values::new()
    }

    fn background(&self, _: &Resolved<FieldParameters>) -> Background {
        Background::PDF
    }

    fn words(&self, _: &Resolved<FieldParameters>) -> String {
        "projection onto the fields of dipoles outside (PDF)".to_owned()
    }
}
