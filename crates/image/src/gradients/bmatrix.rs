//! Tables of b-matrices.

use super::assemble::{Lengths, assemble};
use super::text::{self, Row};
use super::{GradientError, GradientTable, GradientsRead, Repair, TableOptions};
use crate::eigen::eigen;
use crate::frames::Matrix3;
use crate::{Affine, BvecFrame};

/// What a weighted b-matrix may lack to rank one, relative to its b, before it is refused:
/// the cross-terms of imaging gradients reach a few percent, planar or spherical encoding 100 %.
const LARGEST_RESIDUAL: f64 = 0.1;
/// Residuals up to here are rounding and not worth a word.
const SILENT_RESIDUAL: f64 = 1e-3;

impl GradientTable {
    /// Reads b-matrices in s/mm², one per volume: rows of six (bxx bxy bxz byy byz bzz), rows of
    /// nine, or three rows of three per volume, in the axes `frame` of an image with the given
    /// affine.
    ///
    /// b and the direction are the largest eigenvalue and its eigenvector (the nearest matrix
    /// b g g'; its sign has no meaning, the largest component is made positive). What is dropped is
    /// stated.
    ///
    /// # Errors
    /// [`GradientError`] where the text is no such table, belongs to another image, or a matrix is
    /// more than 10 % away from rank one.
    pub fn from_bmatrix(
        text: &str,
        frame: BvecFrame,
        ras_from_vox: &Affine,
        options: &TableOptions,
    ) -> Result<GradientsRead, GradientError> {
        let (mut b, mut dirs) = (Vec::new(), Vec::new());
        let (mut volumes, mut largest_residual) = (0, 0.0f64);
        for (volume, matrix) in matrices(&text::rows("b-matrices", text)?)?.iter().enumerate() {
            if let Some(&b_s_per_mm2) = matrix.iter().flatten().find(|x| x.is_nan()) {
                return Err(GradientError::BValue { volume, b_s_per_mm2 });
            }
            let (values, vectors) = eigen(matrix);
            let residual = values[1].hypot(values[2]);
            let allowed = (LARGEST_RESIDUAL * values[0]).max(options.b0_threshold);
            if residual > allowed {
                let eigenvalues_s_per_mm2 = values;
                return Err(GradientError::BMatrixRank { volume, eigenvalues_s_per_mm2 });
            }
            if values[0] > options.b0_threshold && residual > SILENT_RESIDUAL * values[0] {
                volumes += 1;
                largest_residual = largest_residual.max(residual / values[0]);
            }
            b.push(values[0].max(0.0));
            dirs.push(if values[0] > 0.0 { vectors[0] } else { [0.0; 3] });
        }
        let ras_from_frame = frame.ras_from_frame(ras_from_vox);
        let mut read = assemble(b, dirs, &ras_from_frame, Lengths::AreRounding, options)?;
        if volumes > 0 {
            read.repairs.push(Repair::RankOne { volumes, largest_residual });
        }
        Ok(read)
    }
}

/// The symmetric matrices of any of the three arrangements.
fn matrices(rows: &[Row]) -> Result<Vec<Matrix3>, GradientError> {
    let columns = rows[0].values.len();
    let expected = || "6 (bxx bxy bxz byy byz bzz), 9, or 3 as in every line".into();
    if let Some(row) =
        rows.iter().find(|r| r.values.len() != columns || ![3, 6, 9].contains(&columns))
    {
        return Err(GradientError::RowLength {
            what: "b-matrices",
            line: row.line,
            found: row.values.len(),
            expected: expected(),
        });
    }
    if columns == 3 && !rows.len().is_multiple_of(3) {
        return Err(GradientError::BMatrixRows { rows: rows.len() });
    }
    let values: Vec<f64> = rows.iter().flat_map(|row| row.values.iter().copied()).collect();
    if columns == 6 {
        let symmetric = |v: &[f64]| [[v[0], v[1], v[2]], [v[1], v[3], v[4]], [v[2], v[4], v[5]]];
        return Ok(values.chunks_exact(6).map(symmetric).collect());
    }
    let full = |v: &[f64]| [[v[0], v[1], v[2]], [v[3], v[4], v[5]], [v[6], v[7], v[8]]];
    let matrices: Vec<Matrix3> = values.chunks_exact(9).map(full).collect();
    for (volume, m) in matrices.iter().enumerate() {
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let (upper, lower) = (m[i][j], m[j][i]);
            // 1e-3 of the size, or 0.01 s/mm²: rounding of printed numbers.
            if (upper - lower).abs() > 1e-3 * (m[0][0] + m[1][1] + m[2][2]).abs() + 0.01 {
                return Err(GradientError::BMatrixAsymmetric { volume, upper, lower });
            }
        }
    }
    Ok(matrices)
}
