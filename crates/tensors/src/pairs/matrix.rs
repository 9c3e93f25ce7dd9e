//! Order 2: the eigenvectors of a matrix, all of them.

use fimbria_compute::dense::vector::{dot, norm, normalise};
use fimbria_compute::dense::{cholesky, jacobi};

use super::{Kind, Pair, PairsError};
use crate::problem::{Form, Local, Problem};

/// An orthonormal basis of eigenvectors of A, or of vectors with A x = λ B x orthogonal in B.
///
/// # Errors
/// [`PairsError::NotDefinite`].
pub(crate) fn pairs_of_matrix(problem: Problem<'_>, zero: f64) -> Result<Vec<Pair>, PairsError> {
    let n = problem.dimension();
    let a = full(&problem.a);
    let eigenvectors = match problem.b {
        None => jacobi::eigen(&a, n).1,
        Some(b) => {
            let b = full(&b);
            let Some(l) = cholesky::factor(&b, n, 0.0) else {
                let (values, vectors) = jacobi::eigen(&b, n);
                return Err(PairsError::NotDefinite { value: values[0], x: vectors[..n].to_vec() });
            };
            // L⁻¹ A L⁻ᵀ y = λ y with x = L⁻ᵀ y.
            let half = transposed(&solved_below(&l, &a, n), n);
            let standard = solved_below(&l, &half, n);
            let mut vectors = jacobi::eigen(&standard, n).1;
            vectors.chunks_exact_mut(n).for_each(|y| solve_above(&l, y));
            vectors
        }
    };
    let mut local = Local::default();
    let mut pairs: Vec<Pair> = eigenvectors
        .chunks_exact(n)
        .map(|x| {
            let mut x = x.to_vec();
            normalise(&mut x);
            super::kind::choose_sign(2, &mut 0.0, &mut x);
            problem.evaluate(&x, &mut local);
            let residual = norm(&local.residual);
            Pair { lambda: local.lambda, x, kind: Kind::Saddle, residual, degenerate: false }
        })
        .collect();
    let lambdas: Vec<f64> = pairs.iter().map(|pair| pair.lambda).collect();
    for (i, pair) in pairs.iter_mut().enumerate() {
        let others = || lambdas.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, other)| other);
        pair.degenerate = others().any(|other| (other - pair.lambda).abs() <= zero);
        if others().all(|other| other - pair.lambda <= zero) {
            pair.kind = Kind::Maximum;
        } else if others().all(|other| pair.lambda - other <= zero) {
            pair.kind = Kind::Minimum;
        }
    }
    Ok(pairs)
}

/// All entries, row by row.
fn full(form: &Form<'_>) -> Vec<f64> {
    let n = form.dimension();
    let mut matrix = vec![0.0; n * n];
    for (class, &entry) in form.layout().index_classes().zip(form.entries()) {
        matrix[class[0] * n + class[1]] = entry;
        matrix[class[1] * n + class[0]] = entry;
    }
    matrix
}

fn transposed(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect()
}

/// L⁻¹ M.
fn solved_below(l: &[f64], matrix: &[f64], n: usize) -> Vec<f64> {
    let mut solved = matrix.to_vec();
    for i in 0..n {
        for j in 0..i {
            let factor = l[i * n + j];
            (0..n).for_each(|k| solved[i * n + k] -= factor * solved[j * n + k]);
        }
        (0..n).for_each(|k| solved[i * n + k] /= l[i * n + i]);
    }
    solved
}

/// y ← L⁻ᵀ y.
fn solve_above(l: &[f64], y: &mut [f64]) {
    let n = y.len();
    for i in (0..n).rev() {
        let column: Vec<f64> = (i + 1..n).map(|j| l[j * n + i]).collect();
        y[i] = (y[i] - dot(&column, &y[i + 1..])) / l[i * n + i];
    }
}
