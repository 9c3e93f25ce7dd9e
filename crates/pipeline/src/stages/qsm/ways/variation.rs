//! What the methods share that make variation small within the mask.

use fimbria_compute::Progress as _;
use fimbria_qsm::variation::{
    FIBRE_FA, Guidance, LAMBDA, Outside, Prior, Supported, USUAL_NOISE, Variation, VariationMap,
    lambda_of_noise, reconstruct_variation,
};
use fimbria_qsm::{FieldModel, noise_of_field};
use serde::{Deserialize, Serialize};

use crate::stages::qsm::chi_map::ChiMap;
use crate::stages::qsm::choices::DataTerm;
use crate::stages::qsm::convergence::ConvergenceLog;
use crate::stages::qsm::job::{Inside, Job, stage_error};
use crate::stages::shown::Methods;
use crate::{Named, StageError};

/// The results of a strength that nobody gave.
pub(in crate::stages::qsm) const STRENGTH: &str = "strength";
/// As [`STRENGTH`].
pub(in crate::stages::qsm) const NOISE: &str = "noise";

/// The map of what is inside.
fn reconstruct(
    (model, field, weights): &Inside,
    prior: Prior<'_>,
    variation: Variation,
    job: &Job<'_>,
) -> Result<VariationMap, StageError> {
    let on = &job.log.session().on;
    reconstruct_variation(model, field, weights.as_deref(), prior, variation, on, job.log)
        .map_err(stage_error)
}

/// Where diffusion guides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Also where the field sees nothing.
    Everywhere,
    /// Where the map of total variation alone agrees.
    WhereSupported,
}

/// How strength is chosen.
pub(in crate::stages::qsm) fn words_of_strength() -> String {
    let (lambda, noise) = (LAMBDA, USUAL_NOISE);
    format!(
        "λ = {lambda:e}, in proportion to the field's noise where that is above the usual ({noise})"
    )
}

pub(super) const BILGIC: &str = "Bilgic B et al. Magn Reson Med 72, 1444 (2014)";
pub(super) const MILOVIC: &str = "Milovic C et al. Magn Reson Med 80, 814 (2018)";
/// Of the phase as data.
pub(in crate::stages::qsm) const OF_PHASE: &str = "Liu T et al. Magn Reson Med 69, 467 (2013)";

#[derive(Serialize, Deserialize)]
pub(in crate::stages::qsm) struct VariationOptions {
    /// By the noise of the field where there is none.
    pub(super) strength: Option<f64>,
    outside: Named<Outside>,
    data: Named<DataTerm>,
    iterations: usize,
    tolerance: f64,
}

impl Default for VariationOptions {
    fn default() -> Self {
        let usual = Variation::default();
        Self {
            strength: None,
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

    /// λ, which is noted with its reason.
    fn lambda(&self, model: &FieldModel, field: &[f32], job: &Job<'_>) -> Result<f64, StageError> {
        if let Some(lambda) = self.strength {
            return Ok(lambda);
        }
        let noise = noise_of_field(model, field)?;
        let lambda = lambda_of_noise(noise);
        job.log.result(NOISE, noise);
        job.log.result(STRENGTH, lambda);
        job.log.note(&format!("noise of the field {noise:.1e}: strength {lambda:.1e}"));
        Ok(lambda)
    }

    /// The map whose variation is small but for what `prior` knows.
    pub(super) fn map(&self, prior: Prior<'_>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let inside = job.inside()?;
        let variation = self.variation(&inside, job)?;
        Ok(self.finished(&reconstruct(&inside, prior, variation, job)?, job))
    }

    /// The same of what diffusion explains, and beside it that of total variation alone.
    pub(super) fn guided_map(
        &self,
        guidance: &Guidance,
        trust: Trust,
        job: &Job<'_>,
    ) -> Result<ChiMap, StageError> {
        let inside = job.inside()?;
        let variation = self.variation(&inside, job)?;
        let map = |prior| reconstruct(&inside, prior, variation, job);
        let unguided = map(Prior::Total)?;
        let mut guided = map(Prior::Explained(guidance))?;
        let log = job.log;
        log.result("explained", guided.coefficients.clone());
        let mut fibres = 1.0;
        if trust == Trust::WhereSupported {
            let (coefficients, own) = (&guided.coefficients[..], &unguided.chi[..]);
            guided = map(Prior::Supported(&Supported { guidance, coefficients, own }))?;
            fibres = FIBRE_FA;
        }
        log.result("anisotropy", guided.anisotropy);
        log.result("fa_of_anisotropy", fibres);
        log.note(&format!("anisotropy of fibres from FA {fibres}: {:.4} ppm", guided.anisotropy));
        let mut map = self.finished(&guided, job);
        map.unguided = Some(job.field.volume_of(&unguided.chi));
        Ok(map)
    }

    fn finished(&self, map: &VariationMap, job: &Job<'_>) -> ChiMap {
        job.note_end(map.log.len(), map.has_settled, self.tolerance);
        let convergence = ConvergenceLog::from_steps(&map.log);
        ChiMap::new(job.field, &map.chi, &map.field, convergence)
    }

    fn variation(
        &self,
        (model, field, _): &Inside,
        job: &Job<'_>,
    ) -> Result<Variation, StageError> {
        job.note_devices(&model.geometry);
        let radians = self.explains_phase().then(|| job.radians_per_ppm()).transpose()?;
        Ok(Variation {
            lambda: self.lambda(model, field, job)?,
            outside: self.outside.0,
            radians,
            iterations: self.iterations,
            tolerance: self.tolerance,
        })
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
            "Susceptibility was mapped from {data} inside the mask by {by} ({}){guidance}.{outside}",
            self.strength.map_or_else(words_of_strength, |lambda| format!("λ = {lambda}"))
        );
        let mut references = cited.to_vec();
        references.extend(self.explains_phase().then_some(OF_PHASE));
        Methods { text, references }
    }
}
