//! Numbers in text: rows of tokens between spaces, tabs or commas.

use super::GradientError;

/// The numbers of one line.
#[derive(Debug)]
pub(super) struct Row {
    /// Line of the text, from 1.
    pub(super) line: usize,
    /// Its numbers; NaN is kept, infinities are refused.
    pub(super) values: Vec<f64>,
}

/// Splits `text` into rows of numbers. `#` starts a comment; lines without numbers are dropped; a
/// byte-order mark is ignored.
///
/// # Errors
/// A token that is no number, or no numbers at all.
pub(super) fn rows(what: &'static str, text: &str) -> Result<Vec<Row>, GradientError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let numbers = line.split('#').next().unwrap_or_default();
        let is_gap = |c: char| c.is_whitespace() || c == ',';
        let mut values = Vec::new();
        for token in numbers.split(is_gap).filter(|t| !t.is_empty()) {
            match token.parse::<f64>() {
                Ok(value) if !value.is_infinite() => values.push(value),
                _ => {
                    // The token is a slice of the line: its address says where it stands.
                    let byte = token.as_ptr().addr() - line.as_ptr().addr();
                    return Err(GradientError::NotANumber {
                        what,
                        line: index + 1,
                        column: line[..byte].chars().count() + 1,
                        token: token.chars().take(40).collect(),
                    });
                }
            }
        }
        if !values.is_empty() {
            rows.push(Row { line: index + 1, values });
        }
    }
    if rows.is_empty() { Err(GradientError::Empty { what }) } else { Ok(rows) }
}

/// A number for a file: at most 12 decimals (an error far below what `f32` fits can see), no
/// trailing zeros, and no "-0".
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.12}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_tabs_comments_and_exponents_are_read() {
        let rows =
            rows("bvals", "\u{feff}# made by hand\n 0,\t1e3  2.5E+2 # tail\n\n-1\r\n").unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].line, &rows[0].values[..]), (2, &[0.0, 1000.0, 250.0][..]));
        assert_eq!((rows[1].line, &rows[1].values[..]), (4, &[-1.0][..]));
    }

    #[test]
    fn a_bad_token_is_reported_with_its_place() {
        let error = rows("bvecs", "0 1\n0 µ 1x").unwrap_err().to_string();
        assert_eq!(error, "bvecs, line 2, column 3: `µ` is not a number");
        let error = rows("bvecs", "µ".repeat(3).as_str()).unwrap_err().to_string();
        assert_eq!(error, "bvecs, line 1, column 1: `µµµ` is not a number");
        assert!(rows("bvals", "0 inf").is_err());
    }

    #[test]
    fn numbers_are_written_short() {
        assert_eq!(number(1000.0), "1000");
        assert_eq!(number(-1e-17), "0");
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(-1.0 / 3.0), "-0.333333333333");
    }
}
