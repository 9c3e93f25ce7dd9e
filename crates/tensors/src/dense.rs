//! The tensor with all its nᵐ entries, as if it had no symmetry: the oracle of products of unique
//! entries.

use crate::Scalar;
use crate::layout::{Layout, MAX_ENTRIES};

/// A tensor with all its entries, last index fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DenseTensor<T> {
    order: usize,
    dimension: usize,
    entries: Vec<T>,
}

impl<T: Scalar> DenseTensor<T> {
    /// All entries of the symmetric tensor with unique entries `a`; none where they would be more
    /// than [`MAX_ENTRIES`].
    ///
    /// # Panics
    /// Where `a` is not as long as `layout` says.
    pub(crate) fn from_unique(layout: &Layout, a: &[T]) -> Option<Self> {
        assert_eq!(a.len(), layout.len(), "unique entries");
        let (order, n) = (layout.order(), layout.dimension());
        let len = n.checked_pow(order as u32).filter(|&len| len <= MAX_ENTRIES)?;
        let mut indices = vec![0; order];
        let entries = (0..len).map(|flat| {
            let mut rest = flat;
            for index in indices.iter_mut().rev() {
                (*index, rest) = (rest % n, rest / n);
            }
            a[layout.index_of(&indices)]
        });
        let entries = entries.collect();
        Some(Self { order, dimension: n, entries })
    }

    /// A xᵖ: all nᵐ⁻ᵖ entries, last index fastest.
    ///
    /// # Panics
    /// Where `x` does not have n components, or `p` is above the order.
    pub(crate) fn contract(&self, x: &[T], p: usize) -> Vec<T> {
        assert_eq!(x.len(), self.dimension, "components of x");
        assert!(p <= self.order, "p = {p} of {} indices", self.order);
        let dot = |row: &[T]| row.iter().zip(x).fold(T::ZERO, |sum, (&a, &x)| a * x + sum);
        let product = |a: Vec<T>, _| a.chunks_exact(x.len()).map(dot).collect();
        (0..p).fold(self.entries.clone(), product)
    }

    /// A xᵐ.
    ///
    /// # Panics
    /// As [`contract`](Self::contract).
    pub(crate) fn form(&self, x: &[T]) -> T {
        self.contract(x, self.order)[0]
    }
}
