//! Fits alone over a series, which is read and masked once: what a study makes, and what is named.

use fimbria_image::ImageHeader;

use super::plan::Plan;
use super::{ConfigError, RunConfig};
use crate::Stage;
use crate::stages::fits::{FITS, fit_named};
use crate::stages::in_run::InRunError;
use crate::stages::load::LoadError;
use crate::stages::studies::{Member, Study};

impl RunConfig {
    /// The stages of the fits of a study and of those named besides, each in a folder of its name, after the
    /// stage that reads the series. `settings` change single options of a fit, wherever it is made. What the
    /// gradient table does not carry is refused where it is named, and left out of a study with a warning.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn maps(
        self,
        study: Option<Study>,
        names: &[String],
        settings: &[String],
    ) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
        let mut members = study.map(Study::members).unwrap_or_default();
        let of_study = members.len();
        for name in names {
            let fit = fit_named(name).ok_or_else(|| ConfigError::NoFit {
                name: name.clone(),
                known: FITS.iter().map(|fit| fit.name()).collect::<Vec<_>>().join(", "),
            })?;
            let named = Member::alone(fit);
            if members.iter().any(|member| member.folder == named.folder) {
                return Err(ConfigError::Repeated(name.clone()));
            }
            members.push(named);
        }
        for setting in settings {
            let table = setting.split('.').next().unwrap_or_default();
            if !members.iter().any(|member| member.fit == table) {
                let mut fits: Vec<_> = members.iter().map(|member| member.fit).collect();
                fits.dedup();
                let known = fits.join(", ");
                return Err(ConfigError::NoFit { name: table.to_owned(), known });
            }
        }
        let config = self.with_settings(settings)?;
        let header = ImageHeader::read(&config.input.dwi).map_err(LoadError::from)?;
        let gradients = config.gradients(&header)?;
        let entities = config.bids_entities();
        let mut plan = Plan::default();
        let mut stages = vec![config.first_stage()?];
        for (index, member) in members.into_iter().enumerate() {
            let stage = member.stage(&config.tables, config.maps, &entities)?;
            let folder = member.folder;
            match stage.supports(&gradients) {
                Ok(()) => stages.push(stage.in_folder(folder)),
                Err(error) if index < of_study => {
                    plan.leave_out(vec![folder.to_owned()], error.to_string());
                }
                Err(error) => return Err(InRunError::Fit(error).into()),
            }
        }
        let after_load = plan.stage(stages[0].inputs());
        stages.splice(1..1, after_load);
        Ok(stages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_fit_of_these_maps_is_refused() {
        let said = |study, names: &[&str], settings: &[&str]| {
            let [names, settings] = [names, settings]
                .map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            let made = RunConfig::default().maps(study, &names, &settings);
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(said(None, &["dti", "dkj"], &[]).contains("dkj"));
        assert!(said(None, &["dti", "dti"], &[]).contains("dti"));
        assert!(said(None, &["dti"], &["dki.bmax=2000"]).contains("dki"));
        assert!(said(None, &["dti"], &["input.dwi=x"]).contains("input"));
    }
}
