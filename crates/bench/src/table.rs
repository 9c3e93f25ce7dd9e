//! Rows that appear as they are measured.

use crate::{Console, Failure};

/// A table on standard output.
pub(crate) struct Table<'a> {
    console: &'a dyn Console,
    columns: Vec<Column>,
}

/// One column: what stands above it, and how wide it is.
pub(crate) struct Column {
    name: String,
    width: usize,
    is_number: bool,
}

/// A column of words.
pub(crate) fn words(name: impl Into<String>, width: usize) -> Column {
    Column { name: name.into(), width, is_number: false }
}

/// A column of numbers.
pub(crate) fn number(name: impl Into<String>, width: usize) -> Column {
    Column { name: name.into(), width, is_number: true }
}

impl<'a> Table<'a> {
    /// Prints the names of the columns, after an empty line.
    pub(crate) fn begin(
        console: &'a dyn Console,
        columns: impl Into<Vec<Column>>,
    ) -> Result<Self, Failure> {
        let table = Self { console, columns: columns.into() };
        console.print("\n")?;
        table.row(table.columns.iter().map(|column| column.name.as_str()))?;
        Ok(table)
    }

    /// Prints one row.
    pub(crate) fn row<T: AsRef<str>>(
        &self,
        cells: impl IntoIterator<Item = T>,
    ) -> Result<(), Failure> {
        let mut line = String::new();
        for (Column { width, is_number, .. }, cell) in self.columns.iter().zip(cells) {
            let cell = cell.as_ref();
            let separator = if line.is_empty() { "" } else { "  " };
            line += separator;
            line += &if *is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
        }
        self.console.print(&format!("{}\n", line.trim_end()))
    }
}

/// "1 thread", "2 threads".
pub(crate) fn counted(threads: usize) -> String {
    fimbria_image::counted(threads, "thread")
}

/// A positive number with three digits.
pub(crate) fn digits(x: f64) -> String {
    match x {
        x if !x.is_finite() => "-".to_owned(),
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x if x >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// [`digits`] of what may not be known.
pub(crate) fn digits_or_dash(x: Option<f64>) -> String {
    x.map_or("-".to_owned(), digits)
}

/// A fraction in percent.
pub(crate) fn percent(x: f64) -> String {
    format!("{:.0} %", 100.0 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_fit_their_columns() {
        let shown = [1234.4, 99.94, 9.994, 0.12345].map(digits);
        assert_eq!(shown, ["1234", "99.9", "9.99", "0.123"]);
        assert_eq!(digits(f64::INFINITY), "-");
    }
}
