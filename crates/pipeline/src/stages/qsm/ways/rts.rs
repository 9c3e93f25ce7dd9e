//! Rapid two-step.

use fimbria_qsm::fourier::FourierMethod;

use super::fourier::{self, FourierOptions, check_threshold};
use super::prelude::*;

pub(super) struct Rts;

pub(super) const FACTS: Facts = Facts {
    name: "rts",
    sentence: "rapid two-step: division where well conditioned, then TV",
    details: "",
    references: &["Kames C et al. NeuroImage 167, 276 (2018)"],
    nrmse_percent: 55.9,
    columns: VARIATION,
    can: Abilities { weights: false, ..Abilities::PLAIN },
};

impl Inversion for Rts {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&FourierOptions { strength: FourierMethod::DELTA })
    }

    fn check(&self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        let options: FourierOptions = options.read();
        check_threshold(options.strength)
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: FourierOptions = options.read();
        fourier::map(FourierMethod::Rts { delta: options.strength }, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: FourierOptions = options.read();
        let text = format!(
            "Susceptibility was mapped from the local field inside the mask by inversion in two steps: of \
             the frequencies where |D| > {} as they are, of the others by total variation, without guidance.",
            options.strength
        );
        Methods { text, references: FACTS.references.to_vec() }
    }
}
