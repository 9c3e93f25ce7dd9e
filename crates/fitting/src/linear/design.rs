//! The matrix X of ln s = X c, and the sums that XᵀWX is made of.

use std::collections::HashMap;

use super::DesignError;
use super::column::{Column, N_COVARIATES, power_product};
use super::qr::Qr;

/// Size, relative to the largest, below which a direction of parameter space counts as not
/// measured. Acquisitions made to fix their unknowns lie above 1e-2, rounding of degenerate ones
/// below 1e-12.
const RANK_TOLERANCE: f64 = 1e-5;

/// A checked design: samples with their covariates, and columns beside that of ln A.
///
/// Unknown 0 is ln A, whose column is all ones; unknown k > 0 is the coefficient of column k - 1.
#[derive(Clone, Debug)]
pub struct Design {
    /// 1, then the given columns.
    columns: Vec<Column>,
    /// `[sample][unknown]`.
    rows: Vec<Vec<f64>>,
    /// The distinct monomials that products of two columns are, `[sample][moment]`; the columns
    /// themselves come first (products with the ones).
    moments: Vec<Vec<f64>>,
    /// For unknowns (i, j), j <= i, at i (i + 1) / 2 + j: the moment of the product of their
    /// columns without their factors.
    moment_of_pair: Vec<usize>,
    qr: Qr,
}

impl Design {
    /// The design of samples with these `covariates`.
    ///
    /// # Errors
    /// [`DesignError`] where a number is not finite, and where the samples do not determine the
    /// coefficients and ln A.
    pub fn new(
        covariates: &[[f64; N_COVARIATES]],
        columns: &[Column],
    ) -> Result<Self, DesignError> {
        if let Some(column) = columns.iter().position(|c| !c.scale.is_finite() || c.scale == 0.0) {
            return Err(DesignError::Scale { column, scale: columns[column].scale });
        }
        let columns: Vec<Column> = [Column::ONES].into_iter().chain(columns.to_vec()).collect();
        let (powers, moment_of_pair) = distinct_products(&columns);
        let moments: Vec<Vec<f64>> = covariates
            .iter()
            .map(|u| powers.iter().map(|&p| power_product(u, p)).collect())
            .collect();
        if let Some(sample) = moments.iter().position(|row| row.iter().any(|m| !m.is_finite())) {
            return Err(DesignError::Covariate { sample, covariates: covariates[sample] });
        }
        let rows: Vec<Vec<f64>> =
            covariates.iter().map(|u| columns.iter().map(|c| c.at(u)).collect()).collect();
        let (samples, unknowns) = (covariates.len(), columns.len());
        let qr = Qr::new(transposed(&rows, unknowns));
        match qr.rank(RANK_TOLERANCE) {
            rank if rank < unknowns => Err(DesignError::RankDeficient { samples, unknowns, rank }),
            _ => Ok(Self { columns, rows, moments, moment_of_pair, qr }),
        }
    }

    /// Number of samples of a set.
    pub fn n_samples(&self) -> usize {
        self.rows.len()
    }

    /// Number of unknowns, ln A among them.
    pub fn n_unknowns(&self) -> usize {
        self.columns.len()
    }

    /// Number of different sums that XᵀWX is made of.
    pub fn n_moments(&self) -> usize {
        self.moments.first().map_or(0, Vec::len)
    }

    /// The elements of X for one sample, in the order of the unknowns.
    pub fn row(&self, sample: usize) -> &[f64] {
        &self.rows[sample]
    }

    pub(super) fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// The factors of the columns, in the order of the unknowns.
    pub(super) fn scales(&self) -> impl Iterator<Item = f64> {
        self.columns.iter().map(|c| c.scale)
    }

    pub(super) fn moments(&self) -> &[Vec<f64>] {
        &self.moments
    }

    pub(super) fn moment_of_pair(&self) -> &[usize] {
        &self.moment_of_pair
    }

    /// The factors of X.
    pub(super) fn qr(&self) -> &Qr {
        &self.qr
    }
}

/// The columns of a matrix given by rows of `n_columns`.
pub(super) fn transposed(rows: &[Vec<f64>], n_columns: usize) -> Vec<Vec<f64>> {
    (0..n_columns).map(|k| rows.iter().map(|row| row[k]).collect()).collect()
}

/// The powers of the distinct products of two columns, in the order they are met, and which of
/// them each pair (i, j <= i) makes.
fn distinct_products(columns: &[Column]) -> (Vec<[u16; N_COVARIATES]>, Vec<usize>) {
    let mut powers = Vec::new();
    let mut known = HashMap::new();
    let mut moment = |a: &Column, b: &Column| {
        let sum: [u16; N_COVARIATES] =
            std::array::from_fn(|k| u16::from(a.powers[k]) + u16::from(b.powers[k]));
        *known.entry(sum).or_insert_with(|| {
            powers.push(sum);
            powers.len() - 1
        })
    };
    for column in columns {
        moment(column, &columns[0]);
    }
    let mut of_pair = Vec::new();
    for (i, a) in columns.iter().enumerate() {
        for b in &columns[..=i] {
            of_pair.push(moment(a, b));
        }
    }
    (powers, of_pair)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{form_columns, kurtosis_columns, protocol};
    use super::*;

    #[test]
    fn sums_that_are_the_same_are_made_once() {
        let covariates = protocol(6, &[(1.0, 30), (2.0, 60), (3.0, 90)]);
        let count = |columns: &[Column]| {
            let design = Design::new(&covariates, columns).unwrap();
            (design.n_unknowns(), design.n_moments())
        };
        assert_eq!(count(&form_columns(2)), (7, 22));
        assert_eq!(count(&form_columns(4)), (16, 61));
        assert_eq!(count(&form_columns(6)), (29, 120));
        assert_eq!(count(&form_columns(8)), (46, 199));
        assert_eq!(count(&kurtosis_columns()), (22, 95));
    }

    #[test]
    fn the_moments_make_the_whole_normal_matrix() {
        let design = Design::new(&protocol(2, &[(0.7, 20), (1.8, 27)]), &kurtosis_columns());
        let design = design.unwrap();
        let scales: Vec<f64> = design.scales().collect();
        let n = design.n_unknowns();
        let mut pairs = design.moment_of_pair().iter();
        for i in 0..n {
            for j in 0..=i {
                let moment = *pairs.next().unwrap();
                let sum: f64 = design.moments().iter().map(|m| m[moment]).sum();
                let exact: f64 = design.rows().iter().map(|x| x[i] * x[j]).sum();
                // Rounding of a sum of 49.
                assert!((sum * scales[i] * scales[j] - exact).abs() < 1e-12 * exact.abs().max(1.0));
            }
        }
    }

    #[test]
    fn too_few_directions_are_refused_with_what_is_missing() {
        let found = Design::new(&protocol(1, &[(1.0, 14)]), &form_columns(4));
        let expected = DesignError::RankDeficient { samples: 15, unknowns: 16, rank: 15 };
        assert_eq!(found.unwrap_err(), expected);
        // Without an unweighted sample or a second shell ln A is the isotropic part of the form.
        let found = Design::new(&protocol(0, &[(1.0, 40)]), &form_columns(4));
        let expected = DesignError::RankDeficient { samples: 40, unknowns: 16, rank: 15 };
        assert_eq!(found.unwrap_err(), expected);
    }

    #[test]
    fn numbers_that_are_none_are_named() {
        let mut covariates = protocol(1, &[(1.0, 6)]);
        covariates[3][1] = f64::NAN;
        let found = Design::new(&covariates, &form_columns(2));
        assert!(matches!(found, Err(DesignError::Covariate { sample: 3, .. })), "{found:?}");
        let columns = [Column { scale: 0.0, powers: [1, 0, 0, 0] }];
        let found = Design::new(&covariates, &columns);
        assert!(matches!(found, Err(DesignError::Scale { column: 0, .. })), "{found:?}");
    }
}
