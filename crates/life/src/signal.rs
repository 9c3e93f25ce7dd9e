//! The measured signal of the voxels that streamlines pass.

use std::borrow::Cow;

use fimbria_compute::comm::Comm;
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, SignalSource};
use rayon::prelude::*;

use crate::{Basis, LifeError, Protocol};

/// What is measured in each voxel: y, and what it is compared by.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Weighted samples of a voxel.
    pub rows: usize,
    /// Demeaned samples of the weighted volumes, voxel by voxel; zero in unusable voxels.
    pub y: Vec<f32>,
    /// What demeaning took from each sample.
    pub taken: Vec<f32>,
    /// Mean of the unweighted volumes; 0 in unusable voxels.
    pub s0: Vec<f32>,
    /// Voxels of all processes whose unweighted signal is not positive.
    pub dark: u64,
    /// Voxels of all processes with a sample that is no number.
    pub not_finite: u64,
}

/// Voxels gathered at a time: samples of a hundred volumes stay in the first cache.
const TILE: usize = 64;

impl Signal {
    /// The samples of `voxels` (linear indices) in `series`; of several processes each has its own
    /// voxels.
    ///
    /// # Errors
    /// Where the series is of another grid or length, or no voxel of any process is usable.
    pub fn gather(
        series: &dyn SignalSource,
        grid: &Grid,
        voxels: &[u32],
        protocol: &Protocol,
        workers: &Workers,
        comm: &dyn Comm,
        progress: &dyn Progress,
    ) -> Result<Self, LifeError> {
        grid.check_same(series.grid(), "the series")?;
        let rows = protocol.rows();
        let table = rows + protocol.unweighted.len();
        if series.n_volumes() != table {
            return Err(LifeError::VolumeCount { series: series.n_volumes(), table });
        }
        progress.check()?;
        let mut signal = Self {
            rows,
            y: vec![0.0; rows * voxels.len()],
            taken: vec![0.0; rows * voxels.len()],
            s0: vec![0.0; voxels.len()],
            dark: 0,
            not_finite: 0,
        };
        let tiles = voxels
            .par_chunks(TILE)
            .zip(signal.y.par_chunks_mut(TILE * rows))
            .zip(signal.taken.par_chunks_mut(TILE * rows))
            .zip(signal.s0.par_chunks_mut(TILE))
            .map(|(((voxels, y), taken), s0)| tile_of(series, protocol, voxels, (y, taken, s0)));
        let counts: Vec<(u64, u64)> = workers.install(|| tiles.collect());
        let count = |one: fn(&(u64, u64)) -> u64| counts.iter().map(one).sum::<u64>() as i64;
        let mut sums = [count(|c| c.0), count(|c| c.1), voxels.len() as i64];
        comm.sum_i64(&mut sums);
        let [dark, not_finite, of_all] = sums.map(|sum| sum as u64);
        (signal.dark, signal.not_finite) = (dark, not_finite);
        if dark + not_finite == of_all {
            return Err(LifeError::NoSignal { voxels: of_all as usize, dark, not_finite });
        }
        Ok(signal)
    }

    /// Weighted samples of a voxel.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of voxels.
    pub fn voxels(&self) -> usize {
        self.s0.len()
    }

    /// The demeaned samples of one voxel.
    pub fn voxel(&self, voxel: usize) -> &[f32] {
        &self.y[voxel * self.rows..][..self.rows]
    }

    /// Of `voxels`, in their order, the signal in the coordinates of `basis`, `stride` numbers each:
    /// the data of products. And of each voxel the squared length of the part of the signal that lies
    /// outside the space of the basis, which no weights change.
    ///
    /// Where `relative`, signals are taken over the unweighted one of their voxel.
    pub fn in_basis(
        &self,
        basis: &Basis,
        stride: usize,
        voxels: &[u32],
        relative: bool,
        workers: &Workers,
    ) -> (Vec<f32>, Vec<f64>) {
        let mut data = vec![0.0; stride * voxels.len()];
        let scratch = || (vec![0.0; self.rows], vec![0.0; basis.rank()]);
        let of_voxel = |(y, of_basis): &mut (Vec<f64>, Vec<f64>),
                        (data, voxel): (&mut [f32], u32)| {
            let s0 = f64::from(self.s0[voxel as usize]);
            let unit = if relative && s0 > 0.0 { s0 } else { 1.0 };
            let measured = self.voxel(voxel as usize).iter();
            y.iter_mut().zip(measured).for_each(|(to, from)| *to = f64::from(*from) / unit);
            basis.project(y, of_basis, workers.simd());
            data.iter_mut().zip(&*of_basis).for_each(|(to, from)| *to = *from as f32);
            // The basis is orthonormal: Pythagoras.
            (square(y) - square(of_basis)).max(0.0)
        };
        let each = data.par_chunks_mut(stride).zip(voxels.par_iter().copied());
        let outside: Vec<f64> = workers.install(|| each.map_init(scratch, of_voxel).collect());
        (data, outside)
    }

    /// The unweighted signal that the model has: as measured, or where `relative` (as DIPY models
    /// it) 1 in usable voxels.
    pub fn unweighted(&self, relative: bool) -> Cow<'_, [f32]> {
        let one_if_usable = |s0: &f32| f32::from(u8::from(*s0 > 0.0));
        match relative {
            true => self.s0.iter().map(one_if_usable).collect(),
            false => Cow::Borrowed(&self.s0),
        }
    }
}

/// ‖x‖², by sums side by side.
fn square(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for part in x.chunks(sums.len()) {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x * x);
    }
    sums.iter().sum()
}

/// Fills a tile and counts dark voxels and those with samples that are no numbers.
fn tile_of(
    series: &dyn SignalSource,
    protocol: &Protocol,
    voxels: &[u32],
    (y, taken, s0): (&mut [f32], &mut [f32], &mut [f32]),
) -> (u64, u64) {
    let n = voxels.len();
    let rows = protocol.rows();
    let mut samples = vec![0.0_f32; n * series.n_volumes()];
    series.gather(voxels, n, &mut samples);
    let (mut signal, mut centre) = (vec![0.0; rows], vec![0.0; rows]);
    let (mut dark, mut not_finite) = (0, 0);
    for voxel in 0..n {
        let sample = |volume: &usize| f64::from(samples[volume * n + voxel]);
        let of_b0: f64 = protocol.unweighted.iter().map(sample).sum();
        let unweighted = of_b0 / protocol.unweighted.len() as f64;
        signal.iter_mut().zip(&protocol.weighted).for_each(|(to, volume)| *to = sample(volume));
        if !unweighted.is_finite() || signal.iter().any(|s| !s.is_finite()) {
            not_finite += 1;
            continue;
        }
        if unweighted <= 0.0 {
            dark += 1;
            continue;
        }
        s0[voxel] = unweighted as f32;
        protocol.centre_signal(&mut signal, &mut centre);
        for row in 0..rows {
            y[voxel * rows + row] = signal[row] as f32;
            taken[voxel * rows + row] = centre[row] as f32;
        }
    }
    (dark, not_finite)
}
