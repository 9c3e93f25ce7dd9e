//! What an iteration costs: as one counts it from the paper, and as it is done here.

use super::{Products, Shift};
use crate::layout::Layout;
use crate::unrolled::kernel_flops;

/// Operations of an iteration with plain sums over unique entries, for rates to set beside the
/// paper's: a multiplication for each factor x and for each coefficient that is not 1, the
/// additions, the shift where there is one, and the normalisation. 233 for order 4 and dimension 3,
/// 239 with a shift.
///
/// # Panics
/// For order 0.
pub fn nominal_flops(layout: Layout, shift: Shift) -> usize {
    let [value, vector] = product_flops(layout);
    let n = layout.dimension();
    let shifting = if shift == Shift::Fixed(0.0) { 0 } else { 2 * n };
    value + vector + shifting + 3 * n
}

/// Operations of A x^m and of A x^(m-1) by plain sums over unique entries, counted so.
///
/// # Panics
/// For order 0.
pub fn product_flops(layout: Layout) -> [usize; 2] {
    let (m, n) = (layout.order(), layout.dimension());
    let entries = |order: usize| layout.of_order(order).len();
    let value = entries(m) * m + (entries(m) - n) + (entries(m) - 1);
    let rest = entries(m - 1);
    let vector = n * (rest * (m - 1) + (rest - n.min(rest)) + (rest - 1));
    [value, vector]
}

/// Operations of an iteration of shared products as lanes and devices do it, a multiply-add being
/// two. `None` for others: of plain products the compiler merges what their terms have in common,
/// and those that are not unrolled do more with indices than with numbers.
pub fn executed_flops(layout: Layout, products: Products, shift: Shift) -> Option<usize> {
    /// Of a reciprocal square root, and of the smallest eigenvalue.
    const RSQRT: usize = 15;
    const EIGENVALUE: usize = 75;
    if products != Products::Shared {
        return None;
    }
    let n = layout.dimension();
    let (contraction, _) = kernel_flops(layout.order(), n);
    let made = contraction + n * (2 * n - 1) + (2 * n - 1);
    let shifting = 2 * n + if shift == Shift::Adaptive { EIGENVALUE } else { 0 };
    Some(made + shifting + (2 * n - 1) + RSQRT + n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nominal_counts_are_those_of_the_papers_workload() {
        let count = |m, shift| nominal_flops(Layout::new(m, 3).unwrap(), Shift::Fixed(shift));
        assert_eq!([count(4, 0.0), count(4, 1.0)], [233, 239]);
        assert_eq!([count(6, 1.0), count(8, 1.0)], [664, 1421]);
    }
}
