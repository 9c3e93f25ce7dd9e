//! MRtrix3's gradient tables: text files, and `dw_scheme` in the header of a .mif.

use super::assemble::{Lengths, assemble};
use super::text::{self, number};
use super::{GradientError, GradientTable, GradientsRead, TableOptions};
use crate::BvecFrame;

impl GradientTable {
    /// Reads a text of one row `x y z b` per volume, directions in scanner RAS+ axes, `#` before
    /// comments.
    ///
    /// Lengths other than 1 scale b by their square where that changes any b by more than 1 %,
    /// and are only normalised otherwise, as MRtrix3 does; either is stated.
    ///
    /// # Errors
    /// [`GradientError`] where the text is no table or belongs to another image.
    pub fn from_mrtrix(
        table: &str,
        options: &TableOptions,
    ) -> Result<GradientsRead, GradientError> {
        let rows = text::rows("gradient table", table)?;
        from_rows(rows.iter().map(|row| (row.line, &row.values[..])), options)
    }

    /// The same from the rows of a .mif header's `dw_scheme`.
    ///
    /// # Errors
    /// [`GradientError`] where the rows are no table or belong to another image; lines count rows.
    pub fn from_dw_scheme(
        rows: &[Vec<f64>],
        options: &TableOptions,
    ) -> Result<GradientsRead, GradientError> {
        from_rows(rows.iter().enumerate().map(|(i, row)| (i + 1, &row[..])), options)
    }

    /// The table as rows x y z b, scanner RAS+ axes: a .mif header's `dw_scheme`.
    pub fn to_dw_scheme(&self) -> Vec<Vec<f64>> {
        let entries = self.dirs_ras.iter().zip(&self.b_s_per_mm2);
        entries.map(|(&[x, y, z], &b)| vec![x, y, z, b]).collect()
    }

    /// The table as MRtrix3's text: one row `x y z b` per volume, scanner RAS+ axes.
    pub fn to_mrtrix(&self) -> String {
        let line = |row: Vec<f64>| row.into_iter().map(number).collect::<Vec<_>>().join(" ") + "\n";
        self.to_dw_scheme().into_iter().map(line).collect()
    }
}

/// The table of numbered rows.
fn from_rows<'a>(
    rows: impl Iterator<Item = (usize, &'a [f64])>,
    options: &TableOptions,
) -> Result<GradientsRead, GradientError> {
    let (mut b, mut dirs) = (Vec::new(), Vec::new());
    for (line, row) in rows {
        let &[x, y, z, b_s_per_mm2] = row else {
            return Err(GradientError::RowLength {
                what: "gradient table",
                line,
                found: row.len(),
                expected: "4 (x y z b)".into(),
            });
        };
        dirs.push([x, y, z]);
        b.push(b_s_per_mm2);
    }
    let scanner = BvecFrame::Scanner.ras_from_frame(&crate::Affine::IDENTITY);
    assemble(b, dirs, &scanner, Lengths::ScaleB, options)
}
