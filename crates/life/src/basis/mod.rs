//! A basis of few vectors for all columns of a dictionary.
//!
//! Columns are smooth functions of the direction, so that the D of all directions lies close to a
//! space of few dimensions. With an orthonormal basis U of that space, ‖y - M w‖² is
//! ‖U'y - U'M w‖² plus what of y lies outside it, which no weight changes: the problem is the same
//! with r numbers a column instead of one for each volume, up to the part of the columns that the
//! basis misses.

mod rows;

use fimbria_compute::SimdLevel;

use self::rows::Rows;
use crate::{Compartments, Protocol, Response};

/// Rows and rank of a basis, and how much of the columns it misses.
#[derive(Clone, Debug)]
pub struct Basis {
    rows: usize,
    rank: usize,
    /// `None` for the volumes themselves.
    vectors: Option<Vectors>,
    error: f64,
}

/// Orthonormal vectors, largest part of the columns first.
#[derive(Clone, Debug)]
struct Vectors {
    /// Of each row its number in every vector.
    by_row: Rows,
    /// Of each vector its number in every row: the same turned over.
    by_vector: Rows,
}

/// How many vectors a basis has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rank {
    /// One for each volume: nothing is lost.
    Full,
    /// As few as leave this relative error of the columns (root of the sum of squares).
    Error(f64),
    /// So many.
    Vectors(usize),
}

/// Directions of the half sphere whose columns the basis is made from.
const SAMPLES: usize = 1500;

impl Basis {
    /// The basis for columns of `response`, and of compartments.
    pub fn new(
        protocol: &Protocol,
        response: &Response,
        compartments: &Compartments,
        rank: Rank,
    ) -> Self {
        let rows = protocol.rows();
        let volumes = Self { rows, rank: rows, vectors: None, error: 0.0 };
        if rank == Rank::Full {
            return volumes;
        }
        let mut gram = vec![vec![0.0; rows]; rows];
        let mut column = vec![0.0; rows];
        let mut add = |column: &[f64]| {
            for i in 0..rows {
                for j in 0..=i {
                    gram[i][j] += column[i] * column[j];
                }
            }
        };
        for response in std::iter::once(response).chain(compartments.hindered()) {
            for sample in 0..SAMPLES {
                protocol.column(response, half_sphere(sample), &mut column);
                add(&column);
            }
        }
        for &diffusivity in compartments.isotropic_mm2_per_s() {
            protocol.isotropic_column(diffusivity, &mut column);
            // As heavy as all directions together: it is one of few columns that everyone uses.
            column.iter_mut().for_each(|c| *c *= (SAMPLES as f64).sqrt());
            add(&column);
        }
        for i in 0..rows {
            for j in 0..i {
                gram[j][i] = gram[i][j];
            }
        }
        let (values, vectors) = eigen(gram);
        let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let missed = |kept: usize| {
            let rest: f64 = values[kept..].iter().map(|v| v.max(0.0)).sum();
            (rest / total.max(f64::MIN_POSITIVE)).sqrt()
        };
        let kept = match rank {
            Rank::Full => rows,
            Rank::Vectors(n) => n.clamp(1, rows),
            Rank::Error(error) => (1..rows).find(|&n| missed(n) <= error).unwrap_or(rows),
        };
        if kept == rows {
            return volumes;
        }
        let vectors = &vectors[..kept];
        let of_row = |row: usize| vectors.iter().map(|vector| vector[row]).collect();
        let by_row: Vec<Vec<f64>> = (0..rows).map(of_row).collect();
        let vectors = Vectors { by_row: Rows::new(&by_row), by_vector: Rows::new(vectors) };
        Self { rows, rank: kept, vectors: Some(vectors), error: missed(kept) }
    }

    /// Number of vectors.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of volumes.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The share of the columns that is missed, a root of a sum of squares.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The coordinates of a column or signal; the same bits at every SIMD level.
    pub fn project(&self, column: &[f64], coordinates: &mut [f64], simd: SimdLevel) {
        match &self.vectors {
            None => coordinates.copy_from_slice(column),
            Some(Vectors { by_row, .. }) => by_row.sum(column, coordinates, simd),
        }
    }

    /// The column with these coordinates; the same bits at every SIMD level.
    pub fn expand(&self, coordinates: &[f64], column: &mut [f64], simd: SimdLevel) {
        match &self.vectors {
            None => column.copy_from_slice(coordinates),
            Some(Vectors { by_vector, .. }) => by_vector.sum(coordinates, column, simd),
        }
    }
}

/// Direction `sample` of [`SAMPLES`] spread over the half sphere on a spiral of the golden angle.
fn half_sphere(sample: usize) -> [f64; 3] {
    let z = (sample as f64 + 0.5) / SAMPLES as f64;
    let (sin, cos) = (sample as f64 * std::f64::consts::PI * (3.0 - 5.0_f64.sqrt())).sin_cos();
    let rho = (1.0 - z * z).sqrt();
    [rho * cos, rho * sin, z]
}

/// Eigenvalues, largest first, and orthonormal eigenvectors of a symmetric matrix, by Jacobi's
/// rotations (Golub and Van Loan, 8.5.3, rows in order). `compute::dense::jacobi` turns columns before
/// rows and clears what it has turned away: vectors of the same space, but other last digits, and so
/// other weights of who fits with a basis.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    const MAX_SWEEPS: usize = 30;
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let norm: f64 = a.iter().flatten().map(|x| x * x).sum();
    for _ in 0..MAX_SWEEPS {
        let off: f64 = (0..n).map(|i| a[i][..i].iter().map(|x| x * x).sum::<f64>()).sum();
        if off <= f64::EPSILON * f64::EPSILON * norm {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = tau.signum() / (tau.abs() + tau.hypot(1.0));
                let cos = 1.0 / t.hypot(1.0);
                let sin = t * cos;
                rotate(&mut a, p, q, cos, sin);
                for row in &mut a {
                    let (x, y) = (row[p], row[q]);
                    row[p] = cos * x - sin * y;
                    row[q] = sin * x + cos * y;
                }
                rotate(&mut vectors, p, q, cos, sin);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    let values = order.iter().map(|&i| a[i][i]).collect();
    (values, order.iter().map(|&i| std::mem::take(&mut vectors[i])).collect())
}

/// Turns rows p < q by an angle.
fn rotate(rows: &mut [Vec<f64>], p: usize, q: usize, cos: f64, sin: f64) {
    let (before, from_q) = rows.split_at_mut(q);
    for (x, y) in before[p].iter_mut().zip(&mut from_q[0]) {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Demean;
    use crate::testing::shells;

    #[test]
    fn eigenvectors_take_the_matrix_apart() {
        let n = 9;
        let element = |i: usize, j: usize| 1.0 / (1.0 + i as f64 + j as f64) + ((i * j) % 5) as f64;
        let a: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| element(i.min(j), i.max(j))).collect()).collect();
        let (values, vectors) = eigen(a.clone());
        for i in 0..n {
            for j in 0..n {
                let sum: f64 = (0..n).map(|k| values[k] * vectors[k][i] * vectors[k][j]).sum();
                // Eigenvalues up to 40: rounding of a few sweeps.
                assert!((sum - a[i][j]).abs() < 1e-12, "{i} {j}: {sum} {}", a[i][j]);
            }
        }
    }

    #[test]
    fn the_stated_error_is_that_of_columns() {
        let protocol = shells(&[2000.0], 90, Demean::Mean);
        let response = Response::default();
        let basis = Basis::new(&protocol, &response, &Compartments::default(), Rank::Error(1e-3));
        // 43 vectors for 96 directions at b = 2000 with AD 2; a smoother column needs fewer.
        assert!((15..50).contains(&basis.rank()), "{}", basis.rank());
        let (mut missed, mut total) = (0.0, 0.0);
        let (mut column, mut back) = (vec![0.0; 90], vec![0.0; 90]);
        let mut coordinates = vec![0.0; basis.rank()];
        for k in 0..200 {
            let z = (k as f64 + 0.3) / 200.0;
            let rho = (1.0 - z * z).sqrt();
            let dir = [rho * (k as f64).cos(), rho * (k as f64).sin(), z];
            protocol.column(&response, dir, &mut column);
            basis.project(&column, &mut coordinates, SimdLevel::best());
            basis.expand(&coordinates, &mut back, SimdLevel::best());
            missed += column.iter().zip(&back).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            total += column.iter().map(|a| a * a).sum::<f64>();
        }
        let error = (missed / total).sqrt();
        assert!(error < 1.3e-3, "{error} for directions the basis was not made from");
        assert!(basis.error() <= 1e-3);
    }

    #[test]
    fn the_full_basis_changes_nothing() {
        let protocol = shells(&[1000.0], 8, Demean::Mean);
        let basis =
            Basis::new(&protocol, &Response::default(), &Compartments::default(), Rank::Full);
        let column = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let mut coordinates = [0.0; 8];
        basis.project(&column, &mut coordinates, SimdLevel::best());
        assert_eq!(coordinates, column);
    }
}
