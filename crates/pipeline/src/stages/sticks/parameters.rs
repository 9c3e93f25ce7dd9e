//! What is sampled, and how.

use std::fmt::Display;

use clap::Args;
use fimbria_sticks::{Diffusivity, Noise, Offset, Relevance, SticksOptions};
use serde::Serialize;

use crate::options::{Described as _, OptionError, above, at_least, choice, within};
use crate::{Choice, Named};

impl Choice for Diffusivity {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Single, "1", "one diffusivity, for one shell"),
        (Self::Gamma, "2", "Gamma-distributed diffusivities, for any shells"),
        (Self::Zeppelin, "3", "zeppelins of one width in a Gamma-distributed ball"),
    ];
}

impl Choice for Relevance {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Further, "further", "fractions of all fibres but the first tend to 0"),
        (Self::All, "all", "fractions of all fibres tend to 0"),
        (Self::Off, "off", "all fractions are equally likely"),
    ];
}

impl Choice for Noise {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Gaussian, "gaussian", "normal noise, its level integrated out"),
        (Self::Rician, "rician", "noise of a magnitude, its level sampled"),
    ];
}

impl Choice for Offset {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::None, "none", "all signal is attenuated"),
        (Self::Flat, "flat", "a part f0 is not, all values equally likely"),
        (Self::Relevance, "ard", "a part f0 is not, and tends to 0"),
    ];
}

/// Which voxels of the subject are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Within {
    /// All of the mask.
    #[default]
    Mask,
    /// Those that have a fibre direction, or where there is no search for these, anisotropy.
    Fibres,
}

impl Choice for Within {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mask, "mask", "every voxel of the mask"),
        (
            Self::Fibres,
            "fibres",
            "voxels with a peak above 0.15, or without peaks an FA of 0.15 or more",
        ),
    ];
}

/// The options of a sampling; models and priors are by default bedpostx's.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct SticksParameters {
    /// The model of diffusivity, by FSL's number
    #[arg(long, value_name = "MODEL", default_value = "2", value_parser = choice::<Diffusivity>())]
    pub model: Named<Diffusivity>,

    /// Fibres per voxel
    #[arg(long, visible_alias = "nf", value_name = "N", number = within(1_usize, 4, ""))]
    #[arg(default_value_t = 3)]
    pub fibres: usize,

    /// Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance
    /// determination)
    #[arg(long, value_name = "WHICH", default_value = "further")]
    #[arg(value_parser = choice::<Relevance>())]
    pub ard: Named<Relevance>,

    /// How strongly: the prior is f^-FUDGE
    #[arg(long, value_name = "FUDGE", default_value_t = 1.0)]
    #[arg(number = at_least(0.0, ""))]
    pub fudge: f64,

    /// How noise enters
    #[arg(long, value_name = "NOISE", default_value = "gaussian", value_parser = choice::<Noise>())]
    pub noise: Named<Noise>,

    /// A part of the signal that no weighting attenuates
    #[arg(long, value_name = "PRIOR", default_value = "none", value_parser = choice::<Offset>())]
    pub f0: Named<Offset>,

    /// Mean and standard deviation of the prior of the zeppelins' ratio (model 3)
    #[arg(long, value_name = "MEAN,STD", value_delimiter = ',', default_value = "0.13,0.03")]
    #[arg(number = above(0.0, ""))]
    pub ratio: Vec<f64>,

    /// Jumps before the first sample
    #[arg(long, visible_alias = "bi", value_name = "N", default_value_t = SticksOptions::default().burn_in)]
    #[arg(number = at_least(0_u32, ""))]
    pub burn_in: u32,

    /// Jumps from then on
    #[arg(long, visible_alias = "nj", value_name = "N", default_value_t = SticksOptions::default().jumps)]
    #[arg(number = at_least(1_u32, ""))]
    pub jumps: u32,

    /// Keep every Nth of them as a sample
    #[arg(long, visible_alias = "se", value_name = "N", default_value_t = SticksOptions::default().sample_every)]
    #[arg(number = at_least(1_u32, ""))]
    pub sample_every: u32,

    /// Adapt the proposals every N jumps
    #[arg(long, value_name = "N", default_value_t = SticksOptions::default().adapt_every)]
    #[arg(number = at_least(1_u32, ""))]
    pub adapt_every: u32,

    /// Seed of the random numbers; the same seed gives the same samples
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,

    /// Write the samples in half precision, in one file that only fimbria reads, in place of the
    /// merged images
    #[arg(long, help_heading = "Output")]
    pub half: bool,
}

/// The same in a run, which knows more of the voxels.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct SticksInRun {
    /// How voxels are sampled.
    #[command(flatten)]
    #[serde(flatten)]
    pub sampling: SticksParameters,

    /// Which voxels are sampled
    #[arg(long, value_name = "WHICH", default_value = "fibres", value_parser = choice::<Within>())]
    pub within: Named<Within>,
}

impl SticksParameters {
    /// The same as the sampler takes them.
    ///
    /// # Errors
    /// Where they are none.
    pub fn options(&self) -> Result<SticksOptions, OptionError> {
        let unusable = |why: &dyn Display| OptionError::Unusable(why.to_string());
        let &[mean, deviation] = &self.ratio[..] else {
            return Err(unusable(&"ratio takes two numbers: 0.13,0.03"));
        };
        let options = SticksOptions {
            diffusivity: self.model.0,
            n_fibres: self.fibres,
            relevance: self.ard.0,
            fudge: self.fudge,
            noise: self.noise.0,
            offset: self.f0.0,
            ratio: (mean, deviation),
            burn_in: self.burn_in,
            jumps: self.jumps,
            sample_every: self.sample_every,
            adapt_every: self.adapt_every,
            seed: self.rng_seed,
        };
        options.check().map_err(|error| unusable(&error))?;
        Ok(options)
    }

    /// Names of the maps beside those of
    /// [`bedpostx_files`](fimbria_image::bedpostx::bedpostx_files).
    pub(super) fn maps(&self) -> Vec<&'static str> {
        let mut names = vec!["mean_dsamples", "std_dsamples", "mean_S0samples"];
        if self.model.0 != Diffusivity::Single {
            names.push("mean_d_stdsamples");
        }
        if self.model.0 == Diffusivity::Zeppelin {
            names.push("mean_Rsamples");
        }
        if self.f0.0 != Offset::None {
            names.push("mean_f0samples");
        }
        if self.noise.0 == Noise::Rician {
            names.push("mean_tausamples");
        }
        names.extend(["acceptance", "effective_samples", "status"]);
        names
    }
}
