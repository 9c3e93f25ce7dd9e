//! What diffusion explains: a handful of numbers, found exactly for every map.
//!
//! In the Fourier domain a step of the iteration minimises
//!
//! ½ |D χ + a B - p|² + ½ μ |∇χ - ∇Φ c - h|² + ½ ρ |χ - q|²
//!
//! over χ, c and a together. For given c and a, χ = P (D p + μ ∇'h + ρ q - Σ (column) (number)) with
//! P = 1 / (D² + μ L + ρ), L = ∇'∇; what is left is a small system for the numbers.

use std::borrow::Cow;

use fimbria_compute::dense::cholesky;
use fimbria_compute::fft::Complex32;

use super::alternating::Weights;
use crate::fourier::KSpace;

/// Images of tissue and the anisotropy, at most.
const COLUMNS: usize = 7;
/// A prior of each number as a part of its column's own square: only columns that are alike feel it.
const RIDGE: f64 = 1e-5;

/// The images, their spectra and what their numbers follow from.
pub(super) struct Explained {
    /// The images, of all unknowns.
    images: Vec<Vec<f32>>,
    /// Their spectra; then that of B, where there is one.
    spectra: Vec<Vec<Complex32>>,
    /// Whether the last number is that of the anisotropy.
    pub(super) has_field: bool,
    factor: [[f64; COLUMNS]; COLUMNS],
}

/// What a number of 1 does, in every place of the padded volume.
pub(super) struct Response<'a> {
    /// Its image of the unknowns, where it is one's.
    pub(super) image: Option<&'a [f32]>,
    /// What it adds to the map besides the image.
    pub(super) of_map: Vec<f32>,
    /// What it adds to the field, the image's included.
    pub(super) of_field: Vec<f32>,
}

impl Explained {
    /// `images` of the unknowns at the `places` of the volume, and the spectrum of B.
    pub(super) fn new(
        space: &KSpace<'_>,
        weights: &Weights,
        places: &[u32],
        images: Vec<Vec<f32>>,
        field: Option<Vec<Complex32>>,
    ) -> Self {
        let spectrum = |image: &Vec<f32>| {
            let mut volume = vec![0.0; space.elements()];
            places.iter().zip(image).for_each(|(&place, x)| volume[place as usize] = *x);
            space.forward(&volume)
        };
        let has_field = field.is_some();
        let spectra: Vec<_> = images.iter().map(spectrum).chain(field).collect();
        let mut explained = Self { images, spectra, has_field, factor: [[0.0; COLUMNS]; COLUMNS] };
        explained.factor = explained.factored(space, weights);
        explained
    }

    /// How many numbers there are.
    fn len(&self) -> usize {
        self.spectra.len()
    }

    /// True of B, which comes last.
    fn is_field(&self, column: usize) -> bool {
        self.has_field && column + 1 == self.len()
    }

    /// The system of the numbers, χ eliminated.
    fn factored(&self, space: &KSpace<'_>, w: &Weights) -> [[f64; COLUMNS]; COLUMNS] {
        let mut matrix = [[0.0; COLUMNS]; COLUMNS];
        for i in 0..COLUMNS {
            matrix[i][i] = 1.0;
            for j in 0..=i.min(self.len().saturating_sub(1)) {
                if i >= self.len() {
                    continue;
                }
                let by = |k: usize| -> f32 {
                    let (d, l, p) = (space.dipole[k], w.laplacian[k], w.inverse[k]);
                    match (self.is_field(i), self.is_field(j)) {
                        (false, false) => w.mu * l * (d * d + w.rho) * p,
                        (true, true) => (w.mu * l + w.rho) * p,
                        _ => w.mu * l * d * p,
                    }
                };
                let value = space.inner(&self.spectra[i], &self.spectra[j], by);
                (matrix[i][j], matrix[j][i]) = (value, value);
            }
        }
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] = if row[i] > 0.0 { row[i] * (1.0 + RIDGE) } else { 1.0 };
        }
        // Positive definite up to rounding, which the prior is above.
        cholesky::factor_array(&matrix, 0.0).unwrap_or_else(|| {
            let mut diagonal = [[0.0; COLUMNS]; COLUMNS];
            (0..COLUMNS).for_each(|i| diagonal[i][i] = matrix[i][i].sqrt());
            diagonal
        })
    }

    /// The numbers, from the spectrum of p, `along(image)` = ∇'h·Φ, and `right` = D p + μ ∇'h + ρ q; and
    /// takes what they explain off `right`.
    pub(super) fn numbers(
        &self,
        space: &KSpace<'_>,
        w: &Weights,
        along: impl Fn(&[f32]) -> f64,
        p: &[Complex32],
        right: &mut [Complex32],
    ) -> Vec<f64> {
        let mut wanted = [0.0; COLUMNS];
        for (i, wanted) in wanted.iter_mut().enumerate().take(self.len()) {
            let column = &self.spectra[i];
            if self.is_field(i) {
                let coupled = space.inner(column, right, |k| space.dipole[k] * w.inverse[k]);
                *wanted = space.inner(column, p, |_| 1.0) - coupled;
            } else {
                let coupled = space.inner(column, right, |k| w.mu * w.laplacian[k] * w.inverse[k]);
                *wanted = coupled - f64::from(w.mu) * along(&self.images[i]);
            }
        }
        let numbers = cholesky::solve(&self.factor, &wanted);
        for (i, column) in self.spectra.iter().enumerate() {
            let number = numbers[i] as f32;
            let is_field = self.is_field(i);
            space.each(right, |k, right| {
                let by = if is_field { -space.dipole[k] } else { w.mu * w.laplacian[k] };
                *right += column[k] * (number * by);
            });
        }
        numbers[..self.len()].to_vec()
    }

    /// The numbers that the right sides of their equations have.
    pub(super) fn solved(&self, wanted: &[f64]) -> Vec<f64> {
        let mut all = [0.0; COLUMNS];
        all[..self.len()].copy_from_slice(wanted);
        cholesky::solve(&self.factor, &all)[..self.len()].to_vec()
    }

    /// What each number does to the map: of c Φ besides Φ itself -(D² + ρ) P Φ, whose field with Φ's is
    /// μ D P L Φ; of a B, -P D B, whose field with a B itself is (μ L + ρ) P B.
    pub(super) fn responses<'a>(
        &'a self,
        space: &'a KSpace<'_>,
        w: &'a Weights,
    ) -> impl Iterator<Item = Response<'a>> {
        (0..self.len()).map(move |column| {
            let filtered = |by: &(dyn Fn(f32, f32, f32) -> f32 + Sync)| {
                let mut spectrum = self.spectra[column].clone();
                space.each(&mut spectrum, |k, x| {
                    *x *= by(space.dipole[k], w.laplacian[k], w.inverse[k]);
                });
                space.back(spectrum)
            };
            let (mu, rho) = (w.mu, w.rho);
            let [of_map, of_field] = if self.is_field(column) {
                [filtered(&|d, _, p| -d * p), filtered(&|_, l, p| (mu * l + rho) * p)]
            } else {
                [filtered(&|d, _, p| -(d * d + rho) * p), filtered(&|d, l, p| mu * d * l * p)]
            };
            let image = self.images.get(column).map(Vec::as_slice);
            Response { image, of_map, of_field }
        })
    }

    /// `map` less the images times their numbers at the unknowns' places.
    pub(super) fn unexplained<'m>(
        &self,
        places: &[u32],
        numbers: &[f64],
        map: &'m [f32],
    ) -> Cow<'m, [f32]> {
        let mut map = Cow::Borrowed(map);
        for (image, &number) in self.images.iter().zip(numbers) {
            let map = map.to_mut();
            for (&place, x) in places.iter().zip(image) {
                map[place as usize] -= number as f32 * x;
            }
        }
        map
    }

    /// Adds the field of the anisotropy to the spectrum of a field.
    pub(super) fn add_field(&self, space: &KSpace<'_>, numbers: &[f64], to: &mut [Complex32]) {
        if let (true, Some(column), Some(&a)) =
            (self.has_field, self.spectra.last(), numbers.last())
        {
            space.each(to, |k, to| *to += column[k] * a as f32);
        }
    }
}
