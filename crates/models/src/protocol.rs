//! What can be wrong with an acquisition, whatever is fitted to it.

use fimbria_image::GradientTable;

/// Why a gradient table does not serve a fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProtocolError {
    /// Series and gradient table disagree.
    #[error("the series has {series} volumes, the gradient table {table}")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the gradient table.
        table: usize,
    },
    /// An entry of the gradient table is no number, or b is negative.
    #[error(
        "volume {volume} has b = {b_s_per_mm2} s/mm² and direction {dir_ras:?}: \
         b must be finite and not negative, directions finite"
    )]
    Gradient {
        /// Which volume, from 0.
        volume: usize,
        /// Its b in s/mm².
        b_s_per_mm2: f64,
        /// Its direction.
        dir_ras: [f64; 3],
    },
}

impl ProtocolError {
    /// Checks that a table has an entry for each of so many volumes.
    ///
    /// # Errors
    /// [`VolumeCount`](Self::VolumeCount).
    pub fn check_count(table: &GradientTable, series: usize) -> Result<(), Self> {
        let table = table.len();
        if series == table { Ok(()) } else { Err(Self::VolumeCount { series, table }) }
    }

    /// Checks that every entry is one of a gradient.
    ///
    /// # Errors
    /// [`Gradient`](Self::Gradient), the first that is none.
    pub fn check_gradients(table: &GradientTable) -> Result<(), Self> {
        let entries = table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate();
        for (volume, (&b_s_per_mm2, &dir_ras)) in entries {
            let is_b = b_s_per_mm2.is_finite() && b_s_per_mm2 >= 0.0;
            if !(is_b && dir_ras.iter().all(|c| c.is_finite())) {
                return Err(Self::Gradient { volume, b_s_per_mm2, dir_ras });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> GradientTable {
        GradientTable {
            b_s_per_mm2: vec![0.0, 1000.0, 1000.0],
            dirs_ras: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            b0_threshold: 50.0,
        }
    }

    #[test]
    fn a_table_of_another_length_is_refused() {
        assert_eq!(ProtocolError::check_count(&table(), 3), Ok(()));
        let error = ProtocolError::check_count(&table(), 4).unwrap_err();
        assert_eq!(error, ProtocolError::VolumeCount { series: 4, table: 3 });
    }

    #[test]
    fn what_is_no_gradient_is_named() {
        assert_eq!(ProtocolError::check_gradients(&table()), Ok(()));
        let mut tables = [table(), table(), table()];
        tables[0].b_s_per_mm2[1] = f64::NAN;
        tables[1].b_s_per_mm2[1] = -1.0;
        tables[2].dirs_ras[1][2] = f64::INFINITY;
        for table in &tables {
            let error = ProtocolError::check_gradients(table).unwrap_err();
            assert!(matches!(error, ProtocolError::Gradient { volume: 1, .. }), "{error}");
        }
    }
}
