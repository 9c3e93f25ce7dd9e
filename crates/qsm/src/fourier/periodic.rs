use std::f64::consts::TAU;

use fimbria_compute::Workers;
use fimbria_compute::fft::{Complex32, RealFft3, good_size};
use rayon::prelude::*;

use crate::QsmError;

/// A volume in the corner of a larger periodic one, and its transform.
pub(crate) struct Periodic<'w> {
    workers: &'w Workers,
    dims: [usize; 3],
    spacing: [f64; 3],
    fft: RealFft3<f32>,
}

impl<'w> Periodic<'w> {
    /// Padded by the `part`-th part of itself: 2 for half as much again.
    pub(crate) fn new(
        dims: [usize; 3],
        spacing: [f64; 3],
        part: usize,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let fft = RealFft3::new(dims.map(|n| good_size(n + n / part)))?;
        Ok(Self { workers, dims, spacing, fft })
    }

    /// Padded by `margin` voxels.
    pub(crate) fn with_margin(
        dims: [usize; 3],
        spacing: [f64; 3],
        margin: usize,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let fft = RealFft3::new(dims.map(|n| good_size(n + margin)))?;
        Ok(Self { workers, dims, spacing, fft })
    }

    pub(crate) fn workers(&self) -> &'w Workers {
        self.workers
    }

    pub(crate) fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Of the padded volume.
    pub(crate) fn shape(&self) -> [usize; 3] {
        self.fft.shape()
    }

    /// Voxels of the padded volume.
    pub(crate) fn elements(&self) -> usize {
        self.fft.shape().iter().product()
    }

    /// A function of k (cycles per unit length) over the half spectrum.
    pub(crate) fn over_k(&self, value: impl Fn([f64; 3]) -> f64 + Sync) -> Vec<f32> {
        let (shape, [half, ny, _]) = (self.fft.shape(), self.fft.spectrum_shape());
        let frequency = |i: usize, a: usize| {
            let n = shape[a];
            let signed = if 2 * i > n { i as f64 - n as f64 } else { i as f64 };
            signed / (n as f64 * self.spacing[a])
        };
        let mut values = vec![0.0; self.fft.spectrum_shape().iter().product()];
        self.workers.install(|| {
            values.par_chunks_mut(half).enumerate().for_each(|(row, values)| {
                let (y, z) = (frequency(row % ny, 1), frequency(row / ny, 2));
                for (i, to) in values.iter_mut().enumerate() {
                    *to = value([frequency(i, 0), y, z]) as f32;
                }
            });
        });
        values
    }

    /// Over the half spectrum, of the field of a magnetisation along voxel axis `a`: b_a/3 -
    /// k_a (b·k)/|k|², 0 at k = 0.
    pub(crate) fn of_magnetisation(&self, a: usize, b0: [f64; 3]) -> Vec<f32> {
        self.over_k(|k| {
            let squared = k.iter().map(|k| k * k).sum::<f64>();
            let along = k[0] * b0[0] + k[1] * b0[1] + k[2] * b0[2];
            if squared == 0.0 { 0.0 } else { b0[a] / 3.0 - k[a] * along / squared }
        })
    }

    /// The spectrum of the Laplacian by second differences.
    pub(crate) fn laplacian(&self) -> Vec<f32> {
        let spacing = self.spacing;
        self.over_k(|k| {
            let of = |a: usize| {
                2.0 * ((TAU * k[a] * spacing[a]).cos() - 1.0) / (spacing[a] * spacing[a])
            };
            of(0) + of(1) + of(2)
        })
    }

    /// A ball around voxel 0 whose voxels sum to 1; the radius in units of the spacing.
    pub(crate) fn ball(&self, radius: f64) -> Vec<f32> {
        let shape = self.fft.shape();
        let mut ball = vec![0.0_f32; self.elements()];
        let distance = |i: usize, a: usize| i.min(shape[a] - i) as f64 * self.spacing[a];
        let mut count = 0.0;
        for (i, value) in ball.iter_mut().enumerate() {
            let at = [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
            let squared: f64 = (0..3).map(|a| distance(at[a], a).powi(2)).sum();
            // A voxel at exactly the radius counts, whatever rounding says.
            if squared <= radius * radius * (1.0 + 1e-9) {
                *value = 1.0;
                count += 1.0;
            }
        }
        ball.iter_mut().for_each(|value| *value /= count);
        ball
    }

    /// The padded volume.
    pub(crate) fn pad(&self, volume: &[f32]) -> Vec<f32> {
        let ([nx, ny, _], [mx, my, _]) = (self.dims, self.fft.shape());
        let mut padded = vec![0.0; self.elements()];
        for (row, from) in volume.chunks_exact(nx).enumerate() {
            let to = mx * (row % ny + my * (row / ny));
            padded[to..to + nx].copy_from_slice(from);
        }
        padded
    }

    /// The volume without its padding.
    pub(crate) fn crop(&self, padded: &[f32]) -> Vec<f32> {
        let ([nx, ny, nz], [mx, my, _]) = (self.dims, self.fft.shape());
        let row = |row: usize| {
            let from = mx * (row % ny + my * (row / ny));
            &padded[from..from + nx]
        };
        (0..ny * nz).flat_map(row).copied().collect()
    }

    pub(crate) fn forward(&self, padded: &[f32]) -> Vec<Complex32> {
        let mut spectrum = vec![Complex32::default(); self.fft.spectrum_shape().iter().product()];
        self.fft.forward(self.workers, padded, &mut spectrum);
        spectrum
    }

    pub(crate) fn back(&self, mut spectrum: Vec<Complex32>) -> Vec<f32> {
        let mut padded = vec![0.0; self.elements()];
        self.fft.inverse(self.workers, &mut spectrum, &mut padded);
        padded
    }
}
