//! Least squares by Householder reflections with column pivoting, in `f64` (Golub and Van Loan,
//! Matrix Computations, algorithm 5.4.1).

use fimbria_compute::dense::vector::dot;

/// The factors of a matrix whose columns are first scaled to length 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Qr {
    /// Columns in the order of elimination: R on and above the diagonal, below it the reflectors
    /// (their first element, which R needs the place of, stands in `heads`).
    columns: Vec<Vec<f64>>,
    heads: Vec<f64>,
    /// Which column of the matrix was eliminated when.
    order: Vec<usize>,
    /// The lengths of the matrix's columns; 1 for a column of zeros.
    lengths: Vec<f64>,
}

/// `x - 2 v vᵀx` for a unit vector (head, tail), on the elements of `x` from `head`'s on.
fn reflect(head: f64, tail: &[f64], x: &mut [f64]) {
    let (first, rest) = x.split_at_mut(1);
    let twice = 2.0 * (head * first[0] + dot(tail, rest));
    first[0] -= twice * head;
    for (x, v) in rest.iter_mut().zip(tail) {
        *x -= twice * v;
    }
}

impl Qr {
    /// Factors the matrix with these columns, all of one length.
    pub(super) fn new(mut columns: Vec<Vec<f64>>) -> Self {
        let n_rows = columns.first().map_or(0, Vec::len);
        let mut lengths = Vec::new();
        for column in &mut columns {
            let length = dot(column, column).sqrt();
            let length = if length > 0.0 { length } else { 1.0 };
            column.iter_mut().for_each(|x| *x /= length);
            lengths.push(length);
        }
        let mut order: Vec<usize> = (0..columns.len()).collect();
        let mut heads = Vec::new();
        for j in 0..columns.len().min(n_rows) {
            let rest = |column: &Vec<f64>| dot(&column[j..], &column[j..]);
            let longest = (j..columns.len())
                .max_by(|&a, &b| rest(&columns[a]).total_cmp(&rest(&columns[b])))
                .unwrap_or(j);
            columns.swap(j, longest);
            order.swap(j, longest);
            let (done, left) = columns.split_at_mut(j + 1);
            let pivot = &mut done[j][j..];
            let length = dot(pivot, pivot).sqrt();
            // Away from cancellation: the reflection of the pivot has the other sign.
            let target = if pivot[0] > 0.0 { -length } else { length };
            let head = pivot[0] - target;
            let norm = (head * head + dot(&pivot[1..], &pivot[1..])).sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            pivot[1..].iter_mut().for_each(|v| *v *= inverse);
            pivot[0] = target;
            heads.push(head * inverse);
            for column in left {
                reflect(head * inverse, &pivot[1..], &mut column[j..]);
            }
        }
        Self { columns, heads, order, lengths }
    }

    /// How many columns are independent: pivots above `tolerance` of the largest.
    pub(super) fn rank(&self, tolerance: f64) -> usize {
        let pivot = |j: usize| self.columns[j][j].abs();
        (0..self.heads.len()).take_while(|&j| pivot(j) > tolerance * pivot(0)).count()
    }

    /// The x that brings A x closest to `b`, where A has full column rank.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut b = b.to_vec();
        let n = self.columns.len();
        for j in 0..n {
            reflect(self.heads[j], &self.columns[j][j + 1..], &mut b[j..]);
        }
        for j in (0..n).rev() {
            b[j] /= self.columns[j][j];
            let (above, x) = b.split_at_mut(j);
            for (b, r) in above.iter_mut().zip(&self.columns[j]) {
                *b -= r * x[0];
            }
        }
        let mut x = vec![0.0; n];
        for (&column, value) in self.order.iter().zip(b) {
            x[column] = value / self.lengths[column];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_hilbert_system_is_solved_to_its_condition() {
        let columns =
            (0..6).map(|i| (0..6).map(|j| 1.0 / f64::from(i + j + 1)).collect()).collect();
        let qr = Qr::new(columns);
        let truth = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0];
        let b: Vec<f64> =
            (0..6).map(|j| (0..6).map(|i| truth[i] / (i + j + 1) as f64).sum()).collect();
        for (found, truth) in qr.solve(&b).iter().zip(truth) {
            // The condition number is 1.5e7.
            assert!((found - truth).abs() < 1e-8, "{found} {truth}");
        }
    }

    #[test]
    fn the_residual_of_the_solution_is_orthogonal_to_every_column() {
        let columns: Vec<Vec<f64>> =
            (0..3).map(|p| (0..9).map(|i| f64::from(i).powi(p)).collect()).collect();
        let b: Vec<f64> = (0..9).map(|i| f64::from(i).sin()).collect();
        let x = Qr::new(columns.clone()).solve(&b);
        let residual: Vec<f64> =
            (0..9).map(|i| b[i] - (0..3).map(|k| columns[k][i] * x[k]).sum::<f64>()).collect();
        for column in &columns {
            // Columns reach 64.
            assert!(dot(column, &residual).abs() < 1e-12);
        }
    }

    #[test]
    fn rank_counts_independent_columns_whatever_their_scale() {
        let columns = vec![
            vec![1.0, 0.0, 2.0, 0.0, 1.0],
            vec![0.0, 1e-6, 0.0, 0.0, 1e-6],
            vec![1.0, 1e-6, 2.0, 0.0, 1.0 + 1e-6],
            vec![0.0, 0.0, 0.0, 1e5, 0.0],
            vec![0.0; 5],
        ];
        assert_eq!(Qr::new(columns).rank(1e-9), 3);
        let wide = (0..4).map(|i| vec![1.0, f64::from(i)]).collect();
        assert_eq!(Qr::new(wide).rank(1e-9), 2);
    }
}
