//! The field of voxels whose susceptibility is a tensor.
//!
//! A tensor χ in a field along b is magnetised as M = χ b (relative to B0). Each voxel is then a
//! dipole along M, Lorentz-corrected, and the field along b is in the Fourier domain
//!
//! ΔB(k) = Σ_a (b_a/3 - k_a (b·k)/|k|²) M_a(k), 0 at k = 0
//!
//! (Liu C, MRM 63, 2010). Of the six tensor maps only the three sums M enter: three transforms and
//! one back. With χ = χ⊥ + Δχ n n', symmetric about the fibre axis n, M = χ⊥ b + Δχ (n·b) n; of several
//! fibres in a voxel each has its share of Δχ.

mod on_device;
mod operator;
mod penalty_on_device;

use fimbria_compute::comm::Comm;
use fimbria_compute::dense::vec3;
use fimbria_compute::device::Device;
use fimbria_compute::fft::Complex32;
use fimbria_compute::{Backend, Progress, Workers};

pub use self::on_device::DeviceTensors;
pub(crate) use self::on_device::tensors_source;
use self::operator::fibres_of;
pub use self::operator::{TensorOperator, TensorPenalty};
pub use self::penalty_on_device::DeviceTensorPenalty;
use crate::device::{DeviceOperatorError, where_it_gains};
use crate::dqsm::{DqsmOptions, Journey, Reconstruction, share_out};
use crate::fourier::Periodic;
use crate::shared::Shared;
use crate::{Edges, FieldModel, Geometry, QsmError, Share};

/// M of a voxel of mean susceptibility `chi` = χ⊥ + Δχ/3 and anisotropy `delta` = Δχ about `axis`
/// (unit length), in a field along `b0`; all directions in the same axes.
pub fn magnetisation(chi: f64, delta: f64, axis: [f64; 3], b0: [f64; 3]) -> [f64; 3] {
    let along = vec3::dot(axis, b0);
    std::array::from_fn(|a| chi * b0[a] + delta * (along * axis[a] - b0[a] / 3.0))
}

/// Tensors symmetric about the axes of `model` whose field at its receivers is `field`, with a
/// weight for each receiver: the mean of each unknown, then the anisotropy of each that has an
/// axis, as [`TensorOperator`] orders them. Both maps' second derivatives are penalised alike;
/// products are made in one way only. Up to three processes or devices share the components of the
/// magnetisation.
///
/// One orientation of the head tells both apart only as far as directions differ from voxel to
/// voxel.
///
/// # Errors
/// As [`reconstruct`](crate::dqsm::reconstruct).
pub fn reconstruct_tensors(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    options: &DqsmOptions,
    on: &Backend<'_>,
    comm: &dyn Comm,
    progress: &dyn Progress,
    journey: Journey<'_>,
) -> Result<Reconstruction, QsmError> {
    let on = where_it_gains(on, model.geometry.dims);
    share_out(&TensorProducts { model }, field, weights, options, &on, comm, progress, journey)
}

/// The fields of tensors, the components of their magnetisation shared out.
#[derive(Clone, Copy)]
pub struct TensorProducts<'m> {
    /// Unknowns, the axes of their tensors, and receivers.
    pub model: &'m FieldModel,
}

impl Shared for TensorProducts<'_> {
    type OnThreads<'w> = TensorOperator<'w>;
    type OnDevice = DeviceTensors;
    type PenaltyOnThreads<'w> = TensorPenalty<'w>;
    type PenaltyOnDevice = DeviceTensorPenalty;

    fn lengths(&self) -> (usize, usize) {
        let unknowns = self.model.unknowns.len();
        (unknowns + fibres_of(self.model).count(), self.model.receivers.len())
    }

    /// There are three components: more devices have nothing to do.
    fn parts(&self, devices: usize) -> usize {
        devices.min(3)
    }

    fn on_threads<'w>(
        &self,
        workers: &'w Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<TensorOperator<'w>, QsmError> {
        let operator = TensorOperator::of_share(self.model, workers, share)?;
        match weights {
            None => Ok(operator),
            Some(weights) => operator.weighted(weights.to_vec()),
        }
    }

    fn on_device(
        &self,
        device: &Device,
        workers: &Workers,
        share: Share,
        weights: Option<&[f32]>,
    ) -> Result<DeviceTensors, DeviceOperatorError> {
        let operator = DeviceTensors::of_share(self.model, device, workers, share)?;
        match weights {
            None => Ok(operator),
            Some(weights) => operator.weighted(weights),
        }
    }

    fn penalty_on_threads<'w>(
        &self,
        edges: Edges,
        workers: &'w Workers,
    ) -> Result<TensorPenalty<'w>, QsmError> {
        TensorPenalty::new(self.model, edges, workers)
    }

    fn penalty_on_device(
        &self,
        edges: Edges,
        device: &Device,
        workers: &Workers,
    ) -> Result<DeviceTensorPenalty, DeviceOperatorError> {
        DeviceTensorPenalty::new(self.model, edges, device, workers)
    }
}

/// The field of `magnetisation` (three volumes of the geometry, voxel axes), in its unit. The
/// volume is padded to twice its size.
///
/// # Errors
/// Where a volume is of another length, or the padded one is too large to transform.
pub fn tensor_field(
    geometry: &Geometry,
    magnetisation: &[Vec<f32>; 3],
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    for volume in magnetisation {
        let (found, expected) = (volume.len(), geometry.len());
        if found != expected {
            return Err(QsmError::Length { what: "the magnetisation", found, expected });
        }
    }
    let space = Periodic::new(geometry.dims, geometry.spacing, 1, workers)?;
    let b0 = geometry.b0;
    let mut field: Vec<Complex32> = Vec::new();
    for (a, volume) in magnetisation.iter().enumerate() {
        let kernel = space.of_magnetisation(a, b0);
        let spectrum = space.forward(&space.pad(volume));
        let part = spectrum.into_iter().zip(kernel).map(|(m, kernel)| m * kernel);
        if field.is_empty() {
            field = part.collect();
        } else {
            field.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
    Ok(space.crop(&space.back(field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry =
        Geometry { dims: [40; 3], spacing: [1.0; 3], b0: [0.0, 0.6, 0.8], reversed: [false; 3] };

    /// A soft ball: what is sharp rings in the Fourier domain.
    fn ball(of: [f64; 3]) -> [Vec<f32>; 3] {
        let amount = |voxel: usize| {
            let squares = GEOMETRY.voxel(voxel).map(|i| (i as f64 - 20.0).powi(2));
            (-squares.iter().sum::<f64>() / (2.0 * 2.5 * 2.5)).exp()
        };
        of.map(|m| (0..GEOMETRY.len()).map(|v| (m * amount(v)) as f32).collect())
    }

    /// The field at `d` from a ball of `volume` magnetised as `m`: that of a dipole.
    fn dipole(d: [f64; 3], m: [f64; 3], volume: f64) -> f64 {
        let squared = vec3::dot(d, d);
        let radial = 3.0 * vec3::dot(m, d) * vec3::dot(GEOMETRY.b0, d);
        let along = vec3::dot(m, GEOMETRY.b0);
        volume * (radial / squared - along) / (4.0 * std::f64::consts::PI * squared.powf(1.5))
    }

    #[test]
    fn a_ball_of_tensors_is_a_dipole_along_its_magnetisation() {
        let workers = Workers::new(1).unwrap();
        for (delta, axis) in [(0.0, [1.0, 0.0, 0.0]), (0.3, [0.6, 0.0, 0.8])] {
            let m = magnetisation(0.2, delta, axis, GEOMETRY.b0);
            let volumes = ball(m);
            let volume = f64::from(volumes[2].iter().sum::<f32>()) / m[2];
            let field = tensor_field(&GEOMETRY, &volumes, &workers).unwrap();
            let (mut worst, mut largest): (f64, f64) = (0.0, 0.0);
            for (voxel, got) in field.iter().enumerate() {
                let d = GEOMETRY.voxel(voxel).map(|i| i as f64 - 20.0);
                let r = vec3::dot(d, d).sqrt();
                if (10.0..16.0).contains(&r) {
                    let expected = dipole(d, m, volume);
                    worst = worst.max((f64::from(*got) - expected).abs());
                    largest = largest.max(expected.abs());
                }
            }
            // The nearest images of the padded volume are 64 to 80 voxels away: (10/64)³ of the
            // field here at most from each of 6; and its mean is 0.
            assert!(worst < 0.02 * largest, "Δχ {delta}: {worst} of {largest}");
        }
    }

    #[test]
    fn an_isotropic_tensor_is_magnetised_along_the_field() {
        let m = magnetisation(0.2, 0.0, [1.0, 0.0, 0.0], GEOMETRY.b0);
        assert!((0..3).all(|a| (m[a] - 0.2 * GEOMETRY.b0[a]).abs() < 1e-15), "{m:?}");
    }
}
