//! The measured signal of the voxels that streamlines pass.

use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, SignalSource};
use rayon::prelude::*;

use crate::{Basis, LifeError, Protocol};

/// What is measured in each voxel: y, and what it is compared by.
#[derive(Clone, Debug)]
pub struct Signal {
    pub(crate) rows: usize,
    /// Demeaned samples of the weighted volumes, voxel by voxel; zero in unusable voxels.
    pub y: Vec<f32>,
    /// What demeaning took from each sample.
    pub taken: Vec<f32>,
    /// Mean of the unweighted volumes; 0 in unusable voxels.
    pub s0: Vec<f32>,
    /// Voxels whose unweighted signal is not positive.
    pub dark: u64,
    /// Voxels with a sample that is no number.
    pub not_finite: u64,
}

/// Voxels gathered at a time.
const TILE: usize = 512;

impl Signal {
    /// The samples of `voxels` (linear indices) in `series`.
    ///
    /// # Errors
    /// Where the series is of another grid or length, or no voxel is usable.
    pub fn gather(
        series: &dyn SignalSource,
        grid: &Grid,
        voxels: &[u32],
        protocol: &Protocol,
        workers: &Workers,
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
        signal.dark = counts.iter().map(|c| c.0).sum();
        signal.not_finite = counts.iter().map(|c| c.1).sum();
        let Self { dark, not_finite, .. } = signal;
        if dark + not_finite == voxels.len() as u64 {
            return Err(LifeError::NoSignal { voxels: voxels.len(), dark, not_finite });
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
    pub fn of(&self, voxel: usize) -> &[f32] {
        &self.y[voxel * self.rows..][..self.rows]
    }

    /// The signal in the coordinates of `basis`, `stride` numbers of each voxel, in the order of
    /// `voxels`: the data of products.
    pub fn coordinates(
        &self,
        basis: &Basis,
        stride: usize,
        voxels: &[u32],
        workers: &Workers,
    ) -> Vec<f32> {
        let mut data = vec![0.0; stride * voxels.len()];
        let scratch = || (vec![0.0; self.rows], vec![0.0; basis.rank()]);
        workers.install(|| {
            let each = data.par_chunks_mut(stride).zip(voxels);
            each.for_each_init(scratch, |(y, of_basis), (data, &voxel)| {
                self.widen(voxel as usize, y);
                basis.project(y, of_basis);
                data.iter_mut().zip(of_basis).for_each(|(to, from)| *to = *from as f32);
            });
        });
        data
    }

    /// The demeaned samples of one voxel in f64.
    fn widen(&self, voxel: usize, y: &mut [f64]) {
        y.iter_mut().zip(self.of(voxel)).for_each(|(to, from)| *to = f64::from(*from));
    }

    /// ½ of what of ‖y‖² lies outside `basis`: what no weight changes.
    pub fn outside(&self, basis: &Basis, workers: &Workers) -> f64 {
        if basis.rank() == basis.rows() {
            return 0.0;
        }
        let scratch = || (vec![0.0; self.rows], vec![0.0; basis.rank()]);
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        // The basis is orthonormal: Pythagoras.
        let of_voxel = |(y, of_basis): &mut (Vec<f64>, Vec<f64>), voxel: usize| {
            self.widen(voxel, y);
            basis.project(y, of_basis);
            (square(y) - square(of_basis)).max(0.0)
        };
        let each = (0..self.voxels()).into_par_iter();
        // Collected first, so that the sum has one order.
        let squares: Vec<f64> = workers.install(|| each.map_init(scratch, of_voxel).collect());
        0.5 * squares.iter().sum::<f64>()
    }

    /// The same signal relative to the unweighted one, as DIPY models it: y / S0, and S0 = 1.
    #[must_use]
    pub fn relative(mut self) -> Self {
        for (voxel, s0) in self.s0.iter_mut().enumerate() {
            if *s0 > 0.0 {
                let range = voxel * self.rows..(voxel + 1) * self.rows;
                self.y[range.clone()].iter_mut().for_each(|y| *y /= *s0);
                self.taken[range].iter_mut().for_each(|y| *y /= *s0);
                *s0 = 1.0;
            }
        }
        self
    }
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
    let (mut dark, mut not_finite) = (0, 0);
    for voxel in 0..n {
        let sample = |volume: &usize| f64::from(samples[volume * n + voxel]);
        let of_b0: f64 = protocol.unweighted.iter().map(sample).sum();
        let mut signal: Vec<f64> = protocol.weighted.iter().map(sample).collect();
        let unweighted = of_b0 / protocol.unweighted.len() as f64;
        if !unweighted.is_finite() || signal.iter().any(|s| !s.is_finite()) {
            not_finite += 1;
            continue;
        }
        if unweighted <= 0.0 {
            dark += 1;
            continue;
        }
        s0[voxel] = unweighted as f32;
        let centre = protocol.centre_signal(&mut signal);
        for row in 0..rows {
            y[voxel * rows + row] = signal[row] as f32;
            taken[voxel * rows + row] = centre[row] as f32;
        }
    }
    (dark, not_finite)
}
