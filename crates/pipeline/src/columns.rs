//! Texts of help in columns.

use std::fmt::Write as _;

/// The width of help.
pub(crate) const WIDTH: usize = 100;

/// Adds a file and what it holds, which begins at this column.
pub(crate) fn row(to: &mut String, name: &str, holds: &str, column: usize) {
    let name = format!("  {name:<width$}", width = column - 2);
    let mut lines = String::new();
    wrapped(&mut lines, holds, column, column);
    to.push_str(&name);
    match name.ends_with("  ") {
        true => to.push_str(lines.trim_start()),
        false => to.push_str(&format!("\n{lines}")),
    }
}

/// Adds `text` in lines of [`WIDTH`], the first one `first` columns in, the others `others`.
pub(crate) fn wrapped(to: &mut String, text: &str, first: usize, others: usize) {
    let mut line = " ".repeat(first);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            // Writing to a string does not fail.
            let _ = writeln!(to, "{}", line.trim_end());
            line = " ".repeat(others);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    let _ = writeln!(to, "{line}");
}
