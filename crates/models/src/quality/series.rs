//! The pass over the voxels.

use std::ops::Range;

use fimbria_compute::Workers;
use fimbria_image::{GradientTable, Grid, Mask, SignalSource};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Neighbours;
use super::displacement::Moments;
use crate::noise;

/// What is known of a series; `None` where it cannot be told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesQuality {
    /// Of each volume.
    pub volumes: Vec<VolumeQuality>,
    /// Of each shell, ascending in b.
    pub shells: Vec<ShellQuality>,
    /// The noise level: σ of each part of the complex signal, in the units of the input.
    pub sigma: Option<f64>,
    /// By volume, then by slice along the third axis of the array: mean signal over what the neighbours
    /// predict.
    pub slices: Vec<Vec<Option<f64>>>,
    /// The shortest edge of a voxel, mm.
    pub edge_mm: f64,
    /// Voxels of the mask along each axis of the array.
    pub extent: [usize; 3],
}

/// What is known of one volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeQuality {
    /// b, s/mm².
    pub b: f64,
    /// Direction, scanner axes.
    pub dir_ras: [f64; 3],
    /// Correlation over the voxels with the volume of the nearest direction of its shell.
    pub near: Option<f64>,
    /// The same with the volume whose direction is most nearly perpendicular.
    pub far: Option<f64>,
    /// Correlation with what its neighbours predict.
    pub alike: Option<f64>,
    /// What they leave, root mean square, after one factor for the whole volume; units of the input.
    pub residual: Option<f64>,
    /// How far it lies from them, mm, root mean square over the voxels.
    pub displacement_mm: Option<f64>,
}

/// What is known of a shell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShellQuality {
    /// Mean b, s/mm².
    pub b: f64,
    /// Its volumes.
    pub volumes: Vec<usize>,
    /// Median over the voxels of the mean signal, over σ.
    pub snr: Option<f64>,
    /// Median over the voxels of the standard deviation between directions without that of the noise,
    /// over σ; of weighted shells of three volumes and more.
    pub cnr: Option<f64>,
}

/// Voxels read at a time.
const TILE: usize = 1024;
/// Voxels at most: with more nothing becomes surer.
const ENOUGH: usize = 60_000;
/// Slices with fewer voxels of these are not compared.
const SMALLEST_SLICE: f64 = 40.0;

impl SeriesQuality {
    /// Of the voxels of `mask`; `sigma` is the noise level where it is known otherwise than by
    /// repeated unweighted volumes, and counts where there are none.
    pub fn new(
        signals: &dyn SignalSource,
        table: &GradientTable,
        mask: &Mask,
        sigma: Option<f64>,
        workers: &Workers,
    ) -> Self {
        let stride = mask.len().div_ceil(ENOUGH).max(1);
        let voxels: Vec<u32> = mask.voxels.iter().copied().step_by(stride).collect();
        let sampled = Mask { grid: mask.grid, voxels };
        let sigma = noise::from_unweighted(signals, &sampled, table).ok().or(sigma);
        let pass = Pass::new(signals, table, &sampled);
        let sums = workers.install(|| {
            let tiles: Vec<&[u32]> = sampled.voxels.chunks(TILE).collect();
            let parts: Vec<Sums> = tiles.into_par_iter().map(|tile| pass.sums(tile)).collect();
            // In their order, so that threads do not change a bit.
            let mut total = pass.zero();
            parts.iter().for_each(|part| total.merge(part));
            total
        });
        pass.finished(sums, sigma, extent(mask))
    }
}

/// How far the voxels of a mask reach along each axis.
fn extent(mask: &Mask) -> [usize; 3] {
    let mut ranges = [(usize::MAX, 0); 3];
    for &voxel in &mask.voxels {
        for (range, at) in ranges.iter_mut().zip(mask.grid.voxel(voxel as usize)) {
            *range = (range.0.min(at), range.1.max(at));
        }
    }
    ranges.map(|(low, high)| (high + 1).saturating_sub(low))
}

/// What is the same for all voxels.
struct Pass<'a> {
    signals: &'a dyn SignalSource,
    table: &'a GradientTable,
    neighbours: Neighbours,
    shells: Vec<Vec<usize>>,
    grid: Grid,
    edges_mm: [f64; 3],
    middle: [f64; 3],
}

/// Sums over voxels.
#[derive(Clone, Default)]
struct Sums {
    volumes: Vec<OfVolume>,
    /// Mean signal and deviation between directions of each voxel, by shell.
    shells: Vec<Vec<[f64; 2]>>,
    /// By volume, then slice: what was measured, what is predicted.
    slices: Vec<Vec<[f64; 2]>>,
    /// Voxels of each slice.
    in_slice: Vec<f64>,
}

#[derive(Clone, Default)]
struct OfVolume {
    near: Pairs,
    far: Pairs,
    predicted: Pairs,
    moments: Moments,
}

/// Sums of which a correlation follows.
#[derive(Clone, Copy, Default)]
struct Pairs {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Pairs {
    fn add(&mut self, x: f64, y: f64) {
        if x.is_finite() && y.is_finite() {
            self.n += 1.0;
            self.x += x;
            self.y += y;
            self.xx += x * x;
            self.yy += y * y;
            self.xy += x * y;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
    }

    fn correlation(&self) -> Option<f64> {
        let Self { n, x, y, xx, yy, xy } = *self;
        let of = (xy - x * y / n) / ((xx - x * x / n) * (yy - y * y / n)).sqrt();
        of.is_finite().then_some(of)
    }

    /// Root mean square of x less that multiple of y which is nearest to it.
    fn residual(&self) -> Option<f64> {
        let left = (self.xx - self.xy * self.xy / self.yy).max(0.0) / self.n;
        left.is_finite().then(|| left.sqrt())
    }
}

impl Sums {
    fn merge(&mut self, other: &Self) {
        for (sum, part) in self.volumes.iter_mut().zip(&other.volumes) {
            sum.near.merge(&part.near);
            sum.far.merge(&part.far);
            sum.predicted.merge(&part.predicted);
            sum.moments.merge(&part.moments);
        }
        for (sum, part) in self.shells.iter_mut().zip(&other.shells) {
            sum.extend(part);
        }
        let slices = self.slices.iter_mut().flatten().zip(other.slices.iter().flatten());
        slices.for_each(|(sum, part)| *sum = [sum[0] + part[0], sum[1] + part[1]]);
        self.in_slice.iter_mut().zip(&other.in_slice).for_each(|(sum, part)| *sum += part);
    }
}

impl<'a> Pass<'a> {
    fn new(signals: &'a dyn SignalSource, table: &'a GradientTable, mask: &Mask) -> Self {
        let grid = mask.grid;
        let mut middle = [0.0; 3];
        for &voxel in &mask.voxels {
            for (sum, at) in middle.iter_mut().zip(grid.voxel(voxel as usize)) {
                *sum += at as f64 / mask.len() as f64;
            }
        }
        Self {
            signals,
            table,
            neighbours: Neighbours::new(table),
            shells: table.shells().into_iter().map(|shell| shell.volumes).collect(),
            grid,
            edges_mm: grid.ras_from_vox.spacing(),
            middle,
        }
    }

    fn zero(&self) -> Sums {
        let (volumes, slices) = (self.table.len(), self.grid.dims[2]);
        Sums {
            volumes: vec![OfVolume::default(); volumes],
            shells: vec![Vec::new(); self.shells.len()],
            slices: vec![vec![[0.0; 2]; slices]; volumes],
            in_slice: vec![0.0; slices],
        }
    }

    fn sums(&self, tile: &[u32]) -> Sums {
        let (n, volumes) = (tile.len(), self.table.len());
        let mut sums = self.zero();
        let mut samples = vec![0.0_f32; volumes * n];
        self.signals.gather(tile, n, &mut samples);
        let row = |volume: usize| volume * n..(volume + 1) * n;
        let at: Vec<[usize; 3]> = tile.iter().map(|v| self.grid.voxel(*v as usize)).collect();
        at.iter().for_each(|at| sums.in_slice[at[2]] += 1.0);
        // The six voxels around each, the voxel itself where the image ends.
        let around: Vec<Vec<f32>> = (0..6)
            .map(|side| {
                let beside = at.iter().map(|at| self.beside(*at, side).unwrap_or(*at));
                let voxels: Vec<u32> = beside.map(|at| self.grid.index(at) as u32).collect();
                let mut samples = vec![0.0_f32; volumes * n];
                self.signals.gather(&voxels, n, &mut samples);
                samples
            })
            .collect();
        let is_inner: Vec<bool> =
            at.iter().map(|at| (0..6).all(|side| self.beside(*at, side).is_some())).collect();
        for volume in 0..volumes {
            let measured = &samples[row(volume)];
            let of = &mut sums.volumes[volume];
            if let Some([near, far]) = self.neighbours.extremes[volume] {
                for (x, (a, b)) in
                    measured.iter().zip(samples[row(near)].iter().zip(&samples[row(far)]))
                {
                    of.near.add(f64::from(*x), f64::from(*a));
                    of.far.add(f64::from(*x), f64::from(*b));
                }
            }
            let predictors = &self.neighbours.predictors[volume];
            if predictors.is_empty() {
                continue;
            }
            let predicted = predict(predictors, &samples, row, n);
            let sides: Vec<_> = around.iter().map(|s| predict(predictors, s, row, n)).collect();
            for i in 0..n {
                let (x, p) = (f64::from(measured[i]), f64::from(predicted[i]));
                of.predicted.add(x, p);
                let slice = &mut sums.slices[volume][at[i][2]];
                *slice = [slice[0] + x, slice[1] + p];
                if is_inner[i] {
                    let slope = |axis: usize| {
                        let rise = f64::from(sides[2 * axis + 1][i] - sides[2 * axis][i]);
                        rise / (2.0 * self.edges_mm[axis])
                    };
                    let place = |axis: usize| {
                        (at[i][axis] as f64 - self.middle[axis]) * self.edges_mm[axis]
                    };
                    of.moments.add([0, 1, 2].map(place), x, p, [0, 1, 2].map(slope));
                }
            }
        }
        for (shell, values) in self.shells.iter().zip(&mut sums.shells) {
            let count = shell.len() as f64;
            for i in 0..n {
                let of = || shell.iter().map(|volume| f64::from(samples[volume * n + i]));
                let mean = of().sum::<f64>() / count;
                let square = of().map(|s| (s - mean).powi(2)).sum::<f64>();
                values.push([mean, square / (count - 1.0)]);
            }
        }
        sums
    }

    /// The voxel before (even) or after (odd) along an axis.
    fn beside(&self, at: [usize; 3], side: usize) -> Option<[usize; 3]> {
        let axis = side / 2;
        let mut beside = at;
        beside[axis] = if side.is_multiple_of(2) { at[axis].checked_sub(1)? } else { at[axis] + 1 };
        (beside[axis] < self.grid.dims[axis]).then_some(beside)
    }

    fn finished(&self, sums: Sums, sigma: Option<f64>, extent: [usize; 3]) -> SeriesQuality {
        let sigma = sigma.filter(|sigma| *sigma > 0.0);
        let volumes = sums.volumes.iter().enumerate().map(|(volume, of)| VolumeQuality {
            b: self.table.b_s_per_mm2[volume],
            dir_ras: self.table.dirs_ras[volume],
            near: of.near.correlation(),
            far: of.far.correlation(),
            alike: of.predicted.correlation(),
            residual: of.predicted.residual(),
            displacement_mm: Some(of.moments.displacement_mm()).filter(|mm| mm.is_finite()),
        });
        let shells = self.shells.iter().zip(sums.shells).map(|(volumes, values)| {
            let b = volumes.iter().map(|v| self.table.b_s_per_mm2[*v]).sum::<f64>();
            let is_weighted = !volumes.iter().all(|v| self.table.is_b0(*v));
            let over_noise = |of: &dyn Fn(f64, &[f64; 2]) -> f64| {
                sigma.and_then(|sigma| median(values.iter().map(|value| of(sigma, value) / sigma)))
            };
            let between = |sigma: f64, value: &[f64; 2]| (value[1] - sigma * sigma).max(0.0).sqrt();
            ShellQuality {
                b: b / volumes.len() as f64,
                snr: over_noise(&|_, value| value[0]),
                cnr: over_noise(&between).filter(|_| is_weighted && volumes.len() > 2),
                volumes: volumes.clone(),
            }
        });
        let ratio = |[measured, predicted]: &[f64; 2], in_slice: &f64| {
            let is_known = *in_slice >= SMALLEST_SLICE && *predicted > 0.0;
            is_known.then(|| measured / predicted).filter(|ratio| ratio.is_finite())
        };
        let slices = sums.slices.iter().map(|slices| {
            slices.iter().zip(&sums.in_slice).map(|(slice, n)| ratio(slice, n)).collect()
        });
        SeriesQuality {
            volumes: volumes.collect(),
            shells: shells.collect(),
            sigma,
            slices: slices.collect(),
            edge_mm: self.edges_mm.iter().copied().fold(f64::INFINITY, f64::min),
            extent,
        }
    }
}

/// What the predictors make of the samples of a tile.
fn predict(
    predictors: &[(usize, f64)],
    samples: &[f32],
    row: impl Fn(usize) -> Range<usize>,
    n: usize,
) -> Vec<f32> {
    let mut predicted = vec![0.0_f32; n];
    for (volume, weight) in predictors {
        let weight = *weight as f32;
        predicted.iter_mut().zip(&samples[row(*volume)]).for_each(|(sum, s)| *sum += weight * s);
    }
    predicted
}

/// The middle of the finite values.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
