//! What a fibre looks like in a form.

use crate::sh::{ShBasis, ShError, ShToForm, evaluate, sh_count};

/// What a single fibre of direction v looks like as a function on the sphere of degree m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fibre {
    /// `(v·x)^m`, a rank-one tensor: the target of the deconvolution of Schultz and Seidel.
    RankOne,
    /// A delta function, as far as harmonics up to degree m can tell: that of spherical
    /// deconvolution (Tournier et al., NeuroImage 35, 1459 (2007)) without apodisation.
    Delta,
}

impl Fibre {
    /// The square matrix, `[unique entry][coefficient]`, that turns unique entries or harmonics of
    /// `basis` into the unique entries of the form in which every fibre of weight w is
    /// `w (v·x)^order`; `None` where they are it already.
    ///
    /// Both functions are zonal, so that a factor for each degree leads from one to the other: by
    /// Funk and Hecke the harmonics of `(v·x)^m` are those of the delta function times
    /// `2π ∫ t^m P_l(t) dt`.
    pub(super) fn to_form(
        self,
        order: usize,
        basis: Option<ShBasis>,
    ) -> Result<Option<Vec<f64>>, ShError> {
        let convert = ShToForm::new(basis.unwrap_or(ShBasis::Mrtrix), order)?;
        let n = convert.count();
        let mut matrix = convert.form_from_sh().to_vec();
        if self == Self::Delta {
            let factors = power_over_delta(order);
            for row in matrix.chunks_mut(n) {
                row.iter_mut().zip(&factors).for_each(|(element, factor)| *element *= factor);
            }
        }
        match (self, basis) {
            (_, Some(_)) => Ok(Some(matrix)),
            (Self::RankOne, None) => Ok(None),
            (Self::Delta, None) => Ok(Some(product(n, &matrix, convert.sh_from_form()))),
        }
    }
}

/// For each harmonic, that of `(v·x)^order` over that of the delta function along v. The same for
/// all bases, which order and sign harmonics within a degree only.
fn power_over_delta(order: usize) -> Vec<f64> {
    let Ok(convert) = ShToForm::new(ShBasis::Mrtrix, order) else { return Vec::new() };
    // z^order: the last entry alone.
    let mut power = vec![0.0; convert.count()];
    power[convert.count() - 1] = 1.0;
    let power = convert.to_sh(&power);
    let delta = evaluate(ShBasis::Mrtrix, order, [0.0, 0.0, 1.0]);
    let mut factors = Vec::with_capacity(sh_count(order));
    for l in (0..=order).step_by(2) {
        let middle = l * (l + 1) / 2;
        factors.extend(std::iter::repeat_n(power[middle] / delta[middle], 2 * l + 1));
    }
    factors
}

/// The product of two square matrices of `n` rows, row-major.
fn product(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let element = |i: usize| {
        let (row, column) = (i / n, i % n);
        (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum()
    };
    (0..n * n).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
        let rows = matrix.chunks(vector.len());
        rows.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
    }

    /// Unique entries of `v^8`.
    fn power([x, y, z]: [f64; 3]) -> Vec<f64> {
        let mut entries = Vec::new();
        for of_yz in 0..=8 {
            for of_z in 0..=of_yz {
                entries.push(x.powi(8 - of_yz) * y.powi(of_yz - of_z) * z.powi(of_z));
            }
        }
        entries
    }

    #[test]
    fn a_delta_becomes_a_power_from_any_basis() {
        let v = [0.48, 0.6, 0.64];
        for basis in ShBasis::ALL {
            let delta = evaluate(basis, 8, v);
            let matrix = Fibre::Delta.to_form(8, Some(basis)).unwrap().unwrap();
            let as_form = ShToForm::new(basis, 8).unwrap().to_form(&delta);
            let of_form = Fibre::Delta.to_form(8, None).unwrap().unwrap();
            for form in [times(&matrix, &delta), times(&of_form, &as_form)] {
                for (a, b) in form.iter().zip(power(v)) {
                    // Condition numbers up to 29 in f64.
                    assert!((a - b).abs() < 1e-13, "{basis:?}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_power_stays_what_it_is() {
        assert!(Fibre::RankOne.to_form(6, None).unwrap().is_none());
    }
}
