//! Least squares that end early, then their streaks subtracted.

use fimbria_qsm::ilsqr::{Ilsqr, invert_ilsqr};
use fimbria_qsm::solver::Stopped;
use serde::{Deserialize, Serialize};

use super::fourier::check_threshold;
use super::prelude::*;
use crate::stages::qsm::convergence::GRADIENT;

pub(super) struct IterativeLsqr;

#[derive(Serialize, Deserialize)]
pub(in crate::stages) struct Options {
    strength: f64,
    iterations: usize,
    gradient_tolerance: f64,
}

pub(super) const FACTS: Facts = Facts {
    name: "ilsqr",
    sentence: "least squares that end early, then their streaks taken off (iLSQR)",
    details: "makes ‖W (x * d - b)‖ small by a few steps of least squares, W small where the Laplacian of \
                  the field is large; then a map of the frequencies where the dipole is below --strength, \
                  whose differences are those of x but for boundaries, is subtracted. --iterations are those \
                  of each of the two.",
    references: &["Li W et al. NeuroImage 108, 111 (2015)"],
    nrmse_percent: 59.6,
    columns: GRADIENT,
    can: Abilities::PLAIN,
};

impl Inversion for IterativeLsqr {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        let Ilsqr { limit, iterations, tolerance } = Ilsqr::default();
        values_of(&Options { strength: limit, iterations, gradient_tolerance: tolerance })
    }

    fn check(&self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        let options: Options = options.read();
        check_threshold(options.strength)
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let Options { strength: limit, iterations, gradient_tolerance: tolerance } = options.read();
        let (model, b, weights) = job.inside()?;
        let on = &job.log.session().on;
        job.note_devices(&model.geometry);
        let ilsqr = Ilsqr { limit, iterations, tolerance };
        let map = invert_ilsqr(&model, &b, weights.as_deref(), ilsqr, on, job.log)
            .map_err(stage_error)?;
        job.log.count("iterations", map.log.len() as u64);
        job.log.result("iterations_of_map", map.of_map);
        let stopped = if map.has_settled { Stopped::Gradient } else { Stopped::Iterations };
        job.log.result("stopped", stopped.as_str());
        let convergence = ConvergenceLog::from_iterations(GRADIENT, &map.log);
        Ok(ChiMap::new(job.field, &map.chi, &map.field, convergence))
    }

    fn methods(&self, options: &Resolved<QsmParameters>, _: bool) -> Methods {
        let options: Options = options.read();
        let text = format!(
            "Susceptibility was mapped from the local field inside the mask by iLSQR: weighted least squares \
             of at most {} iterations, and streaks of the frequencies where |D| < {} taken off.",
            options.iterations, options.strength
        );
        Methods { text, references: FACTS.references.to_vec() }
    }
}
