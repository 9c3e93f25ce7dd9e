//! The options of a field.

use clap::Args;
use fimbria_qsm::phase::MASK_QUALITY;
use serde::{Deserialize, Serialize};

use super::background::BackgroundMethod;
use super::ways::DEFAULT;
use crate::options::{
    Described as _, OptionError, Place, Resolve, Ways, above, choice, refuse_unused,
    with_defaults_of, within,
};
use crate::{Choice, Named};

/// How wraps are undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwrapping {
    /// Along the most reliable paths.
    #[default]
    Region,
    /// By the Laplacian.
    Laplacian,
}

impl Choice for Unwrapping {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Region, "region", "along the most reliable paths first, as ROMEO; exact"),
        (Self::Laplacian, "laplacian", "by the Laplacian: smooth, adds a harmonic background"),
    ];
}

/// What is done about the phase at echo time 0, which is none of the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartPhase {
    /// A smooth one is taken off.
    #[default]
    Smooth,
    /// One is fitted in each voxel.
    Fitted,
    /// It is taken as 0.
    Zero,
}

impl Choice for StartPhase {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Smooth,
            "smooth",
            "take off a smooth one that the first two echoes tell (MCPC-3D-S)",
        ),
        (Self::Fitted, "true", "fit one in each voxel: noisier"),
        (Self::Zero, "false", "take it as 0"),
    ];
}

const BACKGROUND: Ways<BackgroundMethod> = Ways::NEW;

/// The options of a field as given; [`Resolve`] fills in the defaults of how the background is removed.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
pub struct FieldParameters {
    /// How wraps are undone
    #[arg(long, value_name = "METHOD", default_value = "region")]
    #[arg(value_parser = choice::<Unwrapping>())]
    pub unwrap: Named<Unwrapping>,

    /// The phase at echo time 0
    #[arg(long, value_name = "WHAT", value_parser = choice::<StartPhase>())]
    #[arg(usually = format!("{} from two echoes on", StartPhase::default().name()))]
    pub offset: Option<Named<StartPhase>>,

    /// Leave voxels whose phase is less reliable out of the mask, see the map quality, and what is not
    /// joined to the rest; fill its holes. 0 takes the mask as it is
    #[arg(long, value_name = "QUALITY", number = within(0.0, 1.0, ""))]
    #[arg(usually = MASK_QUALITY.to_string())]
    pub mask_quality: Option<f64>,

    /// How the background is removed
    #[arg(long, value_name = "METHOD", default_value = DEFAULT.1)]
    #[arg(value_parser = choice::<BackgroundMethod>())]
    pub background: Named<BackgroundMethod>,

    /// Radius of the spherical means, of several the largest
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), by = BACKGROUND)]
    pub radius: Option<f64>,

    /// Weight λ that keeps the local field small, where the background is told from it by least squares
    #[arg(long, value_name = "VALUE", number = above(0.0, ""), by = BACKGROUND)]
    pub strength: Option<f64>,
}

impl Resolve for FieldParameters {
    type Setting = Place;

    fn with_defaults(&self, place: &Place) -> Self {
        let given = with_defaults_of(self.background.0, self, *place);
        Self { mask_quality: given.mask_quality.or(Some(MASK_QUALITY)), ..given }
    }
}

impl FieldParameters {
    /// Whether every option that is given is used.
    ///
    /// # Errors
    /// [`OptionError::Unused`].
    pub fn check(&self) -> Result<(), OptionError> {
        refuse_unused(self, "background", self.background.0.name())
    }
}
