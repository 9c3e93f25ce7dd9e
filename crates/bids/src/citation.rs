//! What was done, in words for a paper: `logs/CITATION.*`.

use std::path::Path;

use fimbria_pipeline::stages::report::Methods;

use crate::BidsError;
use crate::files::{make_folder, replace};

/// Writes the words of what was run: of several series in different words, all of them.
pub(crate) fn write(out: &Path, all: &[Vec<Methods>]) -> Result<(), BidsError> {
    let (mut texts, mut references): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for methods in all.iter().flatten() {
        if !texts.contains(&&*methods.text) {
            texts.push(&methods.text);
        }
        for reference in &methods.references {
            if !references.contains(reference) {
                references.push(reference);
            }
        }
    }
    let logs = out.join("logs");
    make_folder(&logs)?;
    replace(&logs.join("CITATION.md"), markdown(&texts, &references).as_bytes())?;
    replace(&logs.join("CITATION.bib"), bibliography(&references).as_bytes())?;
    replace(&logs.join("CITATION.html"), html(&texts, &references).as_bytes())
}

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

    #[test]
    fn what_several_series_have_in_common_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let methods =
            |text: &str| Methods { text: text.to_owned(), references: vec!["A & B (2000)"] };
        write(folder.path(), &[vec![methods("a < b")], vec![methods("a < b"), methods("c")]])
            .unwrap();
        let read =
            |name: &str| std::fs::read_to_string(folder.path().join("logs").join(name)).unwrap();
        let markdown = read("CITATION.md");
        assert_eq!(markdown.matches("a < b").count(), 1);
        assert_eq!(markdown.matches("A & B").count(), 1);
        assert!(read("CITATION.bib").starts_with("@misc{fimbria1,"));
        assert!(read("CITATION.html").contains("<p>a &lt; b</p>"));
    }
}
