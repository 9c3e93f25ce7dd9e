//! What is sampled, and how.

use fimbria_sticks::{Diffusivity, Noise, Offset, Relevance, SticksOptions};
use serde::{Deserialize, Serialize};

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

/// The parameters of a sampling; the defaults are bedpostx's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SticksParameters {
    /// FSL's model number.
    pub model: Named<Diffusivity>,
    /// Fibres per voxel.
    pub fibres: usize,
    /// Which fractions tend to 0.
    pub ard: Named<Relevance>,
    /// How strongly.
    pub fudge: f64,
    /// The noise.
    pub noise: Named<Noise>,
    /// A signal without attenuation.
    pub f0: Named<Offset>,
    /// Mean and standard deviation of the prior of a zeppelin's ratio.
    pub ratio: [f64; 2],
    /// Jumps before the first sample.
    pub burn_in: u32,
    /// Jumps from then on.
    pub jumps: u32,
    /// Every so many are kept.
    pub sample_every: u32,
    /// Jumps between adaptations of the proposals.
    pub adapt_every: u32,
    /// The seed.
    pub rng_seed: u64,
    /// Which voxels are sampled.
    pub within: Named<Within>,
    /// Write the samples in half precision.
    pub half: bool,
}

impl Default for SticksParameters {
    fn default() -> Self {
        let options = SticksOptions::default();
        Self {
            model: Named(options.diffusivity),
            fibres: options.n_fibres,
            ard: Named(options.relevance),
            fudge: options.fudge,
            noise: Named(options.noise),
            f0: Named(options.offset),
            ratio: [options.ratio.0, options.ratio.1],
            burn_in: options.burn_in,
            jumps: options.jumps,
            sample_every: options.sample_every,
            adapt_every: options.adapt_every,
            rng_seed: options.seed,
            within: Named(Within::Mask),
            half: false,
        }
    }
}

impl SticksParameters {
    /// The same as the sampler takes them.
    pub fn options(&self) -> SticksOptions {
        SticksOptions {
            diffusivity: self.model.0,
            n_fibres: self.fibres,
            relevance: self.ard.0,
            fudge: self.fudge,
            noise: self.noise.0,
            offset: self.f0.0,
            ratio: (self.ratio[0], self.ratio[1]),
            burn_in: self.burn_in,
            jumps: self.jumps,
            sample_every: self.sample_every,
            adapt_every: self.adapt_every,
            seed: self.rng_seed,
        }
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
