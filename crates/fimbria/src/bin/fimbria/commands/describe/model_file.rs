//! A model in a file, described as the models that the program has.

use std::path::Path;

use fimbria_image::MapSpec;
use fimbria_pipeline::options::Values;
use fimbria_pipeline::stages::fits::Fit;
use fimbria_pipeline::{MapStyle, RunConfig};
use serde_json::Value;

use super::method::{Method, Output};
use crate::failure::Failure;

/// A file with the options of a fit.
pub(super) struct ModelFile {
    /// The fit.
    pub(super) fit: &'static dyn Fit,
    /// As it was named.
    name: String,
    values: Values,
    maps: Vec<MapSpec>,
}

impl ModelFile {
    /// The file that the words of a command name, `fit model.toml`; `None` where they name none.
    ///
    /// # Errors
    /// Where it cannot be read, or is no model.
    pub(super) fn read(words: &str) -> Result<Option<Self>, Failure> {
        let name = words.strip_prefix("fit ").unwrap_or(words);
        if !name.ends_with(".toml") {
            return Ok(None);
        }
        let (fit, values) = RunConfig::read_fit(Path::new(name))?;
        let stage = fit.of_values(&values, MapStyle::default(), String::new());
        let maps = stage.map_err(|error| Failure::usage(format!("{name}: {error}")))?.maps();
        Ok(Some(Self { fit, name: name.to_owned(), values, maps }))
    }

    /// Says in the description of the fit what the file has: its maps, and options that need not be given.
    pub(super) fn put_into(&self, method: &mut Method) {
        let file = Path::new(&self.name).file_name().unwrap_or_default().to_string_lossy();
        method.name = format!("fit {file}");
        method.sentence = format!("Fit the model of {file}");
        method.examples = vec![format!("fimbria fit {file} dwi.nii.gz -o out")];
        method.outputs.retain(|output| output.files.is_empty());
        let maps = self.maps.iter().map(|map| Output::from_map(self.fit, map));
        method.outputs.splice(0..0, maps);
        for option in &mut method.options {
            if let Some(value) = self.values.get(&option.name) {
                option.required = false;
                option.default = Some(words(value));
            }
        }
    }
}

/// A value as the command line has it.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
