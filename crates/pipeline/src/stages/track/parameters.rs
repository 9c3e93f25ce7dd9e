//! How streamlines are made: the options of `track`, and of the table [track] of a run.

use clap::Args;
use fimbria_streamlines::Format;
use fimbria_streamlines::edit::Reshape;
use fimbria_tracking::FirstFibre;
use serde::Serialize;

use super::resolved::{
    ANGLE, ANGLE_OF_TRANSPORT, ANGLE_THROUGH_SAMPLES, CUTOFF, CUTOFF_OF_DRAWN, FIBRE_THRESHOLD,
    LONGEST, LONGEST_THROUGH_SAMPLES, POWER, SAMPLES, SELECT, SHORTEST, SHORTEST_THROUGH_SAMPLES,
    STARTS_OF_ONE,
};
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

/// How streamlines follow densities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Along curves that bend no more than they may.
    #[default]
    Transport,
    /// Along random arcs.
    Probabilistic,
    /// Along maxima.
    Deterministic,
}

impl Choice for Algorithm {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Transport,
            "transport",
            "along curves whose curvature is drawn by the densities ahead (parallel transport)",
        ),
        (Self::Probabilistic, "probabilistic", "along arcs drawn by the densities along them"),
        (Self::Deterministic, "deterministic", "along the nearest maximum of the density"),
    ];
}

/// The refusal of an option that this algorithm has no use for.
pub(super) fn unused_by(algorithm: Algorithm, option: &str) -> OptionError {
    let algorithm = algorithm.name();
    OptionError::Unusable(format!(
        "`{option}` has no use with the algorithm {algorithm}: leave it out"
    ))
}

/// With which chances seeds are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeedsBy {
    /// Each with the same.
    #[default]
    Equal,
    /// Each with that of its density.
    Density,
    /// By what streamlines so far lack of the density.
    Dynamic,
}

impl Choice for SeedsBy {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Equal, "equal", "each with the same chance"),
        (Self::Density, "density", "in proportion to the integral of the density of its voxel"),
        (
            Self::Dynamic,
            "dynamic",
            "where streamlines so far are fewer than the density asks for, by the model of sift2",
        ),
    ];
}

/// What streamlines run through, of which what is usual depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// Samples of directions, or peaks.
    Samples,
    /// Functions on the sphere.
    Densities,
}

impl Through {
    /// What records call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Densities => "densities",
        }
    }
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

/// The options of streamlines. What is usual depends on what they run through: docs/tracking.md.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Streamlines")]
pub struct TrackParameters {
    /// Streamlines from each seed
    #[arg(short = 'n', long, value_name = "N", number = at_least(1_u32, "").up_to(1_000_000_000))]
    #[arg(
        usually = format!(
            "{}; in a run {}; through densities --select, in a run with life 2", SAMPLES[0], SAMPLES[1]
        ),
        conflicts_with = "select"
    )]
    pub samples: Option<u32>,

    /// Through densities: start at seeds drawn at random until so many streamlines are kept, or
    /// --most-starts were started
    #[arg(long, value_name = "N", number = at_least(1_u32, "").up_to(100_000_000))]
    #[arg(usually = format!("{SELECT} through densities"))]
    pub select: Option<u32>,

    /// Through densities: start so many streamlines at most, however few of them are kept
    #[arg(long, value_name = "N", number = at_least(1_u64, ""), conflicts_with = "samples")]
    #[arg(usually = format!("{STARTS_OF_ONE} times --select"))]
    pub most_starts: Option<u64>,

    /// Through densities: how the seeds to start at are drawn
    #[arg(long, value_name = "RULE", value_parser = choice::<SeedsBy>(), conflicts_with = "samples")]
    #[arg(usually = "equal")]
    pub seeds_by: Option<Named<SeedsBy>>,

    /// Through densities: go one way only, so that streamlines begin at their seeds
    #[arg(long)]
    pub one_direction: bool,

    /// Through densities: which way to go on
    #[arg(long, value_name = "ALGORITHM", value_parser = choice::<Algorithm>())]
    #[arg(usually = "transport")]
    pub algorithm: Option<Named<Algorithm>>,

    /// Length of a step
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(
        usually = "0.5, in a run a quarter of the shortest voxel edge; through densities a tenth of \
                     it, deterministic a fifth, probabilistic half"
    )]
    pub step: Option<f32>,

    /// Longest streamline
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(usually = format!("{}; through densities and in a run {LONGEST}", LONGEST_THROUGH_SAMPLES[0]))]
    pub max_length: Option<f32>,

    /// Shortest streamline kept
    #[arg(long, value_name = "MM", number = at_least(0.0_f32, "mm"))]
    #[arg(usually = {
        let [command, run] = SHORTEST_THROUGH_SAMPLES;
        format!("{command}, in a run {run}; through densities {SHORTEST}")
    })]
    pub min_length: Option<f32>,

    /// Largest angle between two steps
    #[arg(long, value_name = "DEG", number = within(0.0_f32, 180.0, "degrees"))]
    #[arg(usually = format!(
        "{ANGLE_THROUGH_SAMPLES}; through densities {ANGLE_OF_TRANSPORT}, deterministic or probabilistic {ANGLE}"
    ))]
    pub angle: Option<f32>,

    /// Through densities: end where the density is below this; of orders above 8 in proportion to their
    /// coefficients, as fibres are higher
    #[arg(long, value_name = "DENSITY", number = above(0.0_f32, ""))]
    #[arg(usually = format!("{CUTOFF_OF_DRAWN}; deterministic or with --act {CUTOFF}"))]
    pub cutoff: Option<f32>,

    /// Through densities: the power to which the mean of the densities along an arc or a probe is raised
    #[arg(long, value_name = "POWER", number = above(0.0_f32, ""))]
    #[arg(usually = POWER.to_string())]
    pub power: Option<f32>,

    /// Transport: how far densities are looked at ahead
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(usually = "half the shortest voxel edge")]
    pub probe: Option<f32>,

    /// Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed
    #[arg(long, value_name = "F", number = within(0.0_f32, 1.0, ""))]
    #[arg(usually = format!("{}; in a run {}", FIBRE_THRESHOLD[0], FIBRE_THRESHOLD[1]))]
    pub fibre_threshold: Option<f32>,

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
    #[arg(usually = "largest; in a run proportional")]
    pub first_fibre: Option<Named<FirstFibre>>,

    /// Start anywhere in a sphere of this radius
    #[arg(long, value_name = "MM", number = at_least(0.0_f32, "mm"))]
    #[arg(usually = "0, in a run half the longest voxel edge; through densities anywhere in the \
                     voxel")]
    pub jitter: Option<f32>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,

    /// Leave out points of streamlines as long as none is farther than this from what is left (pieces of 10 mm at most)
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), help_heading = "Output")]
    pub compress: Option<f64>,

    /// Leave out points of streamlines but each Nth and the last
    #[arg(long, value_name = "N", number = at_least(2_u32, ""), conflicts_with = "compress")]
    #[arg(help_heading = "Output")]
    pub downsample: Option<u32>,

    /// Format of the streamlines; none writes only maps and matrices
    #[arg(long, value_name = "FORMAT", value_parser = choice::<Tracks>(), help_heading = "Output")]
    #[arg(default_value = Format::DEFAULT.extension())]
    pub tracks: Named<Tracks>,
}

impl TrackParameters {
    /// Whether all that is given has a use.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, through: Through) -> Result<(), OptionError> {
        if let Some(option) = self.unused(through) {
            let (option, through) = (option.replace('-', "_"), through.name());
            let why = format!("`{option}` has no use through {through}: leave it out");
            return Err(OptionError::Unusable(why));
        }
        let algorithm = self.algorithm.unwrap_or_default().0;
        let (power, probe) = (self.power.is_some(), self.probe.is_some());
        match algorithm {
            Algorithm::Deterministic if power => Err(unused_by(algorithm, "power")),
            Algorithm::Deterministic | Algorithm::Probabilistic if probe => {
                Err(unused_by(algorithm, "probe"))
            }
            _ => Ok(()),
        }
    }

    /// Which points of streamlines are handed on; `None` for all.
    pub(super) fn reshape(&self) -> Option<Reshape> {
        let each_nth = self.downsample.map(|n| Reshape::Every(n as usize));
        each_nth.or(self.compress.map(Reshape::ToleranceMm))
    }

    /// An option that is given and has no use through these directions.
    pub fn unused(&self, through: Through) -> Option<&'static str> {
        let named: &[(&str, bool)] = match through {
            Through::Densities => &[
                ("fibre-threshold", self.fibre_threshold.is_some()),
                ("use-fraction", self.use_fraction),
                ("modified-euler", self.modified_euler),
                ("loop-check", self.loop_check),
                ("first-fibre", self.first_fibre.is_some()),
            ],
            Through::Samples => &[
                ("select", self.select.is_some()),
                ("most-starts", self.most_starts.is_some()),
                ("seeds-by", self.seeds_by.is_some()),
                ("one-direction", self.one_direction),
                ("algorithm", self.algorithm.is_some()),
                ("cutoff", self.cutoff.is_some()),
                ("power", self.power.is_some()),
                ("probe", self.probe.is_some()),
            ],
        };
        named.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }
}
