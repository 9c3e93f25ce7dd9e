//! How streamlines are made: the options of `track`, and of the table [track] of a run.

use clap::Args;
use fimbria_image::Grid;
use fimbria_streamlines::Format;
use fimbria_tracking::{Attempts, DensityPropagation, DensityRule, FirstFibre, Propagation};
use serde::Serialize;

use super::edges::Edges;
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
    /// Along random arcs.
    #[default]
    Probabilistic,
    /// Along curves that bend no more than they may.
    Transport,
    /// Along maxima.
    Deterministic,
}

impl Choice for Algorithm {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Probabilistic, "probabilistic", "along arcs drawn by the densities along them"),
        (
            Self::Transport,
            "transport",
            "along curves whose curvature is drawn by the densities ahead (parallel transport)",
        ),
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
}

impl Choice for SeedsBy {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Equal, "equal", "each with the same chance"),
        (Self::Density, "density", "in proportion to the integral of the density of its voxel"),
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

/// From where, of which what is usual depends too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeedsFrom {
    /// From regions, by `fimbria track`.
    Regions,
    /// From every voxel, in a run.
    WholeBrain,
}

/// By what streamlines end, of which what is usual depends as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedBy {
    /// Where nothing is left to follow.
    Densities,
    /// In the tissues that fibres end in.
    Tissues,
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
        usually = "50; in a run 2; through densities --select, in a run with life 2",
        conflicts_with = "select"
    )]
    pub samples: Option<u32>,

    /// Through densities: start at seeds drawn at random until so many streamlines are kept, or a
    /// thousand times as many were started
    #[arg(long, value_name = "N", number = at_least(1_u32, "").up_to(100_000_000))]
    #[arg(usually = "10000 through densities")]
    pub select: Option<u32>,

    /// Through densities: how the seeds to start at are drawn
    #[arg(long, value_name = "RULE", value_parser = choice::<SeedsBy>(), conflicts_with = "samples")]
    #[arg(usually = "equal")]
    pub seeds_by: Option<Named<SeedsBy>>,

    /// Through densities: which way to go on
    #[arg(long, value_name = "ALGORITHM", value_parser = choice::<Algorithm>())]
    #[arg(usually = "probabilistic")]
    pub algorithm: Option<Named<Algorithm>>,

    /// Length of a step
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(
        usually = "0.5, in a run a quarter of the shortest voxel edge; through densities half of \
                     it, deterministic a fifth, transport a tenth"
    )]
    pub step: Option<f32>,

    /// Longest streamline
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(usually = "1000; through densities and in a run 250")]
    pub max_length: Option<f32>,

    /// Shortest streamline kept
    #[arg(long, value_name = "MM", number = at_least(0.0_f32, "mm"))]
    #[arg(usually = "0, in a run 20; through densities 10")]
    pub min_length: Option<f32>,

    // That of which the cosine is 0.2.
    /// Largest angle between two steps
    #[arg(long, value_name = "DEG", number = within(0.0_f32, 180.0, "degrees"))]
    #[arg(usually = "78.46304; through densities 45, transport 6")]
    pub angle: Option<f32>,

    /// Through densities: end where the density is below this, in its units
    #[arg(long, value_name = "DENSITY", number = above(0.0_f32, ""))]
    #[arg(usually = "0.15; deterministic or with --act 0.1")]
    pub cutoff: Option<f32>,

    /// Through densities: the power to which the mean of the densities along an arc or a probe is raised
    #[arg(long, value_name = "POWER", number = above(0.0_f32, ""), usually = "1")]
    pub power: Option<f32>,

    /// Transport: how far densities are looked at ahead
    #[arg(long, value_name = "MM", number = above(0.0_f32, "mm"))]
    #[arg(usually = "half the shortest voxel edge")]
    pub probe: Option<f32>,

    // Smaller fractions than 0.05 are those that bedpostX's own maps leave out.
    /// Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed
    #[arg(long, value_name = "F", number = within(0.0_f32, 1.0, ""))]
    #[arg(usually = "0.01; in a run 0.05")]
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

    /// The options with what is usual of what they run through; the length of a step and where
    /// streamlines start in a voxel, which depend on the voxels, are left as they are.
    pub(super) fn in_effect(&self, through: Through, place: SeedsFrom, ended_by: EndedBy) -> Self {
        let all = self.clone();
        let (is_run, given) = (place == SeedsFrom::WholeBrain, &self);
        let of_place = |regions: f32, run: f32| Some(if is_run { run } else { regions });
        if through == Through::Densities {
            let select = given.select.or(given.samples.is_none().then_some(10_000));
            let algorithm = given.algorithm.unwrap_or(Named(Algorithm::Probabilistic));
            let is_random = algorithm.0 != Algorithm::Deterministic;
            let is_bent = algorithm.0 == Algorithm::Transport;
            // Of many ways drawn some go along noise, until tissues end them.
            let may_stray = is_random && ended_by == EndedBy::Densities;
            let seeds_by = select.map(|_| given.seeds_by.unwrap_or(Named(SeedsBy::Equal)));
            return Self {
                select,
                seeds_by,
                algorithm: Some(algorithm),
                max_length: given.max_length.or(Some(250.0)),
                min_length: given.min_length.or(Some(10.0)),
                angle: given.angle.or(Some(if is_bent { 6.0 } else { 45.0 })),
                cutoff: given.cutoff.or(Some(if may_stray { 0.15 } else { 0.1 })),
                power: given.power.or(is_random.then_some(1.0)),
                ..all
            };
        }
        let first = if is_run { FirstFibre::Proportional } else { FirstFibre::Number(0) };
        Self {
            samples: given.samples.or(Some(if is_run { 2 } else { 50 })),
            step: given.step.or((!is_run).then_some(Propagation::default().step_mm)),
            max_length: given.max_length.or(of_place(1000.0, 250.0)),
            min_length: given.min_length.or(of_place(0.0, 20.0)),
            angle: given.angle.or(Some(78.463_04)),
            fibre_threshold: given.fibre_threshold.or(of_place(0.01, 0.05)),
            first_fibre: given.first_fibre.or(Some(Named(first))),
            jitter: given.jitter.or((!is_run).then_some(0.0)),
            ..all
        }
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
                ("seeds-by", self.seeds_by.is_some()),
                ("algorithm", self.algorithm.is_some()),
                ("cutoff", self.cutoff.is_some()),
                ("power", self.power.is_some()),
                ("probe", self.probe.is_some()),
            ],
        };
        named.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }

    /// How streamlines are propagated through samples in steps of this length; of options in effect.
    pub(super) fn propagation(&self, step_mm: f32) -> Propagation {
        let usual = Propagation::default();
        Propagation {
            step_mm,
            max_points: self
                .max_length
                .map_or(usual.max_points, |mm| Propagation::points_within(mm, step_mm)),
            min_cos: self.angle.map_or(usual.min_cos, |angle| angle.to_radians().cos()),
            fibre_threshold: self.fibre_threshold.unwrap_or(usual.fibre_threshold),
            use_fraction: self.use_fraction,
            modified_euler: self.modified_euler,
            loop_check: self.loop_check,
            first_fibre: self.first_fibre.map_or(usual.first_fibre, |first| first.0),
            ..usual
        }
    }

    /// How they follow densities on voxels of which this is the shortest edge; of options in effect.
    pub(super) fn density_propagation(&self, shortest_edge_mm: f32) -> DensityPropagation {
        let power = self.power.unwrap_or(1.0);
        let probe_mm = self.probe.unwrap_or(0.5 * shortest_edge_mm);
        let (rule, edges) = match self.algorithm.map_or(Algorithm::Probabilistic, |named| named.0) {
            Algorithm::Probabilistic => (DensityRule::Arcs { power, places: 3 }, 0.5),
            Algorithm::Transport => (DensityRule::Transport { power, places: 3, probe_mm }, 0.1),
            Algorithm::Deterministic => (DensityRule::Maximum, 0.2),
        };
        DensityPropagation {
            rule,
            step_mm: self.step.unwrap_or(edges * shortest_edge_mm),
            max_angle: self.angle.unwrap_or(45.0).to_radians(),
            cutoff: self.cutoff.unwrap_or(0.1),
            max_length_mm: self.max_length.unwrap_or(250.0),
        }
    }

    /// How many streamlines there are at most through densities of so many voxels.
    pub(crate) fn most_streamlines(&self, voxels: u64) -> u64 {
        let Self { samples, select, .. } =
            self.in_effect(Through::Densities, SeedsFrom::WholeBrain, EndedBy::Densities);
        let from_each = samples.map(|samples| u64::from(samples) * voxels);
        select.map(u64::from).or(from_each).unwrap_or(0)
    }

    /// The length of a step through densities on this grid, mm.
    pub(crate) fn step_through_densities(&self, grid: &Grid) -> f32 {
        self.density_propagation(Edges::from_grid(grid).shortest).step_mm
    }

    /// True where seeds are drawn by their densities.
    pub(super) fn draws_by_density(&self) -> bool {
        self.seeds_by == Some(Named(SeedsBy::Density))
    }

    /// How many streamlines start through densities; of options in effect.
    pub(super) fn attempts(&self) -> Attempts {
        match (self.select, self.samples) {
            (Some(select), _) => {
                let select = u64::from(select);
                Attempts::UntilKept { select, at_most: ATTEMPTS * select }
            }
            (None, samples) => Attempts::PerSeed(samples.unwrap_or(2)),
        }
    }
}

/// Streamlines started at most for one that is to be kept.
const ATTEMPTS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::usual;

    #[test]
    fn the_usual_steps_through_samples_are_those_of_the_tracking() {
        let default = Propagation::default();
        let usual: TrackParameters = usual();
        let usual = usual.in_effect(Through::Samples, SeedsFrom::Regions, EndedBy::Densities);
        let propagation = usual.propagation(default.step_mm);
        // 1000 mm, and the seed in each half, where probtrackx2 counts 2000 steps.
        assert_eq!(propagation, Propagation { max_points: 2002, ..default });
        assert_eq!((usual.samples, usual.step, usual.jitter), (Some(50), Some(0.5), Some(0.0)));
    }

    #[test]
    fn tracks_of_a_run_through_samples_are_fewer_and_of_fibres_only() {
        let usual: TrackParameters = usual();
        let usual = usual.in_effect(Through::Samples, SeedsFrom::WholeBrain, EndedBy::Densities);
        assert_eq!((usual.samples, usual.step, usual.jitter), (Some(2), None, None));
        assert_eq!((usual.min_length, usual.max_length), (Some(20.0), Some(250.0)));
        assert_eq!(usual.fibre_threshold, Some(0.05));
    }

    #[test]
    fn densities_are_followed_alike_from_regions_and_in_a_run() {
        let usual: TrackParameters = usual();
        let of = |place| usual.in_effect(Through::Densities, place, EndedBy::Densities);
        assert_eq!(of(SeedsFrom::Regions), of(SeedsFrom::WholeBrain));
        assert_eq!(
            (of(SeedsFrom::Regions).samples, of(SeedsFrom::Regions).select),
            (None, Some(10_000))
        );
    }

    #[test]
    fn ways_that_are_drawn_end_at_a_higher_density_where_no_tissues_end_them() {
        let usual: TrackParameters = usual();
        let cutoff = |algorithm, ended_by| {
            let options = TrackParameters { algorithm: Some(Named(algorithm)), ..usual.clone() };
            options.in_effect(Through::Densities, SeedsFrom::Regions, ended_by).cutoff
        };
        for algorithm in [Algorithm::Probabilistic, Algorithm::Transport] {
            assert_eq!(cutoff(algorithm, EndedBy::Densities), Some(0.15));
            assert_eq!(cutoff(algorithm, EndedBy::Tissues), Some(0.1));
        }
        assert_eq!(cutoff(Algorithm::Deterministic, EndedBy::Densities), Some(0.1));
    }
}
