//! The table [track] of a run: the options of `fimbria track` but for its input and regions.

use clap::Args;
use serde::Serialize;

use super::{AnatomyOptions, Through, TrackParameters};
use crate::options::OptionError;

/// How a run tracks, and where its streamlines may end.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct TrackInRun {
    /// How streamlines are made.
    #[command(flatten)]
    #[serde(flatten)]
    pub parameters: TrackParameters,

    /// Where they may end.
    #[command(flatten)]
    #[serde(flatten)]
    pub anatomy: AnatomyOptions,
}

/// Streamlines from each voxel through densities where LiFE evaluates them: it looks at all voxels with
/// fibres, so that each has some.
const TO_EVALUATE: u32 = 2;

impl TrackInRun {
    /// Takes as many from each voxel where nothing is said of how many, as LiFE follows.
    pub fn to_be_evaluated(&mut self, through: Through) {
        let parameters = &mut self.parameters;
        if through == Through::Densities && parameters.select.is_none() {
            parameters.samples.get_or_insert(TO_EVALUATE);
        }
    }

    /// Whether a run can be done with them: its page and `life` take the streamlines.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, through: Through) -> Result<(), OptionError> {
        let Self { parameters, anatomy } = self;
        if parameters.tracks.0.0.is_none() {
            let why = "`tracks` cannot be none in a run, whose page shows them".to_owned();
            return Err(OptionError::Unusable(why));
        }
        parameters.check(through)?;
        anatomy.check(through, parameters)
    }
}
