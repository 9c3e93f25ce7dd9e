//! Fits alone over one series, which is read and masked once: what a study makes, and what is named.

use fimbria_image::ImageHeader;
use serde_json::json;

use super::plan::Plan;
use super::{ConfigError, RunConfig};
use crate::options::Values;
use crate::stages::fits::{self, FITS, Fit, fit_named};
use crate::stages::in_run::InRunError;
use crate::stages::load::{Load, LoadError};
use crate::{Choice, Stage, bids_entities};

/// A study that fits several models, some of them twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Study {
    /// HEALthy Brain and Child Development.
    Hbcd,
    /// Adolescent Brain Cognitive Development.
    Abcd,
}

impl Choice for Study {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Hbcd,
            "hbcd",
            "dti_b1200 and dti_b4000 (the tensor to b = 1200 and 4000), dki, mapmri (order 4, axes of the \
             tensor to 1200)",
        ),
        (
            Self::Abcd,
            "abcd",
            "noddi_white and noddi_grey (by --tissue), dki, mapmri (as hbcd), fod",
        ),
    ];
}

impl Study {
    /// Its folders, the fit of each, and the options that it sets.
    fn members(self) -> Vec<Member> {
        let member = |folder, fit, set: serde_json::Value| Member {
            folder,
            fit,
            set: set.as_object().cloned().unwrap_or_default(),
        };
        let mapmri = member("mapmri", "mapmri", json!({ "order": "4", "axes_bmax": 1200 }));
        let dki = member("dki", "dki", json!({}));
        match self {
            Self::Hbcd => vec![
                member("dti_b1200", "dti", json!({ "bmax": 1200 })),
                member("dti_b4000", "dti", json!({ "bmax": 4000 })),
                dki,
                mapmri,
            ],
            Self::Abcd => vec![
                member("noddi_white", "noddi", json!({ "tissue": "white" })),
                member("noddi_grey", "noddi", json!({ "tissue": "grey" })),
                dki,
                mapmri,
                member("fod", "fod", json!({})),
            ],
        }
    }
}

/// A fit, its folder, and the options that a study sets.
struct Member {
    folder: &'static str,
    fit: &'static str,
    set: Values,
}

impl Member {
    /// The fit by its name.
    fn named(name: &str) -> Result<Self, ConfigError> {
        let fit = fit_named(name).ok_or_else(|| ConfigError::NoFit {
            name: name.to_owned(),
            known: FITS.iter().map(|fit| fit.name()).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self { folder: fit.name(), fit: fit.name(), set: Values::new() })
    }
}

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
            let named = Member::named(name)?;
            if members.iter().any(|member| member.folder == named.folder) {
                return Err(ConfigError::Repeated(name.clone()));
            }
            members.push(named);
        }
        for setting in settings {
            let table = setting.split('.').next().unwrap_or_default();
            if !members.iter().any(|member| member.fit == table) {
                let fits = members.iter().map(|member| member.fit).collect::<Vec<_>>().join(", ");
                return Err(ConfigError::NoFit { name: table.to_owned(), known: fits });
            }
        }
        let config = self.with_settings(settings)?;
        let header = ImageHeader::read(&config.input.dwi).map_err(LoadError::from)?;
        let gradients = config.input.read_gradients(&header)?.table;
        let entities = bids_entities(&config.input.dwi);
        let mut plan = Plan::default();
        let files = config.input.clone();
        let mut stages: Vec<Box<dyn Stage>> =
            vec![Box::new(Load { files, found: Some(config.maps) })];
        for (index, Member { folder, fit, set }) in members.into_iter().enumerate() {
            let mut tables = config.tables.clone();
            let options = tables.entry(fit.to_owned()).or_default();
            for (key, value) in set {
                if options.insert(key.clone(), value).is_some() {
                    return Err(ConfigError::SetByStudy(format!("{fit}.{key}")));
                }
            }
            let fit: &dyn Fit = fit_named(fit).expect("a study has fits that are there");
            let stage = fits::in_run(fit, &tables, config.maps, &entities)?;
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
    use crate::MapStyle;

    /// What a study sets are options of its fits, and the folders are apart.
    #[test]
    fn every_fit_of_a_study_takes_what_the_study_sets() {
        for (study, ..) in Study::CHOICES {
            let members = study.members();
            for (index, Member { folder, fit, set }) in members.iter().enumerate() {
                assert!(members[..index].iter().all(|other| other.folder != *folder));
                let fit = fit_named(fit).unwrap();
                let stage = fit.of_values(set, MapStyle::default(), String::new()).unwrap();
                assert_eq!(stage.in_folder(folder).name(), *folder);
            }
        }
    }

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
