//! The work on one block, for a SIMD register of any width.

use fimbria_compute::{Lanes, Real};
use pulp::{Simd, WithSimd};

use super::blocks::BlockEntry;
use crate::Dictionary;

/// Partial sums of an inner product, the same number at every SIMD level and on devices, so that their
/// bits are the same.
pub(super) const SUMS: usize = 16;

/// Columns are called into the first cache so many entries before they are read: about as long as
/// the last cache takes to answer.
const AHEAD: usize = 12;

/// What is asked of a block.
pub(super) struct BlockPass<'a> {
    /// Where each voxel's entries start, and where the last one's end.
    pub(super) start: &'a [u64],
    /// The block's entries.
    pub(super) entries: &'a [BlockEntry],
    /// Columns of the dictionary, `stride` numbers each, a multiple of [`SUMS`].
    pub(super) columns: &'a [f32],
    pub(super) stride: usize,
    pub(super) work: Work<'a>,
}

/// The direction of the product.
pub(super) enum Work<'a> {
    /// y = M w
    Apply { w: &'a [f32], y: &'a mut [f32] },
    /// g = M'y
    Adjoint { y: &'a [f32], g: &'a mut [f32] },
    /// g = M'(M w - b) and the squared norm of every voxel's M w - b, with a residual's worth of scratch;
    /// without b where there is none.
    Gradient {
        w: &'a [f32],
        b: Option<&'a [f32]>,
        g: &'a mut [f32],
        squares: &'a mut [f32],
        residual: &'a mut [f32],
    },
    /// The squared norm of every voxel's M w.
    Squares { w: &'a [f32], squares: &'a mut [f32], residual: &'a mut [f32] },
}

impl WithSimd for BlockPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { start, entries, columns, stride, work } = self;
        let first = start[0];
        let voxels = start.len() - 1;
        let of = |voxel: usize| Part {
            // With what follows, which is called for ahead of time.
            entries: &entries[(start[voxel] - first) as usize..],
            len: (start[voxel + 1] - start[voxel]) as usize,
        };
        match work {
            Work::Apply { w, y } => {
                for voxel in 0..voxels {
                    let y = &mut y[voxel * stride..][..stride];
                    add_columns(simd, of(voxel), w, columns, stride, None, y);
                }
            }
            Work::Adjoint { y, g } => {
                for voxel in 0..voxels {
                    let y = &y[voxel * stride..][..stride];
                    multiply_columns::<S, true>(simd, of(voxel), y, columns, stride, g);
                }
            }
            Work::Gradient { w, b, g, squares, residual } => {
                let residual = &mut residual[..stride];
                for voxel in 0..voxels {
                    #[allow(clippy::manual_map, reason = "as in add_columns")]
                    let b = match b {
                        Some(b) => Some(&b[voxel * stride..][..stride]),
                        None => None,
                    };
                    add_columns(simd, of(voxel), w, columns, stride, b, residual);
                    squares[voxel] = square_of(simd, residual);
                    multiply_columns::<S, false>(simd, of(voxel), residual, columns, stride, g);
                }
            }
            Work::Squares { w, squares, residual } => {
                let residual = &mut residual[..stride];
                for voxel in 0..voxels {
                    add_columns(simd, of(voxel), w, columns, stride, None, residual);
                    squares[voxel] = square_of(simd, residual);
                }
            }
        }
    }
}

/// Entries of a voxel, and those behind them.
#[derive(Clone, Copy)]
struct Part<'a> {
    entries: &'a [BlockEntry],
    /// How many are the voxel's.
    len: usize,
}

/// Calls `n` numbers of a column from `first` on into the first cache.
#[inline(always)]
fn fetch(columns: &[f32], first: usize, n: usize) {
    /// Numbers of a line.
    const LINE: usize = Dictionary::ALIGN;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that never faults, whatever the address; every x86-64 has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let mut at = 0;
        while at < n {
            _mm_prefetch::<_MM_HINT_T0>(columns.as_ptr().wrapping_add(first + at).cast());
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (columns, first, n, LINE);
}

/// `y = Σ value w[slot] column`, less `b` where there is one, in pieces of y that stay in registers.
#[inline(always)]
#[allow(clippy::manual_map, reason = "a closure may become a function of its own here")]
fn add_columns<S: Simd>(
    simd: S,
    of: Part<'_>,
    w: &[f32],
    columns: &[f32],
    stride: usize,
    b: Option<&[f32]>,
    y: &mut [f32],
) {
    let mut at = 0;
    while at < stride {
        // Four registers of AVX-512; sixteen of four lanes.
        let width = (stride - at).min(if Lanes::<S>::LANES >= 4 { 64 } else { 16 });
        let y = &mut y[at..at + width];
        let b = match b {
            Some(b) => Some(&b[at..at + width]),
            None => None,
        };
        match width / Lanes::<S>::LANES {
            1 => add_piece::<S, 1>(simd, of, w, columns, stride, at, b, y),
            2 => add_piece::<S, 2>(simd, of, w, columns, stride, at, b, y),
            3 => add_piece::<S, 3>(simd, of, w, columns, stride, at, b, y),
            4 => add_piece::<S, 4>(simd, of, w, columns, stride, at, b, y),
            6 => add_piece::<S, 6>(simd, of, w, columns, stride, at, b, y),
            8 => add_piece::<S, 8>(simd, of, w, columns, stride, at, b, y),
            12 => add_piece::<S, 12>(simd, of, w, columns, stride, at, b, y),
            _ => add_piece::<S, 16>(simd, of, w, columns, stride, at, b, y),
        }
        at += width;
    }
}

#[inline(always)]
fn add_piece<S: Simd, const REGISTERS: usize>(
    simd: S,
    of: Part<'_>,
    w: &[f32],
    columns: &[f32],
    stride: usize,
    at: usize,
    b: Option<&[f32]>,
    y: &mut [f32],
) {
    let lanes = Lanes::<S>::LANES;
    let mut sums = [Lanes::new(simd, 0.0); REGISTERS];
    if let Some(b) = b {
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = *sum - Lanes::load(simd, &b[k * lanes..]);
        }
    }
    for i in 0..of.len {
        if i + AHEAD < of.entries.len() {
            let later = of.entries[i + AHEAD].atom as usize;
            fetch(columns, later * stride + at, REGISTERS * lanes);
        }
        let entry = &of.entries[i];
        // Weights of zero too: half of them are, and to guess which takes longer than to read all.
        let factor = Lanes::new(simd, w[entry.slot as usize] * entry.value);
        let column = &columns[entry.atom as usize * stride + at..][..REGISTERS * lanes];
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = factor.mul_add(Lanes::load(simd, &column[k * lanes..]), *sum);
        }
    }
    for (k, sum) in sums.iter().enumerate() {
        sum.store(&mut y[k * lanes..]);
    }
}

/// The squared norm of a voxel's numbers.
#[inline(always)]
fn square_of<S: Simd>(simd: S, y: &[f32]) -> f32 {
    match SUMS / Lanes::<S>::LANES {
        1 => square_in::<S, 1>(simd, y),
        2 => square_in::<S, 2>(simd, y),
        4 => square_in::<S, 4>(simd, y),
        _ => square_in::<S, 16>(simd, y),
    }
}

#[inline(always)]
fn square_in<S: Simd, const REGISTERS: usize>(simd: S, y: &[f32]) -> f32 {
    let lanes = Lanes::<S>::LANES;
    let mut sums = [Lanes::new(simd, 0.0); REGISTERS];
    let mut at = 0;
    while at < y.len() {
        for k in 0..REGISTERS {
            let part = Lanes::load(simd, &y[at + k * lanes..]);
            sums[k] = part.mul_add(part, sums[k]);
        }
        at += SUMS;
    }
    sum_of::<S, REGISTERS>(sums)
}

/// Halves added to halves, whatever they are held in.
#[inline(always)]
fn sum_of<S: Simd, const REGISTERS: usize>(mut sums: [Lanes<S>; REGISTERS]) -> f32 {
    let mut half = REGISTERS / 2;
    while half > 0 {
        for k in 0..half {
            sums[k] = sums[k] + sums[k + half];
        }
        half /= 2;
    }
    sums[0].sum()
}

/// `g[slot] += value ⟨column, y⟩`, of columns that must be called for where `FETCH`.
#[inline(always)]
fn multiply_columns<S: Simd, const FETCH: bool>(
    simd: S,
    of: Part<'_>,
    y: &[f32],
    columns: &[f32],
    stride: usize,
    g: &mut [f32],
) {
    // As many entries at once as have their sums in registers: they do not wait for each other.
    match SUMS / Lanes::<S>::LANES {
        1 => multiply::<S, FETCH, 1, 8>(simd, of, y, columns, stride, g),
        2 => multiply::<S, FETCH, 2, 4>(simd, of, y, columns, stride, g),
        4 => multiply::<S, FETCH, 4, 2>(simd, of, y, columns, stride, g),
        _ => multiply::<S, FETCH, 16, 1>(simd, of, y, columns, stride, g),
    }
}

#[inline(always)]
fn multiply<S: Simd, const FETCH: bool, const REGISTERS: usize, const ENTRIES: usize>(
    simd: S,
    of: Part<'_>,
    y: &[f32],
    columns: &[f32],
    stride: usize,
    g: &mut [f32],
) {
    let mut first = 0;
    while first + ENTRIES <= of.len {
        for e in 0..ENTRIES {
            if FETCH && first + e + AHEAD < of.entries.len() {
                let later = of.entries[first + e + AHEAD].atom as usize;
                fetch(columns, later * stride, stride);
            }
        }
        let entries = &of.entries[first..][..ENTRIES];
        inner_products::<S, REGISTERS, ENTRIES>(simd, entries, y, columns, stride, g);
        first += ENTRIES;
    }
    if ENTRIES > 4 && first + 4 <= of.len {
        let entries = &of.entries[first..][..4];
        inner_products::<S, REGISTERS, 4>(simd, entries, y, columns, stride, g);
        first += 4;
    }
    if ENTRIES > 2 && first + 2 <= of.len {
        let entries = &of.entries[first..][..2];
        inner_products::<S, REGISTERS, 2>(simd, entries, y, columns, stride, g);
        first += 2;
    }
    while first < of.len {
        let entries = &of.entries[first..][..1];
        inner_products::<S, REGISTERS, 1>(simd, entries, y, columns, stride, g);
        first += 1;
    }
}

/// The same for a few entries at once. (Loops by index throughout: iterators that are zipped or go
/// by chunks are functions of their own here, which costs ten times as much.)
#[inline(always)]
fn inner_products<S: Simd, const REGISTERS: usize, const ENTRIES: usize>(
    simd: S,
    entries: &[BlockEntry],
    y: &[f32],
    columns: &[f32],
    stride: usize,
    g: &mut [f32],
) {
    let lanes = Lanes::<S>::LANES;
    let mut column = [columns; ENTRIES];
    for e in 0..ENTRIES {
        column[e] = &columns[entries[e].atom as usize * stride..][..stride];
    }
    let mut sums = [[Lanes::new(simd, 0.0); REGISTERS]; ENTRIES];
    let mut at = 0;
    while at < stride {
        for k in 0..REGISTERS {
            let part = Lanes::load(simd, &y[at + k * lanes..]);
            for e in 0..ENTRIES {
                let d = Lanes::load(simd, &column[e][at + k * lanes..]);
                sums[e][k] = d.mul_add(part, sums[e][k]);
            }
        }
        at += SUMS;
    }
    for e in 0..ENTRIES {
        g[entries[e].slot as usize] += entries[e].value * sum_of::<S, REGISTERS>(sums[e]);
    }
}
