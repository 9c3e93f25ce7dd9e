//! The stages of a run, in order.

use std::path::Path;

use fimbria_image::{GradientTable, ImageHeader};

use super::{Asked, ConfigError, RunConfig};

use crate::stages::correct::{self, CorrectSeries, CorrectSettings, Together};
use crate::stages::fits::{DTI, FITS, FOD, FitStage};
use crate::stages::gradients::{CheckGradients, FixGradients};
use crate::stages::in_run::{InRun, InRunError, RunContext, When, options_of};
use crate::stages::load::{Load, LoadError, SubjectFiles};
use crate::stages::methods;
use crate::stages::quality::{JudgeQuality, QualityOptions};
use crate::stages::report::Report;
use crate::{Stage, shared_entities};

impl RunConfig {
    /// The stages, in order, of a run into the folder `root`. Reads the header of the series and
    /// its gradient table, which say what can be fitted.
    ///
    /// # Errors
    /// [`ConfigError::NoSeries`], or where there is no gradient table.
    pub fn stages(mut self, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
        let name = self.input.dwi.file_name().ok_or(ConfigError::NoSeries)?;
        let name = name.to_string_lossy().into_owned();
        let header = ImageHeader::read(&self.input.dwi).map_err(LoadError::from)?;
        let gradients = self.gradients(&header)?;
        let given = self.tables.clone();
        self.fill_in(root)?;
        let Asked { mut methods, fits, labelled, mut plan } = self.asked(&gradients)?;
        methods::with_needs(&mut methods);
        if let Some(degree) = plan.lower_degree() {
            let table = self.tables.entry(FOD.name().to_owned()).or_default();
            table.insert("order".to_owned(), degree.into());
        }
        let entities = self.bids_entities();
        let has_peaks = methods.contains(&"peaks");
        // The tensor is fitted first, and densities with their peaks.
        let is_other = |fit: &str| fit != DTI.name() && !(fit == FOD.name() && has_peaks);
        let mut others: Vec<Box<dyn FitStage>> = Vec::new();
        for fit in FITS.iter().filter(|fit| is_other(fit.name())) {
            if fits.iter().any(|asked| asked.name() == fit.name()) {
                others.push(self.fit(*fit, &entities)?);
            }
        }
        let tensor = self.fit(DTI, &entities)?;
        let density = has_peaks.then(|| self.fit(FOD, &entities)).transpose()?;
        tensor.supports(&gradients).map_err(InRunError::Fit)?;
        let quality: QualityOptions = options_of(&self.tables, "quality")?;
        let axes = self.input.table_axes(&header);
        let mut stages = vec![self.first_stage()?];
        if quality.fix_gradients {
            stages.push(Box::new(FixGradients { axes }));
        }
        // Before the fits of these names, whose maps go to others and to the page.
        for member in labelled {
            let stage = member.stage(&self.tables, self.maps, &entities)?;
            stages.push(stage.in_folder(member.folder));
        }
        stages.extend([
            tensor as Box<dyn Stage>,
            Box::new(CheckGradients { axes }),
            Box::new(JudgeQuality { options: quality }),
        ]);
        let is_made = |name: &'static str, method: &InRun| match method.when {
            When::Table(table) => self.tables.contains_key(table) && !plan.leaves_out(name),
            When::Usual | When::Named => methods.contains(&name),
        };
        let [before, after] = methods::beside_fits();
        self.add_methods(&before, is_made, &mut stages, root, &entities)?;
        for fit in density.iter().chain(&others) {
            fit.supports(&gradients).map_err(InRunError::Fit)?;
        }
        stages.extend(others.into_iter().map(|fit| fit as Box<dyn Stage>));
        self.add_methods(&after, is_made, &mut stages, root, &entities)?;
        stages.push(Box::new(Report { title: self.report.title.clone().unwrap_or(name) }));
        plan.compare(&given, &stages);
        // What cannot be loaded leaves nothing, not even a plan.
        let after_load = plan.stage(stages[0].inputs());
        stages.splice(1..1, after_load);
        Ok(stages)
    }

    /// The table of the series, and of those that are joined to it.
    pub(super) fn gradients(&self, header: &ImageHeader) -> Result<GradientTable, ConfigError> {
        let others = self.input.others();
        if !others.is_empty() && !self.corrects() {
            return Err(ConfigError::Joined);
        }
        let mut tables = vec![self.input.read_gradients(header)?.table];
        for other in others {
            let header = ImageHeader::read(&other.dwi).map_err(LoadError::from)?;
            tables.push(other.read_gradients(&header)?.table);
        }
        Ok(GradientTable::joined(&tables))
    }

    /// What names of BIDS begin with.
    pub(super) fn bids_entities(&self) -> String {
        let joined = self.input.joined.iter().map(|joined| &*joined.dwi);
        let series = std::iter::once(&*self.input.dwi).chain(joined);
        self.entities.clone().unwrap_or_else(|| shared_entities(series))
    }

    /// Which of these series of a session are corrected together by this configuration.
    ///
    /// # Errors
    /// Where the options of the correction are none.
    pub fn together(&self, series: &[SubjectFiles]) -> Result<Vec<Together>, ConfigError> {
        let settings: CorrectSettings = options_of(&self.tables, correct::METHOD.name)?;
        Ok(correct::together(series, &settings))
    }

    /// The stage that makes the subject: of a raw series by correcting it, else by reading it.
    pub(super) fn first_stage(&self) -> Result<Box<dyn Stage>, InRunError> {
        let files = self.input.clone();
        if !self.corrects() {
            return Ok(Box::new(Load { files, found: Some(self.maps) }));
        }
        let settings: CorrectSettings = options_of(&self.tables, correct::METHOD.name)?;
        let others = files.others();
        let series = std::iter::once(&files).chain(&others).map(|files| &*files.dwi);
        let settings = settings.with_field_beside(series);
        Ok(Box::new(CorrectSeries { files, others, settings, format: self.maps.map_format() }))
    }

    /// Adds the stages of those methods that are made.
    pub(super) fn add_methods(
        &self,
        methods: &[(&'static str, &'static InRun)],
        is_made: impl Fn(&'static str, &InRun) -> bool,
        stages: &mut Vec<Box<dyn Stage>>,
        root: &Path,
        entities: &str,
    ) -> Result<(), InRunError> {
        let all = methods::beside_fits().concat();
        let made = all.iter().filter(|(name, method)| is_made(name, method));
        let made: Vec<&'static str> = made.map(|(name, _)| *name).collect();
        for (name, method) in methods.iter().filter(|(name, _)| made.contains(name)) {
            debug_assert!(method.needs.iter().all(|need| made.contains(need)), "{name}");
            let context = RunContext {
                tables: &self.tables,
                makes: &made,
                earlier: stages,
                root,
                style: self.maps,
                entities,
                memory: self.input.memory,
            };
            let own = (method.stages)(&context)?;
            stages.extend(own);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the map of a run with these settings, in effect.
    fn qsm(settings: &[&str]) -> serde_json::Value {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let config = RunConfig::default().with_settings(&settings).unwrap();
        let [_, scans] = methods::beside_fits();
        let mut stages = Vec::new();
        let is_made = |name: &str, _: &InRun| ["field", "guide", "qsm"].contains(&name);
        config.add_methods(&scans, is_made, &mut stages, Path::new(""), "").unwrap();
        stages[2].parameters()["qsm"].clone()
    }

    #[test]
    fn the_share_of_a_noisy_field_is_not_that_of_the_published_program() {
        let plain = qsm(&["qsm.method=dqsm"]);
        assert_eq!((plain["kappa"].as_f64(), plain["iterations"].as_u64()), (Some(0.95), Some(20)));
        assert_eq!(qsm(&["qsm.method=dqsm", "qsm.kappa=0.9"])["kappa"], 0.9);
        let published = qsm(&["qsm.compat=dqsm"]);
        assert_eq!(
            (published["kappa"].as_f64(), published["step"].as_f64()),
            (Some(0.75), Some(0.15))
        );
        assert_eq!(published["iterations"], 1000);
        assert_eq!(qsm(&["qsm.method=tkd"])["strength"], 0.15);
    }
}
