//! The sums themselves, on registers: the field in a column, and what a block of sources sees.

use std::ops::Range;

use fimbria_compute::{Lanes, Real};
use pulp::{Simd, WithSimd};

use super::columns::{AT, FOOT};
use super::number::Number as _;
use super::reach::Hit;
use super::{Group, Seen, Source};

/// Sources between two roundings of a column's sums to f64.
const CHUNK: usize = 1024;
/// Sources that one task of the adjoint holds.
pub(super) const BLOCK: usize = 256;
/// Columns between two roundings of a block's sums to f64.
const COLUMNS: usize = 32;

/// What a thread keeps from task to task.
#[derive(Default)]
pub(super) struct Scratch {
    hits: Vec<Hit>,
    sums: Vec<f32>,
    totals: Vec<f64>,
}

impl Scratch {
    fn clear(&mut self, sums: usize, totals: usize) {
        self.sums.clear();
        self.sums.resize(sums, 0.0);
        self.totals.clear();
        self.totals.resize(totals, 0.0);
    }
}

/// The field in one column.
pub(super) struct FieldOfColumn<'a> {
    pub(super) group: &'a Group,
    /// Strength times susceptibility of each source.
    pub(super) amounts: &'a [f32],
    pub(super) column: usize,
    pub(super) field: &'a mut [f32],
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for FieldOfColumn<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { group, amounts, column, field, scratch } = self;
        let span = group.columns.spans[column];
        if span[0] >= span[1] {
            return;
        }
        scratch.clear(field.len(), field.len());
        let mut first = 0;
        while first < group.sources.len() {
            let chunk = first..(first + CHUNK).min(group.sources.len());
            first += CHUNK;
            let Scratch { hits, sums, totals } = scratch;
            group.reach.hits(simd, group.middle(column), span, chunk, hits);
            add_hits(simd, group, amounts, group.columns.corner(column), hits, sums);
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total += f64::from(*sum);
                *sum = 0.0;
            }
        }
        for (field, total) in field.iter_mut().zip(&scratch.totals) {
            *field = *total as f32;
        }
    }
}

/// Adds what `hits` make in the column at `corner` to `sums`.
#[inline(always)]
fn add_hits<S: Simd>(
    simd: S,
    group: &Group,
    amounts: &[f32],
    corner: [f32; 2],
    hits: &[Hit],
    sums: &mut [f32],
) {
    let n = Lanes::<S>::LANES;
    let mut first = 0;
    while first < FOOT {
        let at = [Lanes::load(simd, &AT[0][first..]), Lanes::load(simd, &AT[1][first..])];
        for hit in hits {
            let source = &group.sources[hit.source as usize];
            let amount = Lanes::new(simd, amounts[hit.source as usize]);
            let seen = seen(source, at, corner, amount, group.support);
            let planes = reached(hit, source, group.support);
            let mut along = Lanes::new(simd, planes.start as f32 - source.at[2]);
            let sums = &mut sums[planes.start * FOOT..planes.end * FOOT];
            for sums in sums.as_chunks_mut::<FOOT>().0 {
                let sums = &mut sums[first..first + n];
                let [a, b] = seen.factors(along);
                Real::mul_add(a, b, Lanes::load(simd, sums)).store(sums);
                along = along + 1.0;
            }
        }
        first += n;
    }
}

/// What a block of sources sees of the whole field.
pub(super) struct SeenByBlock<'a> {
    pub(super) group: &'a Group,
    pub(super) volume: &'a [f32],
    /// Index of the block's first source.
    pub(super) first: usize,
    pub(super) x: &'a mut [f32],
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for SeenByBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { group, volume, first, x, scratch } = self;
        scratch.clear(x.len() * FOOT, x.len());
        let columns = &group.columns;
        for (column, &span) in columns.spans.iter().enumerate() {
            let Scratch { hits, sums, totals } = &mut *scratch;
            if span[0] < span[1] {
                let block = first..first + x.len();
                group.reach.hits(simd, group.middle(column), span, block, hits);
                let field = &volume[column * columns.column_len()..][..columns.column_len()];
                see_hits(simd, group, field, columns.corner(column), hits, first, sums);
            }
            if (column + 1).is_multiple_of(COLUMNS) || column + 1 == columns.spans.len() {
                for (total, sums) in totals.iter_mut().zip(sums.as_chunks_mut::<FOOT>().0) {
                    *total += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
                    *sums = [0.0; FOOT];
                }
            }
        }
        for (i, x) in x.iter_mut().enumerate() {
            let strength = f64::from(group.sources[first + i].strength);
            *x = (scratch.totals[i] * strength) as f32;
        }
    }
}

/// Adds what `hits` see of the column at `corner` to `sums`, FOOT for each source from `block` on.
#[inline(always)]
fn see_hits<S: Simd>(
    simd: S,
    group: &Group,
    field: &[f32],
    corner: [f32; 2],
    hits: &[Hit],
    block: usize,
    sums: &mut [f32],
) {
    let n = Lanes::<S>::LANES;
    let one = Lanes::new(simd, 1.0);
    let mut first = 0;
    while first < FOOT {
        let at = [Lanes::load(simd, &AT[0][first..]), Lanes::load(simd, &AT[1][first..])];
        for hit in hits {
            let source = &group.sources[hit.source as usize];
            let seen = seen(source, at, corner, one, group.support);
            let planes = reached(hit, source, group.support);
            let mut along = Lanes::new(simd, planes.start as f32 - source.at[2]);
            let sums = &mut sums[(hit.source as usize - block) * FOOT + first..][..n];
            let mut sum = Lanes::load(simd, sums);
            let field = &field[planes.start * FOOT..planes.end * FOOT];
            for field in field.as_chunks::<FOOT>().0 {
                let [a, b] = seen.factors(along);
                sum = Real::mul_add(a * b, Lanes::load(simd, &field[first..first + n]), sum);
                along = along + 1.0;
            }
            sum.store(sums);
        }
        first += n;
    }
}

/// `source` seen from voxels `at` of the foot at `corner`: with 0 beyond its support.
#[inline(always)]
fn seen<S: Simd>(
    source: &Source<f32>,
    at: [Lanes<S>; 2],
    corner: [f32; 2],
    amount: Lanes<S>,
    support: Option<f32>,
) -> Seen<Lanes<S>> {
    let across = [at[0] + (corner[0] - source.at[0]), at[1] + (corner[1] - source.at[1])];
    let amount = match support {
        None => amount,
        Some(support) => {
            let farthest = Real::max(Real::abs(across[0]), Real::abs(across[1]));
            amount.within(farthest, Real::splat(amount, support))
        }
    };
    Seen::new(source, across, amount)
}

/// The planes of `hit` within the support of its source.
#[inline(always)]
fn reached(hit: &Hit, source: &Source<f32>, support: Option<f32>) -> Range<usize> {
    let planes = hit.planes();
    match support {
        None => planes,
        Some(support) => {
            // Saturates at 0.
            let (low, high) = (source.at[2] - support, source.at[2] + support + 1.0);
            let end = planes.end.min(high as usize);
            planes.start.max(low as usize).min(end)..end
        }
    }
}
