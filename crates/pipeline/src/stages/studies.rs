//! The fits that studies make, some of a model twice: what `maps` and `run` do by the name of a study.

use std::collections::BTreeMap;

use serde_json::json;

use super::fits::{Fit, FitStage, fit_named, in_run};
use super::in_run::InRunError;
use crate::options::Values;
use crate::{Choice, MapStyle};

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
             tensor to 1200), gqi",
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
    pub(crate) fn members(self) -> Vec<Member> {
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
                member("gqi", "gqi", json!({})),
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
pub(crate) struct Member {
    /// The name of the fit, or that with a label: `dti_b1200`.
    pub(crate) folder: &'static str,
    /// The name of the fit.
    pub(crate) fit: &'static str,
    set: Values,
}

impl Member {
    /// A fit by itself.
    pub(crate) fn alone(fit: &dyn Fit) -> Self {
        Self { folder: fit.name(), fit: fit.name(), set: Values::new() }
    }

    /// Whether its folder has a label.
    pub(crate) fn is_labelled(&self) -> bool {
        self.folder != self.fit
    }

    /// The fit itself.
    pub(crate) fn fit(&self) -> &'static dyn Fit {
        fit_named(self.fit).expect("a study has fits that are there")
    }

    /// Adds what the study sets to the options of its fit.
    ///
    /// # Errors
    /// Where they say it otherwise.
    pub(crate) fn set_in(&self, tables: &mut BTreeMap<String, Values>) -> Result<(), InRunError> {
        let options = tables.entry(self.fit.to_owned()).or_default();
        for (key, value) in &self.set {
            if options.insert(key.clone(), value.clone()).is_some() {
                return Err(InRunError::SetByStudy(format!("{}.{key}", self.fit)));
            }
        }
        Ok(())
    }

    /// Its stage, with the options of all stages.
    ///
    /// # Errors
    /// Where these are none, or say otherwise what the study sets.
    pub(crate) fn stage(
        &self,
        tables: &BTreeMap<String, Values>,
        style: MapStyle,
        entities: &str,
    ) -> Result<Box<dyn FitStage>, InRunError> {
        let mut tables = tables.clone();
        self.set_in(&mut tables)?;
        in_run(self.fit(), &tables, style, entities)
    }
}

/// The fit whose maps lie in a folder of a run: that of its name, or of a study one with a label.
pub fn fit_of_folder(folder: &str) -> Option<&'static dyn Fit> {
    let labelled = || {
        let mut members = Study::CHOICES.iter().flat_map(|(study, ..)| study.members());
        members.find(|member| member.folder == folder).map(|member| member.fit())
    };
    fit_named(folder).or_else(labelled)
}

/// The folders that studies have besides those of the names of fits.
pub(crate) fn labelled_folders() -> impl Iterator<Item = &'static str> {
    let members = Study::CHOICES.iter().flat_map(|(study, ..)| study.members());
    members.filter(Member::is_labelled).map(|member| member.folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::fits::fit_maps::label_of;

    /// What a study sets are options of its fits, and the folders are apart.
    #[test]
    fn every_fit_of_a_study_takes_what_the_study_sets() {
        for (study, ..) in Study::CHOICES {
            let members = study.members();
            for (index, member) in members.iter().enumerate() {
                let folder = member.folder;
                assert!(members[..index].iter().all(|other| other.folder != folder));
                let stage = member.stage(&BTreeMap::new(), MapStyle::default(), "").unwrap();
                assert_eq!(stage.in_folder(folder).name(), folder);
                assert_eq!(label_of(member.fit, folder).is_empty(), !member.is_labelled());
                assert_eq!(fit_of_folder(folder).unwrap().name(), member.fit);
            }
        }
        assert!(fit_of_folder("dti_b1").is_none());
    }

    #[test]
    fn what_a_study_sets_cannot_be_said_otherwise() {
        let options = json!({ "bmax": 1200 }).as_object().unwrap().clone();
        let tables = BTreeMap::from([("dti".to_owned(), options)]);
        let [member, ..] = &Study::Hbcd.members()[..] else { unreachable!() };
        let error = member.stage(&tables, MapStyle::default(), "").err().unwrap().to_string();
        assert!(error.starts_with("dti.bmax is set by the study"), "{error}");
    }
}
