//! Large positive definite matrices, in threads.

use std::ops::{AddAssign, Mul};

use fimbria_compute::SimdLevel;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Columns that are worked on at once.
const PANEL: usize = 48;
/// Right-hand sides that are worked on at once.
const SIDES: usize = 32;

/// Scalar products of each of I rows with each of J others, in L partial sums.
#[inline(always)]
pub(super) fn dots<T, const I: usize, const J: usize, const L: usize>(
    a: [&[T]; I],
    b: [&[T]; J],
) -> [[T; J]; I]
where
    T: Copy + Default + Mul<Output = T> + AddAssign,
{
    let mut sums = [[[T::default(); L]; J]; I];
    let n = a[0].len();
    let whole = n - n % L;
    for start in (0..whole).step_by(L) {
        for i in 0..I {
            for j in 0..J {
                for l in 0..L {
                    sums[i][j][l] += a[i][start + l] * b[j][start + l];
                }
            }
        }
    }
    let mut out = [[T::default(); J]; I];
    for i in 0..I {
        for j in 0..J {
            (0..L).for_each(|l| out[i][j] += sums[i][j][l]);
            (whole..n).for_each(|at| out[i][j] += a[i][at] * b[j][at]);
        }
    }
    out
}

/// The lower triangle L of L Lᵀ = `matrix` in its place; what is above is left as it is. False where the matrix is not
/// positive definite.
pub(super) fn factor(matrix: &mut [f64], n: usize) -> bool {
    let level = SimdLevel::best();
    for start in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - start);
        let rows = |matrix: &[f64], from: usize, to: usize| -> Vec<f64> {
            let row = |i: usize| &matrix[(start + i) * n..][from..to];
            (0..width).flat_map(row).copied().collect()
        };
        let head = rows(matrix, 0, start);
        matrix[start * n..].par_chunks_mut(4 * n).for_each(|rows| {
            level.run(Update { rows, n, head: &head, start, width });
        });
        let mut corner = rows(matrix, start, start + width);
        for i in 0..width {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| corner[i * width + k] * corner[j * width + k]).sum();
                let rest = corner[i * width + j] - sum;
                if i == j && (rest.is_nan() || rest <= 0.0) {
                    return false;
                }
                corner[i * width + j] =
                    if i == j { rest.sqrt() } else { rest / corner[j * width + j] };
            }
        }
        matrix[start * n..].par_chunks_mut(n).enumerate().for_each(|(i, row)| {
            let row = &mut row[start..start + width];
            if i < width {
                row[..=i].copy_from_slice(&corner[i * width..=i * width + i]);
                return;
            }
            for j in 0..width {
                let sum: f64 = (0..j).map(|k| row[k] * corner[j * width + k]).sum();
                row[j] = (row[j] - sum) / corner[j * width + j];
            }
        });
    }
    true
}

/// Takes off what the columns before a panel make of it.
struct Update<'a> {
    rows: &'a mut [f64],
    n: usize,
    head: &'a [f64],
    start: usize,
    width: usize,
}

impl WithSimd for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, n, head, start, width } = self;
        let count = rows.len() / n;
        let head = |j: usize| &head[j * start..(j + 1) * start];
        let mut parts = [[0.0; PANEL]; 4];
        let row = |i: usize| &rows[i * n..i * n + start];
        let mut j = 0;
        while j + 3 <= width && count == 4 {
            let part = dots::<f64, 4, 3, 4>(
                [row(0), row(1), row(2), row(3)],
                [head(j), head(j + 1), head(j + 2)],
            );
            (0..4).for_each(|i| parts[i][j..j + 3].copy_from_slice(&part[i]));
            j += 3;
        }
        for j in j..width {
            for i in 0..count {
                parts[i][j] = dots::<f64, 1, 1, 4>([row(i)], [head(j)])[0][0];
            }
        }
        for i in 0..count {
            let own = &mut rows[i * n + start..i * n + start + width];
            own.iter_mut().zip(&parts[i]).for_each(|(value, part)| *value -= part);
        }
    }
}

/// The solution of L Lᵀ x = b.
pub(super) fn solve(l: &[f64], n: usize, b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in 0..n {
        let sum: f64 = l[i * n..i * n + i].iter().zip(&x).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - sum) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] /= l[i * n + i];
        let by = x[i];
        l[i * n..i * n + i].iter().zip(&mut x).for_each(|(l, x)| *x -= l * by);
    }
    x
}

/// Some numbers of a vector: their places, ascending, and what each counts.
pub(crate) type Contrast = Vec<(usize, f64)>;

/// The variance of each contrast where the matrix L Lᵀ is the precision: |L⁻¹ c|².
pub(super) fn variances(l: &[f64], n: usize, contrasts: &[Contrast]) -> Vec<f64> {
    let level = SimdLevel::best();
    contrasts
        .par_chunks(SIDES)
        .flat_map_iter(|contrasts| level.run(Variances { l, n, contrasts }))
        .collect()
}

struct Variances<'a> {
    l: &'a [f64],
    n: usize,
    contrasts: &'a [Contrast],
}

impl WithSimd for Variances<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        let Self { l, n, contrasts } = self;
        let first = contrasts.iter().filter_map(|c| c.first()).map(|c| c.0).min().unwrap_or(n);
        let mut x = vec![[0.0; SIDES]; n - first];
        for (side, contrast) in contrasts.iter().enumerate() {
            contrast.iter().for_each(|(at, value)| x[at - first][side] = *value);
        }
        let mut sums = [0.0; SIDES];
        for i in 0..x.len() {
            let (solved, rest) = x.split_at_mut(i);
            let row = &l[(first + i) * n + first..(first + i) * n + first + i];
            let mut own = rest[0];
            for (x, &by) in solved.iter().zip(row) {
                (0..SIDES).for_each(|side| own[side] -= by * x[side]);
            }
            let by = 1.0 / l[(first + i) * (n + 1)];
            (0..SIDES).for_each(|side| {
                own[side] *= by;
                sums[side] += own[side] * own[side];
            });
            rest[0] = own;
        }
        sums[..contrasts.len()].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::dense::lu;
    use fimbria_testing::Noise;

    use super::*;

    #[test]
    fn factors_solve_and_say_how_sure_sums_are() {
        // More than two panels, and rows beyond the last four.
        let n = 2 * PANEL + 11;
        let mut random = Noise(3);
        let root: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
        let dot =
            |i: usize, j: usize| -> f64 { (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum() };
        let matrix: Vec<f64> = (0..n * n)
            .map(|at| dot(at / n, at % n) + if at / n == at % n { 1.0 } else { 0.0 })
            .collect();
        let mut l = matrix.clone();
        assert!(factor(&mut l, n));
        let b: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let x = solve(&l, n, &b);
        for i in 0..n {
            let row: f64 = (0..n).map(|j| matrix[i * n + j] * x[j]).sum();
            // The condition of the matrix is about 400.
            assert!((row - b[i]).abs() < 1e-9, "{row} {}", b[i]);
        }
        let inverse = lu::inverse(&matrix, n).unwrap();
        let contrasts: Vec<Contrast> = (0..n - 1).map(|i| vec![(i, 1.0), (i + 1, -0.5)]).collect();
        for (i, variance) in variances(&l, n, &contrasts).into_iter().enumerate() {
            let at = |a: usize, b: usize| inverse[a * n + b];
            let known = at(i, i) - at(i, i + 1) + 0.25 * at(i + 1, i + 1);
            assert!((variance - known).abs() < 1e-9, "{i}: {variance} {known}");
        }
        l[0] = -1.0;
        assert!(!factor(&mut l, n));
    }
}
