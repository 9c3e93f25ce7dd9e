//! A table and a page of all sessions.

use std::path::{Path, PathBuf};

use fimbria_report::plot::{Dot, strip};
use fimbria_report::{Page, Section, Table};
use serde_json::{Value, json};

use crate::claim::Claim;
use crate::digest::finished;
use crate::files::replace;
use crate::{BidsError, DataSet};

/// What was written of a group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The table.
    pub table: PathBuf,
    /// The page.
    pub page: PathBuf,
    /// How many series are in them.
    pub series: usize,
    /// The sessions of the data set that are not finished.
    pub missing: Vec<String>,
}

/// A series of a session.
struct Row {
    name: String,
    subject: String,
    session: String,
    page: String,
    values: Vec<(String, f64)>,
}

/// Writes `group_dwi.tsv`, a row of each series that is finished, and `group_dwi.html`, a strip of dots
/// for each number, which lead to the pages of their subjects.
///
/// # Errors
/// [`BidsError::NothingDone`], or where they cannot be written.
pub fn group(data_set: &DataSet, out: &Path) -> Result<Group, BidsError> {
    let mut rows = Vec::new();
    let mut done = Vec::new();
    for (folder, record) in finished(out)? {
        let (subject, session) = folder.split_once('/').unwrap_or((&folder, "n/a"));
        done.push(folder.replace('/', "_"));
        let series = record.results.get("series").and_then(Value::as_array);
        rows.extend(series.into_iter().flatten().map(|series| Row {
            name: series["name"].as_str().unwrap_or_default().to_owned(),
            subject: subject.to_owned(),
            session: session.to_owned(),
            page: page_below(&folder, series["page"].as_str().unwrap_or_default()),
            values: values_of(series),
        }));
    }
    if rows.is_empty() {
        return Err(BidsError::NothingDone(out.to_owned()));
    }
    let names = data_set.sessions.iter().map(crate::Session::name);
    let missing: Vec<String> = names.filter(|name| !done.contains(name)).collect();
    let columns = columns_of(&rows);
    let [table, page] = ["group_dwi.tsv", "group_dwi.html"].map(|name| out.join(name));
    let _claim = Claim::of_root(out)?;
    replace(&table, tsv(&rows, &columns).as_bytes())?;
    replace(&page, html(&rows, &columns, &missing).as_bytes())?;
    Ok(Group { table, page, series: rows.len(), missing })
}

/// The way to a page from the root, of one from the folder of a session.
fn page_below(folder: &str, page: &str) -> String {
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

fn values_of(series: &Value) -> Vec<(String, f64)> {
    let tables = [&series["columns"], &series["input_columns"]];
    let all = tables.into_iter().filter_map(Value::as_object).flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// Every column that a row has, in the order of the first row that has it.
fn columns_of(rows: &[Row]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.values) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    columns
}

impl Row {
    fn value(&self, column: &str) -> Option<f64> {
        self.values.iter().find(|(name, _)| name == column).map(|(_, value)| *value)
    }
}

fn tsv(rows: &[Row], columns: &[String]) -> String {
    let mut text = format!("participant_id\tsession_id\tseries\t{}\tpage\n", columns.join("\t"));
    for row in rows {
        let values = columns.iter().map(|column| match row.value(column) {
            Some(value) => json!(value).to_string(),
            None => "n/a".to_owned(),
        });
        let values: Vec<_> = values.collect();
        let Row { name, subject, session, page, .. } = row;
        text += &format!("{subject}\t{session}\t{name}\t{}\t{page}\n", values.join("\t"));
    }
    text
}

fn html(rows: &[Row], columns: &[String], missing: &[String]) -> String {
    let mut page = Page::new("All sessions")
        .subtitle(format!("{} series by fimbria bids", rows.len()))
        .footer(format!("fimbria {}", env!("CARGO_PKG_VERSION")));
    if !missing.is_empty() {
        page = page.warning(format!("Not finished: {}.", missing.join(", ")));
    }
    let figures = columns.iter().map(|column| {
        let dots = rows.iter().filter_map(|row| {
            let value = row.value(column)?;
            Some(Dot { value, name: &row.name, link: &row.page })
        });
        let dots: Vec<_> = dots.collect();
        let without = rows.len() - dots.len();
        let caption = match without {
            0 => String::new(),
            n => format!("{n} series without."),
        };
        (strip(column, "", &dots), caption)
    });
    let (ours, theirs): (Vec<_>, Vec<_>) =
        columns.iter().zip(figures).partition(|(column, _)| !is_of_input(column));
    let section = |heading: &str, text: &str, figures: Vec<(&String, _)>| {
        let figures = figures.into_iter().map(|(_, figure)| figure).collect();
        Section::new(heading).text(text).figures(figures)
    };
    let what = "A dot is a series, and leads to its page. Medians are over the voxels fitted, in the \
                units of the maps: mm²/s for diffusivities.";
    page = page.section(section("Results", what, ours));
    if !theirs.is_empty() {
        let what = "What the tables of the input say of the same series.";
        page = page.section(section("Input", what, theirs));
    }
    let table = Table {
        caption: "The numbers are in group_dwi.tsv.".to_owned(),
        columns: ["series", "page"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(|row| vec![row.name.clone(), row.page.clone()]).collect(),
    };
    page.section(Section::new("Series").table(table)).to_html()
}

/// Whether a column was taken over from the input's tables.
fn is_of_input(column: &str) -> bool {
    column.starts_with("input_") || column == "framewise_displacement_mean"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_from_the_root() {
        assert_eq!(page_below("sub-01", "../sub-01.html"), "sub-01.html");
        assert_eq!(page_below("sub-01/ses-2", "../../sub-01_ses-2.html"), "sub-01_ses-2.html");
        assert_eq!(page_below("sub-01/ses-2", "x.html"), "sub-01/ses-2/x.html");
    }

    #[test]
    fn a_value_that_a_series_lacks_is_not_available() {
        let row = |name: &str, values: &[(&str, f64)]| Row {
            name: name.to_owned(),
            subject: name.to_owned(),
            session: "n/a".to_owned(),
            page: format!("{name}.html"),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        let rows = [row("sub-1", &[("a", 1.5)]), row("sub-2", &[("a", 2.0), ("b", 0.0)])];
        let columns = columns_of(&rows);
        let expected = "participant_id\tsession_id\tseries\ta\tb\tpage\n\
                        sub-1\tn/a\tsub-1\t1.5\tn/a\tsub-1.html\n\
                        sub-2\tn/a\tsub-2\t2.0\t0.0\tsub-2.html\n";
        assert_eq!(tsv(&rows, &columns), expected);
        let page = html(&rows, &columns, &["sub-3".to_owned()]);
        assert!(page.contains("Not finished: sub-3.") && page.contains("<a href=\"sub-2.html\">"));
        assert!(!page.contains("http:") && page.contains("1 series without."));
    }
}
