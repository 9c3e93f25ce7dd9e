//! The fit of a tile of voxels.

use fimbria_compute::{HostError, SimdLevel};
use fimbria_fitting::active_set::{Constraints, Programme, Verdict, Work};
use fimbria_image::{MapSpec, Status};
use pulp::{Simd, WithSimd};

use super::basis::Basis;
use super::indices::{Indices, indices};
use super::odf::Rays;
use super::solve::{backward, cross_validated, dot, factor, forward};
use super::{ISOTROPIC_DIFFUSIVITY, Laplacian, MapmriOptions, maps};
use crate::curve::Protocol;
use crate::voxelwise::{Tile, VoxelFit};

/// Least diffusivity along an axis, µm²/ms.
const LEAST_DIFFUSIVITY: f64 = 0.1;
/// A diagonal of this part of the largest of the normal matrix is added where nothing else regularises.
const RIDGE: f64 = 1e-10;

/// The fit of propagators to a protocol. Inputs are the series, then the axes and diffusivities of the tensor.
pub(super) struct Propagators {
    pub(super) basis: Basis,
    /// Where the propagator must not be negative.
    pub(super) grid: Option<Constraints>,
    /// Where its density of directions is evaluated.
    pub(super) rays: Option<Rays>,
    pub(super) protocol: Protocol,
    pub(super) options: MapmriOptions,
}

impl VoxelFit for Propagators {
    fn maps(&self) -> Vec<MapSpec> {
        maps(&self.options)
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        simd.run(OfTile { fit: self, tile });
        Ok(())
    }
}

struct OfTile<'a> {
    fit: &'a Propagators,
    tile: Tile<'a>,
}

impl WithSimd for OfTile<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { fit, tile } = self;
        let Tile { voxels, stride, inputs, rows, .. } = tile;
        let mut room = Room::new(fit);
        for voxel in 0..voxels.len() {
            let status = fit.voxel(&mut room, |row| f64::from(inputs[row * stride + voxel]));
            for (row, value) in rows.chunks_exact_mut(stride).zip(&room.values) {
                row[voxel] = if status.is_fitted() { *value as f32 } else { 0.0 };
            }
            rows[room.values.len() * stride + voxel] = status.code();
        }
    }
}

/// Memory of a thread.
struct Room<'a> {
    programme: Option<Programme<'a>>,
    work: Work,
    samples: Vec<f64>,
    design: Vec<f64>,
    normal: Vec<f64>,
    laplacian: Vec<f64>,
    copy: Vec<f64>,
    right: Vec<f64>,
    coefficients: Vec<f64>,
    /// The volumes of the maps, without the status.
    values: Vec<f64>,
}

impl<'a> Room<'a> {
    fn new(fit: &'a Propagators) -> Self {
        let (n, samples) = (fit.basis.len(), fit.protocol.volumes().len());
        let n_values = fit.maps().iter().map(|map| map.n_volumes).sum::<usize>() - 1;
        let square = || vec![0.0; n * n];
        Self {
            programme: fit.grid.as_ref().map(Programme::new),
            work: Work::default(),
            samples: vec![0.0; samples],
            design: vec![0.0; samples * n],
            normal: square(),
            laplacian: square(),
            copy: square(),
            right: vec![0.0; n],
            coefficients: vec![0.0; n],
            values: vec![0.0; n_values],
        }
    }
}

impl Propagators {
    /// Fits one voxel, of which `input` gives the rows, and leaves its maps in the room.
    #[inline(always)]
    fn voxel(&self, room: &mut Room<'_>, input: impl Fn(usize) -> f64) -> Status {
        let Protocol { unweighted, b, .. } = &self.protocol;
        let unit = |k: usize| [0, 1, 2].map(|i| input(b.len() + 3 * k + i));
        let axes = [unit(0), unit(1), unit(2)];
        // µm²/ms.
        let of_tensor = |k: usize| (1e3 * input(b.len() + 9 + k)).max(LEAST_DIFFUSIVITY);
        let along = match self.options.isotropic {
            true => [ISOTROPIC_DIFFUSIVITY; 3],
            false => [0, 1, 2].map(of_tensor),
        };
        let scale = unweighted.iter().map(|&v| input(v)).sum::<f64>() / unweighted.len() as f64;
        let has_axes = axes[0] != [0.0; 3] && along.iter().all(|d| d.is_finite());
        if !(scale > 0.0 && scale.is_finite() && has_axes) {
            return Status::BadSignal;
        }
        let mut has_holes = false;
        for (sample, v) in room.samples.iter_mut().zip(self.protocol.volumes()) {
            *sample = input(v) / scale;
            has_holes |= *sample <= 0.0;
        }
        if !room.samples.iter().all(|sample| sample.is_finite()) {
            return Status::BadSignal;
        }
        self.equations(room, axes, along);
        let MapmriOptions { big_delta_s, small_delta_s, .. } = self.options;
        let time_s = big_delta_s - small_delta_s / 3.0;
        let u = along.map(|d| (2e-3 * d * time_s).sqrt());
        let solved = self.solve(room, u);
        let n = self.basis.len();
        let at_zero =
            |n: &[usize; 3]| n.iter().map(|n| self.basis.at_zero[*n].abs()).product::<f64>();
        let of_zero = room.coefficients.iter().zip(&self.basis.degrees);
        let e0: f64 = of_zero.map(|(a, n)| a * at_zero(n)).sum();
        if !(e0 > 0.0 && e0.is_finite()) {
            return Status::Singular;
        }
        let misfit = room.design.chunks_exact(n).zip(&room.samples).map(|(row, y)| {
            let left = dot(row, &room.coefficients) - y;
            left * left
        });
        let residual = scale * (misfit.sum::<f64>() / room.samples.len() as f64).sqrt();
        room.coefficients.iter_mut().for_each(|a| *a /= e0);
        self.write(room, u, axes, [e0 * scale, residual]);
        match solved {
            Status::Fitted | Status::Constrained if has_holes => Status::NotPositive,
            status => status,
        }
    }

    /// The normal equations of the voxel's samples.
    #[inline(always)]
    fn equations(&self, room: &mut Room<'_>, axes: [[f64; 3]; 3], along: [f64; 3]) {
        let n = self.basis.len();
        let Protocol { b, dirs_ras, .. } = &self.protocol;
        for (row, v) in room.design.chunks_exact_mut(n).zip(self.protocol.volumes()) {
            let g = dirs_ras[v];
            let t = [0, 1, 2].map(|k| {
                let [x, y, z] = axes[k];
                (2.0 * along[k] * b[v]).sqrt() * (g[0] * x + g[1] * y + g[2] * z)
            });
            self.basis.row(t, row);
        }
        room.normal.fill(0.0);
        room.right.fill(0.0);
        // Four samples at a time: each row of the matrix is read and written a quarter as often.
        for (rows, samples) in room.design.chunks(4 * n).zip(room.samples.chunks(4)) {
            for (row, y) in rows.chunks_exact(n).zip(samples) {
                room.right.iter_mut().zip(row).for_each(|(sum, x)| *sum += y * x);
            }
            for (i, sums) in room.normal.chunks_exact_mut(n).enumerate() {
                let sums = &mut sums[i..];
                if rows.len() == 4 * n {
                    // Of one length, so that nothing is checked within the loop.
                    let m = sums.len();
                    let (p, q) = (&rows[i..][..m], &rows[n + i..][..m]);
                    let (r, s) = (&rows[2 * n + i..][..m], &rows[3 * n + i..][..m]);
                    let [p0, q0, r0, s0] = [p[0], q[0], r[0], s[0]];
                    for k in 0..m {
                        sums[k] += (p0 * p[k] + q0 * q[k]) + (r0 * r[k] + s0 * s[k]);
                    }
                } else {
                    for row in rows.chunks_exact(n) {
                        let first = row[i];
                        sums.iter_mut().zip(&row[i..]).for_each(|(sum, x)| *sum += first * x);
                    }
                }
            }
        }
        // The other half.
        for i in 0..n {
            for j in 0..i {
                room.normal[i * n + j] = room.normal[j * n + i];
            }
        }
        let largest = (0..n).map(|i| room.normal[i * n + i]).fold(0.0, f64::max);
        (0..n).for_each(|i| room.normal[i * n + i] += RIDGE * largest);
    }

    /// Solves them for the coefficients.
    #[inline(always)]
    fn solve(&self, room: &mut Room<'_>, u: [f64; 3]) -> Status {
        let n = self.basis.len();
        let weight = match self.options.laplacian {
            Laplacian::Weight(weight) => Some(weight),
            Laplacian::CrossValidated => {
                room.laplacian.fill(0.0);
                self.basis.add_laplacian(u, 1.0, &mut room.laplacian);
                room.copy.copy_from_slice(&room.normal);
                let squares: f64 = room.samples.iter().map(|y| y * y).sum();
                let (normal, laplacian) = (&mut room.copy, &mut room.laplacian);
                cross_validated(normal, laplacian, &room.right, squares, room.samples.len())
            }
        };
        let Some(weight) = weight else { return Status::Singular };
        if weight > 0.0 {
            self.basis.add_laplacian(u, weight, &mut room.normal);
        }
        room.coefficients.copy_from_slice(&room.right);
        if let Some(programme) = &mut room.programme {
            return match programme.solve(&room.normal, &mut room.coefficients, &mut room.work) {
                Ok(outcome) => match outcome.verdict {
                    Verdict::Free => Status::Fitted,
                    Verdict::Bound => Status::Constrained,
                    Verdict::Infeasible | Verdict::NotConverged => Status::NotConverged,
                },
                Err(_) => Status::Singular,
            };
        }
        if !factor(&mut room.normal, n) {
            room.coefficients.fill(0.0);
            return Status::Singular;
        }
        forward(&room.normal, n, &mut room.coefficients);
        backward(&room.normal, n, &mut room.coefficients);
        Status::Fitted
    }

    /// The maps of the coefficients.
    #[inline(always)]
    fn write(&self, room: &mut Room<'_>, u: [f64; 3], axes: [[f64; 3]; 3], rest: [f64; 2]) {
        let n = self.basis.len();
        let Indices { rtop, rtap, rtpp, msd, qiv, ng } =
            indices(&self.basis, &room.coefficients, u);
        room.laplacian.fill(0.0);
        self.basis.add_laplacian(u, 1.0, &mut room.laplacian);
        let norm: f64 = (room.laplacian.chunks_exact(n).zip(&room.coefficients))
            .map(|(row, a)| a * dot(row, &room.coefficients))
            .sum();
        let [s0, residual] = rest;
        let odf = self.rays.as_ref();
        let odf = odf.map(|rays| rays.harmonics(&self.basis, &room.coefficients, u, axes));
        let ng = (!self.options.isotropic).then_some(ng);
        // No propagator has negative ones: what the series makes of the b beyond the data is none.
        let positive = |index: f64| if index < 0.0 { f64::NAN } else { index };
        let means = [rtop, rtap, rtpp, msd, qiv].map(positive);
        let values = means.into_iter().chain(ng.into_iter().flatten());
        let values = values.chain([norm, s0]).chain(room.coefficients.iter().copied());
        let values = values.chain(u).chain(axes.into_iter().flatten());
        let values = values.chain(odf.into_iter().flatten()).chain([residual]);
        room.values.iter_mut().zip(values).for_each(|(to, value)| *to = value);
    }
}
