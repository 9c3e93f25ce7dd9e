//! The linear model ln S = X p, p = (ln S0, Dxx, Dxy, Dxz, Dyy, Dyz, Dzz).

use fimbria_compute::dense::cholesky;
use fimbria_image::GradientTable;

use super::DtiError;
use super::recipe::N_PARAMS;
use crate::ProtocolError;

/// Relative size below which a direction of parameter space counts as not measured. Acquisitions
/// that fix a tensor lie above 1e-4, rounding of degenerate ones below 1e-14.
const RANK_TOLERANCE: f64 = 1e-9;
/// A pivot below this fraction of its diagonal element leaves fewer than three digits: the system
/// counts as singular.
pub(super) const SMALLEST_PIVOT: f64 = 1e-13;
/// Directions whose axes differ by less (|cos| above) are one direction.
const SAME_DIRECTION_COS: f64 = 0.999;

/// The design matrix of an acquisition, b in ms/µm².
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// One row per volume: 1, -b gx², -2b gx gy, -2b gx gz, -b gy², -2b gy gz, -b gz².
    pub(crate) rows: Vec<[f64; N_PARAMS]>,
    /// One column of (XᵀX)⁻¹Xᵀ per volume.
    pub(crate) pseudo_inverse: Vec<[f64; N_PARAMS]>,
    /// The largest b in ms/µm².
    pub(crate) b_max: f64,
}

/// The row of one volume; b in ms/µm².
fn row(b: f64, [x, y, z]: [f64; 3]) -> [f64; N_PARAMS] {
    [1.0, -b * x * x, -2.0 * b * x * y, -2.0 * b * x * z, -b * y * y, -2.0 * b * y * z, -b * z * z]
}

impl Design {
    /// The design of a gradient table. Every volume enters with its own b, also below the b0
    /// threshold.
    ///
    /// # Errors
    /// [`ProtocolError::Gradient`] for an entry that is no number, [`DtiError::RankDeficient`] where
    /// the table cannot determine a tensor.
    pub fn new(gradients: &GradientTable) -> Result<Self, DtiError> {
        ProtocolError::check_gradients(gradients)?;
        let entries = gradients.b_s_per_mm2.iter().zip(&gradients.dirs_ras);
        let rows: Vec<_> =
            entries.map(|(&b_s_per_mm2, &dir_ras)| row(b_s_per_mm2 / 1000.0, dir_ras)).collect();
        let mut gram = [[0.0; N_PARAMS]; N_PARAMS];
        for x in &rows {
            for i in 0..N_PARAMS {
                for j in 0..N_PARAMS {
                    gram[i][j] += x[i] * x[j];
                }
            }
        }
        let factor = match cholesky::rank(&gram, RANK_TOLERANCE) {
            N_PARAMS => cholesky::factor_array(&gram, SMALLEST_PIVOT).ok_or(N_PARAMS),
            rank => Err(rank),
        };
        let factor = factor.map_err(|rank| DtiError::RankDeficient {
            volumes: rows.len(),
            unweighted: (0..gradients.len()).filter(|&v| gradients.is_b0(v)).count(),
            directions: distinct_directions(gradients),
            rank,
        })?;
        let pseudo_inverse = rows.iter().map(|x| cholesky::solve(&factor, x)).collect();
        let b_max = gradients.b_s_per_mm2.iter().fold(0.0f64, |m, &b| m.max(b)) / 1000.0;
        Ok(Self { rows, pseudo_inverse, b_max })
    }

    /// Number of volumes.
    pub fn n_volumes(&self) -> usize {
        self.rows.len()
    }
}

/// Weighted directions that differ by more than rounding, up to sign.
pub(crate) fn distinct_directions(gradients: &GradientTable) -> usize {
    let mut seen: Vec<[f64; 3]> = Vec::new();
    for v in (0..gradients.len()).filter(|&v| !gradients.is_b0(v)) {
        let d = gradients.dirs_ras[v];
        let norm = d.iter().map(|c| c * c).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        let d = d.map(|c| c / norm);
        let same = |s: &[f64; 3]| (0..3).map(|i| s[i] * d[i]).sum::<f64>().abs();
        if !seen.iter().any(|s| same(s) > SAME_DIRECTION_COS) {
            seen.push(d);
        }
    }
    seen.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_testing::acquisition;

    #[test]
    fn the_pseudo_inverse_recovers_parameters_from_their_prediction() {
        let design = Design::new(&acquisition(2, &[(1000.0, 12), (2000.0, 20)])).unwrap();
        let truth = [0.3, 1.7, 0.1, -0.2, 0.4, 0.05, 0.3];
        let mut found = [0.0; N_PARAMS];
        for (x, column) in design.rows.iter().zip(&design.pseudo_inverse) {
            let y: f64 = (0..N_PARAMS).map(|k| x[k] * truth[k]).sum();
            for k in 0..N_PARAMS {
                found[k] += column[k] * y;
            }
        }
        for k in 0..N_PARAMS {
            assert!((found[k] - truth[k]).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn five_directions_are_refused_with_their_counts() {
        let mut table = acquisition(3, &[(1000.0, 5)]);
        table.b_s_per_mm2.extend(table.b_s_per_mm2.clone());
        table.dirs_ras.extend(table.dirs_ras.clone());
        match Design::new(&table) {
            Err(DtiError::RankDeficient { volumes: 16, unweighted: 6, directions: 5, rank: 6 }) => {
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_shell_without_b0_is_refused_but_two_shells_are_not() {
        let one = Design::new(&acquisition(0, &[(1000.0, 20)]));
        assert!(matches!(one, Err(DtiError::RankDeficient { rank: 6, .. })), "{one:?}");
        assert!(Design::new(&acquisition(0, &[(1000.0, 20), (2000.0, 20)])).is_ok());
    }

    #[test]
    fn a_negative_b_is_refused_by_volume() {
        let mut table = acquisition(1, &[(1000.0, 12)]);
        table.b_s_per_mm2[4] = -1000.0;
        assert!(matches!(
            Design::new(&table),
            Err(DtiError::Protocol(ProtocolError::Gradient { volume: 4, .. }))
        ));
    }
}
