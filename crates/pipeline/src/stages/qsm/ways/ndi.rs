//! Nonlinear dipole inversion.

use fimbria_qsm::nonlinear::{Nonlinear, invert_nonlinear};
use serde::{Deserialize, Serialize};

use super::prelude::*;

pub(super) struct Ndi;

#[derive(Serialize, Deserialize)]
pub(in crate::stages) struct Options {
    strength: f64,
    iterations: usize,
    tolerance: f64,
}

pub(super) const FACTS: Facts = Facts {
    name: "ndi",
    sentence: "nonlinear dipole inversion: steps downhill of the phase",
    details: "goes downhill from 0 in w² (1 - cos s r) / s² + λ Σ x² / 2, r what the field is off by, s \
                  from --te and --b0: whole turns of the phase cost nothing.",
    references: &["Polak D et al. NMR Biomed 33, e4271 (2020)"],
    nrmse_percent: 77.7,
    columns: PENALTY,
    can: Abilities::PLAIN,
};

impl Inversion for Ndi {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&Options {
            strength: Nonlinear::LAMBDA,
            iterations: Nonlinear::ITERATIONS,
            tolerance: Nonlinear::TOLERANCE,
        })
    }

    fn explains_phase(&self, _: &Resolved<QsmParameters>) -> bool {
        true
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: Options = options.read();
        let (model, b, weights) = job.inside()?;
        let nonlinear = Nonlinear {
            lambda: options.strength,
            radians: job.radians_per_ppm()?,
            iterations: options.iterations,
            tolerance: options.tolerance,
        };
        let on = &job.log.session().on;
        job.note_devices(&model.geometry);
        let map = invert_nonlinear(&model, &b, weights.as_deref(), nonlinear, on, job.log)
            .map_err(stage_error)?;
        job.note_end(map.log.len(), map.has_settled, options.tolerance);
        let convergence = ConvergenceLog::from_iterations(PENALTY, &map.log);
        Ok(ChiMap::new(job.field, &map.chi, &map.field, convergence))
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: Options = options.read();
        let text = format!(
            "Susceptibility was mapped from the phase inside the mask by nonlinear dipole inversion (λ = \
             {}, at most {} steps).",
            options.strength, options.iterations
        );
        Methods { text, references: FACTS.references.to_vec() }
    }
}
