//! Text files of numbers: weights, points, directions, matrices.

use std::io;
use std::path::{Path, PathBuf};

use crate::read_regular_text;

/// Rows of numbers, each with its line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberRows {
    numbers: Vec<f64>,
    /// The line of each row, from 1, and the end of its numbers.
    rows: Vec<(usize, usize)>,
}

/// A file that holds anything but numbers.
#[derive(Debug, thiserror::Error)]
pub enum NumbersError {
    /// It cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A word of it is no number.
    #[error("{}, line {line}: `{word}` is no finite number", path.display())]
    NoNumber {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        word: String,
    },
}

impl NumberRows {
    /// Reads a file: finite numbers separated by blanks or commas. Empty lines are no rows, and what stands behind
    /// a # is not read.
    ///
    /// # Errors
    /// Where the file cannot be read or does not fit into memory, and where a word is no finite number.
    pub fn read(path: &Path) -> Result<Self, NumbersError> {
        let unread = |source| NumbersError::Read { path: path.to_owned(), source };
        let text = read_regular_text(path).map_err(unread)?;
        let lines = || text.lines().map(words);
        let mut read = Self::default();
        let count = lines().map(Iterator::count).sum();
        read.numbers.try_reserve_exact(count).map_err(|error| unread(error.into()))?;
        let filled = lines().filter(|words| words.clone().next().is_some()).count();
        read.rows.try_reserve_exact(filled).map_err(|error| unread(error.into()))?;
        for (line, words) in (1..).zip(lines()) {
            let start = read.numbers.len();
            for word in words {
                let number = word.parse().ok().filter(|number: &f64| number.is_finite());
                let (path, word) = (path.to_owned(), word.to_owned());
                read.numbers.push(number.ok_or(NumbersError::NoNumber { path, line, word })?);
            }
            if read.numbers.len() > start {
                read.rows.push((line, read.numbers.len()));
            }
        }
        Ok(read)
    }

    /// Every row with its line, from 1; no row is empty.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (usize, &[f64])> {
        self.rows.iter().enumerate().map(|(row, &(line, end))| {
            let start = row.checked_sub(1).map_or(0, |before| self.rows[before].1);
            (line, &self.numbers[start..end])
        })
    }

    /// Every number with its line, from 1.
    pub fn numbers(&self) -> impl Iterator<Item = (usize, f64)> {
        self.rows().flat_map(|(line, row)| row.iter().map(move |number| (line, *number)))
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> + Clone {
    let read = line.split('#').next().unwrap_or("");
    read.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NumberRows, NumbersError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.txt");
        std::fs::write(&path, text).unwrap();
        NumberRows::read(&path)
    }

    #[test]
    fn rows_keep_their_lines() {
        let read = read("# of a study\n1 2.5\r\n\n -3e2,4 # more\n7\n").unwrap();
        let rows: Vec<_> = read.rows().collect();
        assert_eq!(rows, [(2, &[1.0, 2.5][..]), (4, &[-300.0, 4.0][..]), (5, &[7.0][..])]);
        let numbers: Vec<_> = read.numbers().collect();
        assert_eq!(numbers, [(2, 1.0), (2, 2.5), (4, -300.0), (4, 4.0), (5, 7.0)]);
    }

    #[test]
    fn what_is_no_finite_number_is_named_with_its_line() {
        for word in ["nan", "inf", "-inf", "1e999", "one", "0x10"] {
            let error = read(&format!("1 2\n3 {word}\n")).unwrap_err().to_string();
            assert!(error.ends_with(&format!("line 2: `{word}` is no finite number")), "{error}");
        }
    }

    #[test]
    fn a_file_without_numbers_has_no_rows() {
        assert_eq!(read("").unwrap(), NumberRows::default());
        assert_eq!(read("# nothing\n\n").unwrap().rows().len(), 0);
    }
}
