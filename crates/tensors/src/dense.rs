//! The tensor with all its nᵐ entries, as if it had no symmetry: the baseline that storing unique
//! entries is measured against (the paper's Table II).
//!
//! Every product is a sequence of matrix-vector products, one per index: the first reads all nᵐ
//! entries (2nᵐ flops), the next nᵐ⁻¹, and so on.

use crate::Scalar;
use crate::layout::{Layout, MAX_ENTRIES};

/// A tensor with all its entries, last index fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseTensor<T> {
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
    pub fn from_unique(layout: &Layout, a: &[T]) -> Option<Self> {
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

    /// Number of stored entries, nᵐ.
    #[expect(clippy::len_without_is_empty, reason = "a tensor has at least one entry")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// A xᵖ: all nᵐ⁻ᵖ entries, last index fastest.
    ///
    /// # Panics
    /// Where `x` does not have n components, or `p` is above the order.
    pub fn contract(&self, x: &[T], p: usize) -> Vec<T> {
        let mut left = Vec::new();
        self.contract_into(x, p, &mut left);
        left
    }

    /// A xᵖ into `left`, whose room serves again.
    ///
    /// # Panics
    /// As [`contract`](Self::contract).
    pub fn contract_into(&self, x: &[T], p: usize, left: &mut Vec<T>) {
        assert_eq!(x.len(), self.dimension, "components of x");
        assert!(p <= self.order, "p = {p} of {} indices", self.order);
        let dot = |row: &[T]| row.iter().zip(x).fold(T::ZERO, |sum, (&a, &x)| a * x + sum);
        left.clear();
        if p == 0 {
            return left.extend_from_slice(&self.entries);
        }
        left.extend(self.entries.chunks_exact(x.len()).map(dot));
        for _ in 1..p {
            // In place: what is written has been read.
            let rows = left.len() / x.len();
            for row in 0..rows {
                left[row] = dot(&left[row * x.len()..][..x.len()]);
            }
            left.truncate(rows);
        }
    }

    /// A xᵐ.
    ///
    /// # Panics
    /// As [`contract`](Self::contract).
    pub fn form(&self, x: &[T]) -> T {
        self.contract(x, self.order)[0]
    }
}
