//! Coefficients of spherical harmonics ↔ unique entries of a homogeneous form.

use super::polynomial::{Polynomial, choose, exponents, multiplicity};
use super::{ShBasis, sh_count};

/// Highest degree that is converted.
const MAX_DEGREE: usize = 16;

/// Why a conversion cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShError {
    /// The degree is odd or out of range.
    #[error(
        "spherical harmonics of degree {0} cannot be converted: even degrees 2 to {MAX_DEGREE}"
    )]
    Degree(usize),
}

/// The linear bijection between the coefficients of even spherical harmonics up to degree m and
/// the unique entries of the homogeneous form of degree m that has the same values on the sphere.
///
/// A harmonic of degree l < m becomes a form of degree m by the factor `(x² + y² + z²)^((m-l)/2)`,
/// which is 1 there (Özarslan, Mareci, Magn Reson Med 50, 955 (2003), section "Relation to
/// spherical harmonics"; Descoteaux et al., Magn Reson Med 56, 395 (2006)). Both matrices come from
/// integer arithmetic: each element is rounded a few times, whatever the degree.
#[derive(Clone, Debug)]
pub struct ShToForm {
    basis: ShBasis,
    degree: usize,
    form_from_sh: Vec<f64>,
    sh_from_form: Vec<f64>,
}

impl ShToForm {
    /// The conversion for coefficients of `basis` up to even degree `lmax`, 2 to 16.
    ///
    /// # Errors
    /// [`ShError::Degree`].
    pub fn new(basis: ShBasis, lmax: usize) -> Result<Self, ShError> {
        if !(2..=MAX_DEGREE).contains(&lmax) || !lmax.is_multiple_of(2) {
            return Err(ShError::Degree(lmax));
        }
        let n = sh_count(lmax);
        let harmonics = harmonics(lmax);
        let (mut form_from_sh, mut sh_from_form) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (column, (place, sign)) in basis.in_mrtrix(lmax).into_iter().enumerate() {
            let Harmonic { scale, polynomial } = &harmonics[place];
            let radius = Polynomial::radius_squared((lmax - polynomial.degree) / 2);
            let form = polynomial.product(&radius);
            for (row, e) in exponents(lmax).enumerate() {
                let multiplicity = multiplicity(e) as f64;
                form_from_sh[row * n + column] =
                    sign * scale * (form.coefficients[row] as f64 / multiplicity);
                sh_from_form[column * n + row] =
                    sign * scale * (multiplicity * polynomial.integral_with(e));
            }
        }
        Ok(Self { basis, degree: lmax, form_from_sh, sh_from_form })
    }

    /// The basis of the coefficients.
    pub fn basis(&self) -> ShBasis {
        self.basis
    }

    /// The degree of the form, which is also the highest of the harmonics.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of coefficients, and of unique entries.
    pub fn count(&self) -> usize {
        sh_count(self.degree)
    }

    /// The square matrix from coefficients to unique entries, row-major: one row per entry.
    pub fn form_from_sh(&self) -> &[f64] {
        &self.form_from_sh
    }

    /// The square matrix from unique entries to coefficients, row-major: one row per coefficient.
    pub fn sh_from_form(&self) -> &[f64] {
        &self.sh_from_form
    }

    /// Unique entries, lexicographic, of the form with these coefficients.
    ///
    /// # Panics
    /// Where there are not [`count`](Self::count) coefficients.
    pub fn to_form(&self, coefficients: &[f64]) -> Vec<f64> {
        self.product(&self.form_from_sh, coefficients)
    }

    /// Coefficients of the form with these unique entries.
    ///
    /// # Panics
    /// Where there are not [`count`](Self::count) entries.
    pub fn to_sh(&self, entries: &[f64]) -> Vec<f64> {
        self.product(&self.sh_from_form, entries)
    }

    fn product(&self, matrix: &[f64], vector: &[f64]) -> Vec<f64> {
        assert_eq!(vector.len(), self.count(), "a form of degree {} has that many", self.degree);
        let dot = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
        matrix.chunks_exact(self.count()).map(dot).collect()
    }
}

/// A basis function as `scale` times a polynomial of its own degree.
struct Harmonic {
    scale: f64,
    polynomial: Polynomial,
}

/// The basis functions of MRtrix3's basis up to `lmax`, in its order.
fn harmonics(lmax: usize) -> Vec<Harmonic> {
    let mut harmonics = Vec::with_capacity(sh_count(lmax));
    for l in (0..=lmax).step_by(2) {
        for m in -(l as isize)..=l as isize {
            harmonics.push(harmonic(l, m));
        }
    }
    harmonics
}

/// `2^l d^m P_l(z)/dz^m`, made homogeneous by powers of the radius, times the real (m ≥ 0) or
/// imaginary part of `(x + iy)^|m|`.
fn harmonic(l: usize, m: isize) -> Harmonic {
    let order = m.unsigned_abs();
    let mut zonal = Polynomial::zero(l - order);
    for k in 0..=(l - order) / 2 {
        // 2^l P_l = Σ (-1)^k C(l, k) C(2l-2k, l) z^(l-2k)
        let sign = if k % 2 == 0 { 1 } else { -1 };
        let power = l - 2 * k;
        let falling: i128 = (power - order + 1..=power).map(|t| t as i128).product();
        let coefficient = sign * choose(l, k) * choose(2 * l - 2 * k, l) * falling;
        zonal.add_scaled(coefficient, power - order, &Polynomial::radius_squared(k));
    }
    let divisor = zonal.reduce();
    let [re, im] = Polynomial::sectors(order);
    let polynomial = zonal.product(if m < 0 { &im } else { &re });

    let over: f64 = (l - order + 1..=l + order).map(|t| t as f64).product();
    let norm = ((2 * l + 1) as f64 / (4.0 * std::f64::consts::PI) / over).sqrt();
    let two_parts = if m == 0 { 1.0 } else { std::f64::consts::SQRT_2 };
    let phase = if order.is_multiple_of(2) { 1.0 } else { -1.0 };
    let scale = phase * two_parts * norm * (divisor as f64 / (1_i64 << l) as f64);
    Harmonic { scale, polynomial }
}
