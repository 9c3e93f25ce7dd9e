//! Total variation of what diffusion explains and the field supports.

use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::tv::Tv;
use super::variation::{BILGIC, MILOVIC, Trust, VariationOptions};

/// Total variation guided by diffusion.
pub(super) struct Guided {
    /// Which edges of diffusion are free.
    pub(super) trust: Trust,
    /// What a paper says of it after "total variation".
    pub(super) in_words: &'static str,
}

pub(super) const FACTS: Facts = Facts {
    name: "dtv",
    sentence: "guided by diffusion where the field agrees: total variation but for edges of FA, V1, MD and S0 \
                   that the map of tv supports; without these images that of the map",
    details: "minimises ½‖w (x * d + a B - b)‖² + λ Σ min|∇x - s t Σ c ∇Φ|, 0 ≤ s ≤ 1: total variation, but \
                  any part of an edge that diffusion explains is free. d is the dipole, x is free outside the mask \
                  (--outside), Φ the images FA, MD and S0 and their squares with the coefficients c of dtv-all, B \
                  the field of fibres along V1, alike from FA 0.2, a fitted with the map. t is 0 where edges of the map of \
                  tv go another way, so that what only diffusion sees is not painted. Without any image it is tv, \
                  whose map is written beside that of dtv.",
    references: &[BILGIC, MILOVIC],
    nrmse_percent: 29.0,
    columns: VARIATION,
    can: Abilities { guidance: true, unguided: true, ..Abilities::PLAIN },
};

pub(super) const DTV: Guided = Guided {
    trust: Trust::WhereSupported,
    in_words: " but for edges that diffusion explains (fractional anisotropy, mean diffusivity and S0 \
               with their squares, coefficients fitted to the field) where the map by total variation \
               alone has edges along them; fibres are tensors along the tensor's first eigenvector, of \
               one fitted anisotropy",
};

impl Inversion for Guided {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&VariationOptions::default())
    }

    fn fa_threshold(&self, _: &Resolved<QsmParameters>) -> f64 {
        // The anisotropy is proportional to FA: nothing is cut off.
        0.0
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: VariationOptions = options.read();
        let Some(guidance) = &job.field.guidance else {
            return options.map(Prior::Total, job);
        };
        options.guided_map(guidance, self.trust, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods {
        if !is_guided {
            return Tv.methods(options, is_guided);
        }
        let options: VariationOptions = options.read();
        options.methods("total variation", self.in_words, FACTS.references)
    }
}
