//! The spin distribution of a tile of voxels.

use std::f64::consts::PI;

use fimbria_compute::{HostError, Lanes, Real, SimdLevel};
use fimbria_image::{MapSpec, Status};
use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};
use pulp::{Simd, WithSimd};

use super::{DEGREE, GqiOptions, Weighting, maps};
use crate::curve::Protocol;
use crate::half_sphere::half_sphere;
use crate::voxelwise::{Tile, VoxelFit};

/// Directions over half of the sphere: 8° apart, as DSI Studio's and DIPY's.
pub(super) const DIRECTIONS: usize = 324;
/// Voxels at a time, a few registers of them.
const WIDE: usize = 32;
/// Directions at a time.
const ROWS: usize = 8;
/// Six times the diffusivity of free water, µm²/ms.
const SIX_D: f64 = 15.06;
/// Intervals of the integral of a degree's share; their middles make an error of 1e-6 at x of 12.
const INTERVALS: usize = 4000;

/// H(x).
pub(super) fn weight(weighting: Weighting, x: f64) -> f64 {
    let square = x * x;
    match weighting {
        Weighting::Alike if x.abs() < 1e-4 => 1.0 - square / 6.0,
        Weighting::Alike => x.sin() / x,
        // The terms of the closed form cancel; beyond these of the series is 1e-12.
        Weighting::Squared if x.abs() < 0.05 => 1.0 / 3.0 - square / 10.0 + square * square / 168.0,
        Weighting::Squared => (2.0 * x * x.cos() + (square - 2.0) * x.sin()) / (square * x),
    }
}

/// x of a volume and a direction along its gradient; b in ms/µm².
pub(super) fn reach(options: &GqiOptions, b: f64) -> f64 {
    options.length * (SIX_D * b.max(0.0)).sqrt()
}

/// What makes spin distributions of signals; all is linear.
pub(super) struct Spins {
    /// `[direction][volume]`.
    values: Vec<f32>,
    /// `[harmonic][volume]`.
    harmonics: Vec<f32>,
    volumes: Vec<usize>,
}

impl Spins {
    pub(super) fn new(protocol: &Protocol, options: &GqiOptions) -> Self {
        let volumes = protocol.volumes();
        let (n, n_sh) = (volumes.len(), sh_count(DEGREE));
        let mut values = Vec::with_capacity(DIRECTIONS * n);
        for u in half_sphere(DIRECTIONS) {
            for &v in &volumes {
                let g = protocol.dirs_ras[v];
                let x = reach(options, protocol.b[v]) * (g[0] * u[0] + g[1] * u[1] + g[2] * u[2]);
                values.push((weight(options.weighting, x) / n as f64) as f32);
            }
        }
        let mut harmonics = vec![0.0; n_sh * n];
        let mut last = (f64::NAN, Vec::new());
        for (at, &v) in volumes.iter().enumerate() {
            let x = reach(options, protocol.b[v]);
            if x != last.0 {
                last = (x, shares(options.weighting, x));
            }
            let of_gradient = evaluate(ShBasis::Mrtrix, DEGREE, protocol.dirs_ras[v]);
            for (k, y) in of_gradient.iter().enumerate() {
                let degree = (0..=DEGREE / 2).find(|half| k < sh_count(2 * half)).unwrap_or(0);
                // Of no direction only the mean is a number.
                let y = if x > 0.0 || k == 0 { *y } else { 0.0 };
                harmonics[k * n + at] = (last.1[degree] * y / n as f64) as f32;
            }
        }
        Self { values, harmonics, volumes }
    }
}

impl Spins {
    #[cfg(test)]
    pub(super) fn harmonic(&self, k: usize, volume: usize) -> f64 {
        f64::from(self.harmonics[k * self.volumes.len() + volume])
    }
}

/// What H(x g·u) has of each even degree l, 2π ∫ H(x t) P_l(t) dt over t from -1 to 1 (Funk and Hecke): times Y(g) the
/// harmonics of u.
fn shares(weighting: Weighting, x: f64) -> Vec<f64> {
    let mut sums = vec![0.0; DEGREE / 2 + 1];
    for i in 0..INTERVALS {
        let t = (i as f64 + 0.5) / INTERVALS as f64;
        let share = 4.0 * PI / INTERVALS as f64 * weight(weighting, x * t);
        // P_l and P_{l-1}.
        let (mut legendre, mut before) = (1.0, 0.0);
        for l in 0..=DEGREE {
            if l % 2 == 0 {
                sums[l / 2] += share * legendre;
            }
            let (n, next) = (l as f64, (l + 1) as f64);
            (legendre, before) = (((2.0 * n + 1.0) * t * legendre - n * before) / next, legendre);
        }
    }
    sums
}

impl VoxelFit for Spins {
    fn maps(&self) -> Vec<MapSpec> {
        maps()
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        simd.run(OfTile { spins: self, tile });
        Ok(())
    }
}

struct OfTile<'a> {
    spins: &'a Spins,
    tile: Tile<'a>,
}

impl WithSimd for OfTile<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { spins, tile } = self;
        let Tile { voxels, stride, inputs, rows, .. } = tile;
        let mut samples = vec![[0.0; WIDE]; spins.volumes.len()];
        let mut densities = vec![[0.0; WIDE]; sh_count(DEGREE)];
        let mut sums = [[0.0; WIDE]; ROWS];
        for first in (0..voxels.len()).step_by(WIDE) {
            let count = WIDE.min(voxels.len() - first);
            for (sample, &v) in samples.iter_mut().zip(&spins.volumes) {
                sample.fill(0.0);
                sample[..count].copy_from_slice(&inputs[v * stride + first..][..count]);
            }
            let over = Over::directions(simd, spins, &samples);
            let harmonics = spins.harmonics.chunks(ROWS * samples.len());
            for (rows, densities) in harmonics.zip(densities.chunks_mut(ROWS)) {
                products(simd, rows, &samples, &mut sums);
                densities.iter_mut().zip(&sums).for_each(|(density, sum)| *density = *sum);
            }
            for lane in 0..count {
                let status = over.status(lane, &samples);
                let mut put = |row: usize, value: f32| {
                    let value = if status == Status::Fitted { value } else { 0.0 };
                    rows[row * stride + first + lane] = value;
                };
                let [most, least] = [over.most[lane], over.least[lane]];
                put(0, most - least);
                put(1, least);
                put(2, over.gfa(lane));
                // The integral of a constant c has c √(4π) as coefficient, and that times √(4π) as integral.
                let root = (4.0 * PI).sqrt() as f32;
                let above = densities[0][lane] - least * root;
                let scale = if above > 0.0 { 1.0 / (above * root) } else { 0.0 };
                put(3, above * scale);
                for (k, density) in densities.iter().enumerate().skip(1) {
                    put(3 + k, density[lane] * scale);
                }
                rows[(3 + densities.len()) * stride + first + lane] = status.code();
            }
        }
    }
}

/// Some rows of a matrix times samples, voxels beside each other. (Work in lanes is no closure: that would be a call.)
#[inline(always)]
fn products<S: Simd>(
    simd: S,
    rows: &[f32],
    samples: &[[f32; WIDE]],
    sums: &mut [[f32; WIDE]; ROWS],
) {
    let n = samples.len();
    let zero = Lanes::new(simd, 0.0);
    for first in (0..WIDE).step_by(Lanes::<S>::LANES) {
        let mut registers = [zero; ROWS];
        if rows.len() == ROWS * n {
            for (v, sample) in samples.iter().enumerate() {
                let sample = Lanes::load(simd, &sample[first..]);
                for r in 0..ROWS {
                    registers[r] = zero.splat(rows[r * n + v]).mul_add(sample, registers[r]);
                }
            }
        } else {
            for (sum, row) in registers.iter_mut().zip(rows.chunks_exact(n)) {
                for (factor, sample) in row.iter().zip(samples) {
                    let sample = Lanes::load(simd, &sample[first..]);
                    *sum = zero.splat(*factor).mul_add(sample, *sum);
                }
            }
        }
        for (sums, register) in sums.iter_mut().zip(registers) {
            register.store(&mut sums[first..]);
        }
    }
}

/// What spin distributions are over all directions.
struct Over {
    first: [f32; WIDE],
    most: [f32; WIDE],
    least: [f32; WIDE],
    /// Sums of differences from the first direction, and of their squares: of nearly equal numbers squares would
    /// leave rounding.
    sums: [f32; WIDE],
    squares: [f32; WIDE],
}

impl Over {
    #[inline(always)]
    fn directions<S: Simd>(simd: S, spins: &Spins, samples: &[[f32; WIDE]]) -> Self {
        let none = [0.0; WIDE];
        let mut over = Self { first: none, most: none, least: none, sums: none, squares: none };
        let mut values = [none; ROWS];
        for (block, rows) in spins.values.chunks(ROWS * samples.len()).enumerate() {
            products(simd, rows, samples, &mut values);
            if block == 0 {
                (over.first, over.most, over.least) = (values[0], values[0], values[0]);
            }
            for values in values.iter().take(rows.len() / samples.len()) {
                over.add(simd, values);
            }
        }
        over
    }

    /// Takes the values of a direction.
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, values: &[f32; WIDE]) {
        for first in (0..WIDE).step_by(Lanes::<S>::LANES) {
            let value = Lanes::load(simd, &values[first..]);
            let most = Lanes::load(simd, &self.most[first..]);
            let least = Lanes::load(simd, &self.least[first..]);
            let more = value - Lanes::load(simd, &self.first[first..]);
            let sums = Lanes::load(simd, &self.sums[first..]);
            let squares = Lanes::load(simd, &self.squares[first..]);
            value.max(most).store(&mut self.most[first..]);
            value.min(least).store(&mut self.least[first..]);
            (sums + more).store(&mut self.sums[first..]);
            more.mul_add(more, squares).store(&mut self.squares[first..]);
        }
    }

    fn status(&self, lane: usize, samples: &[[f32; WIDE]]) -> Status {
        let are_numbers = samples.iter().all(|sample| sample[lane].is_finite());
        let has_signal = samples.iter().any(|sample| sample[lane] > 0.0);
        let is_good = are_numbers && has_signal && self.most[lane] > 0.0;
        if is_good { Status::Fitted } else { Status::BadSignal }
    }

    /// √(n Σ(ψ - mean)² / ((n - 1) Σψ²)) (Tuch 2004).
    fn gfa(&self, lane: usize) -> f32 {
        let n = DIRECTIONS as f32;
        let (first, sum, square) = (self.first[lane], self.sums[lane], self.squares[lane]);
        let about_mean = (square - sum * sum / n).max(0.0);
        let all = square + 2.0 * first * sum + n * first * first;
        (n * about_mean / ((n - 1.0) * all)).sqrt()
    }
}
