//! Total variation of what diffusion does not explain, wherever it is.

use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::tv::Tv;
use super::variation::{BILGIC, MILOVIC, Trust, VariationOptions};

pub(super) struct DtvAll;

pub(super) const FACTS: Facts = Facts {
    name: "dtv-all",
    sentence: "guided by diffusion everywhere, also where the field sees nothing: paints lesions that only \
                   diffusion sees",
    details: "minimises ½‖w (x * d + a B - b)‖² + λ Σ|∇(x - Σ c Φ)|: total variation, but for edges \
                  that diffusion explains. Φ are the images FA, MD and S0 and their squares, B the field of tensors \
                  along V1 whose anisotropy is FA. The coefficients c and a are fitted with the map.",
    references: &[BILGIC, MILOVIC],
    nrmse_percent: 26.3,
    columns: VARIATION,
    can: Abilities { guidance: true, unguided: true, ..Abilities::PLAIN },
};

impl Inversion for DtvAll {
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
        options.guided_map(guidance, Trust::Everywhere, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods {
        if !is_guided {
            return Tv.methods(options, is_guided);
        }
        let options: VariationOptions = options.read();
        let guidance = " of what diffusion does not explain: fractional anisotropy, mean diffusivity \
                        and S0 with their squares, and tensors along the tensor's first eigenvector whose \
                        anisotropy is proportional to fractional anisotropy, with coefficients fitted to \
                        the field";
        options.methods("total variation", guidance, FACTS.references)
    }
}
