//! Symmetric tensor times vector for any order and dimension, indices computed on the fly.
//!
//! The general kernels of Ballard, Kolda and Plantenga (Figures 2 and 3): nothing but the unique
//! entries is read, index classes and multinomial coefficients are computed on the way. They read
//! like the definitions, and are the slowest of this crate: [`Tables`](crate::tables::Tables) and
//! [`Chain`](crate::tables::Chain) store what is computed here again for every call, and
//! [`blocked`](crate::blocked) needs neither.

use crate::Scalar;
use crate::layout::{Layout, multinomial, next_index_class};

/// A xᵐ = Σ a_{i1…im} x_{i1} … x_{im}, from the unique entries `a`.
///
/// # Panics
/// Where `a` or `x` is not as long as `layout` says.
pub fn form<T: Scalar>(layout: &Layout, a: &[T], x: &[T]) -> T {
    check(layout, a, x);
    let mut class = vec![0; layout.order()];
    let mut sum = T::ZERO;
    for &entry in a {
        let monomial = class.iter().fold(T::ONE, |product, &i| product * x[i]);
        sum += T::from_f64(multinomial(&class)) * entry * monomial;
        next_index_class(&mut class, layout.dimension());
    }
    sum
}

/// y = A xᵐ⁻¹, the vector y_j = Σ a_{j,i2…im} x_{i2} … x_{im}; 1/m of the gradient of A xᵐ.
///
/// # Panics
/// Where `a`, `x` or `y` is not as long as `layout` says, or the order is 0.
pub fn gradient<T: Scalar>(layout: &Layout, a: &[T], x: &[T], y: &mut [T]) {
    check(layout, a, x);
    assert!(layout.order() > 0, "a tensor of order 0 has no A x^(m-1)");
    assert_eq!(y.len(), layout.dimension(), "components of A x^(m-1)");
    y.fill(T::ZERO);
    let mut class = vec![0; layout.order()];
    let mut others = Vec::with_capacity(layout.order());
    for &entry in a {
        for position in 0..class.len() {
            if position > 0 && class[position] == class[position - 1] {
                continue;
            }
            // The entry's index `class[position]` is that of y; the others are summed over.
            others.clear();
            others.extend_from_slice(&class[..position]);
            others.extend_from_slice(&class[position + 1..]);
            let monomial = others.iter().fold(T::ONE, |product, &i| product * x[i]);
            y[class[position]] += T::from_f64(multinomial(&others)) * entry * monomial;
        }
        next_index_class(&mut class, layout.dimension());
    }
}

/// A xᵖ, the symmetric tensor of order m - p that is left when `p` indices are summed over, as its
/// unique entries.
///
/// # Panics
/// Where `a` or `x` is not as long as `layout` says, or `p` is above the order.
pub fn contract<T: Scalar>(layout: &Layout, a: &[T], x: &[T], p: usize) -> Vec<T> {
    check(layout, a, x);
    assert!(p <= layout.order(), "p = {p} of {} indices", layout.order());
    let kept = layout.of_order(layout.order() - p);
    let summed = layout.of_order(p);
    let mut indices = vec![0; layout.order()];
    let mut result = Vec::with_capacity(kept.len());
    for kept in kept.index_classes() {
        let mut class = vec![0; p];
        let mut sum = T::ZERO;
        for _ in 0..summed.len() {
            indices[..kept.len()].copy_from_slice(&kept);
            indices[kept.len()..].copy_from_slice(&class);
            indices.sort_unstable();
            let monomial = class.iter().fold(T::ONE, |product, &i| product * x[i]);
            sum += T::from_f64(multinomial(&class)) * a[layout.place(&indices)] * monomial;
            next_index_class(&mut class, layout.dimension());
        }
        result.push(sum);
    }
    result
}

/// Panics where slices are not as long as the layout says.
pub(crate) fn check<T>(layout: &Layout, a: &[T], x: &[T]) {
    assert_eq!(a.len(), layout.len(), "unique entries");
    assert_eq!(x.len(), layout.dimension(), "components of x");
}
