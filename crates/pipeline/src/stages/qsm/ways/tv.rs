//! Total variation.

use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::variation::{BILGIC, MILOVIC, VariationOptions};

pub(super) struct Tv;

pub(super) const FACTS: Facts = Facts {
    name: "tv",
    sentence: "total variation, data inside the mask",
    details: "",
    references: &[BILGIC, MILOVIC],
    nrmse_percent: 41.5,
    columns: VARIATION,
    can: Abilities::PLAIN,
};

impl Inversion for Tv {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&VariationOptions::default())
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: VariationOptions = options.read();
        options.map(Prior::Total, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: VariationOptions = options.read();
        options.methods("total variation", ", without guidance", FACTS.references)
    }
}
