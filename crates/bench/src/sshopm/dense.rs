//! The tensor with all its nᵐ entries, as if it had no symmetry: what storing unique entries is
//! measured against.
//!
//! Every product is a sequence of matrix-vector products, one per index: the first reads all nᵐ
//! entries (2nᵐ flops), the next nᵐ⁻¹, and so on.

use fimbria_tensors::layout::Layout;

/// A tensor with all its entries, last index fastest.
pub(super) struct DenseTensor {
    entries: Vec<f32>,
}

impl DenseTensor {
    /// All entries of the symmetric tensor with unique entries `a`.
    pub(super) fn from_unique(layout: &Layout, a: &[f32]) -> Self {
        let n = layout.dimension();
        let mut indices = vec![0; layout.order()];
        let entry = |flat: usize| {
            let mut rest = flat;
            for index in indices.iter_mut().rev() {
                (*index, rest) = (rest % n, rest / n);
            }
            a[layout.index_of(&indices)]
        };
        Self { entries: (0..n.pow(layout.order() as u32)).map(entry).collect() }
    }

    /// Number of stored entries, nᵐ.
    pub(super) fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// A xᵖ into `left`, whose room serves again; p is at least 1.
    pub(super) fn contract_into(&self, x: &[f32], p: usize, left: &mut Vec<f32>) {
        let dot = |row: &[f32]| row.iter().zip(x).fold(0.0, |sum, (&a, &x)| a * x + sum);
        left.clear();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_unique_entries() {
        let layout = Layout::new(4, 3).unwrap();
        let a: Vec<f32> = (1..=15).map(|i| i as f32).collect();
        let dense = DenseTensor::from_unique(&layout, &a);
        assert_eq!(dense.n_entries(), 81);
        let mut left = Vec::new();
        // Entries 1333, 2333 and 3333.
        dense.contract_into(&[0.0, 0.0, 1.0], 3, &mut left);
        assert_eq!(left, [10.0, 14.0, 15.0]);
        dense.contract_into(&[1.0, 0.0, 0.0], 4, &mut left);
        assert_eq!(left, [1.0]);
    }
}
