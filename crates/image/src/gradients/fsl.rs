//! FSL's bvals and bvecs.

use super::assemble::{Lengths, assemble};
use super::text::{self, Row, number};
use super::{GradientError, GradientTable, GradientsRead, Repair, TableOptions};
use crate::frames::turned;
use crate::{Affine, BvecFrame};

/// The texts of a bvals and a bvecs file.
#[derive(Clone, Debug, PartialEq)]
pub struct FslGradients {
    /// b in s/mm², one row.
    pub bvals: String,
    /// Directions, three rows x, y, z.
    pub bvecs: String,
}

impl GradientTable {
    /// Reads bvals (any arrangement) and bvecs (three rows of N as FSL writes them, or N rows of
    /// three) of an image with the given affine. Numbers may stand between spaces, tabs or commas.
    ///
    /// Three volumes make bvecs 3x3: then columns are directions as in FSL's layout, unless only
    /// the rows are of unit length; which was taken is stated.
    ///
    /// # Errors
    /// [`GradientError`] where the texts are no table or belong to another image.
    pub fn from_fsl(
        bvals: &str,
        bvecs: &str,
        frame: BvecFrame,
        ras_from_vox: &Affine,
        options: &TableOptions,
    ) -> Result<GradientsRead, GradientError> {
        let b = text::rows("bvals", bvals)?.into_iter().flat_map(|row| row.values).collect();
        let (dirs, repair) = directions(&text::rows("bvecs", bvecs)?)?;
        let ras_from_frame = frame.ras_from_frame(ras_from_vox);
        let mut read = assemble(b, dirs, &ras_from_frame, Lengths::AreRounding, options)?;
        read.repairs.splice(0..0, repair);
        Ok(read)
    }

    /// The table as bvals and bvecs of an image with the given affine.
    pub fn to_fsl(&self, frame: BvecFrame, ras_from_vox: &Affine) -> FslGradients {
        let frame_from_ras = frame.frame_from_ras(ras_from_vox);
        let dirs: Vec<_> = self.dirs_ras.iter().map(|&g| turned(&frame_from_ras, g)).collect();
        let row = |values: &mut dyn Iterator<Item = f64>| {
            values.map(number).collect::<Vec<_>>().join(" ") + "\n"
        };
        FslGradients {
            bvals: row(&mut self.b_s_per_mm2.iter().copied()),
            bvecs: (0..3).map(|axis| row(&mut dirs.iter().map(|g| g[axis]))).collect(),
        }
    }
}

/// One direction per volume, from either arrangement.
fn directions(rows: &[Row]) -> Result<(Vec<[f64; 3]>, Option<Repair>), GradientError> {
    let columns = rows[0].values.len();
    if let Some(row) = rows.iter().find(|row| row.values.len() != columns) {
        return Err(GradientError::RowLength {
            what: "bvecs",
            line: row.line,
            found: row.values.len(),
            expected: format!("{columns} (as in line {})", rows[0].line),
        });
    }
    let of_columns =
        || (0..columns).map(|c| std::array::from_fn(|axis| rows[axis].values[c])).collect();
    let of_rows = || rows.iter().map(|r| [r.values[0], r.values[1], r.values[2]]).collect();
    match (rows.len(), columns) {
        (3, 3) => {
            let (by_column, by_row): (Vec<_>, Vec<_>) = (of_columns(), of_rows());
            let by_rows = !all_unit(&by_column) && all_unit(&by_row);
            let dirs = if by_rows { by_row } else { by_column };
            Ok((dirs, Some(Repair::ThreeByThreeBvecs { by_rows })))
        }
        (3, _) => Ok((of_columns(), None)),
        (_, 3) => Ok((of_rows(), None)),
        (rows, columns) => Err(GradientError::BvecShape { rows, columns }),
    }
}

/// True where every direction is missing (zero, NaN) or of unit length to two decimals.
fn all_unit(dirs: &[[f64; 3]]) -> bool {
    dirs.iter().all(|g| {
        let norm = g[0].hypot(g[1]).hypot(g[2]);
        norm.is_nan() || norm == 0.0 || (norm - 1.0).abs() < 0.01
    })
}
