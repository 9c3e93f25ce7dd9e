//! Truncated k-space division.

use fimbria_qsm::fourier::FourierMethod;

use super::fourier::{self, FourierOptions, check_threshold};
use super::prelude::*;

pub(super) struct Tkd;

pub(super) const FACTS: Facts = Facts {
    name: "tkd",
    sentence: "truncated k-space division",
    details: "",
    references: &["Shmueli K et al. Magn Reson Med 62, 1510 (2009)"],
    nrmse_percent: 65.6,
    columns: &[],
    can: Abilities { weights: false, devices: Devices::None, ..Abilities::PLAIN },
};

impl Inversion for Tkd {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&FourierOptions { strength: FourierMethod::THRESHOLD })
    }

    fn check(&self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        let options: FourierOptions = options.read();
        check_threshold(options.strength)
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: FourierOptions = options.read();
        fourier::map(FourierMethod::Tkd { threshold: options.strength }, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: FourierOptions = options.read();
        let text = format!(
            "Susceptibility was mapped from the local field inside the mask by truncated k-space division \
             (|D| of {} at least), without guidance.",
            options.strength
        );
        Methods { text, references: FACTS.references.to_vec() }
    }
}
