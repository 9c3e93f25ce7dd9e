//! The constraints Cx ≥ d.

use super::ActiveSetError;
use super::metric::PADDING;
use super::sums::{dot, least_of};

/// Constraints priced at a time: four or eight registers of sums.
pub(super) const BLOCK: usize = 32;

/// C and d of Cx ≥ d, for any number of programmes.
///
/// Beside their rows it holds the constraints in blocks of 32 that resemble each other: those that
/// are violated together mostly share a block, and blocks without violation are not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    n_unknowns: usize,
    /// C, `[constraint][unknown]`, its rows padded with zeros.
    rows: Vec<f64>,
    stride: usize,
    bounds: Vec<f64>,
    /// The constraint in each place of the blocks, and the place of each constraint.
    pub(super) order: Vec<usize>,
    pub(super) places: Vec<usize>,
    /// C by blocks, `[block][unknown][place]`, padded with zeros.
    blocks: Vec<f64>,
    /// -d by place; behind the last constraint infinite, which is never violated.
    pub(super) offsets: Vec<f64>,
    /// `blocks` and `offsets` in single precision.
    single_blocks: Vec<f32>,
    single_offsets: Vec<f32>,
    /// The largest length of a row and size of a bound.
    longest: f64,
    largest_bound: f64,
}

impl Constraints {
    /// The constraints with the given rows `[constraint][unknown]` and bounds d.
    ///
    /// # Errors
    /// Where lengths disagree or a row is zero.
    pub fn new(n_unknowns: usize, rows: &[f64], bounds: Vec<f64>) -> Result<Self, ActiveSetError> {
        let m = bounds.len();
        if rows.len() != m * n_unknowns || n_unknowns == 0 {
            let (found, expected) = (rows.len(), m * n_unknowns.max(1));
            return Err(ActiveSetError::Shape { what: "the constraint matrix", found, expected });
        }
        for (i, row) in rows.chunks_exact(n_unknowns).enumerate() {
            let size = dot(row, row);
            if !(size > 0.0 && size.is_finite() && bounds[i].is_finite()) {
                return Err(ActiveSetError::EmptyConstraint(i));
            }
        }
        let order = alike_together(rows, n_unknowns);
        let padded = m.next_multiple_of(BLOCK);
        let mut blocks = vec![0.0; n_unknowns * padded];
        let mut offsets = vec![f64::INFINITY; padded];
        let mut places = vec![0; m];
        for (place, &i) in order.iter().enumerate() {
            places[i] = place;
            let block = &mut blocks[place / BLOCK * BLOCK * n_unknowns..][..BLOCK * n_unknowns];
            for (k, &c) in rows[i * n_unknowns..][..n_unknowns].iter().enumerate() {
                block[k * BLOCK + place % BLOCK] = c;
            }
            offsets[place] = -bounds[i];
        }
        let lengths = rows.chunks_exact(n_unknowns).map(|row| dot(row, row).sqrt());
        let stride = n_unknowns.next_multiple_of(PADDING);
        let mut padded_rows = vec![0.0; m * stride];
        for (padded, row) in padded_rows.chunks_exact_mut(stride).zip(rows.chunks_exact(n_unknowns))
        {
            padded[..n_unknowns].copy_from_slice(row);
        }
        Ok(Self {
            n_unknowns,
            rows: padded_rows,
            stride,
            order,
            places,
            single_blocks: blocks.iter().map(|&c| c as f32).collect(),
            single_offsets: offsets.iter().map(|&d| d as f32).collect(),
            blocks,
            offsets,
            longest: lengths.fold(0.0, f64::max),
            largest_bound: bounds.iter().fold(0.0, |largest, d| f64::max(largest, d.abs())),
            bounds,
        })
    }

    /// The constraints Cx ≥ 0.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn non_negative(n_unknowns: usize, rows: &[f64]) -> Result<Self, ActiveSetError> {
        Self::new(n_unknowns, rows, vec![0.0; rows.len() / n_unknowns.max(1)])
    }

    /// Number of constraints.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// True where nothing is constrained.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// cᵢ.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.padded_row(i)[..self.n_unknowns]
    }

    #[inline(always)]
    pub(super) fn padded_row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.stride..][..self.stride]
    }

    /// dᵢ.
    #[inline(always)]
    pub fn bound(&self, i: usize) -> f64 {
        self.bounds[i]
    }

    /// cᵢᵀx - dᵢ.
    #[inline(always)]
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        dot(self.row(i), x) - self.bounds[i]
    }

    /// Number of blocks.
    pub(super) fn n_blocks(&self) -> usize {
        self.offsets.len() / BLOCK
    }

    /// The error that single precision can make in a slack of an x of this length: each of the
    /// n + 1 terms of the sum and the numbers themselves are rounded.
    pub(super) fn doubt(&self, length: f64) -> f64 {
        let roundings = (self.n_unknowns + 4) as f64 * f64::from(f32::EPSILON) / 2.0;
        roundings * (self.longest * length + self.largest_bound)
    }

    /// The slacks of one block at an x in single precision, with the error that
    /// [`doubt`](Self::doubt) gives.
    #[inline(always)]
    pub(super) fn screen(&self, block: usize, x: &[f32], doubt: f64) -> Screened {
        let mut sums = self.single_block(block, &self.single_offsets, x);
        let least = least_of(&sums);
        for sum in &mut sums {
            *sum = if *sum < f32::INFINITY { -sum.abs() } else { 0.0 };
        }
        let largest = -least_of(&sums);
        Screened { least: f64::from(least) - doubt, largest: f64::from(largest) }
    }

    /// Cx + offsets of one block in single precision; `x` may be longer than there are unknowns.
    #[inline(always)]
    pub(super) fn single_block(&self, block: usize, offsets: &[f32], x: &[f32]) -> [f32; BLOCK] {
        let columns = &self.single_blocks[block * BLOCK * self.n_unknowns..];
        let columns = &columns.as_chunks::<BLOCK>().0[..self.n_unknowns];
        let mut sums = [0.0; BLOCK];
        sums.copy_from_slice(&offsets[block * BLOCK..][..BLOCK]);
        for (column, &x) in columns.iter().zip(x) {
            for i in 0..BLOCK {
                sums[i] = x.mul_add(column[i], sums[i]);
            }
        }
        sums
    }

    /// Cx + offsets of one block; `x` may be longer than there are unknowns.
    #[inline(always)]
    pub(super) fn block_of_slacks(&self, block: usize, offsets: &[f64], x: &[f64]) -> [f64; BLOCK] {
        let columns = &self.blocks[block * BLOCK * self.n_unknowns..][..BLOCK * self.n_unknowns];
        let mut sums = [0.0; BLOCK];
        sums.copy_from_slice(&offsets[block * BLOCK..][..BLOCK]);
        for (column, &x) in columns.as_chunks::<BLOCK>().0.iter().zip(x) {
            for i in 0..BLOCK {
                sums[i] = x.mul_add(column[i], sums[i]);
            }
        }
        sums
    }
}

/// What single precision tells of the slacks of a block.
pub(super) struct Screened {
    /// No slack is less.
    pub(super) least: f64,
    /// The largest slack, of either sign, to single precision.
    pub(super) largest: f64,
}

/// An order of the rows in which each [`BLOCK`] holds a row and those at the least angle from it.
fn alike_together(rows: &[f64], n: usize) -> Vec<usize> {
    let row = |i: usize| &rows[i * n..][..n];
    let mut left: Vec<usize> = (0..rows.len() / n).collect();
    let mut order = Vec::with_capacity(left.len());
    while let Some(&first) = left.first() {
        let likeness = |i: usize| dot(row(i), row(first)) / dot(row(i), row(i)).sqrt();
        // The first row is the most like itself up to rounding; where others equal it the sort,
        // which is stable, keeps it in front.
        left.sort_by(|&a, &b| likeness(b).total_cmp(&likeness(a)));
        order.extend(left.drain(..BLOCK.min(left.len())));
        left.sort_unstable();
    }
    order
}
