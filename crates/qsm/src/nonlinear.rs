//! Nonlinear dipole inversion: the phase itself is explained, by steps downhill.
//!
//! Makes Σ w² (1 - cos s (D χ - b)) / s² + ½ λ Σ χ² smaller, b the field inside the mask, w its weights,
//! s the radians that a field of 1 turns the phase by, D the dipole. χ is free in the whole volume. What
//! is not in the data comes slowly, so that the number of steps regularises, too.
//!
//! Polak et al., NMR Biomed 33, e4271, 2020.

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};

use crate::fourier::KSpace;
use crate::variation::check_field;
use crate::{FieldModel, QsmError};

/// How the phase is explained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nonlinear {
    /// λ, 0 or more.
    pub lambda: f64,
    /// s, of a field in the unit of the data.
    pub radians: f64,
    /// Steps at most.
    pub iterations: usize,
    /// It ends where a step changes the map by no more than this part of itself.
    pub tolerance: f64,
}

impl Nonlinear {
    /// Default of λ, of a field in ppm.
    pub const LAMBDA: f64 = 1e-3;
    /// Default of the steps at most.
    pub const ITERATIONS: usize = 200;
    /// Default of the change to end at.
    pub const TOLERANCE: f64 = 1e-3;
}

/// A map, and how it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct NonlinearMap {
    /// The susceptibility of each unknown, in the unit of the field.
    pub chi: Vec<f32>,
    /// How many steps there were.
    pub iterations: usize,
    /// Whether the map had settled within the tolerance.
    pub has_settled: bool,
}

/// The map of the unknowns of `model`, which are its receivers too, whose field there is `field`, with
/// a weight for each.
///
/// # Errors
/// Where lengths differ, numbers are not finite, a parameter is out of its range, the volume cannot be
/// transformed, or `progress` says to stop.
pub fn invert_nonlinear(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    how: Nonlinear,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<NonlinearMap, QsmError> {
    check_field(model, field, weights)?;
    if !(how.radians > 0.0 && how.radians.is_finite()) {
        let (name, value) = ("radians", how.radians);
        return Err(QsmError::Parameter { name, value, rule: "it is above 0" });
    }
    if !(how.lambda >= 0.0 && how.lambda.is_finite()) {
        let (name, value) = ("lambda", how.lambda);
        return Err(QsmError::Parameter { name, value, rule: "it is 0 or more" });
    }
    let problem = Problem::new(model, field, weights, how, workers)?;
    // |D| is at most 2/3: this is less than 1 / the largest curvature, and no step leads uphill.
    let largest = weights.map_or(1.0, |weights| weights.iter().fold(0.0_f32, |m, w| m.max(*w)));
    let step = 2.0 / (largest * largest + 2.0 * how.lambda as f32);
    let space = &problem.space;
    let mut chi = vec![Complex32::default(); space.dipole.len()];
    let (mut iterations, mut has_settled) = (0, false);
    progress.start("inverting the field", how.iterations as u64);
    while iterations < how.iterations && !has_settled {
        progress.check()?;
        let slope = problem.gradient(&chi);
        space.each(&mut chi, |k, chi| *chi -= slope[k] * step);
        iterations += 1;
        progress.advance(1);
        let square = |x: &[Complex32]| space.inner(x, x, |_| 1.0);
        let moved = f64::from(step) * square(&slope).sqrt();
        has_settled = moved <= how.tolerance * square(&chi).sqrt();
    }
    let volume = space.back(chi);
    let chi = problem.places.iter().map(|&place| volume[place as usize]).collect();
    Ok(NonlinearMap { chi, iterations, has_settled })
}

struct Problem<'a> {
    space: KSpace<'a>,
    places: Vec<u32>,
    field: &'a [f32],
    weights: Option<&'a [f32]>,
    lambda: f32,
    radians: f32,
}

impl<'a> Problem<'a> {
    fn new(
        model: &FieldModel,
        field: &'a [f32],
        weights: Option<&'a [f32]>,
        how: Nonlinear,
        workers: &'a Workers,
    ) -> Result<Self, QsmError> {
        let space = KSpace::new(&model.geometry, workers)?;
        let places = space.places(&model.geometry, &model.unknowns);
        let (lambda, radians) = (how.lambda as f32, how.radians as f32);
        Ok(Self { space, places, field, weights, lambda, radians })
    }

    /// w² and the angle s (D χ - b) of each unknown.
    fn angles(&self, chi: &[Complex32]) -> impl Iterator<Item = (f32, f32)> {
        let mut of_map = chi.to_vec();
        self.space.each(&mut of_map, |k, x| *x *= self.space.dipole[k]);
        let of_map = self.space.back(of_map);
        self.places.iter().enumerate().map(move |(i, &place)| {
            let squared = self.weights.map_or(1.0, |weights| weights[i] * weights[i]);
            (squared, self.radians * (of_map[place as usize] - self.field[i]))
        })
    }

    /// The spectrum of the gradient at the map with the spectrum `chi`.
    fn gradient(&self, chi: &[Complex32]) -> Vec<Complex32> {
        let mut pull = vec![0.0_f32; self.space.elements()];
        for (&place, (squared, angle)) in self.places.iter().zip(self.angles(chi)) {
            pull[place as usize] = squared * angle.sin() / self.radians;
        }
        let mut slope = self.space.forward(&pull);
        self.space.each(&mut slope, |k, x| *x = *x * self.space.dipole[k] + chi[k] * self.lambda);
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, Shape};

    fn model() -> FieldModel {
        let geometry = Geometry { dims: [7, 6, 5], spacing: [0.9, 1.0, 1.2], b0: [0.0, 0.6, 0.8] };
        let mask: Vec<u32> = (0..210).filter(|v| v % 4 > 0).collect();
        let shapes = vec![Shape::Sphere; mask.len()];
        FieldModel::new(&geometry, &mask, shapes, &mask).unwrap()
    }

    fn number(i: usize) -> f32 {
        ((i * 37) % 101) as f32 / 50.0 - 1.0
    }

    #[test]
    fn the_gradient_is_that_of_differences_of_the_objective() {
        let (workers, model) = (Workers::new(1).unwrap(), model());
        let n = model.unknowns.len();
        // Angles of up to some turns.
        let field: Vec<f32> = (0..n).map(|i| 0.3 * number(i)).collect();
        let weights: Vec<f32> = (0..n).map(|i| 1.0 + number(i + 7)).collect();
        let how = Nonlinear { lambda: 0.01, radians: 16.0, iterations: 1, tolerance: 0.0 };
        let problem = Problem::new(&model, &field, Some(&weights), how, &workers).unwrap();
        let space = &problem.space;
        let map: Vec<f32> = (0..space.elements()).map(|i| 0.2 * number(3 * i + 1)).collect();
        let objective = |map: &[f32]| -> f64 {
            let spectrum = space.forward(map);
            let of_data = problem.angles(&spectrum).map(|(squared, angle)| {
                f64::from(squared) * (1.0 - f64::from(angle).cos()) / (16.0 * 16.0)
            });
            let square: f64 = map.iter().map(|x| f64::from(*x).powi(2)).sum();
            of_data.sum::<f64>() + 0.5 * 0.01 * square
        };
        let slope = space.back(problem.gradient(&space.forward(&map)));
        for place in (0..map.len()).step_by(map.len() / 9) {
            let at = |by: f32| {
                let mut moved = map.clone();
                moved[place] += by;
                objective(&moved)
            };
            let difference = (at(0.01) - at(-0.01)) / 0.02;
            // The objective's third derivative is at most 16 times its second, (2/3)² of 4 at most.
            assert!((f64::from(slope[place]) - difference).abs() < 2e-3, "{place}: {difference}");
            assert!(slope[place].abs() > 1e-4, "{place} says nothing");
        }
    }
}
