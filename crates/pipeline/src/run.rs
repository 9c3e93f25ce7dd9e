//! A subject from series to report: which stages, with which parameters.

mod demo;
mod error;
mod maps;
mod needs;
mod plan;
mod preset;
mod settings;
mod stages;

use std::collections::BTreeMap;
use std::path::Path;

use fimbria_image::{GradientTable, ImageHeader};
use serde::{Deserialize, Serialize};

use crate::options::Values;
use crate::stages::field::PhaseFiles;
use crate::stages::fits::fit_maps::InRun;
use crate::stages::fits::{self, FITS, Fit, FitStage, fit_named};
use crate::stages::in_run::{InRunError, options_of};
use crate::stages::load::SubjectFiles;
use crate::stages::methods;
use crate::stages::studies::Member;
use crate::stages::{align, correct};
use crate::{MapStyle, Named};

pub use self::demo::demo_stages;
pub use self::error::ConfigError;
use self::plan::Plan;
pub use self::preset::Preset;

/// Everything `fimbria run` can be told; the form of its TOML file, one table per stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunConfig {
    /// The subject.
    pub input: SubjectFiles,
    /// What is done.
    pub run: Systems,
    /// How maps are written.
    pub maps: MapStyle,
    /// The page.
    pub report: ReportConfig,
    /// What names of BIDS begin with, with a trailing underscore; `None` for the entities that all series share.
    #[serde(skip)]
    pub entities: Option<String>,
    /// The options of stages that are no fits and of [`FITS`], by their names.
    #[serde(flatten)]
    pub tables: BTreeMap<String, Values>,
}

/// What is done besides the tensor fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Systems {
    /// Names of methods, [`FITS`] among them, and files of models; `None`: all that the gradient table supports,
    /// of those that are usual.
    pub fits: Option<Vec<String>>,
    /// The same by one word, instead.
    pub preset: Option<Named<Preset>>,
}

/// What is asked for, and what of it is not made.
#[derive(Default)]
struct Asked {
    /// Names of methods besides fits.
    methods: Vec<&'static str>,
    fits: Vec<&'static dyn Fit>,
    /// The fits of a study in folders with a label.
    labelled: Vec<Member>,
    plan: Plan,
}

/// What the page can be told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportConfig {
    /// Its heading; `None` for the name of the series.
    pub title: Option<String>,
}

impl RunConfig {
    /// The same of a series as it left the scanner, which is corrected first.
    #[must_use]
    pub fn with_correction(mut self) -> Self {
        self.tables.entry(correct::METHOD.name.to_owned()).or_default();
        self
    }

    /// Whether the series is corrected first.
    pub fn corrects(&self) -> bool {
        self.tables.contains_key(correct::METHOD.name)
    }

    /// Fills in what tables take from others in a run into the folder `root`: labels are those that [align] brings
    /// along, the scan of [gre] has the mask of the series where it names none and both lie on one grid, and a
    /// connectome is of more streamlines than usual; a study sets options of its fits.
    fn fill_in(&mut self, root: &Path) -> Result<(), ConfigError> {
        self.take_in_models()?;
        let tracks = self.run.preset.is_some_and(|Named(preset)| preset.tracks());
        align::fill_in(&mut self.tables, root, self.maps.map_format(), tracks)?;
        if self.tables.contains_key("gre") {
            let scan: PhaseFiles = options_of(&self.tables, "gre")?;
            // What cannot be read says so when it is.
            let grid = |path: &Path| ImageHeader::read(path).ok().map(|header| *header.grid());
            if let (None, Some(mask), Some(phase)) =
                (scan.mask, &self.input.mask, scan.phase.first())
                && let (Some(of_mask), Some(of_phase)) = (grid(mask), grid(phase))
                && of_phase.check_same(&of_mask, "the mask").is_ok()
                && let (Some(mask), Some(table)) = (mask.to_str(), self.tables.get_mut("gre"))
            {
                table.insert("mask".to_owned(), mask.into());
            }
        }
        if let Some(Named(Preset::Study(study))) = self.run.preset {
            for member in study.members().iter().filter(|member| !member.is_labelled()) {
                member.set_in(&mut self.tables)?;
            }
        }
        if self.run.preset == Some(Named(Preset::Connectome)) {
            let track = self.tables.entry("track".to_owned()).or_default();
            if !track.contains_key("samples") {
                track.entry("select").or_insert(preset::STREAMLINES.into());
            }
        }
        Ok(())
    }

    /// Puts the models of files that `run.fits` names in the tables of their fits, and these in their place.
    fn take_in_models(&mut self) -> Result<(), ConfigError> {
        for name in self.run.fits.iter_mut().flatten().filter(|name| settings::is_model(name)) {
            let (fit, values) = Self::read_fit(Path::new(&*name))?;
            let table = fit.name();
            if self.tables.insert(table.to_owned(), values).is_some() {
                return Err(ConfigError::SecondModel { path: name.clone(), table });
            }
            *name = table.to_owned();
        }
        Ok(())
    }

    /// The stage of a fit, with its table's options.
    fn fit(&self, fit: &dyn Fit, entities: &str) -> Result<Box<dyn FitStage>, InRunError> {
        fits::in_run(fit, &self.tables, self.maps, entities)
    }

    /// What is to be done with a series of these gradients.
    fn asked(&self, gradients: &GradientTable) -> Result<Asked, ConfigError> {
        let mut asked = match (&self.run.fits, self.run.preset) {
            (Some(_), Some(_)) => return Err(ConfigError::Twice),
            (Some(names), None) => self.by_name(names)?,
            (None, Some(Named(preset))) => preset.asked(self, gradients)?,
            (None, None) => self.usual(gradients)?,
        };
        asked.limit_densities(self, gradients, self.run.fits.is_some())?;
        Ok(asked)
    }

    /// What has these names.
    fn by_name(&self, names: &[String]) -> Result<Asked, ConfigError> {
        let mut asked = Asked::default();
        for name in names {
            match (methods::names(false).find(|known| known == name), fit_named(name)) {
                (Some(method), _) => asked.methods.push(method),
                (None, Some(fit)) => asked.fits.push(fit),
                (None, None) => {
                    let fits = FITS.iter().map(|fit| fit.name());
                    let known: Vec<_> = methods::names(false).chain(fits).collect();
                    return Err(ConfigError::Unknown {
                        name: name.clone(),
                        known: known.join(", "),
                    });
                }
            }
        }
        asked.fits.extend(self.by_table());
        Ok(asked)
    }

    /// Whether streamlines follow densities: where sticks are sampled they follow these.
    pub fn follows_densities(&self) -> bool {
        match (&self.run.fits, self.run.preset) {
            (Some(names), _) => {
                let named =
                    names.iter().filter_map(|name| methods::names(false).find(|m| m == name));
                let mut made: Vec<_> = named.collect();
                methods::with_needs(&mut made);
                made.contains(&"track") && !made.contains(&"sticks")
            }
            (None, Some(Named(preset))) => preset.follows_densities(),
            (None, None) => false,
        }
    }

    /// The fits that their tables ask for.
    fn by_table(&self) -> impl Iterator<Item = &'static dyn Fit> {
        let is_asked =
            |fit: &&dyn Fit| fit.in_run() == InRun::ByTable && self.tables.contains_key(fit.name());
        FITS.iter().copied().filter(is_asked)
    }

    /// What is done with a series of these gradients where nothing is said.
    fn usual(&self, gradients: &GradientTable) -> Result<Asked, ConfigError> {
        let mut asked = Asked { methods: methods::names(true).collect(), ..Asked::default() };
        for &fit in FITS.iter().filter(|fit| fit.in_run() == InRun::WhereSupported) {
            asked.add_fit(fit, self, gradients)?;
        }
        asked.fits.extend(self.by_table());
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::track::{Through, TrackInRun};

    #[test]
    fn a_run_writes_its_tracks() {
        let none = ["track.tracks=none".to_owned()];
        let config = RunConfig::default().with_settings(&none).unwrap();
        let track: TrackInRun = options_of(&config.tables, "track").unwrap();
        let said = track.check(Through::Samples).unwrap_err().to_string();
        assert!(said.contains("`tracks` cannot be none"), "{said}");
    }
}
