//! Convolution with the spherical kernel, exact: by Fourier transform of a zero-padded volume.

use fimbria_compute::Workers;
use fimbria_compute::fft::{Complex, FftError, Float, RealFft3, good_size};
use rayon::prelude::*;

use crate::kernel::sphere_field;
use crate::{FieldModel, Geometry, QsmError};

/// The spherical kernel's convolution between two lists of voxels.
///
/// The volume is padded so that nothing wraps around. The kernel is even, so that its spectrum is
/// real and the adjoint is the same convolution with the lists exchanged.
pub(crate) struct Convolution<T: Float> {
    fft: RealFft3<T>,
    spectrum: Vec<T>,
    /// Padded places of the sources and of the receivers.
    sources: Vec<u32>,
    receivers: Vec<u32>,
}

/// The padded shape in which no displacement within the volume wraps around, its places u32.
pub(crate) fn padded(dims: [usize; 3]) -> Result<[usize; 3], QsmError> {
    let shape = dims.map(|n| good_size(2 * n - 1));
    match u32::try_from(shape.iter().product::<usize>()) {
        Ok(_) => Ok(shape),
        Err(_) => Err(FftError::TooLarge { shape }.into()),
    }
}

/// Where a voxel of a volume lies in the padded one.
pub(crate) fn place(geometry: &Geometry, shape: [usize; 3], voxel: u32) -> u32 {
    let [x, y, z] = geometry.voxel(voxel as usize);
    (x + shape[0] * (y + shape[1] * z)) as u32
}

/// The spherical kernel's spectrum on `shape`, half of it, real.
pub(crate) fn sphere_spectrum(
    geometry: &Geometry,
    support: Option<u32>,
    shape: [usize; 3],
    workers: &Workers,
) -> Result<(RealFft3<f64>, Vec<f64>), QsmError> {
    let kernel = |steps| sphere_field(geometry, steps);
    even_spectrum(geometry.dims, support, shape, workers, kernel)
}

/// The spectrum of an even `kernel` of steps between voxels of a volume of `dims`, zero beyond
/// `support`, on the padded `shape`: half of it, real.
pub(crate) fn even_spectrum(
    dims: [usize; 3],
    support: Option<u32>,
    shape: [usize; 3],
    workers: &Workers,
    kernel: impl Fn([i64; 3]) -> f64 + Sync,
) -> Result<(RealFft3<f64>, Vec<f64>), QsmError> {
    let fft = RealFft3::<f64>::new(shape)?;
    let reach: [i64; 3] = std::array::from_fn(|a| {
        let edge = dims[a] as i64 - 1;
        support.map_or(edge, |s| edge.min(s.into()))
    });
    // Displacements of either sign, counted around the end.
    let step = |i: usize, a: usize| {
        let (i, n) = (i as i64, shape[a] as i64);
        let step = if 2 * i > n { i - n } else { i };
        (step.abs() <= reach[a]).then_some(step)
    };
    let mut values = vec![0.0; shape.iter().product()];
    let rows = values.par_chunks_mut(shape[0]).enumerate();
    workers.install(|| {
        rows.for_each(|(row, values)| {
            let (Some(y), Some(z)) = (step(row % shape[1], 1), step(row / shape[1], 2)) else {
                return;
            };
            for (i, value) in values.iter_mut().enumerate() {
                if let Some(x) = step(i, 0) {
                    *value = kernel([x, y, z]);
                }
            }
        });
    });
    let mut spectrum = vec![Complex::default(); fft.spectrum_shape().iter().product()];
    fft.forward(workers, &values, &mut spectrum);
    Ok((fft, spectrum.into_iter().map(|value| value.re).collect()))
}

impl<T: Float> Convolution<T> {
    /// From the voxels `sources` of the box of `model` to its receivers.
    pub(crate) fn new(
        model: &FieldModel,
        sources: &[u32],
        workers: &Workers,
    ) -> Result<Self, QsmError> {
        let geometry = &model.geometry;
        let shape = padded(geometry.dims)?;
        let (_, spectrum) = sphere_spectrum(geometry, model.support, shape, workers)?;
        let place = |&voxel: &u32| place(geometry, shape, voxel);
        Ok(Self {
            fft: RealFft3::new(shape)?,
            spectrum: spectrum.into_iter().map(T::rounded).collect(),
            sources: sources.iter().map(place).collect(),
            receivers: model.receivers.iter().map(place).collect(),
        })
    }

    /// The field at the receivers of susceptibilities at the sources.
    pub(crate) fn field(&self, workers: &Workers, x: &[T]) -> Vec<T> {
        self.convolve(workers, (&self.sources, x), &self.receivers)
    }

    /// The adjoint of [`field`](Self::field).
    pub(crate) fn gather(&self, workers: &Workers, field: &[T]) -> Vec<T> {
        self.convolve(workers, (&self.receivers, field), &self.sources)
    }

    fn convolve(&self, workers: &Workers, (from, values): (&[u32], &[T]), to: &[u32]) -> Vec<T> {
        let mut volume = vec![T::zero(); self.fft.shape().iter().product()];
        for (&place, value) in from.iter().zip(values) {
            volume[place as usize] = *value;
        }
        let mut spectrum = vec![Complex::new(T::zero(), T::zero()); self.spectrum.len()];
        self.fft.forward(workers, &volume, &mut spectrum);
        let planes = spectrum.par_chunks_mut(1 << 14).zip(self.spectrum.par_chunks(1 << 14));
        workers.install(|| {
            planes.for_each(|(x, kernel)| {
                x.iter_mut().zip(kernel).for_each(|(x, kernel)| *x = *x * *kernel);
            });
        });
        self.fft.inverse(workers, &mut spectrum, &mut volume);
        to.iter().map(|&place| volume[place as usize]).collect()
    }
}
