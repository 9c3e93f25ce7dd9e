use std::f64::consts::TAU;

use fimbria_compute::Workers;
use fimbria_compute::fft::{Complex32, RealFft3, good_size};
use rayon::prelude::*;

use crate::QsmError;

/// Lengths that differ by this part of themselves are one: axes of a file in single precision, turned in
/// the scanner, have spacings that differ in the sixth digit. The distances of voxels of a cubic grid
/// differ by far more.
pub(crate) const ALIKE: f64 = 1e-4;

/// A frequency of a transform.
struct Frequency {
    /// Cycles per unit length.
    k: [f64; 3],
    /// The axes, of an even number of voxels, of which it is the highest: there k and -k are one.
    is_highest: [bool; 3],
}

impl Frequency {
    fn squared(&self) -> f64 {
        self.k.iter().map(|k| k * k).sum()
    }

    /// (u·k) (v·k), the mean of those of k and -k along each axis of which k is the highest: k_a times
    /// another axis's is 0 then. A function of it is even, and the same for volumes stored the other way
    /// round.
    fn product(&self, u: [f64; 3], v: [f64; 3]) -> f64 {
        let mixed = |a: usize| if self.is_highest[a] { 0.0 } else { self.k[a] };
        let along = |u: [f64; 3]| mixed(0) * u[0] + mixed(1) * u[1] + mixed(2) * u[2];
        let alone = |a: usize| self.k[a] * self.k[a] * u[a] * v[a];
        let highest = (0..3).filter(|&a| self.is_highest[a]).map(alone).sum::<f64>();
        along(u) * along(v) + highest
    }
}

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

    /// Of the volume without its padding.
    pub(crate) fn dims(&self) -> [usize; 3] {
        self.dims
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
        self.over_frequencies(|frequency| value(frequency.k))
    }

    fn over_frequencies(&self, value: impl Fn(&Frequency) -> f64 + Sync) -> Vec<f32> {
        let (shape, along) = (self.fft.shape(), [0, 1, 2].map(|a| self.along(a)));
        self.over_places(|at| {
            let k = [0, 1, 2].map(|a| along[a][at[a]]);
            value(&Frequency { k, is_highest: [0, 1, 2].map(|a| 2 * at[a] == shape[a]) })
        })
    }

    /// The frequencies of an axis, cycles per unit length.
    fn along(&self, axis: usize) -> Vec<f64> {
        let n = self.fft.shape()[axis];
        let frequency = |i: usize| {
            let signed = if 2 * i > n { i as f64 - n as f64 } else { i as f64 };
            signed / (n as f64 * self.spacing[axis])
        };
        (0..n).map(frequency).collect()
    }

    /// Of every place of the half spectrum.
    fn over_places(&self, value: impl Fn([usize; 3]) -> f64 + Sync) -> Vec<f32> {
        let [half, ny, nz] = self.fft.spectrum_shape();
        let mut values = vec![0.0; half * ny * nz];
        self.workers.install(|| {
            values.par_chunks_mut(half).enumerate().for_each(|(row, values)| {
                for (i, to) in values.iter_mut().enumerate() {
                    *to = value([i, row % ny, row / ny]) as f32;
                }
            });
        });
        values
    }

    /// D(k) = 1/3 - (b·k)²/|k|² over the half spectrum, 0 at k = 0: even in k.
    pub(crate) fn dipole(&self, b0: [f64; 3]) -> Vec<f32> {
        self.over_frequencies(|frequency| {
            let squared = frequency.squared();
            if squared == 0.0 { 0.0 } else { 1.0 / 3.0 - frequency.product(b0, b0) / squared }
        })
    }

    /// Over the half spectrum, of the field of a magnetisation along voxel axis `a`: b_a/3 -
    /// k_a (b·k)/|k|², 0 at k = 0: even in k.
    pub(crate) fn of_magnetisation(&self, a: usize, b0: [f64; 3]) -> Vec<f32> {
        let axis = [0, 1, 2].map(|other| if other == a { 1.0 } else { 0.0 });
        self.over_frequencies(|frequency| {
            let squared = frequency.squared();
            if squared == 0.0 { 0.0 } else { b0[a] / 3.0 - frequency.product(axis, b0) / squared }
        })
    }

    /// The spectrum of the Laplacian by second differences.
    pub(crate) fn laplacian(&self) -> Vec<f32> {
        let spacing = self.spacing;
        let [x, y, z] = [0, 1, 2].map(|a| {
            let of =
                |k: f64| 2.0 * ((TAU * k * spacing[a]).cos() - 1.0) / (spacing[a] * spacing[a]);
            self.along(a).into_iter().map(of).collect::<Vec<f64>>()
        });
        self.over_places(|[i, j, l]| x[i] + y[j] + z[l])
    }

    /// A ball around voxel 0 whose voxels sum to 1; the radius in units of the spacing. A voxel at the
    /// radius counts, and one as near to it as [`ALIKE`].
    pub(crate) fn ball(&self, radius: f64) -> Vec<f32> {
        let shape = self.fft.shape();
        let mut ball = vec![0.0_f32; self.elements()];
        let distance = |i: usize, a: usize| i.min(shape[a] - i) as f64 * self.spacing[a];
        let mut count = 0.0;
        for (i, value) in ball.iter_mut().enumerate() {
            let at = [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
            let squared: f64 = (0..3).map(|a| distance(at[a], a).powi(2)).sum();
            if squared.sqrt() <= radius * (1.0 + ALIKE) {
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
        let mut spectrum = self.spectrum();
        self.forward_into(padded, &mut spectrum);
        spectrum
    }

    pub(crate) fn back(&self, mut spectrum: Vec<Complex32>) -> Vec<f32> {
        let mut padded = vec![0.0; self.elements()];
        self.back_into(&mut spectrum, &mut padded);
        padded
    }

    /// Half a spectrum, all 0.
    pub(crate) fn spectrum(&self) -> Vec<Complex32> {
        vec![Complex32::default(); self.fft.spectrum_shape().iter().product()]
    }

    /// As [`forward`](Self::forward), for iterations: a volume in memory that is new costs as much as passing through it
    /// several times.
    pub(crate) fn forward_into(&self, padded: &[f32], spectrum: &mut [Complex32]) {
        self.fft.forward(self.workers, padded, spectrum);
    }

    /// As [`back`](Self::back), into memory that is there; nothing of use is left in the spectrum.
    pub(crate) fn back_into(&self, spectrum: &mut [Complex32], padded: &mut [f32]) {
        self.fft.inverse(self.workers, spectrum, padded);
    }
}
