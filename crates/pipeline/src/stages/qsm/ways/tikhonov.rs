//! Tikhonov's regularisation.

use fimbria_qsm::fourier::FourierMethod;

use super::fourier::{self, FourierOptions};
use super::prelude::*;

pub(super) struct Tikhonov;

pub(super) const FACTS: Facts = Facts {
    name: "tikhonov",
    sentence: "division by D² + λ",
    details: "",
    references: &["Kressler B et al. IEEE Trans Med Imaging 29, 273 (2010)"],
    nrmse_percent: 57.0,
    columns: &[],
    can: Abilities { weights: false, devices: Devices::None, ..Abilities::PLAIN },
};

impl Inversion for Tikhonov {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&FourierOptions { strength: FourierMethod::LAMBDA })
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: FourierOptions = options.read();
        fourier::map(FourierMethod::Tikhonov { lambda: options.strength }, job)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: FourierOptions = options.read();
        let text = format!(
            "Susceptibility was mapped from the local field inside the mask by Tikhonov regularisation (λ = \
             {}), without guidance.",
            options.strength
        );
        Methods { text, references: FACTS.references.to_vec() }
    }
}
