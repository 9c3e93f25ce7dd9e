//! What is sampled, and how.

/// How fast water diffuses along a stick and in the ball.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffusivity {
    /// One diffusivity for all: FSL's model 1, for one shell.
    Single,
    /// Diffusivities of a Gamma distribution: FSL's model 2, for any number of shells.
    #[default]
    Gamma,
    /// Sticks with a width, the same ratio of diffusivity across to along for all, and a ball of
    /// Gamma-distributed diffusivities: FSL's model 3.
    Zeppelin,
}

impl Diffusivity {
    /// The number by which FSL knows it.
    pub const fn fsl_number(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::Gamma => 2,
            Self::Zeppelin => 3,
        }
    }
}

/// Which fractions carry the prior 1/f, which draws fibres that the data do not ask for towards
/// zero (automatic relevance determination).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relevance {
    /// None: all fractions are equally likely.
    Off,
    /// All but that of the first fibre.
    #[default]
    Further,
    /// All.
    All,
}

/// How noise enters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Noise {
    /// Normal, its level integrated out.
    #[default]
    Gaussian,
    /// That of a magnitude, its level sampled.
    Rician,
}

/// A signal that no weighting attenuates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offset {
    /// There is none.
    #[default]
    None,
    /// Its fraction f0 is sampled, all values equally likely.
    Flat,
    /// Its fraction is sampled with the prior 1/f0.
    Relevance,
}

/// Options of a sampling; models and priors are by default those of bedpostx.
#[derive(Clone, Debug, PartialEq)]
pub struct SticksOptions {
    /// The model of diffusivity.
    pub diffusivity: Diffusivity,
    /// Fibres, 1 to 4.
    pub n_fibres: usize,
    /// Which fractions are drawn towards zero.
    pub relevance: Relevance,
    /// The exponent of that prior, f^-fudge.
    pub fudge: f64,
    /// The noise.
    pub noise: Noise,
    /// A signal without attenuation.
    pub offset: Offset,
    /// Mean and standard deviation of the prior of a zeppelin's ratio.
    pub ratio: (f64, f64),
    /// Jumps before the first sample.
    pub burn_in: u32,
    /// Jumps from then on.
    pub jumps: u32,
    /// Every so many of them are kept as a sample.
    pub sample_every: u32,
    /// Jumps between two adaptations of the proposals.
    pub adapt_every: u32,
    /// The seed; the same seed gives the same samples.
    pub seed: u64,
}

impl Default for SticksOptions {
    fn default() -> Self {
        Self {
            diffusivity: Diffusivity::Gamma,
            n_fibres: 3,
            relevance: Relevance::Further,
            fudge: 1.0,
            noise: Noise::Gaussian,
            offset: Offset::None,
            ratio: (0.13, 0.03),
            burn_in: 1000,
            jumps: 1000,
            sample_every: 20,
            adapt_every: 40,
            seed: 0,
        }
    }
}

/// Most fibres of a voxel.
pub const MOST_FIBRES: usize = 4;

impl SticksOptions {
    /// Samples of every voxel.
    pub fn n_samples(&self) -> usize {
        (self.jumps / self.sample_every.max(1)) as usize
    }

    /// # Errors
    /// [`BadOption`] names the first option that makes no sense.
    pub fn check(&self) -> Result<(), BadOption> {
        if !(1..=MOST_FIBRES).contains(&self.n_fibres) {
            return Err(BadOption::Fibres(self.n_fibres));
        }
        if self.sample_every == 0 || self.n_samples() == 0 {
            let (jumps, every) = (self.jumps, self.sample_every);
            return Err(BadOption::Samples { jumps, every });
        }
        if self.adapt_every == 0 {
            return Err(BadOption::AdaptEvery);
        }
        // Steps of the random numbers are counted in 32 bits, up to 21 of them per jump.
        let jumps = u64::from(self.burn_in) + u64::from(self.jumps);
        if jumps > u64::from(u32::MAX / 32) {
            return Err(BadOption::Jumps(jumps));
        }
        if !(self.fudge.is_finite() && self.fudge >= 0.0) {
            return Err(BadOption::Fudge(self.fudge));
        }
        let (mean, std) = self.ratio;
        if !(mean > 0.0 && mean < 0.5 && std > 0.0 && std.is_finite()) {
            return Err(BadOption::Ratio { mean, std });
        }
        Ok(())
    }
}

/// An option that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadOption {
    /// Too few or too many fibres.
    #[error("{0} fibres; 1 to {MOST_FIBRES} can be sampled")]
    Fibres(usize),
    /// No sample would be kept.
    #[error("{jumps} jumps of which every {every}th is kept leave no sample")]
    Samples {
        /// Jumps after burn-in.
        jumps: u32,
        /// Jumps per sample.
        every: u32,
    },
    /// More jumps than there are random numbers.
    #[error("{0} jumps are more than the 134217727 that random numbers are counted for")]
    Jumps(u64),
    /// Never is 0.
    #[error("proposals cannot be adapted every 0 jumps")]
    AdaptEvery,
    /// The exponent of the prior.
    #[error("fudge {0} is not a number from 0")]
    Fudge(f64),
    /// The prior of the ratio.
    #[error("a ratio of {mean} ± {std} is not one between 0 and 0.5")]
    Ratio {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        std: f64,
    },
}
