//! Rows that appear as they are measured.

use fimbria_compute::device::Spent;
use serde_json::{Map, Value};

use crate::clock::Time;
use crate::{Console, Failure, Rows};

/// A table on standard output. Where devices are metered, rows end with where their
/// milliseconds went, and what was done.
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
        let mut columns = columns.into();
        if !console.spent().is_empty() {
            let parts = Spent::default().parts();
            columns.extend(parts.map(|(name, _)| number(format!("{name} ms"), 11)));
            columns.extend(["launches", "MB up", "MB down"].map(|name| number(name, 8)));
        }
        let table = Self { console, columns };
        if console.rows() == Rows::Text {
            console.print("\n")?;
            table.line(table.columns.iter().map(|column| column.name.as_str()))?;
        }
        Ok(table)
    }

    /// Prints one row.
    pub(crate) fn row<T: AsRef<str>>(
        &self,
        cells: impl IntoIterator<Item = T>,
    ) -> Result<(), Failure> {
        match self.console.rows() {
            Rows::Text => self.line(cells),
            Rows::Json => self.object(cells),
        }
    }

    /// Prints one row of what took this time.
    pub(crate) fn row_of<T: Into<String>>(
        &self,
        time: Time,
        cells: impl IntoIterator<Item = T>,
    ) -> Result<(), Failure> {
        let cells = cells.into_iter().map(Into::into);
        let Some(spent) = time.spent else { return self.row(cells) };
        let parts = spent.parts().map(|(_, seconds)| digits(1e3 * seconds));
        let counts = [
            format!("{:.0}", spent.launches),
            digits(1e-6 * spent.bytes_up),
            digits(1e-6 * spent.bytes_down),
        ];
        self.row(cells.chain(parts).chain(counts))
    }

    /// The row as an object of its columns: numbers, or the words that stand there.
    fn object<T: AsRef<str>>(&self, cells: impl IntoIterator<Item = T>) -> Result<(), Failure> {
        let value = |column: &Column, cell: &str| match cell.parse::<f64>() {
            Ok(number) if column.is_number => Value::from(number),
            _ if cell == "-" => Value::Null,
            _ => Value::from(cell),
        };
        let entries = self.columns.iter().zip(cells);
        let entries = entries.map(|(c, cell)| (c.name.clone(), value(c, cell.as_ref())));
        let object = Value::Object(Map::from_iter(entries));
        self.console.print(&format!("{object}\n"))
    }

    fn line<T: AsRef<str>>(&self, cells: impl IntoIterator<Item = T>) -> Result<(), Failure> {
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
