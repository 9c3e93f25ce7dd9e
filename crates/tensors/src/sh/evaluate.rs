//! The basis functions in one direction.

use super::{ShBasis, sh_count};

/// The values of all basis functions up to even degree `lmax` in the unit direction `dir`, in the
/// order of `basis`.
///
/// Orthonormal Legendre functions by the usual recurrence in the degree, divided by the power of
/// the sine that `(x + iy)^m` brings, so that the poles are directions like any other.
pub fn evaluate(basis: ShBasis, lmax: usize, dir: [f64; 3]) -> Vec<f64> {
    let [x, y, z] = dir;
    let mut values = vec![0.0; sh_count(lmax)];
    // `sector` = the orthonormal P_m^m without its sine, (re, im) = (x + iy)^m.
    let mut sector = (0.25 / std::f64::consts::PI).sqrt();
    let (mut re, mut im) = (1.0, 0.0);
    for m in 0..=lmax {
        if m > 0 {
            let m = m as f64;
            sector *= -((2.0 * m + 1.0) / (2.0 * m)).sqrt();
            (re, im) = (re * x - im * y, re * y + im * x);
        }
        let (mut before, mut legendre) = (0.0, sector);
        for l in m..=lmax {
            if l > m {
                let (lf, mf) = (l as f64, m as f64);
                let a = ((4.0 * lf * lf - 1.0) / (lf * lf - mf * mf)).sqrt();
                let previous = lf - 1.0;
                let b =
                    ((previous * previous - mf * mf) / (4.0 * previous * previous - 1.0)).sqrt();
                (before, legendre) = (legendre, a * (z * legendre - b * before));
            }
            if l % 2 == 0 {
                let middle = l * (l + 1) / 2;
                if m == 0 {
                    values[middle] = legendre;
                } else {
                    values[middle + m] = std::f64::consts::SQRT_2 * legendre * re;
                    values[middle - m] = std::f64::consts::SQRT_2 * legendre * im;
                }
            }
        }
    }
    basis.in_mrtrix(lmax).into_iter().map(|(place, sign)| sign * values[place]).collect()
}
