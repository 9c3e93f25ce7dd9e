//! Voxels without fibres, as those of fluid are.
//!
//! Where the weighted signal falls as fast as that of the isotropic tissues, or faster, the best density
//! is zero. All constraints hold with equality there, many times as many as there are unknowns, and a
//! walk over sets of independent ones is at the mercy of rounding. That zero is the minimum is told
//! without a walk: by the conditions of Karush, Kuhn and Tucker it is, where the gradient of the
//! objective is a sum of the constraints with multipliers of which none is negative. Of all multipliers
//! with that sum the smallest are looked at. They are the gradient as a function on the sphere, which is
//! positive where the signal is lower than the isotropic tissues'.

use fimbria_compute::dense::lu;
use fimbria_fitting::active_set::ActiveSetError;

/// Tells voxels without fibres.
#[derive(Clone, Debug)]
pub(super) struct NoFibres {
    n_harmonics: usize,
    /// The smallest multipliers whose sum of constraints is a gradient, `[direction][coefficient]`.
    multipliers: Vec<f64>,
}

impl NoFibres {
    /// For densities whose `harmonics` (`[direction][coefficient]`) must not be negative.
    pub(super) fn new(harmonics: &[f64], n_harmonics: usize) -> Result<Self, ActiveSetError> {
        let n = n_harmonics;
        let mut gram = vec![0.0; n * n];
        for row in harmonics.chunks_exact(n) {
            for i in 0..n {
                (0..n).for_each(|j| gram[i * n + j] += row[i] * row[j]);
            }
        }
        let inverse = lu::inverse(&gram, n).ok_or(ActiveSetError::NotPositiveDefinite)?;
        let column = |row: &[f64], j: usize| (0..n).map(|i| row[i] * inverse[i * n + j]).sum();
        let multipliers = harmonics
            .chunks_exact(n)
            .flat_map(|row| (0..n).map(move |j| (row, j)))
            .map(|(row, j)| column(row, j))
            .collect();
        Ok(Self { n_harmonics, multipliers })
    }

    /// Makes `x` the minimum of ½ xᵀHx - fᵀx and returns true where that is known to be without
    /// fibres; else leaves `x` as it is.
    #[inline(always)]
    pub(super) fn solve(&self, hessian: &[f64], f: &[f64], x: &mut [f64]) -> bool {
        let (n_sh, n) = (self.n_harmonics, f.len());
        let isotropic = match f.len() - n_sh {
            2 => {
                let entry = |i: usize, j: usize| hessian[(n_sh + i) * n + n_sh + j];
                two_of([entry(0, 0), entry(0, 1), entry(1, 1)], [f[n_sh], f[n_sh + 1]])
            }
            _ => return false,
        };
        let mut gradient = [0.0; MOST_HARMONICS];
        let gradient = &mut gradient[..n_sh];
        for (k, gradient) in gradient.iter_mut().enumerate() {
            let beside = &hessian[k * n + n_sh..][..2];
            *gradient = beside[0] * isotropic[0] + beside[1] * isotropic[1] - f[k];
        }
        // The sum of a function that is not negative is not negative: most voxels end here.
        if gradient[0] <= 0.0 {
            return false;
        }
        let is_pushed = |row: &[f64]| row.iter().zip(&*gradient).map(|(m, g)| m * g).sum::<f64>();
        if self.multipliers.chunks_exact(n_sh).any(|row| is_pushed(row) < 0.0) {
            return false;
        }
        x[..n_sh].fill(0.0);
        x[n_sh..].copy_from_slice(&isotropic);
        true
    }
}

/// Coefficients of order 12.
const MOST_HARMONICS: usize = 91;

/// The x ≥ 0 that minimises ½ xᵀHx - fᵀx of two unknowns; H is given as its entries 11, 12 and 22, which
/// for tissues are all positive.
#[inline(always)]
fn two_of([h11, h12, h22]: [f64; 3], [f1, f2]: [f64; 2]) -> [f64; 2] {
    let determinant = h11 * h22 - h12 * h12;
    let both = [(h22 * f1 - h12 * f2) / determinant, (h11 * f2 - h12 * f1) / determinant];
    match both {
        // One alone where the other would be negative.
        [first, _] if first < 0.0 => [0.0, (f2 / h22).max(0.0)],
        [_, second] if second < 0.0 => [(f1 / h11).max(0.0), 0.0],
        both => both,
    }
}
