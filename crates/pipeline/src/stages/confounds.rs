//! Motion as preprocessing noted it: confounds, a table with a row for each volume.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The column that is read.
const COLUMN: &str = "framewise_displacement";

/// Bytes of a row at most, on the mean: one of hundreds of columns has some ten thousand.
const ROW: u64 = 1 << 20;

/// Framewise displacement between two volumes, mm: of shifts in mm and turns in radians, which count as the way of a
/// point 50 mm from the middle (Power et al. 2012).
pub(super) fn displaced_mm(before: [f64; 6], here: [f64; 6]) -> f64 {
    const RADIUS_MM: f64 = 50.0;
    let way = |i: usize| (here[i] - before[i]).abs() * if i < 3 { 1.0 } else { RADIUS_MM };
    (0..6).map(way).sum()
}

/// Confounds that are none of a series.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfoundsError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The table has another number of rows than the series has volumes.
    #[error("it has {rows} rows, and the series {volumes} volumes")]
    Rows {
        /// Of the table: a number, or "more".
        rows: String,
        /// Of the series.
        volumes: usize,
    },
    /// A displacement that is none.
    #[error("line {line} has a framewise displacement of `{value}`, which is no length in mm")]
    Value {
        /// From 1, the heading.
        line: usize,
        /// As written.
        value: String,
    },
}

/// The framewise displacement of each volume, mm; the first one has none. Empty where the table has no such
/// column. No more is read than a series of so many volumes can have.
///
/// # Errors
/// [`ConfoundsError`].
pub(super) fn framewise(path: &Path, volumes: usize) -> Result<Vec<Option<f64>>, ConfoundsError> {
    let file = fimbria_image::open_regular(path)?;
    let mut lines = BufReader::new(file.take(ROW * (volumes as u64 + 2))).lines();
    let heading = lines.next().transpose()?.unwrap_or_default();
    let Some(column) = heading.split('\t').position(|name| name.trim() == COLUMN) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (index, line) in lines.enumerate() {
        let text = line?;
        if text.trim().is_empty() {
            continue;
        }
        if all.len() == volumes {
            return Err(ConfoundsError::Rows { rows: "more".to_owned(), volumes });
        }
        let cell = text.split('\t').nth(column).unwrap_or_default().trim();
        all.push(match cell {
            "" | "n/a" | "nan" | "NaN" => None,
            _ => {
                let mm = cell.parse().ok().filter(|mm: &f64| mm.is_finite() && *mm >= 0.0);
                let value = || ConfoundsError::Value { line: index + 2, value: cell.to_owned() };
                Some(mm.ok_or_else(value)?)
            }
        });
    }
    match all.len() == volumes {
        true => Ok(all),
        false => Err(ConfoundsError::Rows { rows: all.len().to_string(), volumes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, volumes: usize) -> Result<Vec<Option<f64>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("confounds.tsv");
        std::fs::write(&path, text).unwrap();
        framewise(&path, volumes).map_err(|error| error.to_string())
    }

    #[test]
    fn framewise_displacement_is_found_by_its_name() {
        let text = "trans_x\tframewise_displacement\tx\n0\tn/a\t1\n0.1\t0.25\t1\n\n";
        assert_eq!(read(text, 2).unwrap(), [None, Some(0.25)]);
        assert!(read("a\tb\n1\t2\n", 7).unwrap().is_empty());
    }

    #[test]
    fn confounds_of_another_series_are_known_by_their_rows() {
        let text = "framewise_displacement\nn/a\n0.2\n0.4\n";
        assert_eq!(read(text, 4).unwrap_err(), "it has 3 rows, and the series 4 volumes");
        assert_eq!(read(text, 2).unwrap_err(), "it has more rows, and the series 2 volumes");
    }

    #[test]
    fn displacements_that_are_no_lengths_are_refused_by_their_line() {
        for value in ["-2", "inf", "1e999", "much"] {
            let error = read(&format!("framewise_displacement\nn/a\n{value}\n"), 2).unwrap_err();
            assert!(error.contains("line 3") && error.contains(&format!("`{value}`")), "{error}");
        }
    }
}
