//! How streamlines are made: the options of `track`, and of the table [track] of a run.

use clap::Args;
use fimbria_streamlines::Format;
use fimbria_tracking::{FirstFibre, Propagation};
use serde::Serialize;

use crate::options::{Described as _, OptionError, above, at_least, choice, within};
use crate::{Choice, Named};

/// Those that `track` offers; `probtrackx2` has others by number.
impl Choice for FirstFibre {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Number(0), "largest", "the first of every sample, which has the largest fraction"),
        (Self::Uniform, "uniform", "any above the threshold"),
        (Self::Proportional, "proportional", "any above the threshold, by fraction"),
    ];
}

/// The format of the streamlines; `None` where none are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracks(pub Option<Format>);

impl Choice for Tracks {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &{
        let mut all = [(Self(None), "none", "maps and matrices only"); Format::OF_FILES.len() + 1];
        let mut i = 0;
        while i < Format::OF_FILES.len() {
            let (format, name, meaning) = Format::OF_FILES[i];
            all[i] = (Self(Some(format)), name, meaning);
            i += 1;
        }
        all
    };
}

/// The options of streamlines.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Streamlines")]
pub struct TrackParameters {
    /// Streamlines from each seed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, in_run = "2")]
    #[arg(number = at_least(1_u32, "").up_to(1_000_000_000))]
    pub samples: u32,

    /// Length of a step
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(usually = "0.5; in a run a quarter of the shortest voxel edge")]
    pub step: Option<f32>,

    /// Longest streamline
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(default_value_t = 1000.0, in_run = "250")]
    pub max_length: f32,

    /// Shortest streamline kept
    #[arg(long, value_name = "MM", number = at_least(0.0_f32, "mm"))]
    #[arg(default_value_t = 0.0, in_run = "20")]
    pub min_length: f32,

    // That of which the cosine is 0.2.
    /// Largest angle between two steps
    #[arg(long, value_name = "DEG", number = within(0.0_f32, 180.0, "degrees"))]
    #[arg(default_value_t = 78.463_04)]
    pub angle: f32,

    // Smaller fractions than 0.05 are those that bedpostX's own maps leave out.
    /// Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed
    #[arg(long, value_name = "F", number = within(0.0_f32, 1.0, ""))]
    #[arg(default_value_t = 0.01, in_run = "0.05")]
    pub fibre_threshold: f32,

    /// End with probability 1 - f at each step
    #[arg(long)]
    pub use_fraction: bool,

    /// Average each direction with that one step ahead
    #[arg(long)]
    pub modified_euler: bool,

    /// End streamlines that come back on themselves
    #[arg(long)]
    pub loop_check: bool,

    /// The fibre to start with
    #[arg(long, value_name = "RULE", value_parser = choice::<FirstFibre>())]
    #[arg(default_value = "largest", in_run = "proportional")]
    pub first_fibre: Named<FirstFibre>,

    /// Start anywhere in a sphere of this radius
    #[arg(long, value_name = "MM", number = at_least(0.0_f32, "mm"))]
    #[arg(usually = "0; in a run half of the longest voxel edge")]
    pub jitter: Option<f32>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rng_seed: u64,

    /// Format of the streamlines; none writes only maps and matrices
    #[arg(long, value_name = "FORMAT", value_parser = choice::<Tracks>(), help_heading = "Output")]
    #[arg(default_value = Format::DEFAULT.extension())]
    pub tracks: Named<Tracks>,
}

impl TrackParameters {
    /// Whether a run can be done with them: its page and `life` take the streamlines.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check_in_run(&self) -> Result<(), OptionError> {
        match self.tracks.0.0 {
            Some(_) => Ok(()),
            None => Err(OptionError::Unusable(
                "`tracks` cannot be none in a run, whose page shows them".to_owned(),
            )),
        }
    }

    /// How streamlines are propagated in steps of this length.
    pub(super) fn propagation(&self, step_mm: f32) -> Propagation {
        Propagation {
            step_mm,
            max_points: Propagation::points_within(self.max_length, step_mm),
            min_cos: self.angle.to_radians().cos(),
            fibre_threshold: self.fibre_threshold,
            use_fraction: self.use_fraction,
            modified_euler: self.modified_euler,
            loop_check: self.loop_check,
            first_fibre: self.first_fibre.0,
            ..Propagation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::usual;

    #[test]
    fn the_usual_steps_are_those_of_the_tracking() {
        let default = Propagation::default();
        let usual: TrackParameters = usual();
        let propagation = usual.propagation(default.step_mm);
        // 1000 mm, and the seed in each half, where probtrackx2 counts 2000 steps.
        assert_eq!(propagation, Propagation { max_points: 2002, ..default });
    }
}
