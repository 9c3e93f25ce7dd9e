//! The sums that XᵀWX of the kurtosis model is made of.
//!
//! Every element is, but for factors, Σ w bᵖ times a monomial of degree 2p of the direction, p
//! from 0 to 4: 1 + 6 + 15 + 28 + 45 = 95 sums instead of 253.

use super::constraints::N_FORMS;
use super::form::{N_D, QUADRATIC, QUADRATIC_TIMES, QUARTIC, QUARTIC_TIMES};

/// Unknowns: ln S0, D, V.
pub(crate) const N_UNKNOWNS: usize = 1 + N_FORMS;
/// Distinct sums.
pub(crate) const N_MOMENTS: usize = 95;

/// Columns and sums of an acquisition, in `f32`.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    /// X without its column of ones, a row per volume.
    pub(crate) rows: Vec<[f32; N_FORMS]>,
    /// bᵖ times each monomial, `[volume][moment]`.
    pub(crate) monomials: Vec<[f32; N_MOMENTS]>,
    /// For the unknowns (i, j), j <= i, at i (i + 1) / 2 + j: their moment and its factor.
    pub(crate) of_pair: Vec<(usize, f64)>,
}

/// The power of b of an unknown's column, its powers of the direction, and its factor.
pub(crate) fn column(unknown: usize) -> (u8, [u8; 3], f64) {
    match unknown {
        0 => (0, [0; 3], 1.0),
        k if k <= N_D => (1, QUADRATIC[k - 1], -f64::from(QUADRATIC_TIMES[k - 1])),
        k => {
            let k = k - 1 - N_D;
            (2, QUARTIC[k], f64::from(QUARTIC_TIMES[k]) / 6.0)
        }
    }
}

impl Moments {
    /// Of volumes with these (b in ms/µm², gx, gy, gz).
    pub(crate) fn new(covariates: &[[f64; 4]]) -> Self {
        let mut powers: Vec<(u8, [u8; 3])> = Vec::new();
        let mut of_pair = Vec::new();
        for i in 0..N_UNKNOWNS {
            for j in 0..=i {
                let ((p, a, f), (q, b, g)) = (column(i), column(j));
                let product = (p + q, std::array::from_fn(|k| a[k] + b[k]));
                let moment = powers.iter().position(|&known| known == product);
                let moment = moment.unwrap_or_else(|| {
                    powers.push(product);
                    powers.len() - 1
                });
                of_pair.push((moment, f * g));
            }
        }
        let at = |[b, g @ ..]: &[f64; 4], (p, powers): (u8, [u8; 3])| -> f64 {
            b.powi(i32::from(p)) * (0..3).map(|k| g[k].powi(i32::from(powers[k]))).product::<f64>()
        };
        let element = |u: &[f64; 4], unknown: usize| {
            let (p, powers, factor) = column(unknown);
            (factor * at(u, (p, powers))) as f32
        };
        let of_volume = |u: &[f64; 4]| std::array::from_fn(|m| at(u, powers[m]) as f32);
        Self {
            rows: covariates.iter().map(|u| std::array::from_fn(|k| element(u, k + 1))).collect(),
            monomials: covariates.iter().map(of_volume).collect(),
            of_pair,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_tensors::starts::half_sphere;

    #[test]
    fn ninety_five_sums_make_the_whole_matrix() {
        let shell = |b: f64| half_sphere(20).into_iter().map(move |[x, y, z]| [b, x, y, z]);
        let covariates: Vec<[f64; 4]> = shell(0.7).chain(shell(2.1)).collect();
        let moments = Moments::new(&covariates);
        let highest = moments.of_pair.iter().map(|(moment, _)| *moment).max();
        assert_eq!(highest, Some(N_MOMENTS - 1));
        let full = |v: usize, k: usize| {
            if k == 0 { 1.0 } else { f64::from(moments.rows[v][k - 1]) }
        };
        let mut pairs = moments.of_pair.iter();
        for i in 0..N_UNKNOWNS {
            for j in 0..=i {
                let (moment, factor) = pairs.next().unwrap();
                let exact: f64 = (0..40).map(|v| full(v, i) * full(v, j)).sum();
                let sum: f64 = moments.monomials.iter().map(|m| f64::from(m[*moment])).sum();
                // 40 numbers of at most 20 rounded to f32.
                assert!((sum * factor - exact).abs() < 5e-5, "{i} {j}");
            }
        }
    }
}
