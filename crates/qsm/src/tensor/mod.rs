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

mod operator;

use fimbria_compute::dense::vec3;
use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};

pub use self::operator::{TensorOperator, TensorPenalty};
use crate::dqsm::{DqsmOptions, Journey, Reconstruction, minimise};
use crate::fourier::Periodic;
use crate::{FieldModel, Geometry, QsmError};

/// M of a voxel of mean susceptibility `chi` = χ⊥ + Δχ/3 and anisotropy `delta` = Δχ about `axis`
/// (unit length), in a field along `b0`; all directions in the same axes.
pub fn magnetisation(chi: f64, delta: f64, axis: [f64; 3], b0: [f64; 3]) -> [f64; 3] {
    let along = vec3::dot(axis, b0);
    std::array::from_fn(|a| chi * b0[a] + delta * (along * axis[a] - b0[a] / 3.0))
}

/// Tensors symmetric about the axes of `model` whose field at its receivers is `field`, with a
/// weight for each receiver: the mean of each unknown, then the anisotropy of each that has an
/// axis, as [`TensorOperator`] orders them. Both maps' second derivatives are penalised alike;
/// products are made in one way only.
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
    workers: &Workers,
    progress: &dyn Progress,
    journey: Journey<'_>,
) -> Result<Reconstruction, QsmError> {
    let operator = TensorOperator::new(model, workers)?;
    let penalty = TensorPenalty::new(model, options.edges, workers)?;
    match weights {
        None => minimise(&operator, &penalty, field, options, progress, journey),
        Some(weights) => {
            let weighted: Vec<f32> = field.iter().zip(weights).map(|(b, w)| b * w).collect();
            let operator = operator.weighted(weights.to_vec())?;
            minimise(&operator, &penalty, &weighted, options, progress, journey)
        }
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

    const GEOMETRY: Geometry = Geometry { dims: [40; 3], spacing: [1.0; 3], b0: [0.0, 0.6, 0.8] };

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
