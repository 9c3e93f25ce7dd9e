//! What a run does by one word.

use fimbria_image::GradientTable;

use super::{Asked, ConfigError, RunConfig};
use crate::Choice;
use crate::stages::fits::FITS;
use crate::stages::studies::Study;

/// What is done, by one word: what the gradient table does not support of it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Maps of fits.
    Maps,
    /// Fibre orientation densities and their peaks.
    Fibres,
    /// The same, streamlines through them and, of labels, the connectome.
    Connectome,
    /// All that a run does where nothing is said.
    Everything,
    /// Susceptibility, guided by the tensor.
    Susceptibility,
    /// The fits of a study.
    Study(Study),
}

impl Choice for Preset {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Maps, "maps", "tensor, kurtosis and mean-signal kurtosis"),
        (
            Self::Fibres,
            "fibres",
            "tensor, fibre orientation densities, normalised, and their peaks",
        ),
        (
            Self::Connectome,
            "connectome",
            "maps and fibres, a million streamlines through the densities with SIFT2's weights, the matrix \
             of labels by these",
        ),
        (
            Self::Everything,
            "everything",
            "all that the gradient table supports, samples of ball and sticks and both weights of the \
             streamlines included",
        ),
        (Self::Susceptibility, "susceptibility", "tensor, and the gradient-echo scan it guides"),
        Self::study_choice(0),
        Self::study_choice(1),
    ];
}

/// Streamlines of a connectome where no number is said.
pub(super) const STREAMLINES: u32 = 1_000_000;

impl Preset {
    /// The preset of a study, by its place in their list.
    const fn study_choice(index: usize) -> (Self, &'static str, &'static str) {
        let (study, name, words) = Study::CHOICES[index];
        (Self::Study(study), name, words)
    }

    /// Whether susceptibility is asked for.
    pub fn maps_susceptibility(self) -> bool {
        matches!(self, Self::Everything | Self::Susceptibility)
    }

    /// Whether streamlines are made, of which labels make a connectome.
    pub fn tracks(self) -> bool {
        matches!(self, Self::Connectome | Self::Everything)
    }

    /// Whether streamlines follow densities: no sticks are sampled.
    pub(super) fn follows_densities(self) -> bool {
        self == Self::Connectome
    }

    /// What is done with a series of these gradients.
    pub(super) fn asked(
        self,
        config: &RunConfig,
        gradients: &GradientTable,
    ) -> Result<Asked, ConfigError> {
        let mut asked = match self {
            Self::Everything => config.usual(gradients)?,
            _ => Asked::default(),
        };
        asked.methods.extend_from_slice(match self {
            Self::Maps | Self::Susceptibility | Self::Study(_) => &[],
            Self::Fibres => &["normalise", "peaks"],
            Self::Connectome => &["normalise", "peaks", "track", "sift2"],
            // Beside those that are usual.
            Self::Everything => &["sift2"],
        });
        if self == Self::Susceptibility && !config.tables.contains_key("gre") {
            return Err(ConfigError::NoScan);
        }
        if let Self::Study(study) = self {
            for member in study.members() {
                asked.add_member(member, config, gradients)?;
            }
        }
        if matches!(self, Self::Maps | Self::Connectome | Self::Everything) {
            for &fit in FITS.iter().filter(|fit| fit.in_presets()) {
                if !asked.has_met(fit) {
                    asked.add_fit(fit, config, gradients)?;
                }
            }
        }
        for fit in config.by_table() {
            if !asked.has_met(fit) {
                asked.fits.push(fit);
            }
        }
        Ok(asked)
    }
}
