//! What a method says of itself on the page: which of its maps are shown, and what was done.

use fimbria_image::Mask;
use fimbria_models::{Fitted, FittedMap};
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Section, colour};

/// What a stage did, in words for a paper.
pub struct Methods {
    /// A paragraph.
    pub text: String,
    /// What it cites.
    pub references: Vec<&'static str>,
}

impl Methods {
    /// What several stages of one kind did: a sentence that two of them say stands once.
    pub(super) fn joined(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.reduce(|mut joined, next| {
            if joined.text != next.text {
                joined.text += " ";
                joined.text += &next.text;
            }
            joined.references.extend(next.references);
            joined
        })
    }

    /// A paragraph for each, then all references, each once.
    pub(super) fn section(all: Vec<Self>) -> Section {
        let mut section = Section::new("Methods").fold();
        let mut references: Vec<String> = Vec::new();
        for methods in all {
            section = section.text(methods.text);
            for reference in methods.references {
                if !references.iter().any(|known| known == reference) {
                    references.push(reference.to_owned());
                }
            }
        }
        section.list(references)
    }
}

/// A map on the page.
pub struct ShownMap {
    /// Its name.
    pub name: String,
    /// What stands above its picture.
    pub heading: String,
    /// What stands below.
    pub caption: &'static str,
}

impl ShownMap {
    /// A map with these words.
    pub fn new(name: &str, heading: &str, caption: &'static str) -> Self {
        Self { name: name.to_owned(), heading: heading.to_owned(), caption }
    }
}

/// The maps of a fit on the page.
pub struct ShownMaps {
    /// The heading of the section.
    pub heading: String,
    /// In order; those that were not written are left out.
    pub maps: Vec<ShownMap>,
}

impl ShownMaps {
    /// Maps under a heading.
    pub fn new(heading: &str, maps: impl IntoIterator<Item = ShownMap>) -> Self {
        Self { heading: heading.to_owned(), maps: maps.into_iter().collect() }
    }

    /// The section, in warm colours.
    pub(super) fn section(&self, fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
        let mut section = Section::new(&self.heading);
        for ShownMap { name, heading, caption } in &self.maps {
            let named = |map: &&FittedMap| map.spec.name == *name;
            if let Some(FittedMap { spec, image }) = fit.maps.iter().find(named) {
                let (scale, unit) = (colour::Scale::Ember, unit_in_words(&spec.unit));
                let style = Scalar { scale, window: spec.window, ..Scalar::new(heading, &unit) };
                section = section.figure(mosaic_scalar(image, mask, &style)?, *caption).fold();
            }
        }
        Ok(section)
    }
}

/// A unit of BIDS as people write it.
pub(super) fn unit_in_words(unit: &str) -> String {
    match unit {
        "arbitrary" => "units of the series".to_owned(),
        unit => unit.replace("^2", "²").replace("^-1", "⁻¹"),
    }
}
