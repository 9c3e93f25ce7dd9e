//! Rows of numbers `[row][stride]`, cut into stretches of voxels that threads write side by side.

use std::ops::Range;

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::BLOCK;

/// Voxels that are copied at a time: with their rows they stay in a core's cache.
const TILE: usize = 256;

/// What some voxels have of each row.
pub(crate) type Rows<'a> = Vec<&'a mut [f32]>;

/// Stretches of [`BLOCK`] voxels, the last of what is left.
pub(crate) fn stretches(stride: usize) -> Vec<Range<usize>> {
    (0..stride).step_by(BLOCK).map(|first| first..stride.min(first + BLOCK)).collect()
}

/// Cuts arrays of rows into stretches.
pub(super) fn cut<'a, const K: usize>(
    stride: usize,
    arrays: [&'a mut [f32]; K],
) -> Vec<(Range<usize>, [Rows<'a>; K])> {
    let empty = |range| (range, std::array::from_fn(|_| Rows::new()));
    let mut parts: Vec<(Range<usize>, [Rows<'a>; K])> =
        stretches(stride).into_iter().map(empty).collect();
    for (k, array) in arrays.into_iter().enumerate() {
        for mut row in array.chunks_exact_mut(stride) {
            for (range, rows) in &mut parts {
                let (part, rest) = row.split_at_mut(range.len());
                rows[k].push(part);
                row = rest;
            }
        }
    }
    parts
}

/// Does `work` on arrays of rows: stretch by stretch on `workers`, all at once where there are none but the
/// calling thread.
pub(crate) fn in_columns<const K: usize>(
    workers: Option<&Workers>,
    stride: usize,
    arrays: [&mut [f32]; K],
    work: impl Fn(Range<usize>, [Rows<'_>; K]) + Sync,
) {
    match workers {
        None => work(0..stride, arrays.map(|array| array.chunks_exact_mut(stride).collect())),
        Some(workers) => workers.install(|| {
            cut(stride, arrays).into_par_iter().for_each(|(range, rows)| work(range, rows));
        }),
    }
}

/// What `work` says of each stretch, in order; of all at once where there are no `workers`.
pub(crate) fn of_columns<T: Send>(
    workers: Option<&Workers>,
    stride: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    match workers {
        None => vec![work(0..stride)],
        Some(workers) => workers.install(|| stretches(stride).into_par_iter().map(&work).collect()),
    }
}

/// Shares voxels out to threads: `work` gets some of them, their number, their inputs and the rows
/// it is to change, both without the others' (`[row][voxels it got]`).
pub(crate) fn on_threads(
    workers: &Workers,
    stride: usize,
    inputs: &[f32],
    rows: &mut [f32],
    work: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) {
    in_columns(Some(workers), stride, [rows], |range, [mut rows]| {
        let (mut some_inputs, mut some_rows) = (Vec::new(), Vec::new());
        for first in (0..range.len()).step_by(TILE) {
            let n = TILE.min(range.len() - first);
            some_inputs.clear();
            for row in inputs.chunks_exact(stride) {
                some_inputs.extend_from_slice(&row[range.start + first..][..n]);
            }
            some_rows.clear();
            for row in &rows {
                some_rows.extend_from_slice(&row[first..][..n]);
            }
            work(n, &some_inputs, &mut some_rows);
            for (row, some) in rows.iter_mut().zip(some_rows.chunks_exact(n)) {
                row[first..][..n].copy_from_slice(some);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More voxels than two stretches, in rows that are changed by what is in others.
    const STRIDE: usize = 2 * BLOCK + 300;

    #[test]
    fn every_voxel_is_worked_on_once_with_its_own_numbers() {
        let inputs: Vec<f32> = (0..2 * STRIDE).map(|i| i as f32).collect();
        let workers = Workers::new(2).unwrap();
        let mut rows = vec![1.0; STRIDE];
        on_threads(&workers, STRIDE, &inputs, &mut rows, |n, inputs, rows| {
            assert_eq!((inputs.len(), rows.len()), (2 * n, n));
            for (i, row) in rows.iter_mut().enumerate() {
                *row += inputs[n + i] - inputs[i];
            }
        });
        assert_eq!(rows, vec![1.0 + STRIDE as f32; STRIDE]);
    }

    #[test]
    fn arrays_are_cut_at_the_same_voxels_with_and_without_threads() {
        let workers = Workers::new(2).unwrap();
        for workers in [None, Some(&workers)] {
            let (mut a, mut b) = (vec![0.0; 2 * STRIDE], vec![0.0; STRIDE]);
            in_columns(workers, STRIDE, [&mut a, &mut b], |range, [a, mut b]| {
                for (row, values) in a.into_iter().enumerate() {
                    for (at, value) in values.iter_mut().enumerate() {
                        *value = (10_000 * row + range.start + at) as f32;
                    }
                }
                b[0].fill(range.start as f32);
            });
            let expected = (0..2).flat_map(|row| (0..STRIDE).map(move |at| 10_000 * row + at));
            assert!(a.iter().zip(expected).all(|(a, expected)| *a == expected as f32));
            let first = |at: usize| if workers.is_none() { 0 } else { at / BLOCK * BLOCK };
            assert!(b.iter().enumerate().all(|(at, b)| *b == first(at) as f32));
            let lens = of_columns(workers, STRIDE, |range| range.len());
            assert_eq!(lens.iter().sum::<usize>(), STRIDE);
        }
    }
}
