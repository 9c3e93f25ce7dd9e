//! Nonlinear dipole inversion: the phase itself is explained, by steps downhill.
//!
//! Makes Σ w² (1 - cos s (D χ - b)) / s² + ½ λ Σ χ² smaller, b the field inside the mask, w its weights,
//! s the radians that a field of 1 turns the phase by, D the dipole. χ is free in the whole volume. What
//! is not in the data comes slowly, so that the number of steps regularises, too.
//!
//! Polak et al., NMR Biomed 33, e4271, 2020.

mod on_device;

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Backend, Progress, Workers};

use self::on_device::OnDevice;
pub(crate) use self::on_device::nonlinear_source;
use crate::device::{Ended, where_it_gains};
use crate::fourier::{KSpace, at};
use crate::solver::Iteration;
use crate::variation::{check_field, rms, square_of};
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
    /// The field of the map of the whole volume at each unknown, in its unit.
    pub field: Vec<f32>,
    /// Every step: the data are those of the phase, the penalty is Σ χ² over the padded volume.
    pub log: Vec<Iteration>,
    /// Whether the map had settled within the tolerance.
    pub has_settled: bool,
}

/// The map of the unknowns of `model`, which are its receivers too, whose field there is `field`, with
/// a weight for each; on the first device of `on`, or on its threads where there is none or it fails, which
/// `progress` is told.
///
/// # Errors
/// Where lengths differ, numbers are not finite, a parameter is out of its range, the volume cannot be
/// transformed, or `progress` says to stop.
pub fn invert_nonlinear(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    how: Nonlinear,
    on: &Backend<'_>,
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
    let problem = Problem::new(model, field, weights, how, on.workers)?;
    if let Some(device) = where_it_gains(on, model.geometry.dims).devices.first() {
        let there = OnDevice::new(&problem, device).map_err(Ended::from);
        match there.and_then(|mut there| problem.descend(&mut there, how, progress)) {
            Ok(map) => return Ok(map),
            Err(Ended::Whole(error)) => return Err(error),
            Err(Ended::Device(error)) => {
                progress.warn(&format!("{error}; the threads do the work"));
            }
        }
    }
    match problem.descend(&mut OnThreads::new(&problem), how, progress) {
        Ok(map) => Ok(map),
        Err(Ended::Whole(error)) => Err(error),
        Err(Ended::Device(error)) => unreachable!("{error}: threads have none"),
    }
}

/// A map, and the slope of the objective there.
trait Descent {
    /// The map less the slope, `step` times.
    fn step_down(&mut self, step: f32) -> Result<(), Ended>;

    /// The slope at the map, and the map's field.
    fn find_slope(&mut self) -> Result<(), Ended>;

    /// Σ χ² over the padded volume.
    fn square_of_map(&mut self) -> Result<f64, Ended>;

    /// The same of the slope.
    fn square_of_slope(&mut self) -> Result<f64, Ended>;

    /// What the field of the map leaves of the phase: Σ 2 w² (1 - cos s (D χ - b)) / s².
    fn misfit(&self) -> Result<f64, Ended>;

    /// Root mean square of the map over the unknowns.
    fn rms(&self) -> Result<f64, Ended>;

    /// Both at each unknown.
    fn map_and_field(&self) -> Result<[Vec<f32>; 2], Ended>;
}

/// On threads.
struct OnThreads<'p, 'a> {
    problem: &'p Problem<'a>,
    /// Spectra of the map and of the slope.
    chi: Vec<Complex32>,
    slope: Vec<Complex32>,
    of_map: Vec<f32>,
}

impl<'p, 'a> OnThreads<'p, 'a> {
    /// At a map of zeros.
    fn new(problem: &'p Problem<'a>) -> Self {
        let chi = vec![Complex32::default(); problem.space.dipole.len()];
        let (slope, of_map) = problem.gradient(&chi);
        Self { problem, chi, slope, of_map }
    }

    fn inside(&self) -> Vec<f32> {
        at(&self.problem.places, &self.problem.space.back(self.chi.clone()))
    }
}

impl Descent for OnThreads<'_, '_> {
    fn step_down(&mut self, step: f32) -> Result<(), Ended> {
        let Self { problem, chi, slope, .. } = self;
        problem.space.each(chi, |k, chi| *chi -= slope[k] * step);
        Ok(())
    }

    fn find_slope(&mut self) -> Result<(), Ended> {
        (self.slope, self.of_map) = self.problem.gradient(&self.chi);
        Ok(())
    }

    fn square_of_map(&mut self) -> Result<f64, Ended> {
        Ok(self.problem.space.inner(&self.chi, &self.chi, |_| 1.0))
    }

    fn square_of_slope(&mut self) -> Result<f64, Ended> {
        Ok(self.problem.space.inner(&self.slope, &self.slope, |_| 1.0))
    }

    fn misfit(&self) -> Result<f64, Ended> {
        Ok(self.problem.misfit(&self.of_map))
    }

    fn rms(&self) -> Result<f64, Ended> {
        Ok(rms(self.inside().into_iter()))
    }

    fn map_and_field(&self) -> Result<[Vec<f32>; 2], Ended> {
        Ok([self.inside(), self.of_map.clone()])
    }
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

    /// Steps from where `descent` stands, to the end.
    fn descend(
        &self,
        descent: &mut impl Descent,
        how: Nonlinear,
        progress: &dyn Progress,
    ) -> Result<NonlinearMap, Ended> {
        // |D| is at most 2/3: this is less than 1 / the largest curvature, and no step leads uphill.
        let weights = self.weights;
        let largest = weights.map_or(1.0, |weights| weights.iter().fold(0.0_f32, |m, w| m.max(*w)));
        let step = 2.0 / (largest * largest + 2.0 * how.lambda as f32);
        let mut square = descent.square_of_slope()?;
        let (steepest, mut log, mut has_settled) = (square.sqrt(), Vec::new(), false);
        progress.start("inverting the field", how.iterations as u64);
        while log.len() < how.iterations && !has_settled {
            progress.check().map_err(|stop| Ended::Whole(stop.into()))?;
            descent.step_down(step)?;
            let (moved, penalty) = (f64::from(step) * square.sqrt(), descent.square_of_map()?);
            has_settled = moved <= how.tolerance * penalty.sqrt();
            descent.find_slope()?;
            square = descent.square_of_slope()?;
            let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
            log.push(Iteration {
                number: log.len() + 1,
                rms: descent.rms()?,
                relative_change: part(moved, penalty.sqrt()),
                data: descent.misfit()?,
                penalty,
                relative_gradient: part(square.sqrt(), steepest),
            });
            progress.advance(1);
        }
        let [chi, field] = descent.map_and_field()?;
        Ok(NonlinearMap { chi, field, log, has_settled })
    }

    /// w² of an unknown.
    fn squared(&self, unknown: usize) -> f32 {
        self.weights.map_or(1.0, |weights| weights[unknown] * weights[unknown])
    }

    /// What a map with this field leaves of the phase: Σ 2 w² (1 - cos s (D χ - b)) / s².
    fn misfit(&self, of_map: &[f32]) -> f64 {
        let pairs = of_map.iter().zip(self.field).enumerate();
        pairs
            .map(|(i, (d, b))| {
                let off = square_of(f64::from(*d) - f64::from(*b), Some(f64::from(self.radians)));
                f64::from(self.squared(i)) * off
            })
            .sum()
    }

    /// The spectrum of the gradient at the map with the spectrum `chi`, and the field of that at each
    /// unknown.
    fn gradient(&self, chi: &[Complex32]) -> (Vec<Complex32>, Vec<f32>) {
        let mut of_map = chi.to_vec();
        self.space.each(&mut of_map, |k, x| *x *= self.space.dipole[k]);
        let of_map = at(&self.places, &self.space.back(of_map));
        let mut pull = vec![0.0_f32; self.space.elements()];
        for (i, &place) in self.places.iter().enumerate() {
            let angle = self.radians * (of_map[i] - self.field[i]);
            pull[place as usize] = self.squared(i) * angle.sin() / self.radians;
        }
        let mut slope = self.space.forward(&pull);
        self.space.each(&mut slope, |k, x| *x = *x * self.space.dipole[k] + chi[k] * self.lambda);
        (slope, of_map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, Shape};

    fn model() -> FieldModel {
        let geometry = Geometry {
            dims: [7, 6, 5],
            spacing: [0.9, 1.0, 1.2],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
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
            let (_, of_map) = problem.gradient(&space.forward(map));
            let square: f64 = map.iter().map(|x| f64::from(*x).powi(2)).sum();
            0.5 * problem.misfit(&of_map) + 0.5 * 0.01 * square
        };
        let slope = space.back(problem.gradient(&space.forward(&map)).0);
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
