//! Options by name.

use fimbria_pipeline::options::Values;
use serde_json::Value;

/// Options by the names that the program's command line has, without dashes: `bmax`, `rng-seed`.
#[derive(Clone, Debug, Default)]
pub struct Options(Values);

impl Options {
    /// No option: every default.
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more. A value is written as on the command line; `true` sets a flag. An option that
    /// takes several values is given once for each.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        let value = match value.to_string().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::from(text),
        };
        let name = name.replace('-', "_");
        match self.0.get_mut(&name) {
            None => {
                self.0.insert(name, value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(before) => *before = Value::Array(vec![before.take(), value]),
        }
        self
    }

    pub(crate) fn values(&self) -> &Values {
        &self.0
    }
}
