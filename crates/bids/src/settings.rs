//! What series were made with: a group of mixed settings is no group.

use std::collections::{BTreeMap, BTreeSet};

use fimbria_pipeline::RunRecord;
use serde_json::Value;

/// What was set for a series, by the names of stage and option ("dti.method").
pub(crate) type Settings = BTreeMap<String, String>;

/// What the program's version is called among them.
const VERSION: &str = "version";

/// Parts of a record that are each series' own: its name, and what it does not carry.
const OWN: [&str; 2] = ["report", "plan"];

/// The settings of the series of this name, by the record of its session.
pub(crate) fn from_record(record: &RunRecord, name: &str) -> Settings {
    let mut settings = Settings::from([(VERSION.to_owned(), record.version.clone())]);
    for (stage, parameters) in record.parameters[name].as_object().into_iter().flatten() {
        if !OWN.contains(&stage.as_str()) {
            settings.insert(stage.clone(), "made".to_owned());
            add(&mut settings, stage, parameters);
        }
    }
    settings
}

/// Adds the parameters below `name`, but for files and what is called by the series.
fn add(settings: &mut Settings, name: &str, value: &Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries.iter().filter(|(key, _)| *key != "entities") {
                // A fit has its options in a part of their own.
                let below = if key == "fit" { name.to_owned() } else { format!("{name}.{key}") };
                add(settings, &below, value);
            }
        }
        Value::Null => {}
        Value::String(text) if text.contains(['/', '\\']) => {}
        Value::String(text) => drop(settings.insert(name.to_owned(), text.clone())),
        other => drop(settings.insert(name.to_owned(), other.to_string())),
    }
}

/// The settings that are not the same in all of these series, by name. Those of a stage that some series do
/// not have are compared among the others; that it is missing is one of its own.
pub(crate) fn mixed(all: &[&Settings]) -> Vec<String> {
    let names: BTreeSet<&String> = all.iter().flat_map(|settings| settings.keys()).collect();
    let differs = |name: &&String| {
        let stage = name.split('.').next().unwrap_or_default();
        let has_stage =
            |settings: &&&Settings| name.as_str() == stage || settings.contains_key(stage);
        let values: BTreeSet<_> = all.iter().filter(has_stage).map(|s| s.get(*name)).collect();
        values.len() > 1
    };
    names.into_iter().filter(differs).cloned().collect()
}

/// "dti.method: wls in 12 series, ols in sub-03", the value of most series first.
pub(crate) fn sentence(setting: &str, all: &[(&str, &Settings)]) -> String {
    /// Series that are named; of more their number is said.
    const NAMED: usize = 3;
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (series, settings) in all {
        let missing = if setting.contains('.') { "not set" } else { "not made" };
        let value = settings.get(setting).map_or(missing, String::as_str);
        values.entry(value).or_default().push(series);
    }
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by_key(|(_, series)| std::cmp::Reverse(series.len()));
    let of = |(value, series): &(&str, Vec<&str>)| match series.len() {
        ..=NAMED => format!("{value} in {}", series.join(", ")),
        n => format!("{value} in {n} series"),
    };
    format!("{setting}: {}", values.iter().map(of).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(parameters: &Value) -> Settings {
        let mut settings = Settings::new();
        for (stage, parameters) in parameters.as_object().unwrap() {
            settings.insert(stage.clone(), "made".to_owned());
            add(&mut settings, stage, parameters);
        }
        settings
    }

    #[test]
    fn only_what_differs_is_mixed_and_neither_files_nor_names_do() {
        let of = |method: &str, bmax: Value, name: &str| {
            let fit =
                json!({ "method": method, "bmax": bmax, "sigma": format!("/data/{name}.nii") });
            settings(&json!({ "dti": { "fit": fit, "entities": name }, "dki": {} }))
        };
        let one = of("wls", Value::Null, "sub-1_");
        assert!(mixed(&[&one, &of("wls", Value::Null, "sub-2_")]).is_empty());
        let other = of("ols", json!(1000), "sub-2_");
        assert_eq!(mixed(&[&one, &other]), ["dti.bmax", "dti.method"]);
        let all = [("sub-1", &one), ("sub-2", &other)];
        assert_eq!(sentence("dti.method", &all), "dti.method: ols in sub-2; wls in sub-1");
    }

    #[test]
    fn a_stage_that_some_lack_is_one_difference() {
        let with = settings(&json!({ "dti": {}, "fod": { "fit": { "order": 8, "bmax": 3000 } } }));
        let without = settings(&json!({ "dti": {} }));
        assert_eq!(mixed(&[&with, &without]), ["fod"]);
    }
}
