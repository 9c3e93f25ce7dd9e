//! Total generalised variation.

use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::variation::VariationOptions;

pub(super) struct Tgv;

pub(super) const FACTS: Facts = Facts {
    name: "tgv",
    sentence: "total generalised variation: slopes cost nothing, data inside the mask",
    details: "has λ Σ|∇x - v| + 3 λ Σ|E v| in place of tv's λ Σ|∇x|, minimised over v as well, so that \
                  slopes cost nothing.",
    references: &[
        "Langkammer C et al. NeuroImage 111, 622 (2015)",
        "Bredies K et al. SIAM J Imaging Sci 3, 492 (2010)",
    ],
    nrmse_percent: 41.5,
    columns: VARIATION,
    can: Abilities::PLAIN,
};

impl Inversion for Tgv {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&VariationOptions::default())
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: VariationOptions = options.read();
        options.map(Prior::Generalised, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: VariationOptions = options.read();
        let by = "total generalised variation";
        options.methods(by, ", without guidance", FACTS.references)
    }
}
