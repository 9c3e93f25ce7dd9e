//! Sums and minima of a fixed order that compile to vector instructions.

/// The inner product, in eight columns.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut columns = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            columns[i] += a[i] * b[i];
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        columns[i] += a * b;
    }
    let [a, b, c, d, e, f, g, h] = columns;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// The least of a power of two of numbers, by halves.
#[inline(always)]
pub(super) fn least_of<T: Copy + PartialOrd, const N: usize>(numbers: &[T; N]) -> T {
    let mut least = *numbers;
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            least[i] = if least[i + half] < least[i] { least[i + half] } else { least[i] };
        }
        half /= 2;
    }
    least[0]
}
