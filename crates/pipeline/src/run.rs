//! A subject from series to report: which stages, with which parameters.

mod demo;
mod error;
mod needs;
mod plan;
mod preset;
mod settings;
mod stages;

use std::collections::BTreeMap;
use std::path::Path;

use fimbria_image::{GradientTable, ImageHeader};
use serde::{Deserialize, Serialize};

use crate::options::{Options, Values, in_run};
use crate::stages::field::PhaseFiles;
use crate::stages::fits::fit_maps::InRun;
use crate::stages::fits::{FITS, Fit, FitStage, fit_named};
use crate::stages::load::SubjectFiles;
use crate::stages::track::TrackInRun;
use crate::{Choice, MapStyle, Named};

pub use self::demo::demo_stages;
pub use self::error::ConfigError;
use self::error::options_of;
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
    /// The options of stages that are no fits and of [`FITS`], by their names.
    #[serde(flatten)]
    pub tables: BTreeMap<String, Values>,
}

/// What is done besides the tensor fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Systems {
    /// Names of a [`System`] or of one of [`FITS`]; `None`: all that the gradient table supports,
    /// of those that are usual.
    pub fits: Option<Vec<String>>,
    /// The same by one word, instead.
    pub preset: Option<Named<Preset>>,
}

/// Something that is done besides fits, with what goes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Fibre orientation densities and their peaks.
    Peaks,
    /// Ball and sticks.
    Sticks,
    /// Streamlines.
    Track,
    /// What each streamline explains, with the streamlines.
    Life,
    /// Weights that make them as dense as the fibres, with the streamlines.
    Sift2,
}

impl Choice for System {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Peaks, "peaks", "fibre orientation densities and their peaks"),
        (Self::Sticks, "sticks", "samples of ball and sticks"),
        (
            Self::Track,
            "track",
            "streamlines through the sticks, or without them the densities that peaks are of",
        ),
        (Self::Life, "life", "weights of the streamlines: what each explains of the signal"),
        (
            Self::Sift2,
            "sift2",
            "weights that make the streamlines as dense as the fibres; a connectome is of these",
        ),
    ];
}

/// What is asked for, and what of it is not made.
#[derive(Default)]
struct Asked {
    systems: Vec<System>,
    fits: Vec<&'static dyn Fit>,
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
    /// The options of a stage that is no fit, by its table.
    fn options<T: Options>(&self, name: &str) -> Result<T, ConfigError> {
        let none = Values::new();
        let values = self.tables.get(name).unwrap_or(&none);
        in_run(values).map_err(options_of(name))
    }

    /// The scan of [gre]. Its mask is that of the series where none is named and both lie on one grid.
    fn scan(&self) -> Result<PhaseFiles, ConfigError> {
        let mut scan: PhaseFiles = self.options("gre")?;
        if let (None, Some(mask), Some(phase)) = (&scan.mask, &self.input.mask, scan.phase.first())
        {
            // What cannot be read says so when it is.
            let grid = |path: &Path| ImageHeader::read(path).ok().map(|header| *header.grid());
            if let (Some(of_mask), Some(of_phase)) = (grid(mask), grid(phase))
                && of_phase.check_same(&of_mask, "the mask").is_ok()
            {
                scan.mask = Some(mask.clone());
            }
        }
        Ok(scan)
    }

    /// The options of streamlines; a connectome is of more than usual.
    fn track(&self) -> Result<TrackInRun, ConfigError> {
        let mut track: TrackInRun = self.options("track")?;
        let parameters = &mut track.parameters;
        if self.run.preset == Some(Named(Preset::Connectome)) && parameters.samples.is_none() {
            parameters.select.get_or_insert(preset::STREAMLINES);
        }
        Ok(track)
    }

    /// The stage of a fit, with its table's options.
    fn fit(&self, fit: &dyn Fit, entities: &str) -> Result<Box<dyn FitStage>, ConfigError> {
        let none = Values::new();
        let values = self.tables.get(fit.name()).unwrap_or(&none);
        fit.of_values(values, self.maps, entities.to_owned()).map_err(options_of(fit.name()))
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
            match (System::from_name(name), fit_named(name)) {
                (Some(system), _) => asked.systems.push(system),
                (None, Some(fit)) => asked.fits.push(fit),
                (None, None) => {
                    let fits = FITS.iter().map(|fit| fit.name());
                    let systems = System::CHOICES.iter().map(|(system, ..)| *system);
                    let known = systems.map(System::name).chain(fits).collect::<Vec<_>>();
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
                let has = |system: System| names.iter().any(|name| name == system.name());
                let are_made = [System::Track, System::Life, System::Sift2].into_iter().any(has);
                are_made && !has(System::Sticks)
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
        let systems = System::CHOICES.iter().map(|(system, ..)| *system);
        let systems = systems.filter(|system| *system != System::Sift2).collect();
        let mut asked = Asked { systems, ..Asked::default() };
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
    use crate::stages::track::Through;

    #[test]
    fn a_run_writes_its_tracks() {
        let none = ["track.tracks=none".to_owned()];
        let track: TrackInRun =
            RunConfig::default().with_settings(&none).unwrap().options("track").unwrap();
        let said = track.check(Through::Samples).unwrap_err().to_string();
        assert!(said.contains("`tracks` cannot be none"), "{said}");
    }
}
