//! How a symmetric tensor is stored: one number per index class, in lexicographic order.
//!
//! An entry a_{i1…im} does not change when its indices trade places, so all entries whose indices
//! are a permutation of each other form an *index class* and are stored once (Ballard, Kolda and
//! Plantenga, section III.A). The representative of a class has its indices in nondecreasing order,
//! and classes are ordered by it: 1111 1112 1113 1122 … Indices count from 0 in this crate. How
//! many entries a class stands for is its *multiplicity*, the multinomial coefficient
//! m!/(k1!…kn!) of the exponents of its monomial x1^k1 … xn^kn.

/// Largest number of unique entries that is accepted: 128 MiB of `f64`.
pub const MAX_ENTRIES: usize = 1 << 24;

/// Largest order that is accepted: forms of higher order hold nothing that `f64` could tell apart
/// (x⁶⁴ is below 1e-16 of its maximum at 56° from it).
pub const MAX_ORDER: usize = 64;

/// Why an order and a dimension are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Vectors without components.
    #[error("dimension 0: a tensor needs a dimension of at least 1")]
    NoDimension,
    /// An order beyond [`MAX_ORDER`].
    #[error("order {order}: it must be at most {MAX_ORDER}")]
    Order {
        /// The order.
        order: usize,
    },
    /// More unique entries than [`MAX_ENTRIES`].
    #[error(
        "a symmetric tensor of order {order} and dimension {dimension} has more than \
         {MAX_ENTRIES} unique entries"
    )]
    TooLarge {
        /// The order.
        order: usize,
        /// The dimension.
        dimension: usize,
    },
}

/// Order and dimension of a symmetric tensor, and with them the place of each unique entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    order: usize,
    dimension: usize,
    len: usize,
}

impl Layout {
    /// The layout of tensors of this order (0 is a single number, 1 a vector) and dimension.
    ///
    /// # Errors
    /// [`LayoutError`] where there is no such tensor, or where it is too large; nothing is
    /// allocated.
    pub fn new(order: usize, dimension: usize) -> Result<Self, LayoutError> {
        if dimension == 0 {
            return Err(LayoutError::NoDimension);
        }
        if order > MAX_ORDER {
            return Err(LayoutError::Order { order });
        }
        let len = count(order, dimension).filter(|&len| len <= MAX_ENTRIES);
        let len = len.ok_or(LayoutError::TooLarge { order, dimension })?;
        Ok(Self { order, dimension, len })
    }

    /// The layout of the same dimension and a lower order.
    ///
    /// # Panics
    /// Where `order` is above this layout's own.
    pub fn of_order(&self, order: usize) -> Self {
        assert!(order <= self.order, "order {order} above {}", self.order);
        let len = classes(order, self.dimension);
        Self { order, dimension: self.dimension, len }
    }

    /// Number of indices of an entry, m.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Number of values of each index, n.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of unique entries, C(m + n - 1, m).
    #[expect(clippy::len_without_is_empty, reason = "a layout has at least one entry")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The representative of every class, in order: `m` nondecreasing indices from 0 to n - 1.
    pub fn index_classes(&self) -> impl Iterator<Item = Vec<usize>> {
        let dimension = self.dimension;
        let first = Some(vec![0; self.order]);
        std::iter::successors(first, move |index| {
            let mut index = index.clone();
            next_index_class(&mut index, dimension).then_some(index)
        })
    }

    /// The place of the entry with these indices, in any order.
    ///
    /// # Panics
    /// Where there are not m indices, or one is not below n.
    pub fn index_of(&self, indices: &[usize]) -> usize {
        assert_eq!(
            indices.len(),
            self.order,
            "an entry of order {} has as many indices",
            self.order
        );
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        self.place(&sorted)
    }

    /// [`index_of`](Self::index_of) of nondecreasing indices.
    ///
    /// Counts the classes before it: those that agree with it up to a position and have a smaller
    /// index there. They are the classes of one more index over the dimensions from the position's
    /// least index on, less those from its own index on.
    pub(crate) fn place(&self, sorted: &[usize]) -> usize {
        let n = self.dimension;
        let mut least = 0;
        let mut before = 0;
        for (position, &index) in sorted.iter().enumerate() {
            assert!(index < n, "index {index} in dimension {n}");
            if index > least {
                let remaining = self.order - position;
                before += classes(remaining, n - least) - classes(remaining, n - index);
                least = index;
            }
        }
        before
    }

    /// How often each index occurs in each class: the exponents of its monomial, class by class,
    /// n at a time.
    pub fn exponents(&self) -> Vec<usize> {
        let mut exponents = vec![0; self.len * self.dimension];
        for (class, powers) in self.index_classes().zip(exponents.chunks_exact_mut(self.dimension))
        {
            for index in class {
                powers[index] += 1;
            }
        }
        exponents
    }

    /// Exponents `[i, j, k]` of xⁱ yʲ zᵏ of each class in dimension 3: in order 4, `[4, 0, 0]`,
    /// `[3, 1, 0]`, `[3, 0, 1]`, `[2, 2, 0]` …
    ///
    /// # Panics
    /// In another dimension.
    pub fn exponents_3d(&self) -> Vec<[usize; 3]> {
        assert_eq!(self.dimension, 3, "exponents of x, y, z");
        self.exponents().chunks_exact(3).map(|powers| [powers[0], powers[1], powers[2]]).collect()
    }

    /// The number of entries that the unique entry at `place` stands for.
    ///
    /// # Panics
    /// Where `place` is not below [`len`](Self::len).
    pub fn multiplicity(&self, place: usize) -> f64 {
        multinomial(&self.index_class(place))
    }

    /// [`multiplicity`](Self::multiplicity) of every unique entry, in order; their sum is nᵐ.
    pub fn multiplicities(&self) -> Vec<f64> {
        self.index_classes().map(|class| multinomial(&class)).collect()
    }

    /// The representative of the class at `place`.
    ///
    /// # Panics
    /// Where `place` is not below [`len`](Self::len).
    pub fn index_class(&self, place: usize) -> Vec<usize> {
        assert!(place < self.len, "entry {place} of {}", self.len);
        let mut after = place;
        let mut index = 0;
        let mut class = Vec::with_capacity(self.order);
        for position in 0..self.order {
            // Classes that have `index` here, and any from it on in the positions that follow.
            loop {
                let here = classes(self.order - position - 1, self.dimension - index);
                if after < here {
                    break;
                }
                after -= here;
                index += 1;
            }
            class.push(index);
        }
        class
    }
}

/// The successor of a class in lexicographic order, in place; false (and `index` as it was) after
/// the last (the paper's Figure 4).
#[inline]
pub fn next_index_class(index: &mut [usize], dimension: usize) -> bool {
    let Some(position) = index.iter().rposition(|&i| i + 1 < dimension) else {
        return false;
    };
    let next = index[position] + 1;
    index[position..].fill(next);
    true
}

/// The multinomial coefficient of nondecreasing indices, in one pass over their runs (the paper's
/// MULTINOMIAL0): how many orders they can stand in.
#[inline]
pub fn multinomial(sorted: &[usize]) -> f64 {
    // The coefficient of the first j indices is that of the first j - 1 times j / (length of the
    // run that ends at j): always a whole number, exact up to 2^53.
    let mut coefficient = 1.0;
    let mut run = 0;
    for j in 0..sorted.len() {
        run = if j > 0 && sorted[j] == sorted[j - 1] { run + 1 } else { 1 };
        coefficient = coefficient * (j + 1) as f64 / f64::from(run);
    }
    coefficient
}

/// C(order + dimension - 1, order), if it is below 2^32 in every step.
fn count(order: usize, dimension: usize) -> Option<usize> {
    // The smaller of the two ways to write the same coefficient.
    let (choose, rest) =
        if order < dimension { (order, dimension - 1) } else { (dimension - 1, order) };
    let mut product: usize = 1;
    for k in 1..=choose {
        product = product.checked_mul(rest.checked_add(k)?)? / k;
        if product > u32::MAX as usize {
            return None;
        }
    }
    Some(product)
}

/// Number of classes within a layout that was accepted.
fn classes(order: usize, dimension: usize) -> usize {
    if dimension == 0 {
        return usize::from(order == 0);
    }
    count(order, dimension).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn classes_of_order_3_dimension_4_are_table_1_of_the_paper() {
        let layout = Layout::new(3, 4).unwrap();
        let classes: Vec<String> = layout
            .index_classes()
            .map(|class| class.iter().map(|i| (i + 1).to_string()).collect())
            .collect();
        let expected =
            "111 112 113 114 122 123 124 133 134 144 222 223 224 233 234 244 333 334 344 444";
        assert_eq!(classes.join(" "), expected);
        assert_eq!(&layout.exponents()[5 * 4..6 * 4], [1, 1, 1, 0]);
    }

    #[test]
    fn multiplicities_of_order_4_dimension_3() {
        let layout = Layout::new(4, 3).unwrap();
        let expected = [1, 4, 4, 6, 12, 6, 4, 12, 12, 4, 1, 4, 6, 4, 1].map(f64::from);
        assert_eq!(layout.multiplicities(), expected);
        assert_eq!(layout.exponents_3d()[4], [2, 1, 1]);
    }

    #[test]
    fn orders_0_and_1_are_numbers_and_vectors() {
        let scalar = Layout::new(0, 3).unwrap();
        assert_eq!((scalar.len(), scalar.index_of(&[])), (1, 0));
        let vector = Layout::new(1, 3).unwrap();
        assert_eq!((vector.len(), vector.index_of(&[2])), (3, 2));
    }

    #[test]
    fn what_is_too_large_is_refused_without_allocating() {
        assert_eq!(Layout::new(4, 0), Err(LayoutError::NoDimension));
        assert_eq!(Layout::new(65, 2), Err(LayoutError::Order { order: 65 }));
        for (order, dimension) in [(4, usize::MAX), (64, 64), (2, 1 << 20), (1, (1 << 24) + 1)] {
            assert_eq!(
                Layout::new(order, dimension),
                Err(LayoutError::TooLarge { order, dimension })
            );
        }
        assert_eq!(Layout::new(2, 5000).unwrap().len(), 5000 * 5001 / 2);
    }

    proptest! {
        #[test]
        fn places_and_classes_are_inverse(order in 0usize..7, dimension in 1usize..7) {
            let layout = Layout::new(order, dimension).unwrap();
            let mut n = 0;
            for (place, class) in layout.index_classes().enumerate() {
                let mut reversed = class.clone();
                reversed.reverse();
                prop_assert_eq!(layout.index_of(&reversed), place);
                prop_assert_eq!(layout.index_class(place), class);
                n += 1;
            }
            prop_assert_eq!(n, layout.len());
        }

        #[test]
        fn multiplicities_sum_to_the_dense_number_of_entries(order in 0usize..9, n in 1usize..6) {
            let layout = Layout::new(order, n).unwrap();
            // Whole numbers far below 2^53: exact.
            prop_assert_eq!(layout.multiplicities().iter().sum::<f64>(), (n as f64).powi(order as i32));
            let place = layout.len() / 2;
            prop_assert_eq!(layout.multiplicity(place), layout.multiplicities()[place]);
        }
    }
}
