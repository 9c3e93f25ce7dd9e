//! Sums of rows by factors: products with a small matrix.

use fimbria_compute::SimdLevel;
use pulp::{Simd, WithSimd};

/// Rows of one length, filled up with zeros to whole registers of any level.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    stride: usize,
    numbers: Vec<f64>,
}

impl Rows {
    /// Numbers of the widest register.
    const WIDEST: usize = 8;

    pub(super) fn new(rows: &[Vec<f64>]) -> Self {
        let stride = rows.first().map_or(0, Vec::len).next_multiple_of(Self::WIDEST);
        let zeros = |row: &Vec<f64>| std::iter::repeat_n(0.0, stride - row.len());
        let numbers = rows.iter().flat_map(|row| row.iter().copied().chain(zeros(row)));
        Self { stride, numbers: numbers.collect() }
    }

    /// `sum = Σ factor row`. Products are rounded before they are added, at every level.
    pub(super) fn sum(&self, factors: &[f64], sum: &mut [f64], simd: SimdLevel) {
        simd.run(Sum { rows: self, factors, sum });
    }
}

struct Sum<'a> {
    rows: &'a Rows,
    factors: &'a [f64],
    sum: &'a mut [f64],
}

impl WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Narrow registers may end before the zeros do.
        let registers = self.sum.len().div_ceil(S::F64_LANES);
        let mut at = 0;
        while at < registers {
            at += match registers - at {
                6.. => self.piece::<S, 6>(simd, at),
                4.. => self.piece::<S, 4>(simd, at),
                2.. => self.piece::<S, 2>(simd, at),
                _ => self.piece::<S, 1>(simd, at),
            }
        }
    }
}

impl Sum<'_> {
    /// `N` registers of the sum from register `at` on, which grow side by side; gives `N`.
    #[inline(always)]
    fn piece<S: Simd, const N: usize>(&mut self, simd: S, at: usize) -> usize {
        let Self { rows, factors, sum } = self;
        let mut sums = [simd.splat_f64s(0.0); N];
        for (row, factor) in rows.numbers.chunks_exact(rows.stride).zip(*factors) {
            let (row, _) = S::as_simd_f64s(row);
            let (row, factor) = (&row[at..at + N], simd.splat_f64s(*factor));
            for i in 0..N {
                sums[i] = simd.add_f64s(sums[i], simd.mul_f64s(factor, row[i]));
            }
        }
        let rest = &mut sum[at * S::F64_LANES..];
        for (to, register) in rest.chunks_mut(S::F64_LANES).zip(sums) {
            simd.partial_store_f64s(to, register);
        }
        N
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_same_bits_at_every_level() {
        let number = |i: usize, j: usize| 1.0 / (1.0 + i as f64 + 3.0 * j as f64);
        for len in 1..=70 {
            let rows: Vec<Vec<f64>> =
                (0..20).map(|i| (0..len).map(|j| number(i, j)).collect()).collect();
            let factors: Vec<f64> = (0..20).map(|i| 0.3 * i as f64 - 2.0).collect();
            let plain =
                |j: usize| rows.iter().zip(&factors).fold(0.0, |sum, (row, f)| sum + f * row[j]);
            let expected: Vec<f64> = (0..len).map(plain).collect();
            for level in SimdLevel::available() {
                let mut sum = vec![f64::NAN; len];
                Rows::new(&rows).sum(&factors, &mut sum, level);
                assert_eq!(sum, expected, "{len} at {level:?}");
            }
        }
    }
}
