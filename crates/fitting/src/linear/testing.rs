//! Designs of diffusion MRI, for the tests.

use super::Column;

/// Covariates (b, gx, gy, gz) of `n_b0` samples with b = 0 and shells of (b, directions), spread
/// evenly over the half sphere (a Fibonacci spiral).
pub(crate) fn protocol(n_b0: usize, shells: &[(f64, usize)]) -> Vec<[f64; 4]> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut covariates = vec![[0.0; 4]; n_b0];
    for &(b, n) in shells {
        covariates.extend((0..n).map(|i| {
            let z = (i as f64 + 0.5) / n as f64;
            let (s, c) = (golden * i as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            [b, r * c, r * s, z]
        }));
    }
    covariates
}

/// The columns of a homogeneous form of even `order`: -b times each monomial of the direction,
/// times how often it occurs.
pub(crate) fn form_columns(order: u8) -> Vec<Column> {
    monomials(order)
        .map(|([x, y, z], times)| Column { scale: -times, powers: [1, x, y, z] })
        .collect()
}

/// The columns of the kurtosis model: a quadratic form, then b²/6 times a quartic one.
pub(crate) fn kurtosis_columns() -> Vec<Column> {
    let quartic =
        monomials(4).map(|([x, y, z], times)| Column { scale: times / 6.0, powers: [2, x, y, z] });
    form_columns(2).into_iter().chain(quartic).collect()
}

/// Powers of (x, y, z) of this degree, powers of x descending first, and the multinomial
/// coefficients.
fn monomials(degree: u8) -> impl Iterator<Item = ([u8; 3], f64)> {
    let factorial = |n: u8| (1..=n).map(f64::from).product::<f64>();
    (0..=degree).rev().flat_map(move |x| {
        (0..=degree - x).rev().map(move |y| {
            let z = degree - x - y;
            let times = factorial(degree) / (factorial(x) * factorial(y) * factorial(z));
            ([x, y, z], times)
        })
    })
}
