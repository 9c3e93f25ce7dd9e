//! Rows of a table in no order: what caches give to sparse products.

use std::hint::black_box;

use pulp::{Simd, WithSimd};

use super::{Bandwidth, best_time};
use crate::{Lanes, Workers};

/// Reading the rows `order` of `table`, `stride` numbers each (a multiple of 16), each thread an
/// equal part of them: as fast as anything can that needs them in this order.
pub fn rows(workers: &Workers, table: &[f32], stride: usize, order: &[u32]) -> Bandwidth {
    assert!(
        stride.is_multiple_of(16) && order.iter().all(|&r| (r as usize) < table.len() / stride)
    );
    let part = order.len().div_ceil(workers.threads()).max(1);
    let seconds = best_time(workers, || {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let order = order.chunks(part).nth(thread).unwrap_or_default();
        move || {
            black_box(workers.simd().run(Rows { table: black_box(table), stride, order }));
        }
    });
    let bytes = (order.len() * stride * size_of::<f32>()) as u64;
    Bandwidth { working_set: size_of_val(table), bytes, seconds }
}

/// The sum of some rows.
struct Rows<'a> {
    table: &'a [f32],
    stride: usize,
    order: &'a [u32],
}

impl WithSimd for Rows<'_> {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        /// Rows at once, whose sums do not wait for each other.
        const ROWS: usize = 4;
        let lanes = Lanes::<S>::LANES;
        let mut sums = [Lanes::new(simd, 0.0); ROWS];
        let mut first = 0;
        // Loops by index: iterators over chunks are functions of their own here.
        while first < self.order.len() {
            for k in 0..ROWS {
                if first + k < self.order.len() {
                    let from = self.order[first + k] as usize * self.stride;
                    let row = &self.table[from..from + self.stride];
                    let mut at = 0;
                    while at + lanes <= row.len() {
                        sums[k] = sums[k] + Lanes::load(simd, &row[at..at + lanes]);
                        at += lanes;
                    }
                }
            }
            first += ROWS;
        }
        ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_once() {
        let table: Vec<f32> = (0..64 * 32).map(|i| i as f32).collect();
        let order = [3, 63, 0, 3];
        let of_rows = |rows: &[u32]| -> f32 {
            rows.iter().map(|&r| table[r as usize * 32..][..32].iter().sum::<f32>()).sum()
        };
        for threads in [1, 2, 3] {
            let workers = Workers::new(threads).unwrap();
            let sum = workers.simd().run(Rows { table: &table, stride: 32, order: &order });
            assert_eq!(sum, of_rows(&order));
            let read = rows(&workers, &table, 32, &order);
            assert_eq!((read.bytes, read.working_set), (4 * 32 * 4, 64 * 32 * 4));
            assert!(read.seconds > 0.0);
        }
    }
}
