//! Regularised least squares of one voxel, in loops that run along rows so that they vectorise.

/// The upper factor R of a symmetric positive definite matrix, RᵀR, in place of it; false where a pivot is
/// rounding.
#[inline(always)]
pub(super) fn factor(matrix: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let (before, rest) = matrix.split_at_mut((k + 1) * n);
        let pivot_row = &mut before[k * n..][k..];
        let pivot = pivot_row[0];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        pivot_row.iter_mut().for_each(|x| *x *= inverse);
        for (i, row) in rest.chunks_exact_mut(n).enumerate() {
            let i = i + 1;
            let times = pivot_row[i];
            for (x, p) in row[k + i..].iter_mut().zip(&pivot_row[i..]) {
                *x -= times * p;
            }
        }
    }
    true
}

/// The product of two vectors, in sums that do not wait for each other.
#[inline(always)]
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    const SUMS: usize = 8;
    let mut sums = [0.0; SUMS];
    let (xs, ys) = (x.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for k in 0..SUMS {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// z of Rᵀz = f, in place of f.
#[inline(always)]
pub(super) fn forward(factor: &[f64], n: usize, f: &mut [f64]) {
    for k in 0..n {
        let row = &factor[k * n..][k..n];
        let (solved, rest) = f[k..].split_at_mut(1);
        solved[0] /= row[0];
        for (x, r) in rest.iter_mut().zip(&row[1..]) {
            *x -= solved[0] * r;
        }
    }
}

/// a of Ra = z, in place of z.
#[inline(always)]
pub(super) fn backward(factor: &[f64], n: usize, z: &mut [f64]) {
    for k in (0..n).rev() {
        let row = &factor[k * n..][k..n];
        z[k] = (z[k] - dot(&row[1..], &z[k + 1..])) / row[0];
    }
}

/// The weight of the Laplacian by generalised cross-validation (Craven and Wahba 1979): that of the least
/// Σ r² / (1 - trace of the smoother / samples)².
///
/// `normal` is ΦᵀΦ, `laplacian` L, `right` Φᵀy of a voxel whose samples have Σ y² = `squares`. Both matrices
/// are overwritten. None where the normal matrix has no factor.
#[inline(always)]
pub(super) fn cross_validated(
    normal: &mut [f64],
    laplacian: &mut [f64],
    right: &[f64],
    squares: f64,
    samples: usize,
) -> Option<f64> {
    let n = right.len();
    if !factor(normal, n) {
        return None;
    }
    // K = R⁻ᵀ L R⁻¹: with z = R⁻ᵀ f the estimate of weight λ has R a = (1 + λK)⁻¹ z.
    both_sides(normal, n, laplacian);
    let mut z = right.to_vec();
    forward(normal, n, &mut z);
    let tridiagonal = Tridiagonal::new(laplacian, n, z);
    let cost = |log10: f64| {
        let (fitted, trace) = tridiagonal.smoothed(10.0_f64.powf(log10));
        let left = 1.0 - trace / samples as f64;
        (squares - fitted) / (left * left)
    };
    Some(10.0_f64.powf(least(cost)))
}

/// Range of the logarithm (to 10) of the weight.
const LOG10: [f64; 2] = [-5.0, 1.0];
/// Steps of the coarse search.
const STEPS: usize = 12;

/// Where a function is least: the best of a grid, then Golden sections about it.
#[inline(always)]
fn least(cost: impl Fn(f64) -> f64) -> f64 {
    let step = (LOG10[1] - LOG10[0]) / STEPS as f64;
    let at = |i: usize| LOG10[0] + step * i as f64;
    let best = (0..=STEPS).map(|i| (cost(at(i)), i)).min_by(|a, b| a.0.total_cmp(&b.0));
    let middle = at(best.map_or(0, |(_, i)| i));
    let (mut low, mut high) = ((middle - step).max(LOG10[0]), (middle + step).min(LOG10[1]));
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    for _ in 0..14 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if cost(left) < cost(right) {
            high = right;
        } else {
            low = left;
        }
    }
    0.5 * (low + high)
}

/// R⁻ᵀ A R⁻¹ of a symmetric A, in place of it.
#[inline(always)]
fn both_sides(factor: &[f64], n: usize, matrix: &mut [f64]) {
    for _ in 0..2 {
        for k in 0..n {
            let (before, rest) = matrix.split_at_mut((k + 1) * n);
            let row = &mut before[k * n..];
            let inverse = 1.0 / factor[k * n + k];
            row.iter_mut().for_each(|x| *x *= inverse);
            for (below, times) in rest.chunks_exact_mut(n).zip(&factor[k * n + k + 1..]) {
                for (x, y) in below.iter_mut().zip(&*row) {
                    *x -= times * y;
                }
            }
        }
        for i in 0..n {
            for j in 0..i {
                matrix.swap(i * n + j, j * n + i);
            }
        }
    }
}

/// A symmetric matrix turned to tridiagonal form by reflections, and a vector turned with it.
struct Tridiagonal {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    z: Vec<f64>,
}

impl Tridiagonal {
    #[inline(always)]
    fn new(matrix: &mut [f64], n: usize, mut z: Vec<f64>) -> Self {
        let (mut beside, mut v, mut w) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        for k in 0..n.saturating_sub(1) {
            let below = k + 1;
            v.fill(0.0);
            v[below..].copy_from_slice(&matrix[k * n..][below..n]);
            let length = dot(&v, &v).sqrt();
            let sign = if v[below] > 0.0 { -1.0 } else { 1.0 };
            beside[k] = sign * length;
            v[below] -= beside[k];
            let square = dot(&v, &v);
            if square <= 0.0 {
                continue;
            }
            let scale = (2.0 / square).sqrt();
            v.iter_mut().for_each(|x| *x *= scale);
            // A - v wᵀ - w vᵀ with w = A v - ½ (vᵀA v) v.
            w.fill(0.0);
            for (times, row) in v.iter().zip(matrix.chunks_exact(n)).skip(below) {
                w.iter_mut().zip(row).for_each(|(w, x)| *w += times * x);
            }
            let half = 0.5 * dot(&v, &w);
            w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
            for (i, row) in matrix.chunks_exact_mut(n).enumerate().skip(below) {
                let (vi, wi) = (v[i], w[i]);
                for (x, (v, w)) in row[below..].iter_mut().zip(v[below..].iter().zip(&w[below..])) {
                    *x -= vi * w + wi * v;
                }
            }
            let along = dot(&v, &z);
            z.iter_mut().zip(&v).for_each(|(z, v)| *z -= along * v);
        }
        Self { diagonal: (0..n).map(|i| matrix[i * n + i]).collect(), beside, z }
    }

    /// With (1 + λT)w = z: 2 zᵀw - wᵀw, which the fit takes off the sum of squares, and the trace of
    /// (1 + λT)⁻¹.
    #[inline(always)]
    fn smoothed(&self, lambda: f64) -> (f64, f64) {
        let n = self.z.len();
        let entry = |i: usize| 1.0 + lambda * self.diagonal[i];
        let off = |i: usize| lambda * self.beside[i];
        // Pivots from above and from below: the inverse's diagonal is 1 / (above + below - entry).
        let (mut above, mut w) = (vec![entry(0); n], self.z.clone());
        for i in 1..n {
            let times = off(i - 1) / above[i - 1];
            above[i] = entry(i) - times * off(i - 1);
            w[i] -= times * w[i - 1];
        }
        let (mut trace, mut below) = (0.0, entry(n - 1));
        for i in (0..n).rev() {
            if i + 1 < n {
                below = entry(i) - off(i) * off(i) / below;
                w[i] -= off(i) * w[i + 1];
            }
            trace += 1.0 / (above[i] + below - entry(i));
            w[i] /= above[i];
        }
        let fitted = self.z.iter().zip(&w).map(|(z, w)| w * (2.0 * z - w)).sum();
        (fitted, trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two symmetric positive definite matrices and a vector.
    fn problem(n: usize) -> [Vec<f64>; 3] {
        let wave = |i: usize, j: usize, by: f64| f64::sin(by * (3 * i * j + i + 2 * j) as f64);
        let square = |by: f64| -> Vec<f64> {
            (0..n * n)
                .map(|at| (0..n).map(|k| wave(at / n, k, by) * wave(at % n, k, by)).sum::<f64>())
                .enumerate()
                .map(|(at, x)| x + if at / n == at % n { 1.0 } else { 0.0 })
                .collect()
        };
        [square(0.7), square(1.3), (0..n).map(|i| wave(i, 1, 0.9)).collect()]
    }

    #[test]
    fn the_smoother_is_that_of_the_matrices() {
        let n = 7;
        let [normal, laplacian, right] = problem(n);
        let lambda = 0.3;
        let both: Vec<f64> = normal.iter().zip(&laplacian).map(|(m, l)| m + lambda * l).collect();
        let inverse = fimbria_compute::dense::lu::inverse(&both, n).unwrap();
        let times = |a: &[f64], x: &[f64]| -> Vec<f64> {
            a.chunks_exact(n).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
        };
        let a = times(&inverse, &right);
        let expected = 2.0 * dot(&right, &a) - dot(&a, &times(&normal, &a));
        let trace: f64 = (0..n * n).map(|at| inverse[at] * normal[at % n * n + at / n]).sum();

        let (mut factored, mut k, mut z) = (normal.clone(), laplacian, right.clone());
        assert!(factor(&mut factored, n));
        let mut solved = right.clone();
        forward(&factored, n, &mut solved);
        backward(&factored, n, &mut solved);
        let again = times(&normal, &solved);
        assert!(again.iter().zip(&right).all(|(x, y)| (x - y).abs() < 1e-12));
        both_sides(&factored, n, &mut k);
        forward(&factored, n, &mut z);
        let (fitted, ours) = Tridiagonal::new(&mut k, n, z).smoothed(lambda);
        assert!((fitted - expected).abs() < 1e-11, "{fitted} {expected}");
        assert!((ours - trace).abs() < 1e-11, "{ours} {trace}");
    }

    #[test]
    fn the_least_of_a_function_is_found() {
        assert!((least(|x| (x + 2.345).powi(2)) + 2.345).abs() < 1e-3);
        assert!((least(|x| x) - LOG10[0]).abs() < 1e-2);
    }
}
