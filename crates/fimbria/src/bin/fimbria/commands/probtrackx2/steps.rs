//! How streamlines are propagated: FSL's options for it.

use clap::Args;
use fimbria_pipeline::options::{Described as _, above, at_least, within};
use fimbria_tracking::{FirstFibre, Propagation, SampleChoice};

/// How streamlines are propagated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Streamlines")]
pub(super) struct StepArgs {
    /// Samples per seed
    #[arg(short = 'P', long, value_name = "N", default_value_t = 5000)]
    #[arg(number = within(1_u32, 1_000_000_000, ""))]
    nsamples: u32,

    /// Steps per sample, both halves together
    #[arg(short = 'S', long, value_name = "N", default_value_t = 2000)]
    #[arg(number = within(2_u32, 2_000_000, ""))]
    nsteps: u32,

    /// Length of a step
    #[arg(long, value_name = "MM", default_value_t = 0.5)]
    #[arg(number = above(0.0_f32, "mm"))]
    steplength: f32,

    /// Drop halves shorter than this
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    #[arg(number = at_least(0.0_f32, "mm"))]
    distthresh: f32,

    /// Least cosine of the angle between steps
    #[arg(short, long, value_name = "COS", default_value_t = 0.2)]
    #[arg(number = within(-1.0_f32, 1.0, ""))]
    cthr: f32,

    /// Least fraction of fibres to consider
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    #[arg(number = within(0.0_f32, 1.0, ""))]
    fibthresh: f32,

    /// End paths that come back on themselves
    #[arg(short, long)]
    loopcheck: bool,

    /// End paths where fractions are low, with probability 1 - f at each step
    #[arg(short = 'f', long)]
    usef: bool,

    /// Modified Euler steps
    #[arg(long)]
    modeuler: bool,

    /// Start anywhere in a sphere of this radius
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    #[arg(number = at_least(0.0_f32, "mm"))]
    sampvox: f32,

    /// First fibre: 0 the first, 1 any above --fibthresh, 2 the same by fraction, 3 any
    #[arg(long, value_name = "RULE", default_value_t = 0)]
    #[arg(number = within(0_u8, 3, ""))]
    randfib: u8,

    /// Always start with this fibre, whatever --randfib says
    #[arg(long, value_name = "NUMBER")]
    #[arg(number = at_least(1_u8, ""))]
    fibst: Option<u8>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 12345)]
    #[arg(number = at_least(0_u64, ""))]
    rseed: u64,
}

/// How many samples are made, where they start, which are kept.
pub(super) struct Sampling {
    pub(super) n_samples: u32,
    pub(super) sampvox_mm: f32,
    pub(super) least_length_mm: f32,
    pub(super) rng_seed: u64,
}

impl StepArgs {
    /// What concerns each streamline, and how many there are.
    pub(super) fn split(self) -> (Propagation, Sampling) {
        let Self {
            nsamples,
            nsteps,
            steplength,
            distthresh,
            cthr,
            fibthresh,
            loopcheck,
            usef,
            modeuler,
            sampvox,
            randfib,
            fibst,
            rseed,
        } = self;
        let sampling = Sampling {
            n_samples: nsamples,
            sampvox_mm: sampvox,
            least_length_mm: distthresh,
            rng_seed: rseed,
        };
        let propagation = Propagation {
            step_mm: steplength,
            max_points: nsteps,
            min_cos: cthr,
            fibre_threshold: fibthresh,
            use_fraction: usef,
            modified_euler: modeuler,
            loop_check: loopcheck,
            first_fibre: match (fibst, randfib) {
                (Some(number), _) => FirstFibre::Number(usize::from(number) - 1),
                (None, 1) => FirstFibre::Uniform,
                (None, 2) => FirstFibre::Proportional,
                (None, 3) => FirstFibre::Any,
                (None, _) => FirstFibre::Number(0),
            },
            sample_choice: SampleChoice::HalfWeightEnds,
            ends_inside: false,
        };
        (propagation, sampling)
    }
}
