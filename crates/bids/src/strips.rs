//! Series as strips of dots, for the pages of a group and of a subject.

use fimbria_report::plot::{Dot, strip};
use fimbria_report::{Page, Section, Table};

use crate::rows::{Cell, Column, LEVEL, Of, Row};
use crate::verdicts::LEVELS;

/// A strip of dots of each column, which lead to the pages of their series, and a table of these; `up` is the
/// way from this page to the root.
pub(crate) fn page_of(
    head: Page,
    rows: &[Row],
    columns: &[Column],
    up: &str,
    caption: &str,
) -> Page {
    let links: Vec<_> = rows.iter().map(|row| format!("{up}{}", row.page)).collect();
    let figure = |column: &Column| {
        let dots = rows.iter().zip(&links).filter_map(|(row, link)| {
            Some(Dot { value: row.number(column)?, name: &row.name, link })
        });
        let dots: Vec<_> = dots.collect();
        let caption = match rows.len() - dots.len() {
            0 => String::new(),
            n => format!("{n} series without."),
        };
        // Verdicts have the names that their session's page gives them.
        let heading = match column.of {
            Of::Verdict => column.name.replace('_', " "),
            _ => column.name.to_string(),
        };
        (strip(&heading, &column.unit.replace("^2", "²"), &dots), caption)
    };
    let section = |of: Of, heading: &str, text: &str| {
        let figures = columns.iter().filter(|column| column.of == of).map(figure).collect();
        Section::new(heading).text(text).figures(figures)
    };
    let has = |of: Of| columns.iter().any(|column| column.of == of);
    let mut page = head;
    if has(Of::Level) {
        let what =
            "Verdicts on each series, as on its page. A dot is a series, and leads to its page.";
        let quality = section(Of::Verdict, "Are the scans good?", what);
        page = page.section(quality.table(judged(rows, columns)));
    }
    let what = "A dot is a series, and leads to its page. Medians are over the voxels fitted.";
    page = page.section(section(Of::Results, "Results", what));
    if has(Of::Input) {
        let what = "What the tables of the input say of the same series.";
        page = page.section(section(Of::Input, "Input", what));
    }
    let table = Table {
        caption: caption.to_owned(),
        columns: ["series", "page"].map(str::to_owned).to_vec(),
        rows: rows.iter().zip(links).map(|(row, link)| vec![row.name.clone(), link]).collect(),
    };
    page.section(Section::new("Series").table(table))
}

/// How many series each verdict finds how, and which of them are not good.
fn judged(rows: &[Row], columns: &[Column]) -> Table {
    /// Names in a row of the table.
    const SHOWN: usize = 8;
    let row = |column: &Column| {
        let at = |level: &'static str| {
            let is_at = move |row: &&Row| row.value(column) == Some(&Cell::Word(level.to_owned()));
            rows.iter().filter(is_at).map(|row| &*row.name)
        };
        let name = column.name.trim_end_matches(LEVEL).replace('_', " ");
        let counts = LEVELS.iter().map(|(_, word, _)| at(word).count().to_string());
        let names: Vec<&str> = at("bad").chain(at("doubtful")).collect();
        let more = if names.len() > SHOWN { " …" } else { "" };
        let shown = names[..names.len().min(SHOWN)].join(", ") + more;
        std::iter::once(name).chain(counts).chain([shown]).collect()
    };
    let levels = LEVELS.iter().map(|(_, word, _)| *word);
    let heads = std::iter::once("verdict").chain(levels).chain(["bad or doubtful"]);
    Table {
        caption: "How many series each verdict finds how.".to_owned(),
        columns: heads.map(str::to_owned).collect(),
        rows: columns.iter().filter(|column| column.of == Of::Level).map(row).collect(),
    }
}

/// What stands below a page.
pub(crate) fn footer() -> String {
    format!("fimbria {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::rows::{columns_of, row_of};

    #[test]
    fn dots_lead_from_a_page_below_the_root_to_the_pages_of_series() {
        let row = |name: &str, columns| {
            let page = format!("../{name}.html");
            row_of(name, &json!({ "name": name, "page": page, "columns": columns }))
        };
        let rows = [row("sub-1", json!({ "a": 1.5 })), row("sub-2", json!({ "a": 2.0, "b": 0.0 }))];
        let columns = columns_of(&rows, Path::new("nowhere"));
        let page = page_of(Page::new("x"), &rows, &columns, "../", "").to_html();
        assert!(page.contains("<a href=\"../sub-2.html\">") && page.contains("1 series without."));
        assert!(!page.contains("http:"));
    }

    #[test]
    fn verdicts_are_counted_and_who_fails_is_named() {
        let judged_as = |name: &str, level: &str| {
            let verdict = json!({
                "name": "Moved volumes", "level": level, "value": "", "threshold": "a quarter",
                "source": "measured", "says": "",
            });
            row_of(name, &json!({ "name": name, "page": "", "verdicts": [verdict] }))
        };
        let rows = [judged_as("sub-1", "good"), judged_as("sub-2", "bad")];
        let columns = columns_of(&rows, Path::new("nowhere"));
        let table = judged(&rows, &columns);
        assert_eq!(table.rows, [["moved volumes", "1", "0", "0", "1", "sub-2"]]);
        let page = page_of(Page::new("x"), &rows, &columns, "", "").to_html();
        assert!(page.contains("Are the scans good?"));
    }
}
