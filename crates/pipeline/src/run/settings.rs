//! The file of a run, and settings on the command line.

use std::path::Path;

use toml::{Table, Value};

use super::{ConfigError, Preset, RunConfig};
use crate::Named;
use crate::options::{Values, in_words};
use crate::stages::fits::{Fit, fit_named};
use crate::stages::in_run::InRunError;
use crate::stages::{align, methods};

impl RunConfig {
    /// Reads a TOML file. Relative paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] where it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = fimbria_image::read_regular_text(path)
            .map_err(|source| ConfigError::Unreadable { path: name.clone(), source })?;
        let unusable = |source| ConfigError::File { path: name.clone(), source: Box::new(source) };
        let given: Table = toml::from_str(&text).map_err(unusable)?;
        let bare = given.iter().filter(|(_, value)| !value.is_table());
        let bare: Vec<String> = bare.map(|(key, _)| format!("`{key}`")).collect();
        if !bare.is_empty() {
            return Err(ConfigError::NoTable { path: name, keys: bare.join(", ") });
        }
        // Read as a whole first, which says where in the file a mistake is.
        toml::from_str::<Self>(&text).map_err(unusable)?;
        let mut table = Table::try_from(Self::default())?;
        merge(&mut table, with_words(given));
        let mut config: Self = table.try_into().map_err(unusable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in config.input.paths_mut().filter(|path| !path.as_os_str().is_empty()) {
            *path = folder.join(&*path);
        }
        for name in config.run.fits.iter_mut().flatten().filter(|name| is_model(name)) {
            *name = folder.join(&*name).to_string_lossy().into_owned();
        }
        config
            .check_tables()
            .map_err(|error| ConfigError::InFile { path: name.clone(), source: Box::new(error) })?;
        for (name, values) in &mut config.tables {
            if let Some(table) = methods::table(name) {
                (table.paths_beside)(folder, values);
            }
        }
        Ok(config)
    }

    /// The fit of a file that has the table of one alone, with its options: what `fit FILE.toml` fits.
    ///
    /// # Errors
    /// [`ConfigError`] where it cannot be read, or has other tables or none.
    pub fn read_fit(path: &Path) -> Result<(&'static dyn Fit, Values), ConfigError> {
        let tables = Self::read(path)?.tables;
        let names: Vec<String> = tables.keys().map(|name| format!("[{name}]")).collect();
        let only = tables.into_iter().next().filter(|_| names.len() == 1);
        let fit = only.and_then(|(name, values)| Some((fit_named(&name)?, values)));
        fit.ok_or_else(|| ConfigError::NotOneFit {
            path: path.display().to_string(),
            tables: if names.is_empty() { "no table of a fit".to_owned() } else { names.join(" ") },
        })
    }

    /// Changes single values: each setting is `table.key=value`, the value in TOML or a plain
    /// word.
    ///
    /// # Errors
    /// [`ConfigError::Setting`] for keys and values that are not known.
    pub fn with_settings(mut self, settings: &[String]) -> Result<Self, ConfigError> {
        for setting in settings {
            let unusable = |source| ConfigError::Setting {
                setting: setting.clone(),
                source: Box::new(source),
            };
            let change = with_words(parse_setting(setting).map_err(unusable)?);
            let mut table = Table::try_from(&self)?;
            merge(&mut table, change);
            self = table.try_into().map_err(unusable)?;
        }
        self.check_tables()?;
        Ok(self)
    }

    /// Whether every table is that of a stage, and has its options, and none that the preset sets.
    fn check_tables(&self) -> Result<(), ConfigError> {
        // What [align] brings along is not missing from others.
        let mut tables = self.tables.clone();
        align::fill_in(&mut tables, Path::new(""), self.maps.map_format(), false)?;
        for (name, values) in &tables {
            let table = methods::table(name).ok_or_else(|| ConfigError::Table(name.clone()))?;
            (table.check)(values).map_err(InRunError::in_table(name))?;
        }
        if let Some(Named(Preset::Study(study))) = self.run.preset {
            for member in study.members() {
                member.set_in(&mut self.tables.clone())?;
            }
        }
        Ok(())
    }
}

/// Whether a name of what is done is that of a file with a model.
pub(super) fn is_model(name: &str) -> bool {
    name.ends_with(".toml")
}

/// A setting as a table; a value that is no TOML is taken as a word.
fn parse_setting(setting: &str) -> Result<Table, toml::de::Error> {
    toml::from_str(setting).or_else(|error| match setting.split_once('=') {
        Some((key, word)) if !word.trim().is_empty() => {
            let quoted = Value::String(word.trim().to_owned());
            toml::from_str(&format!("{key} = {quoted}")).map_err(|_| error)
        }
        _ => Err(error),
    })
}

/// The same, with words for the numbers that JSON does not have.
fn with_words(mut table: Table) -> Table {
    let stages = table.iter_mut().filter(|(name, _)| *name != "input");
    stages.for_each(|(_, table)| in_words(table));
    table
}

fn merge(table: &mut Table, change: Table) {
    for (key, value) in change {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(change)) => merge(inner, change),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::fits::DTI;

    #[test]
    fn settings_change_single_values_and_words_need_no_quotes() {
        let settings = [
            "dti.method=nlls",
            "dti.maps=[\"FA\", \"MD\"]",
            "input.b0_threshold=20",
            "input.memory=2G",
        ];
        let config = RunConfig::default().with_settings(&settings.map(str::to_owned)).unwrap();
        let dti = config.fit(DTI, "").unwrap().parameters();
        assert_eq!(dti["fit"]["method"], "nlls");
        assert_eq!(dti["fit"]["maps"], serde_json::json!(["FA", "MD"]));
        assert_eq!(config.input.b0_threshold, Some(20.0));
        assert_eq!(config.input.memory.unwrap().0, 2 << 30);
    }

    #[test]
    fn unknown_keys_and_values_are_refused_by_name() {
        for (setting, part) in [
            ("dti.methood=wls", "methood"),
            ("dti.method=magic", "magic"),
            ("dtii.method=wls", "dtii"),
            ("dti", "dti"),
        ] {
            let error = RunConfig::default().with_settings(&[setting.to_owned()]).unwrap_err();
            let text = format!("{error} {:?}", std::error::Error::source(&error));
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_a_study_sets_is_not_set_again() {
        let setting = ["run.preset=\"hbcd\"", "dti.bmax=900"].map(str::to_owned);
        let error = RunConfig::default().with_settings(&setting).unwrap_err().to_string();
        assert!(error.contains("dti.bmax"), "{error}");
        RunConfig::default().with_settings(&setting[..1]).unwrap();
    }

    #[test]
    fn a_model_in_a_file_is_named_among_the_fits_and_stands_for_its_table() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        write("adc.toml", "[expr]\nmodel = \"S0*exp(-b*D)\"\nparam = [\"S0=1\", \"D=1\"]\n");
        let run = "[run]\nfits = [\"dki\", \"adc.toml\"]\n";
        let mut config = RunConfig::read(&write("run.toml", run)).unwrap();
        config.take_in_models().unwrap();
        assert_eq!(config.run.fits.as_ref().unwrap(), &["dki", "expr"]);
        assert_eq!(config.tables["expr"]["model"], "S0*exp(-b*D)");
        // What is error of the fit itself would be lost.
        let twice = format!("{run}[expr]\nmodel = \"S0\"\nparam = [\"S0=1\"]\n");
        let mut config = RunConfig::read(&write("run.toml", &twice)).unwrap();
        let error = config.take_in_models().unwrap_err().to_string();
        assert!(error.contains("adc.toml") && error.contains("[expr]"), "{error}");
        for wrong in ["", "[peaks]\n", "[smt]\n[dti]\n"] {
            assert!(RunConfig::read_fit(&write("wrong.toml", wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn paths_of_a_file_are_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, "[input]\ndwi = \"dwi.nii.gz\"\n[dti]\nmethod = \"ols\"\n").unwrap();
        let config = RunConfig::read(&path).unwrap();
        assert_eq!(config.input.dwi, folder.path().join("dwi.nii.gz"));
        let dti = config.fit(DTI, "").unwrap().parameters();
        assert_eq!(dti["fit"]["method"], "ols");
    }
}
