//! Symmetric tensor times vector for any order and dimension, with indices and coefficients
//! computed once for all tensors of a layout.

use crate::Scalar;
use crate::general::check;
use crate::layout::{Layout, multinomial};

/// The paper's general kernels with precomputed tables (section V.C): the m indices and the
/// multinomial coefficient of every class.
///
/// The coefficient of a class in component i of A xᵐ⁻¹ is its multinomial times kᵢ / m, with kᵢ the
/// number of times i occurs in the class, as in the paper.
#[derive(Clone, Debug)]
pub struct Tables<T> {
    layout: Layout,
    /// `m` indices for each class.
    indices: Vec<u32>,
    multinomials: Vec<T>,
}

impl<T: Scalar> Tables<T> {
    /// The tables of a layout.
    pub fn new(layout: Layout) -> Self {
        let mut indices = Vec::with_capacity(layout.len() * layout.order());
        let mut multinomials = Vec::with_capacity(layout.len());
        for class in layout.index_classes() {
            multinomials.push(T::from_f64(multinomial(&class)));
            indices.extend(class.iter().map(|&i| i as u32));
        }
        Self { layout, indices, multinomials }
    }

    /// Whose tables they are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A xᵐ.
    ///
    /// # Panics
    /// Where `a` or `x` is not as long as the layout says.
    pub fn form(&self, a: &[T], x: &[T]) -> T {
        check(&self.layout, a, x);
        let m = self.layout.order();
        let mut sum = T::ZERO;
        for (place, (&entry, &multinomial)) in a.iter().zip(&self.multinomials).enumerate() {
            let class = &self.indices[place * m..(place + 1) * m];
            let monomial = class.iter().fold(T::ONE, |product, &i| product * x[i as usize]);
            sum += multinomial * entry * monomial;
        }
        sum
    }

    /// y = A xᵐ⁻¹.
    ///
    /// # Panics
    /// Where `a`, `x` or `y` is not as long as the layout says, or the order is 0.
    pub fn gradient(&self, a: &[T], x: &[T], y: &mut [T]) {
        check(&self.layout, a, x);
        let m = self.layout.order();
        assert!(m > 0, "a tensor of order 0 has no A x^(m-1)");
        assert_eq!(y.len(), self.layout.dimension(), "components of A x^(m-1)");
        y.fill(T::ZERO);
        let per_index = T::ONE / T::from_f64(m as f64);
        for (place, (&entry, &multinomial)) in a.iter().zip(&self.multinomials).enumerate() {
            let class = &self.indices[place * m..(place + 1) * m];
            let weight = multinomial * per_index * entry;
            let mut start = 0;
            while start < m {
                let index = class[start];
                let run = class[start..].iter().take_while(|&&i| i == index).count();
                let others = class[..start].iter().chain(&class[start + 1..]);
                let monomial = others.fold(T::ONE, |product, &i| product * x[i as usize]);
                y[index as usize] += weight * T::from_f64(run as f64) * monomial;
                start += run;
            }
        }
    }
}

/// One index summed after the other: A x, A x², … A xᵖ, each a symmetric tensor of one order less,
/// with tables of where each entry's terms stand.
///
/// Every term is one multiply-add, with no coefficients at all: entry J of A x is Σᵢ a_{J∪i} xᵢ.
/// One pass down to order 2 gives A xᵐ⁻², from which A xᵐ⁻¹ and A xᵐ follow; the searches of this
/// crate use nothing else.
#[derive(Clone, Debug)]
pub struct Chain {
    layout: Layout,
    /// For order m - 1, then m - 2 …: `n` places in the tensor of one order more for each class.
    steps: Vec<Vec<u32>>,
}

impl Chain {
    /// The tables that take tensors of `layout` down to any order.
    pub fn new(layout: Layout) -> Self {
        let step = |order: usize| {
            let (upper, lower) = (layout.of_order(order), layout.of_order(order - 1));
            let mut places = Vec::with_capacity(lower.len() * layout.dimension());
            let mut indices = vec![0; order];
            for class in lower.index_classes() {
                for index in 0..layout.dimension() {
                    let at = class.partition_point(|&i| i < index);
                    indices[..at].copy_from_slice(&class[..at]);
                    indices[at] = index;
                    indices[at + 1..].copy_from_slice(&class[at..]);
                    places.push(upper.place(&indices) as u32);
                }
            }
            places
        };
        let steps = (1..=layout.order()).rev().map(step).collect();
        Self { layout, steps }
    }

    /// Whose tables they are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The unique entries of A xᵖ, into `result`; `spare` only saves allocations.
    ///
    /// # Panics
    /// Where `a` or `x` is not as long as the layout says, or `p` is above the order.
    pub fn contract_into<T: Scalar>(
        &self,
        a: &[T],
        x: &[T],
        p: usize,
        result: &mut Vec<T>,
        spare: &mut Vec<T>,
    ) {
        check(&self.layout, a, x);
        assert!(p <= self.layout.order(), "p = {p} of {} indices", self.layout.order());
        result.clear();
        result.extend_from_slice(a);
        for step in &self.steps[..p] {
            spare.clear();
            spare.extend(step.chunks_exact(x.len()).map(|places| {
                let terms = places.iter().zip(x);
                terms.fold(T::ZERO, |sum, (&place, &x)| result[place as usize] * x + sum)
            }));
            std::mem::swap(result, spare);
        }
    }

    /// The unique entries of A xᵖ.
    ///
    /// # Panics
    /// As [`contract_into`](Self::contract_into).
    pub fn contract<T: Scalar>(&self, a: &[T], x: &[T], p: usize) -> Vec<T> {
        let (mut result, mut spare) = (Vec::new(), Vec::new());
        self.contract_into(a, x, p, &mut result, &mut spare);
        result
    }
}
