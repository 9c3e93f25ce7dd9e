//! Products of small symmetric tensors with a vector, unrolled.
//!
//! A [`Form`] is the homogeneous form f(x) = A x^m of one order in dimension 3. Its products are
//! written out by a generator, in two ways:
//!
//! * *plain*, as in Ballard, Kolda and Plantenga (2011), section V-D: A x^m and A x^(m-1) as sums
//!   over index classes whose every term multiplies its x anew;
//! * *shared*: B = A x^(m-2) once, from products of x that are made once; then A x^(m-1) = B x,
//!   A x^m = xᵀB x, and the Hessian m (m-1) B needs nothing more.
//!
//! The same text in the kernel dialect, for any order and dimension, comes from the same generator.

mod generate;

use fimbria_compute::Real;

pub use generate::{kernel_flops, kernel_functions};

/// A homogeneous form of one order in three variables, by the unique entries of its symmetric
/// tensor (lexicographic, not multiplied by multiplicities).
pub trait Form: Copy + Send + Sync {
    /// A number for each unique entry.
    type Of<T: Copy>: AsRef<[T]> + AsMut<[T]> + Copy;
    /// The order m, its degree.
    const ORDER: usize;
    /// Number of unique entries.
    const ENTRIES: usize;
    /// Operations of [`contract`](Self::contract); a multiply-add counts as two.
    const CONTRACTION_FLOPS: usize;
    /// Operations of [`plain_value`](Self::plain_value) and [`plain_vector`](Self::plain_vector)
    /// together, before a compiler finds what they have in common.
    const PLAIN_FLOPS: usize;

    /// The same for every unique entry.
    fn all<T: Copy>(x: T) -> Self::Of<T>;

    /// B = A x^(m-2): xx xy xz yy yz zz.
    ///
    /// # Panics
    /// Where `a` has fewer than [`ENTRIES`](Self::ENTRIES) entries; so do the others.
    fn contract<R: Real>(a: &[R], x: &[R; 3]) -> [R; 6];

    /// A x^m, as the paper unrolls it.
    fn plain_value<R: Real>(a: &[R], x: &[R; 3]) -> R;

    /// A x^(m-1), as the paper unrolls it.
    fn plain_vector<R: Real>(a: &[R], x: &[R; 3]) -> [R; 3];
}

include!(concat!(env!("OUT_DIR"), "/forms.rs"));

/// B x of a symmetric matrix xx xy xz yy yz zz.
#[inline(always)]
pub fn times<R: Real>(b: &[R; 6], x: &[R; 3]) -> [R; 3] {
    [
        b[2].mul_add(x[2], b[1].mul_add(x[1], b[0] * x[0])),
        b[4].mul_add(x[2], b[3].mul_add(x[1], b[1] * x[0])),
        b[5].mul_add(x[2], b[4].mul_add(x[1], b[2] * x[0])),
    ]
}

/// The inner product.
#[inline(always)]
pub fn inner<R: Real>(a: &[R; 3], b: &[R; 3]) -> R {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}
