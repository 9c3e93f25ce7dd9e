//! Rapid two-step: where the dipole is well conditioned the field is divided by it, and what is missing is
//! filled in by total variation.
//!
//! Makes ½ Σ μ |D χ - b|² / |D|² + Σ |∇χ| least over a map χ of zero mean, the first sum over the frequencies
//! with |D| above δ, ∇ axis by axis; by alternating directions: χ, the gradient's shrunken copy z, and the
//! multiplier u.
//!
//! Kames et al., NeuroImage 167, 276-283, 2018.

mod on_device;

use fimbria_compute::fft::Complex32;
use fimbria_compute::{Backend, Progress};

use self::on_device::OnDevice;
pub(crate) use self::on_device::two_step_source;
use super::KSpace;
use crate::device::{Ended, where_it_gains};
use crate::variation::{Ring, Shrinking, Step, relative_change, rms};
use crate::{Geometry, QsmError};

/// Iterations of alternating directions at most, and the relative change to stop at.
const ITERATIONS: usize = 50;
const TOLERANCE: f64 = 1e-2;
/// μ over ρ: the well-conditioned part is weighted so strongly that it stays as it is.
const MU_OF_RHO: f32 = 1e4;
/// Gradients are shrunken by 1/ρ, so many times the usual one of the map by division: the iteration is the same for
/// a field in any unit.
const OF_USUAL: f64 = 0.3;

/// χ in every voxel of the volume of the geometry, and every iteration, whose data term is Σ (D χ - b)² over the padded
/// volume, where the field b is 0 if it is not known; on the first device of `on`, or on its
/// threads where there is none or it fails, which `progress` is told.
pub(super) fn invert(
    geometry: &Geometry,
    field: &[f32],
    delta: f32,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
    let space = KSpace::new(geometry, on.workers)?;
    let problem = TwoStep::new(&space, field, delta);
    if let Some(device) = where_it_gains(on, geometry.dims).devices.first() {
        let there = OnDevice::new(&problem, device).map_err(Ended::from);
        match there.and_then(|mut there| there.run(progress)) {
            Ok((chi, log)) => return Ok((space.crop(&chi), log)),
            Err(Ended::Whole(error)) => return Err(error),
            Err(Ended::Device(error)) => {
                progress.warn(&format!("{error}; the threads do the work"));
            }
        }
    }
    let (chi, log) = problem.run(progress)?;
    Ok((space.crop(&chi), log))
}

/// What is to be explained, in the padded volume.
struct TwoStep<'a> {
    space: &'a KSpace<'a>,
    ring: Ring,
    /// How strongly a gradient is held to its copy.
    rho: f32,
    /// The half spectrum of the field, which is 0 where it is not known.
    field: Vec<Complex32>,
    /// What it is multiplied by in the equation of χ: μ / D where that is well conditioned, else 0.
    pull: Vec<f32>,
    /// What the equation of χ is multiplied by, over the half spectrum: 1 / (μ + ρ L), without μ where the dipole
    /// is small, and 0 at k = 0, where the mean is free.
    inverse: Vec<f32>,
}

impl<'a> TwoStep<'a> {
    fn new(space: &'a KSpace<'a>, field: &[f32], delta: f32) -> Self {
        let ring = Ring::new(space);
        let divided = |d: f32| if d.abs() > delta { d.recip() } else { 0.0 };
        let n_known = field.iter().filter(|b| **b != 0.0).count().max(1);
        let field = space.forward(&space.pad(field));
        let first = space.back(space.filtered(field.clone(), divided));
        // The usual length of a gradient, axis by axis.
        let each = Shrinking { threshold: 0.0, counted: None, each: true, free: None };
        let usual = ring.variation(&first, each, space.workers()) / (3 * n_known) as f64;
        let rho = if usual > 0.0 { (1.0 / (OF_USUAL * usual)) as f32 } else { 1.0 };
        let mu = MU_OF_RHO * rho;
        let pull = space.dipole.iter().map(|&d| mu * divided(d)).collect();
        let well = |d: f32| if d.abs() > delta { mu } else { 0.0 };
        let each = space.dipole.iter().zip(space.laplacian());
        let inverse = each.map(|(&d, laplacian)| match well(d) - rho * laplacian {
            0.0 => 0.0,
            denominator => denominator.recip(),
        });
        let inverse = inverse.collect();
        Self { space, ring, rho, field, pull, inverse }
    }

    /// The padded map, on threads.
    fn run(&self, progress: &dyn Progress) -> Result<(Vec<f32>, Vec<Step>), QsmError> {
        let (space, workers) = (self.space, self.space.workers());
        let n = space.elements();
        let shrinking =
            Shrinking { threshold: self.rho.recip(), counted: None, each: true, free: None };
        // The copy of the gradient less its multiplier, and the multiplier.
        let (mut h, mut u) = (vec![[0.0_f32; 3]; n], vec![[0.0_f32; 3]; n]);
        let (mut chi, mut next, mut spectrum) = (vec![0.0_f32; n], vec![0.0; n], space.spectrum());
        let mut log = Vec::new();
        progress.start("inverting the field", ITERATIONS as u64);
        for _ in 0..ITERATIONS {
            progress.check()?;
            self.ring.gather(&h, &mut next, |_, pull| pull, workers);
            space.forward_into(&next, &mut spectrum);
            space.each(&mut spectrum, |k, x| {
                *x = (self.field[k] * self.pull[k] + *x * self.rho) * self.inverse[k];
            });
            let left = |k: usize| spectrum[k] * space.dipole[k] - self.field[k];
            let data = space.over_voxels(|k| f64::from(left(k).norm_sqr()));
            space.back_into(&mut spectrum, &mut next);
            let change = relative_change(&chi, &next, workers);
            std::mem::swap(&mut chi, &mut next);
            progress.advance(1);
            let variation = self.ring.shrink(&chi, &mut u, &mut h, shrinking, workers);
            log.push(Step {
                rms: rms(space.crop(&chi).into_iter()),
                relative_change: change,
                data,
                variation,
            });
            if change <= TOLERANCE {
                break;
            }
        }
        Ok((chi, log))
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Silent, Workers};

    use super::*;
    use crate::fourier::dipole_field;

    /// Of a ball, and of the same a hundred times as strong.
    #[test]
    fn a_field_in_another_unit_has_the_same_map_in_that_unit() {
        let workers = Workers::new(1).unwrap();
        let geometry = Geometry {
            dims: [20; 3],
            spacing: [1.0, 1.2, 1.5],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
        let is_inside = |i: usize| {
            let at = geometry.voxel(i);
            (0..3).map(|a| (at[a] as f64 - 9.0).powi(2)).sum::<f64>() < 20.0
        };
        let chi: Vec<f32> = (0..geometry.len()).map(|i| f32::from(is_inside(i)) * 0.05).collect();
        let field = dipole_field(&geometry, &chi, &workers).unwrap();
        let map = |by: f32| {
            let field: Vec<f32> = field.iter().map(|b| by * b).collect();
            invert(&geometry, &field, 0.15, &Backend::cpu(&workers), &Silent).unwrap()
        };
        let ((one, log), (hundred, of_hundred)) = (map(1.0), map(100.0));
        assert_eq!(log.len(), of_hundred.len());
        // A hundred is no power of two: rounding of f32, in some transforms one after the other.
        assert!(one.iter().zip(&hundred).all(|(a, b)| (100.0 * a - b).abs() < 1e-3));
        assert!(log.len() > 3, "{}", log.len());
    }
}
