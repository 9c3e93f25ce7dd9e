//! A table and a page of all sessions, and a page of each subject over its sessions.

use std::path::{Path, PathBuf};

use fimbria_report::Page;
use serde_json::json;

use crate::claim::Claim;
use crate::digest::{finished, finished_of};
use crate::own::{is_free, put, remove};
use crate::participants::ReportLevel;
use crate::responses::mean_responses;
use crate::rows::{Cell, Column, Row, columns_of, described, doubts, rows_of};
use crate::strips::{footer, page_of};
use crate::{BidsError, DataSet, citation};

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
    /// Files that would be written and are somebody else's, below the derivatives.
    pub theirs: Vec<&'static str>,
    /// What the user should know of these series beside each other, a sentence each.
    pub doubts: Vec<String>,
}

/// Writes `group_dwi.tsv`, a row of each series that is finished, `group_dwi.json`, what its columns are, and
/// `group_dwi.html`, a strip of dots for each number, which lead to the pages of their sessions; and where
/// sessions have responses their means.
///
/// # Errors
/// [`BidsError::NothingDone`], or where they cannot be written, or somebody else's files are there and `force`
/// is false.
pub fn group(data_set: &DataSet, out: &Path, force: bool) -> Result<Group, BidsError> {
    if finished(out)?.is_empty() {
        return Err(BidsError::NothingDone(out.to_owned()));
    }
    let _claim = Claim::take_root(out)?;
    let finished = finished(out)?;
    let rows = rows_of(&finished);
    let done: Vec<_> = finished.iter().map(|(folder, _)| folder.replace('/', "_")).collect();
    let names = data_set.sessions.iter().map(crate::Session::name);
    let missing: Vec<String> = names.filter(|name| !done.contains(name)).collect();
    let columns = columns_of(&rows, out);
    let (responses, other_shells) = mean_responses(out, &finished);
    let mut files = vec![
        ("group_dwi.tsv", tsv(&rows, &columns)),
        ("group_dwi.json", format!("{:#}\n", described(&columns))),
        ("group_dwi.html", html(&rows, &columns, &missing)),
    ];
    files.extend(responses);
    let mut names = Vec::new();
    for (name, _) in &files {
        if !force && !is_free(out, name)? {
            names.push((*name).to_owned());
        }
    }
    if !names.is_empty() {
        return Err(BidsError::InTheWay { folder: out.to_owned(), names });
    }
    let theirs = citation::write(out, &finished)?;
    for (name, text) in &files {
        put(out, name, text.as_bytes(), true)?;
    }
    let [table, page] = ["group_dwi.tsv", "group_dwi.html"].map(|name| out.join(name));
    let doubts = doubts(&rows).into_iter().chain(other_shells).collect();
    Ok(Group { table, page, series: rows.len(), missing, doubts, theirs })
}

/// Writes the page of a subject (`sub-01`) with sessions, which leads to the page of each that is finished; for
/// who has claimed the root. False where somebody else's file is there, which stays.
pub(crate) fn subject_page(
    out: &Path,
    subject: &str,
    level: ReportLevel,
) -> Result<bool, BidsError> {
    let finished = finished_of(out, subject)?;
    let rows = rows_of(&finished);
    let name = format!("{subject}.html");
    let [root, below] = [name.clone(), format!("{subject}/{name}")];
    let (path, up, before) = match level {
        ReportLevel::Root => (root, "", below),
        ReportLevel::Subject | ReportLevel::Session => (below, "../", root),
    };
    // Where it was with another level.
    remove(out, &before)?;
    let page = Page::new(subject)
        .subtitle(format!("{} of its sessions by fimbria bids", finished.len()))
        .footer(footer());
    let page = page_of(page, &rows, &columns_of(&rows, out), up, "The page of each session.");
    put(out, &path, page.to_html().as_bytes(), false)
}

fn tsv(rows: &[Row], columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
    let mut text = format!("participant_id\tsession_id\tseries\t{}\tpage\n", names.join("\t"));
    for row in rows {
        let values = columns.iter().map(|column| match row.value(column) {
            Some(Cell::Number(value)) => json!(value).to_string(),
            Some(Cell::Word(word)) => word.clone(),
            None => "n/a".to_owned(),
        });
        let values: Vec<_> = values.collect();
        let Row { name, subject, session, page, .. } = row;
        text += &format!("{subject}\t{session}\t{name}\t{}\t{page}\n", values.join("\t"));
    }
    text
}

fn html(rows: &[Row], columns: &[Column], missing: &[String]) -> String {
    let mut page = Page::new("All sessions")
        .subtitle(format!("{} series by fimbria bids", rows.len()))
        .footer(footer());
    if !missing.is_empty() {
        page = page.warning(format!("Not finished: {}.", missing.join(", ")));
    }
    page = doubts(rows).into_iter().fold(page, Page::warning);
    page_of(page, rows, columns, "", "The numbers are in group_dwi.tsv.").to_html()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rows::row_of;

    #[test]
    fn a_value_that_a_series_lacks_is_not_available() {
        let row = |name: &str, columns: Value| {
            let page = format!("../{name}.html");
            row_of(name, &json!({ "name": name, "page": page, "columns": columns }))
        };
        let rows = [row("sub-1", json!({ "a": 1.5 })), row("sub-2", json!({ "a": 2.0, "b": 0.0 }))];
        let columns = columns_of(&rows, Path::new("nowhere"));
        let expected = "participant_id\tsession_id\tseries\ta\tb\tpage\n\
                        sub-1\tn/a\tsub-1\t1.5\tn/a\tsub-1.html\n\
                        sub-2\tn/a\tsub-2\t2.0\t0.0\tsub-2.html\n";
        assert_eq!(tsv(&rows, &columns), expected);
        let page = html(&rows, &columns, &["sub-3".to_owned()]);
        assert!(page.contains("Not finished: sub-3.") && page.contains("<a href=\"sub-2.html\">"));
    }
}
