//! Total variation but for the edges of the magnitude.

use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::variation::VariationOptions;

pub(super) struct Medi;

/// Edges of a magnitude without one.
#[derive(Debug, thiserror::Error)]
#[error("edges are to be those of a magnitude: give --magnitude")]
pub struct NeedsMagnitude;

pub(super) const FACTS: Facts = Facts {
    name: "medi",
    sentence: "total variation but for the edges of --magnitude (MEDI)",
    details: "is tv without the 30 % of the differences along the axes in which --magnitude differs most.",
    references: &["Liu J et al. NeuroImage 59, 2560 (2012)"],
    nrmse_percent: 41.8,
    columns: VARIATION,
    can: Abilities { magnitude: true, ..Abilities::PLAIN },
};

impl Inversion for Medi {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&VariationOptions::default())
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: VariationOptions = options.read();
        let volume = job.field.magnitude.as_deref().ok_or(NeedsMagnitude)?;
        let magnitude = values_at(&job.field.mask.voxels, volume);
        options.map(Prior::Magnitude(&magnitude), job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: VariationOptions = options.read();
        let by = "total variation but for the edges of the magnitude";
        options.methods(by, "", FACTS.references)
    }
}
