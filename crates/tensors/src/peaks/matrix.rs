//! A small matrix times many columns: forms to values along directions, harmonics to forms.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

/// Rows computed together: with two registers of columns twelve sums are in flight, as many as
/// sixteen registers allow.
const ROWS: usize = 6;
/// Registers of columns in a strip.
pub(crate) const REGISTERS: usize = 2;

/// A matrix in the order in which it is read.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    /// `[row / ROWS][column][row % ROWS]`, with rows of zeros at the end.
    packed: Vec<f32>,
}

impl Matrix {
    /// From its elements `[row][column]`.
    pub(crate) fn new(columns: usize, elements: &[f64]) -> Self {
        let rows = elements.len() / columns;
        let mut packed = vec![0.0; rows.next_multiple_of(ROWS) * columns];
        for (row, elements) in elements.chunks(columns).enumerate() {
            for (column, &element) in elements.iter().enumerate() {
                packed[(row / ROWS * columns + column) * ROWS + row % ROWS] = element as f32;
            }
        }
        Self { rows, columns, packed }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The elements `[row][column]` as they are used.
    pub(crate) fn elements(&self) -> Vec<f32> {
        let at = |row: usize, column: usize| {
            self.packed[(row / ROWS * self.columns + column) * ROWS + row % ROWS]
        };
        (0..self.rows)
            .flat_map(|row| (0..self.columns).map(move |column| at(row, column)))
            .collect()
    }

    /// The strip of columns that begins at `offset` of `from`, `[column of the matrix][stride]`,
    /// times the matrix, to `to` of the same form. Each element is a sum from the first column on.
    #[inline(always)]
    pub(crate) fn times_strip<S: Simd>(&self, simd: S, from: Strip<&[f32]>, to: Strip<&mut [f32]>) {
        let lanes = Lanes::<S>::LANES;
        let blocks = self.packed.chunks_exact(ROWS * self.columns);
        for (block, rows) in blocks.zip(to.data.chunks_mut(ROWS * to.stride)) {
            let mut sums = [[Lanes::new(simd, 0.0); REGISTERS]; ROWS];
            let inputs = from.data.chunks_exact(from.stride);
            for (factors, input) in block.chunks_exact(ROWS).zip(inputs) {
                let a = Lanes::load(simd, &input[from.offset..]);
                let b = Lanes::load(simd, &input[from.offset + lanes..]);
                for (sum, &factor) in sums.iter_mut().zip(factors) {
                    let factor = Lanes::new(simd, factor);
                    sum[0] = factor.mul_add(a, sum[0]);
                    sum[1] = factor.mul_add(b, sum[1]);
                }
            }
            for (row, sum) in rows.chunks_mut(to.stride).zip(sums) {
                sum[0].store(&mut row[to.offset..]);
                sum[1].store(&mut row[to.offset + lanes..]);
            }
        }
    }
}

/// Where a strip of [`REGISTERS`] registers lies in rows of `stride`.
pub(crate) struct Strip<T> {
    pub(crate) data: T,
    pub(crate) stride: usize,
    pub(crate) offset: usize,
}
