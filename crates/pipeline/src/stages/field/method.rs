//! The field among all methods.

use serde_json::Value;

use super::{FIELD_WRITES, FieldParameters, fields};
use crate::options::{Place, Resolve as _, from_values};
use crate::stages::method::{Method, OptionTable};

pub(in crate::stages) const METHOD: Method = Method {
    table: Some(OptionTable::of::<FieldParameters>()),
    writes: FIELD_WRITES,
    maps: |record| {
        let parameters = record.parameters_of("field");
        let is_relative = |p: &Value| p.get("relative") == Some(&Value::Bool(true));
        parameters.map_or_else(Vec::new, |p| fields(is_relative(p)).to_vec())
    },
    text: |records| {
        let parameters = records.iter().find_map(|record| record.parameters_of("field"))?;
        let given = parameters.get("field")?.as_object()?;
        Some(from_values::<FieldParameters>(given).ok()?.resolve(&Place::Command).methods())
    },
    ..Method::named("field")
};
