//! Transforms along an axis that is not contiguous: blocks of columns are gathered into lines,
//! transformed and put back, a cache line at a time.

use std::marker::PhantomData;

use rustfft::Fft;

use super::lines::scratch;
use super::{Complex, Float};

/// Columns moved together: 128 bytes of each row as complex f32.
pub(super) const BLOCK: usize = 16;

/// The columns of a row-major matrix, of which threads transform disjoint blocks.
pub(super) struct Columns<'a, T> {
    first: *mut Complex<T>,
    rows: usize,
    columns: usize,
    data: PhantomData<&'a mut [Complex<T>]>,
}

// SAFETY: a `Columns` is an exclusive borrow of its data, of which `transform` touches one block.
unsafe impl<T: Send> Send for Columns<'_, T> {}
// SAFETY: as above; that no two threads work on one block is what callers of `transform` promise.
unsafe impl<T: Send> Sync for Columns<'_, T> {}

/// What one thread needs to transform blocks of columns.
pub(super) struct Workspace<T> {
    lines: Vec<Complex<T>>,
    pitch: usize,
    scratch: Vec<Complex<T>>,
}

impl<T: Float> Workspace<T> {
    pub(super) fn new(fft: &dyn Fft<T>) -> Self {
        // Lines a power of two apart would share a few sets of the cache; 64 bytes more do not.
        let pitch = fft.len() + 8;
        let zero = Complex::new(T::zero(), T::zero());
        Self { lines: vec![zero; BLOCK * pitch], pitch, scratch: scratch(fft) }
    }
}

impl<'a, T: Float> Columns<'a, T> {
    /// The columns of `data` as a matrix of `rows` rows.
    pub(super) fn new(data: &'a mut [Complex<T>], rows: usize) -> Self {
        debug_assert!(data.len().is_multiple_of(rows));
        let columns = data.len() / rows;
        Self { first: data.as_mut_ptr(), rows, columns, data: PhantomData }
    }

    /// Number of blocks of at most [`BLOCK`] columns.
    pub(super) fn blocks(&self) -> usize {
        self.columns.div_ceil(BLOCK)
    }

    /// Transforms the columns of `block` and multiplies them by `scale`.
    ///
    /// # Safety
    /// No other call works on the same block at the same time.
    pub(super) unsafe fn transform(
        &self,
        block: usize,
        fft: &dyn Fft<T>,
        scale: T,
        workspace: &mut Workspace<T>,
    ) {
        assert!(fft.len() == self.rows && block < self.blocks());
        let start = block * BLOCK;
        let width = BLOCK.min(self.columns - start);
        let Workspace { lines, pitch, scratch } = workspace;
        for row in 0..self.rows {
            // SAFETY: inside the matrix, and inside the block, which is this call's alone.
            let from = unsafe {
                std::slice::from_raw_parts(self.first.add(row * self.columns + start), width)
            };
            for (column, &x) in from.iter().enumerate() {
                lines[column * *pitch + row] = x;
            }
        }
        for line in lines.chunks_exact_mut(*pitch).take(width) {
            fft.process_with_scratch(&mut line[..self.rows], scratch);
        }
        for row in 0..self.rows {
            // SAFETY: as above.
            let to = unsafe {
                std::slice::from_raw_parts_mut(self.first.add(row * self.columns + start), width)
            };
            for (column, x) in to.iter_mut().enumerate() {
                *x = lines[column * *pitch + row].scale(scale);
            }
        }
    }

    /// Transforms all columns, by this thread.
    pub(super) fn transform_all(self, fft: &dyn Fft<T>, workspace: &mut Workspace<T>) {
        for block in 0..self.blocks() {
            // SAFETY: one thread, one block after the other, and `self` is consumed.
            unsafe { self.transform(block, fft, T::one(), workspace) };
        }
    }
}
