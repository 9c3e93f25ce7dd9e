//! A row of each series that is finished, and what its columns are.

use std::path::Path;

use fimbria_models::quality::Verdict;
use fimbria_pipeline::RunRecord;
use serde_json::{Map, Value, json};

use crate::json::read_json;
use crate::settings::{self, Settings};
use crate::verdicts;

/// A series of a session.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) subject: String,
    pub(crate) session: String,
    /// The folder of the session, below the root.
    folder: String,
    /// Its page, below the root.
    pub(crate) page: String,
    verdicts: Vec<Verdict>,
    /// What it was made with.
    pub(crate) settings: Settings,
    pub(crate) values: Vec<(String, Cell)>,
}

/// What a row has in a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A number.
    Number(f64),
    /// The level of a verdict, a setting, or stages that were left out.
    Word(String),
}

/// What is said of each series.
#[derive(Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// As BIDS writes it; empty where it has none or nobody knows.
    pub(crate) unit: String,
    description: String,
    pub(crate) of: Of,
}

/// Where a column is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The number of a verdict.
    Verdict,
    /// The level of a verdict.
    Level,
    /// What was made.
    Results,
    /// The tables of the input.
    Input,
    /// What it was made with.
    Setting,
}

/// The rows of finished sessions, by their folders.
pub(crate) fn rows_of(finished: &[(String, RunRecord)]) -> Vec<Row> {
    let series = finished.iter().flat_map(|(folder, record)| {
        let series = record.results.get("series").and_then(Value::as_array);
        series.into_iter().flatten().map(move |series| {
            let name = series["name"].as_str().unwrap_or_default();
            let mut row = row_of(folder, series);
            row.settings = settings::from_record(record, name);
            let left_out = left_out(&record.parameters[name]["plan"]);
            row.values.extend(left_out.map(|stages| (LEFT_OUT.to_owned(), Cell::Word(stages))));
            row
        })
    });
    let mut rows: Vec<Row> = series.collect();
    for name in mixed_in(&rows) {
        let column =
            format!("{SETTING}{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        for row in &mut rows {
            let value = row.settings.get(&name).cloned();
            row.values.extend(value.map(|value| (column.clone(), Cell::Word(value))));
        }
    }
    rows
}

/// What the name of a column of a setting begins with.
const SETTING: &str = "setting_";

/// The column of the stages that a gradient table does not carry.
const LEFT_OUT: &str = "left_out";

/// The stages that the plan of a run leaves out; `None` where there are none.
fn left_out(plan: &Value) -> Option<String> {
    let names: Vec<_> = plan["left_out"].as_array()?.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// The settings that are not the same in all rows.
fn mixed_in(rows: &[Row]) -> Vec<String> {
    settings::mixed(&rows.iter().map(|row| &row.settings).collect::<Vec<_>>())
}

/// What the user should know of these series beside each other, a sentence each.
pub(crate) fn doubts(rows: &[Row]) -> Vec<String> {
    let all: Vec<_> = rows.iter().map(|row| (&*row.name, &row.settings)).collect();
    let mixed: Vec<_> = mixed_in(rows).iter().map(|name| settings::sentence(name, &all)).collect();
    let mut doubts = Vec::new();
    if !mixed.is_empty() {
        doubts.push(format!(
            "the series were made with mixed settings, and their numbers differ by these too: {}",
            mixed.join(". ")
        ));
    }
    let is_left_out = |row: &&Row| row.values.iter().any(|(name, _)| name == LEFT_OUT);
    let n = rows.iter().filter(is_left_out).count();
    if n > 0 {
        doubts.push(format!(
            "gradient tables do not carry all that was asked for: the column {LEFT_OUT} names what {n} of \
             {} series lack",
            rows.len()
        ));
    }
    doubts
}

/// The row of a series by what the record of its session, in this folder, says of it.
pub(crate) fn row_of(folder: &str, series: &Value) -> Row {
    let (subject, session) = folder.split_once('/').unwrap_or((folder, "n/a"));
    let verdicts = verdicts::from_series(series);
    Row {
        name: series["name"].as_str().unwrap_or_default().to_owned(),
        subject: subject.to_owned(),
        session: session.to_owned(),
        folder: folder.to_owned(),
        page: page_below(folder, series["page"].as_str().unwrap_or_default()),
        values: values_of(series, &verdicts),
        settings: Settings::new(),
        verdicts,
    }
}

/// The way to a page from the root, of one from the folder of a session.
pub(crate) fn page_below(folder: &str, page: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in page.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn values_of(series: &Value, verdicts: &[Verdict]) -> Vec<(String, Cell)> {
    let mut values = Vec::new();
    for verdict in verdicts {
        let column = verdicts::column(verdict);
        let number = verdicts::number(verdict).map(|(number, _)| Cell::Number(number));
        values.extend(number.map(|number| (column.clone(), number)));
        values.push((column + LEVEL, Cell::Word(verdicts::word(verdict.level).to_owned())));
    }
    let tables = [&series["columns"], &series["input_columns"]];
    let all = tables.into_iter().filter_map(Value::as_object).flatten();
    values.extend(
        all.filter_map(|(name, value)| Some((name.clone(), Cell::Number(value.as_f64()?)))),
    );
    values
}

/// What the name of a column of levels ends with.
pub(crate) const LEVEL: &str = "_verdict";

/// Every column that a row has, in the order of the first row that has it; what maps are, their sidecars
/// below `out` say.
pub(crate) fn columns_of(rows: &[Row], out: &Path) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for row in rows {
        for (name, _) in &row.values {
            if columns.iter().all(|column| column.name != *name) {
                columns.push(Column::from_session(name, row, out));
            }
        }
    }
    columns
}

impl Column {
    fn from_session(name: &str, row: &Row, out: &Path) -> Self {
        let described_as = |of: Of, unit: &str, description: String| Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            description,
            of,
        };
        let (result, input) = (Of::Results, Of::Input);
        for verdict in &row.verdicts {
            let (column, Verdict { threshold, source, .. }) = (verdicts::column(verdict), verdict);
            if name == column {
                let unit = verdicts::number(verdict).map_or(String::new(), |(_, unit)| unit);
                let what = format!("{}; good: {threshold} ({source})", verdict.name);
                return described_as(Of::Verdict, &unit, what);
            }
            if name.strip_suffix(LEVEL) == Some(&column) {
                let what = format!("what follows of {column}; good: {threshold}");
                return described_as(Of::Level, "", what);
            }
        }
        let of_map = name.strip_suffix("_median").and_then(|map| map.split_once('_'));
        if let Some((model, param)) = of_map {
            let param = param.replacen('_', "_desc-", 1);
            let file = format!("dwi/{}_model-{model}_param-{param}_dwimap.json", row.name);
            let map = read_json(&out.join(&row.folder).join(file));
            let what = map["Description"].as_str().unwrap_or(&param);
            let unit = map["Units"].as_str().unwrap_or_default();
            return described_as(result, unit, format!("median over the voxels fitted: {what}"));
        }
        if let Some(model) = name.strip_suffix("_fitted_percent") {
            return described_as(
                result,
                "percent",
                format!("share of the mask that has maps of {model}"),
            );
        }
        if let Some(theirs) = name.strip_prefix("input_") {
            return described_as(
                input,
                "",
                format!("{theirs} of the input's own table of image quality"),
            );
        }
        if name.starts_with(SETTING) {
            let what = "an option of the run, which is not the same in all series".to_owned();
            return described_as(Of::Setting, "", what);
        }
        match name {
            LEFT_OUT => {
                let what = "stages that were asked for and that the gradient table does not carry";
                described_as(Of::Setting, "", what.to_owned())
            }
            "volumes_used" => {
                described_as(result, "", "volumes that the tensor was fitted to".to_owned())
            }
            "warnings" => described_as(result, "", "how many things run.json warns of".to_owned()),
            "framewise_displacement_mean" => described_as(
                input,
                "mm",
                "mean over the volumes, of the input's confounds".to_owned(),
            ),
            _ => described_as(result, "", String::new()),
        }
    }
}

impl Row {
    pub(crate) fn value(&self, column: &Column) -> Option<&Cell> {
        self.values.iter().find(|(name, _)| *name == column.name).map(|(_, value)| value)
    }

    pub(crate) fn number(&self, column: &Column) -> Option<f64> {
        match self.value(column) {
            Some(Cell::Number(number)) => Some(*number),
            _ => None,
        }
    }
}

/// What BIDS wants to know of a table's columns.
pub(crate) fn described(columns: &[Column]) -> Value {
    let mut all = Map::new();
    let fixed = [
        ("session_id", "the session, n/a where there are none"),
        ("series", "the entities of its name"),
    ];
    for (name, description) in fixed {
        all.insert(name.to_owned(), json!({ "Description": description }));
    }
    for Column { name, unit, description, of } in columns {
        let mut entry = json!({ "Description": description });
        if *of == Of::Level {
            entry["Levels"] = verdicts::levels();
        }
        if !unit.is_empty() {
            entry["Units"] = json!(unit);
        }
        all.insert(name.clone(), entry);
    }
    let page = "the page of its session, from the root of the derivatives";
    all.insert("page".to_owned(), json!({ "Description": page }));
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, values: &[(&str, f64)]) -> Row {
        let values: Map<String, Value> =
            values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        row_of(name, &json!({ "name": name, "page": format!("../{name}.html"), "columns": values }))
    }

    #[test]
    fn pages_are_found_from_the_root() {
        assert_eq!(page_below("sub-01", "../sub-01.html"), "sub-01.html");
        assert_eq!(page_below("sub-01/ses-2", "../../sub-01_ses-2.html"), "sub-01_ses-2.html");
        assert_eq!(page_below("sub-01/ses-2", "x.html"), "sub-01/ses-2/x.html");
    }

    #[test]
    fn verdicts_are_columns_of_a_number_and_of_a_word() {
        let judged = |name: &str, level: &str, value: &str| {
            let verdict = json!({
                "name": "Moved volumes", "level": level, "value": value, "threshold": "a quarter",
                "source": "measured", "says": "",
            });
            row_of(name, &json!({ "name": name, "page": "", "verdicts": [verdict] }))
        };
        let rows = [judged("sub-1", "good", "0.10 mm"), judged("sub-2", "bad", "")];
        let columns = columns_of(&rows, Path::new("nowhere"));
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["moved_volumes", "moved_volumes_verdict"]);
        assert_eq!(rows[0].value(&columns[0]), Some(&Cell::Number(0.1)));
        assert_eq!(rows[1].value(&columns[0]), None);
        assert_eq!(rows[1].value(&columns[1]), Some(&Cell::Word("bad".to_owned())));
        let descriptions = described(&columns);
        assert_eq!(descriptions["moved_volumes"]["Units"], "mm");
        assert_eq!(descriptions["moved_volumes_verdict"]["Levels"]["good"], "as it should be");
    }

    #[test]
    fn a_column_has_the_unit_of_its_map() {
        let folder = tempfile::tempdir().unwrap();
        let dwi = folder.path().join("sub-1/dwi");
        std::fs::create_dir_all(&dwi).unwrap();
        let map = r#"{"Units": "mm^2/s", "Description": "mean diffusivity"}"#;
        std::fs::write(dwi.join("sub-1_model-tensor_param-md_dwimap.json"), map).unwrap();
        let values = [("tensor_md_median", 1e-3), ("tensor_fitted_percent", 9.0)];
        let columns = columns_of(&[row("sub-1", &values)], folder.path());
        let unit = |name: &str| &*columns.iter().find(|column| column.name == name).unwrap().unit;
        assert_eq!(unit("tensor_md_median"), "mm^2/s");
        assert_eq!(unit("tensor_fitted_percent"), "percent");
        let descriptions = described(&columns);
        assert_eq!(
            descriptions["tensor_md_median"]["Description"],
            "median over the voxels fitted: mean diffusivity"
        );
    }
}
