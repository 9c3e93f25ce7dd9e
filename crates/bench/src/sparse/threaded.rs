use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::csr::Csr;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace, Workers};

/// Rows and entries that one task works on.
const TASK: usize = 1 << 15;

/// Partial sums of a row, the same number at every SIMD level, so that their bits are the same.
pub(super) const SUMS: usize = 8;

/// The product with a sparse matrix by all threads, with the same bits for any number of threads
/// and any fusing level.
///
/// The adjoint multiplies by a stored transpose, so that no two threads write the same element:
/// twice the memory of the matrix.
#[derive(Clone, Debug)]
pub(super) struct ThreadedCsr<'a> {
    matrix: &'a Csr,
    transposed: Csr,
    matrix_tasks: Vec<Range<usize>>,
    transposed_tasks: Vec<Range<usize>>,
    domain: HostSpace<'a>,
    range: HostSpace<'a>,
}

impl<'a> ThreadedCsr<'a> {
    /// The product with `matrix` by `workers`.
    pub(super) fn new(matrix: &'a Csr, workers: &'a Workers) -> Self {
        let transposed = matrix.transposed();
        Self {
            matrix,
            matrix_tasks: tasks(matrix),
            transposed_tasks: tasks(&transposed),
            transposed,
            domain: HostSpace::new(workers, matrix.columns()),
            range: HostSpace::new(workers, matrix.rows()),
        }
    }
}

/// The rows of `matrix` in runs of about [`TASK`] rows and entries.
fn tasks(matrix: &Csr) -> Vec<Range<usize>> {
    let work_before = |row: usize| row + matrix.row_start()[row];
    let mut tasks = Vec::new();
    let mut first = 0;
    for row in 1..=matrix.rows() {
        if row == matrix.rows() || work_before(row) - work_before(first) >= TASK {
            tasks.push(first..row);
            first = row;
        }
    }
    tasks
}

/// The parts of `y` that belong to each task's rows.
fn split<'y>(y: &'y mut [f32], tasks: &[Range<usize>]) -> Vec<&'y mut [f32]> {
    let mut rest = y;
    let mut parts = Vec::with_capacity(tasks.len());
    for task in tasks {
        let (part, after) = rest.split_at_mut(task.len());
        parts.push(part);
        rest = after;
    }
    parts
}

/// `y = matrix x`; then `task(rows, their part of y)` for each task, whose results come in order.
fn multiply<R: Send>(
    workers: &Workers,
    matrix: &Csr,
    tasks: &[Range<usize>],
    x: &[f32],
    y: &mut [f32],
    task: impl Fn(&Range<usize>, &mut [f32]) -> R + Sync,
) -> Vec<R> {
    assert_eq!((x.len(), y.len()), (matrix.columns(), matrix.rows()), "vectors of other spaces");
    let parts = split(y, tasks);
    workers.install(|| {
        let work = tasks.par_iter().zip(parts);
        work.map(|(rows, y)| {
            let level = workers.simd();
            if level.fuses() {
                level.run(Multiply::<true> { matrix, first: rows.start, x, y });
            } else {
                level.run(Multiply::<false> { matrix, first: rows.start, x, y });
            }
            task(rows, y)
        })
        .collect()
    })
}

impl<'a> Operator for ThreadedCsr<'a> {
    type Domain = HostSpace<'a>;
    type Range = HostSpace<'a>;

    fn domain(&self) -> &HostSpace<'a> {
        &self.domain
    }

    fn range(&self) -> &HostSpace<'a> {
        &self.range
    }

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        multiply(self.range.workers(), self.matrix, &self.matrix_tasks, x, y, |_, _| ());
        Ok(())
    }
}

impl LinearOperator for ThreadedCsr<'_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        multiply(self.domain.workers(), &self.transposed, &self.transposed_tasks, y, x, |_, _| ());
        Ok(())
    }

    /// The residual and its norm are made while each part of the product is still in the cache.
    fn gradient(&self, x: &Vec<f32>, b: &Vec<f32>, g: &mut Vec<f32>) -> Result<f64, HostError> {
        assert_eq!(b.len(), self.matrix.rows(), "a vector of another space");
        let workers = self.range.workers();
        let mut residual = self.range.zeros()?;
        let subtract = |rows: &Range<usize>, y: &mut [f32]| {
            y.iter_mut().zip(&b[rows.clone()]).for_each(|(y, b)| *y -= b);
            square(y)
        };
        let tasks = &self.matrix_tasks;
        let squares = multiply(workers, self.matrix, tasks, x, &mut residual, subtract);
        self.adjoint(&residual, g)?;
        Ok(squares.iter().sum())
    }
}

/// ‖x‖², in columns that do not wait for each other.
fn square(x: &[f32]) -> f64 {
    let mut sums = [0.0; 2 * SUMS];
    for part in x.chunks(sums.len()) {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    sums.iter().sum()
}

/// The rows from `first` on of a product, as many as `y` holds.
struct Multiply<'a, const FUSES: bool> {
    matrix: &'a Csr,
    first: usize,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<const FUSES: bool> WithSimd for Multiply<'_, FUSES> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (i, y) in self.y.iter_mut().enumerate() {
            let (columns, values) = self.matrix.row(self.first + i);
            *y = row_times::<FUSES>(columns, values, self.x);
        }
    }
}

/// Σ values[k] x[columns[k]], in [`SUMS`] partial sums.
///
/// The elements of `x` lie anywhere, so that each is loaded alone and a vector of them would have
/// to be put together: scalar multiply-adds that do not wait for each other are as fast as loads.
#[inline(always)]
fn row_times<const FUSES: bool>(columns: &[u32], values: &[f32], x: &[f32]) -> f32 {
    let mut sums = [0.0; SUMS];
    let (column_groups, columns) = columns.as_chunks::<SUMS>();
    let (value_groups, values) = values.as_chunks::<SUMS>();
    for (columns, values) in column_groups.iter().zip(value_groups) {
        for k in 0..SUMS {
            sums[k] = mul_add::<FUSES>(values[k], x[columns[k] as usize], sums[k]);
        }
    }
    for (k, (&j, &a)) in columns.iter().zip(values).enumerate() {
        sums[k] = mul_add::<FUSES>(a, x[j as usize], sums[k]);
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `a * b + c`, rounded as lanes of this level round.
#[inline(always)]
fn mul_add<const FUSES: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSES { a.mul_add(b, c) } else { a * b + c }
}
