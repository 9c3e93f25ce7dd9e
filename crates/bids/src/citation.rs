//! What was done, in words for a paper: `logs/CITATION.*`.

use std::path::Path;

use fimbria_pipeline::RunRecord;
use fimbria_pipeline::stages::shown::Methods;
use serde_json::{Value, json};

use crate::BidsError;
use crate::own::put;

/// What the record of a session keeps of what the run of a series did.
pub(crate) fn kept(all: &[Methods]) -> Value {
    all.iter().map(|Methods { text, references }| json!([text, references])).collect()
}

/// Writes the words of what was run of every finished session, by its record: of several in different
/// words, all of them; for who has claimed the root. Hands back the names of files that are somebody else's.
pub(crate) fn write(
    out: &Path,
    finished: &[(String, RunRecord)],
) -> Result<Vec<&'static str>, BidsError> {
    let (mut texts, mut references): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let series = finished.iter().filter_map(|(_, record)| record.results.get("series")?.as_array());
    let methods = series.flatten().filter_map(|series| series[METHODS].as_array()).flatten();
    for said in methods {
        let cited = said[1].as_array().into_iter().flatten();
        let add = |to: &mut Vec<_>, word| {
            if !to.contains(&word) {
                to.push(word);
            }
        };
        said[0].as_str().into_iter().for_each(|text| add(&mut texts, text));
        cited.filter_map(Value::as_str).for_each(|reference| add(&mut references, reference));
    }
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let mut theirs = Vec::new();
    for (name, text) in [
        ("logs/CITATION.md", markdown(&texts, &references)),
        ("logs/CITATION.bib", bibliography(&references)),
        ("logs/CITATION.html", html(&texts, &references)),
    ] {
        if !put(out, name, text.as_bytes(), false)? {
            theirs.push(name);
        }
    }
    Ok(theirs)
}

/// Adds to what a series says what was said of it before.
pub(crate) fn add(series: &mut Value, before: &Value) {
    let Some(said) = series[METHODS].as_array_mut() else { return };
    for method in before[METHODS].as_array().into_iter().flatten() {
        if !said.contains(method) {
            said.push(method.clone());
        }
    }
}

/// Where it is kept of each series.
pub(crate) const METHODS: &str = "methods";

const PROGRAM: &str = concat!("fimbria ", env!("CARGO_PKG_VERSION"));

const FREE: &str = "This text may be used in any way, changed or not (CC0).";

fn markdown(texts: &[&str], references: &[&str]) -> String {
    let mut text = format!("# Methods\n\nImages were processed by {PROGRAM}.\n\n");
    texts.iter().for_each(|t| text += &format!("{t}\n\n"));
    text += "## References\n\n";
    references.iter().for_each(|reference| text += &format!("- {reference}\n"));
    text + &format!("\n{FREE}\n")
}

/// Entries whose words are those of the text: of these programs make any style.
fn bibliography(references: &[&str]) -> String {
    let entry = |(i, reference): (usize, &&str)| {
        let note: String = reference.chars().filter(|c| !matches!(c, '{' | '}' | '\\')).collect();
        format!("@misc{{fimbria{},\n  note = {{{note}}}\n}}\n", i + 1)
    };
    references.iter().enumerate().map(entry).collect()
}

fn html(texts: &[&str], references: &[&str]) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let texts: String = texts.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
    let references: String =
        references.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Methods</title>\n\
         </head>\n<body>\n<h1>Methods</h1>\n<p>Images were processed by {PROGRAM}.</p>\n{texts}\
         <h2>References</h2>\n<ul>\n{references}</ul>\n<p>{FREE}</p>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of a session with a series in these words.
    fn record(methods: &[Methods]) -> (String, RunRecord) {
        let record = json!({
            "program": "fimbria", "version": "0", "command_line": [], "task": "bids", "inputs": [],
            "parameters": {}, "stages": [], "warnings": [], "outputs": [],
            "machine": { "system": "", "threads": 1, "simd": "", "devices": [] },
            "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:00:00Z",
            "series": [{ METHODS: kept(methods) }],
        });
        ("sub-01".to_owned(), serde_json::from_value(record).unwrap())
    }

    #[test]
    fn what_several_sessions_have_in_common_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let methods =
            |text: &str| Methods { text: text.to_owned(), references: vec!["A & B (2000)"] };
        let all = [record(&[methods("a < b")]), record(&[methods("a < b"), methods("c")])];
        write(folder.path(), &all).unwrap();
        let read =
            |name: &str| std::fs::read_to_string(folder.path().join("logs").join(name)).unwrap();
        let markdown = read("CITATION.md");
        assert_eq!(markdown.matches("a < b").count(), 1);
        assert_eq!(markdown.matches("A & B").count(), 1);
        assert!(markdown.contains("\nc\n"), "{markdown}");
        assert!(read("CITATION.bib").starts_with("@misc{fimbria1,"));
        assert!(read("CITATION.html").contains("<p>a &lt; b</p>"));
    }
}
