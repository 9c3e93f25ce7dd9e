//! What the methods share that make variation small within the mask.

use fimbria_qsm::variation::{Outside, Prior, Variation, VariationMap, reconstruct_variation};
use serde::{Deserialize, Serialize};

use crate::stages::qsm::chi_map::ChiMap;
use crate::stages::qsm::choices::DataTerm;
use crate::stages::qsm::convergence::ConvergenceLog;
use crate::stages::qsm::job::{Job, stage_error};
use crate::stages::shown::Methods;
use crate::{Named, StageError};

pub(super) const BILGIC: &str = "Bilgic B et al. Magn Reson Med 72, 1444 (2014)";
pub(super) const MILOVIC: &str = "Milovic C et al. Magn Reson Med 80, 814 (2018)";
/// Of the phase as data.
pub(in crate::stages::qsm) const OF_PHASE: &str = "Liu T et al. Magn Reson Med 69, 467 (2013)";

#[derive(Serialize, Deserialize)]
pub(in crate::stages::qsm) struct VariationOptions {
    pub(super) strength: f64,
    outside: Named<Outside>,
    data: Named<DataTerm>,
    iterations: usize,
    tolerance: f64,
}

impl Default for VariationOptions {
    fn default() -> Self {
        let usual = Variation::default();
        Self {
            strength: usual.lambda,
            outside: Named(usual.outside),
            data: Named::default(),
            iterations: usual.iterations,
            tolerance: usual.tolerance,
        }
    }
}

impl VariationOptions {
    pub(super) fn explains_phase(&self) -> bool {
        self.data.0 == DataTerm::Phase
    }

    /// The map whose variation is small but for what `prior` knows, and how it was found.
    pub(super) fn map(
        &self,
        prior: Prior<'_>,
        job: &Job<'_>,
    ) -> Result<(ChiMap, VariationMap), StageError> {
        let (model, b, weights) = job.inside()?;
        let radians = self.explains_phase().then(|| job.radians_per_ppm()).transpose()?;
        let variation = Variation {
            lambda: self.strength,
            outside: self.outside.0,
            radians,
            iterations: self.iterations,
            tolerance: self.tolerance,
        };
        let on = &job.log.session().on;
        job.note_device_slower(&model.geometry);
        let weights = weights.as_deref();
        let map = reconstruct_variation(&model, &b, weights, prior, variation, on, job.log)
            .map_err(stage_error)?;
        job.note_end(map.log.len(), map.has_settled, self.tolerance);
        let convergence = ConvergenceLog::from_steps(&map.log);
        Ok((ChiMap::new(job.field, &map.chi, &map.field, convergence), map))
    }

    /// In words for a paper: what was done of a field, and with what.
    pub(super) fn methods(&self, by: &str, guidance: &str, cited: &[&'static str]) -> Methods {
        let data = match self.data.0 {
            DataTerm::Field => "the local field",
            DataTerm::Phase => "the phase of the local field",
        };
        let outside = match self.outside.0 {
            Outside::Sources => "",
            Outside::Nothing => " Nothing was assumed to lie outside the mask.",
        };
        let text = format!(
            "Susceptibility was mapped from {data} inside the mask by {by} (λ = {}){guidance}.{outside}",
            self.strength
        );
        let mut references = cited.to_vec();
        references.extend(self.explains_phase().then_some(OF_PHASE));
        Methods { text, references }
    }
}
