//! The two problems as operators.

use fimbria_compute::fft::Complex32;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace};
use rayon::prelude::*;

use super::boundaries::Boundaries;
use crate::fourier::{KSpace, at};

/// W D χ at the unknowns, of χ in every place of the padded volume.
pub(super) struct WeightedDipole<'a, 'w> {
    pub(super) space: &'a KSpace<'w>,
    pub(super) places: &'a [u32],
    pub(super) weights: Vec<f32>,
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
}

impl<'a, 'w> WeightedDipole<'a, 'w> {
    pub(super) fn new(space: &'a KSpace<'w>, places: &'a [u32], weights: Vec<f32>) -> Self {
        let of = |len| HostSpace::new(space.workers(), len);
        let (domain, range) = (of(space.elements()), of(places.len()));
        Self { space, places, weights, domain, range }
    }

    fn of_dipole(&self, volume: &[f32]) -> Vec<f32> {
        let mut spectrum = self.space.forward(volume);
        self.space.each(&mut spectrum, |k, x| *x *= self.space.dipole[k]);
        self.space.back(spectrum)
    }
}

impl<'w> Operator for WeightedDipole<'_, 'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let field = at(self.places, &self.of_dipole(x));
        y.iter_mut().zip(field).zip(&self.weights).for_each(|((y, b), w)| *y = w * b);
        Ok(())
    }
}

impl LinearOperator for WeightedDipole<'_, '_> {
    /// The dipole's field is even.
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let mut volume = self.domain.zeros()?;
        let pairs = y.iter().zip(&self.weights);
        self.places.iter().zip(pairs).for_each(|(&place, (y, w))| volume[place as usize] = w * y);
        *x = self.of_dipole(&volume);
        Ok(())
    }
}

/// Wₐ ∂ₐ χₛ in every place of the padded volume, of maps χₛ that have only frequencies of the cone.
pub(super) struct OfCone<'a, 'w> {
    pub(super) space: &'a KSpace<'w>,
    pub(super) boundaries: Boundaries,
    /// The cone over the half spectrum.
    pub(super) cone: Vec<bool>,
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
}

impl<'a, 'w> OfCone<'a, 'w> {
    pub(super) fn new(space: &'a KSpace<'w>, boundaries: Boundaries, limit: f32) -> Self {
        let of = |len| HostSpace::new(space.workers(), len);
        let (domain, range) = (of(space.elements()), of(3 * space.elements()));
        let cone = cone(space, limit);
        Self { space, boundaries, cone, domain, range }
    }

    /// Wₐ ∂ₐ of a map with all frequencies.
    pub(super) fn slopes(&self, map: &[f32]) -> Vec<f32> {
        let Boundaries { ring, weights } = &self.boundaries;
        let workers = self.space.workers();
        let mut slopes = ring.differences(map, workers).into_flattened();
        self.weigh(&mut slopes, weights);
        slopes
    }

    fn weigh(&self, slopes: &mut [f32], weights: &[[f32; 3]]) {
        let weights = weights.as_flattened();
        self.space.workers().install(|| {
            slopes.par_iter_mut().zip(weights).for_each(|(slope, weight)| *slope *= weight);
        });
    }

    /// The part of a map that is of the cone.
    pub(super) fn part(&self, map: &[f32]) -> Vec<f32> {
        let mut spectrum = self.space.forward(map);
        self.space.each(&mut spectrum, |k, x| {
            if !self.cone[k] {
                *x = Complex32::default();
            }
        });
        self.space.back(spectrum)
    }
}

impl<'w> Operator for OfCone<'_, 'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    /// Of a map of the cone: the solver begins at 0 and goes along what [`adjoint`](Self::adjoint) gives, so
    /// that it sees no other.
    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        *y = self.slopes(x);
        Ok(())
    }
}

impl LinearOperator for OfCone<'_, '_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let Boundaries { ring, weights } = &self.boundaries;
        let mut slopes = y.clone();
        self.weigh(&mut slopes, weights);
        ring.gather(slopes.as_chunks().0, x, |_, sum| sum, self.space.workers());
        *x = self.part(x);
        Ok(())
    }
}

/// Where |D| is below `limit`.
fn cone(space: &KSpace<'_>, limit: f32) -> Vec<bool> {
    space.dipole.iter().map(|d| d.abs() < limit).collect()
}

/// A map in the padded volume at the unknowns, for the log.
pub(super) struct AtUnknowns<'a, 'w> {
    pub(super) places: &'a [u32],
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
}

impl<'a, 'w> AtUnknowns<'a, 'w> {
    pub(super) fn new(space: &KSpace<'w>, places: &'a [u32]) -> Self {
        let of = |len| HostSpace::new(space.workers(), len);
        Self { places, domain: of(space.elements()), range: of(places.len()) }
    }
}

impl<'w> Operator for AtUnknowns<'_, 'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        *y = at(self.places, x);
        Ok(())
    }
}

/// No rows: nothing but the data counts.
pub(super) struct NoPenalty<S> {
    domain: S,
    range: S,
}

impl<S: VectorSpace> NoPenalty<S> {
    /// From `domain` to `nothing`, the space of no numbers.
    pub(super) fn new(domain: S, nothing: S) -> Self {
        Self { domain, range: nothing }
    }
}

impl<S: VectorSpace> Operator for NoPenalty<S> {
    fimbria_compute::between!(S => S);

    fn apply(&self, _: &S::Vector, _: &mut S::Vector) -> Result<(), S::Error> {
        Ok(())
    }
}

impl<S: VectorSpace> LinearOperator for NoPenalty<S> {
    fn adjoint(&self, _: &S::Vector, x: &mut S::Vector) -> Result<(), S::Error> {
        *x = self.domain.zeros()?;
        Ok(())
    }
}
