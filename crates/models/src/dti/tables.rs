//! The design matrix as the `f32` fits read it: on the CPU's lanes and on devices.

use super::design::Design;
use super::recipe::N_PARAMS;

/// Distinct products of four gradient components.
pub(crate) const N_QUARTICS: usize = 15;
/// Unknowns beside ln S0.
pub(crate) const N_TENSOR: usize = N_PARAMS - 1;

/// A design in `f32`, one entry per volume.
///
/// Every element of XᵀWX is one of 22 sums over the volumes, times a multiplicity: Σ w, Σ w x
/// (6), and Σ w b² times a quartic monomial of the gradient (15). That is fewer than its 28
/// elements, since xx·yy and xy·xy are the same sum.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// The design's rows without the leading 1.
    pub(crate) rows: Vec<[f32; N_TENSOR]>,
    /// The columns of (XᵀX)⁻¹Xᵀ.
    pub(crate) pseudo_inverse: Vec<[f32; N_PARAMS]>,
    /// b² times the quartic monomials xxxx xxxy xxxz xxyy … zzzz, b in ms/µm².
    pub(crate) quartics: Vec<[f32; N_QUARTICS]>,
}

impl Tables {
    pub(crate) fn new(design: &Design) -> Self {
        let narrow = |x: &f64| *x as f32;
        Self {
            rows: design.rows.iter().map(|x| std::array::from_fn(|k| narrow(&x[k + 1]))).collect(),
            pseudo_inverse: design
                .pseudo_inverse
                .iter()
                .map(|c| c.each_ref().map(narrow))
                .collect(),
            quartics: design.rows.iter().map(quartics_of_row).collect(),
        }
    }

    /// Number of volumes.
    pub(crate) fn n_volumes(&self) -> usize {
        self.rows.len()
    }
}

/// The quartic monomials of one volume from the products of its row.
fn quartics_of_row(x: &[f64; N_PARAMS]) -> [f32; N_QUARTICS] {
    let mut monomials = [0.0; N_QUARTICS];
    for i in 0..N_TENSOR {
        for j in 0..=i {
            let (monomial, multiplicity) = QUARTIC[i][j];
            monomials[monomial] = (x[i + 1] * x[j + 1] / f64::from(multiplicity)) as f32;
        }
    }
    monomials
}

/// For two tensor elements: which monomial the product of their columns is, and how many times.
pub(crate) const QUARTIC: [[(usize, f32); N_TENSOR]; N_TENSOR] = {
    const AXES: [[usize; 2]; N_TENSOR] = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]];
    let mut table = [[(0, 0.0); N_TENSOR]; N_TENSOR];
    let mut i = 0;
    while i < N_TENSOR {
        let mut j = 0;
        while j < N_TENSOR {
            let ([a, b], [c, d]) = (AXES[i], AXES[j]);
            let mut powers = [0usize; 3];
            powers[a] += 1;
            powers[b] += 1;
            powers[c] += 1;
            powers[d] += 1;
            // Monomials with a given power of x follow those with higher ones.
            let rest = 4 - powers[0];
            let monomial = rest * (rest + 1) / 2 + powers[2];
            let twice = (a != b) as u8 + (c != d) as u8;
            table[i][j] = (monomial, (1u8 << twice) as f32);
            j += 1;
        }
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_testing::acquisition;

    #[test]
    fn the_quartic_sums_make_the_whole_normal_matrix() {
        let design = Design::new(&acquisition(2, &[(700.0, 10), (1800.0, 17)])).unwrap();
        let tables = Tables::new(&design);
        for i in 0..N_TENSOR {
            for j in 0..N_TENSOR {
                let (monomial, multiplicity) = QUARTIC[i][j];
                let exact: f64 = design.rows.iter().map(|x| x[i + 1] * x[j + 1]).sum();
                let sum: f64 = tables.quartics.iter().map(|q| f64::from(q[monomial])).sum();
                // 29 numbers of at most 3.3 rounded to f32.
                assert!((sum * f64::from(multiplicity) - exact).abs() < 2e-5, "{i} {j}");
            }
        }
    }
}
