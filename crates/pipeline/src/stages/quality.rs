//! The stage that judges a series before anything is made of it.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_models::gradient_check::GradientCheck;
use fimbria_models::quality::{self, Level, SeriesQuality, Verdict};
use fimbria_models::{Fitted, noise};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::confounds::framewise;
use super::correct;
use super::fits::dti;
use super::fits::fit_maps::Maps;
use super::load::Subject;
use crate::options::{Described as _, Takes};
use crate::{
    Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, StageRecords, Taken,
};

/// The table `[quality]` of a run.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct QualityOptions {
    /// Confounds that preprocessing noted (TSV with a column framewise_displacement, mm)
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::TABLE)]
    pub confounds: Option<PathBuf>,

    /// Mend the gradient table as its check says, before anything is fitted; refused where the data do not
    /// tell
    #[arg(long)]
    pub fix_gradients: bool,
}

/// What is known of a series, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The verdicts, in the order of the page.
    pub verdicts: Vec<Verdict>,
    /// What they rest on.
    pub series: SeriesQuality,
    /// Mean length of fibres, mm, after each change of the gradient table, the longest first.
    pub gradient_check: Vec<(String, f64)>,
    /// Framewise displacement of each volume, mm, where the confounds have it.
    pub framewise_mm: Vec<Option<f64>>,
}

/// Judges the [`Subject`] and its tensor fit, and makes a [`Quality`].
pub struct JudgeQuality {
    /// What it is told.
    pub options: QualityOptions,
}

const FILE: &str = "quality.json";

impl Stage for JudgeQuality {
    fn name(&self) -> &'static str {
        "quality"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<Subject>(),
            Taken::always::<Maps<dti::Parameters>>(),
            Taken::where_made::<GradientCheck>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Quality>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let confounds = self.options.confounds.iter();
        confounds.map(|path| ("confounds".to_owned(), path.clone())).collect()
    }

    fn parameters(&self) -> Value {
        json!({ "confounds": self.options.confounds.is_some() })
    }

    fn outputs(&self) -> Vec<String> {
        vec![FILE.to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        let fit: &Fitted = products.get::<Maps<dti::Parameters>>()?;
        let records = products.find::<StageRecords>().map_or(&[][..], |records| &records.0);
        let corrected = records.iter().find(|record| record.task == correct::METHOD.name);
        let framewise_mm = match &self.options.confounds {
            Some(path) => match framewise(path, subject.dwi.n_volumes()) {
                Ok(framewise_mm) => framewise_mm,
                Err(error) => {
                    let message = format!("the confounds {} are ignored: {error}", path.display());
                    log.warn(Page::Quality, &message);
                    Vec::new()
                }
            },
            None => corrected.map(correct::framewise_mm).unwrap_or_default(),
        };
        let Subject { dwi, gradients, mask, .. } = subject;
        // Six parameters of a tensor and the unweighted signal.
        let sigma = noise::from_residuals(fit, gradients.len(), 7).ok();
        let workers = log.session().on.workers;
        let series = SeriesQuality::new(&**dwi, gradients, mask, sigma, workers);
        let check = products.find::<GradientCheck>();
        let moved = quality::moved(&series);
        let mut verdicts: Vec<Verdict> = check.map(quality::gradients).into_iter().collect();
        verdicts.extend([
            quality::b_values(&series, fit, mask),
            quality::noise(&series),
            quality::neighbour_correlation(&series),
            quality::contrast(&series),
            moved.clone(),
        ]);
        if !framewise_mm.is_empty() {
            let known: Vec<f64> = framewise_mm.iter().flatten().copied().collect();
            verdicts.push(quality::moved_by_confounds(&known));
        }
        verdicts.extend([
            quality::dropped_slices(&series),
            quality::residuals(&series),
            quality::unphysical(fit, mask),
            quality::status(fit, mask),
        ]);
        if moved.level == Level::Bad && corrected.is_none() {
            let message = format!(
                "volumes moved ({}): `fimbria correct`, in a run --raw, lays them on each other",
                moved.says
            );
            log.warn(Page::Quality, &message);
        }
        for verdict in verdicts.iter().filter(|verdict| verdict.level > Level::Unknown) {
            log.note(&format!("{}: {} {}", verdict.name, verdict.value, verdict.says));
        }
        let levels = verdicts.iter().map(|verdict| (verdict.name.clone(), json!(verdict.level)));
        log.result("quality", Value::Object(levels.collect()));
        let mut lengths: Vec<(String, f64)> = check
            .iter()
            .flat_map(|check| &check.lengths_mm)
            .map(|(change, mm)| (change.to_string(), *mm))
            .collect();
        lengths.sort_by(|a, b| b.1.total_cmp(&a.1));
        products.put(Quality { verdicts, series, gradient_check: lengths, framewise_mm });
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let text = serde_json::to_string_pretty(products.get::<Quality>()?)?;
        Ok(out.write(FILE, format!("{text}\n").as_bytes())?)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let text = fimbria_image::read_regular_text(folder.join(FILE))?;
        products.put(serde_json::from_str::<Quality>(&text)?);
        Ok(())
    }
}
