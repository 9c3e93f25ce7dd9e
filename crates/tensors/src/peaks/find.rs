//! Peaks of a whole image.

use std::marker::PhantomData;
use std::time::Instant;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress, SimdLevel, Workers};
use fimbria_image::{Image, Mask, MaskBlock, SignalSource};
use rayon::prelude::*;

use super::PeaksError;
use super::matrix::Matrix;
use super::options::{PeakOptions, PeakStatus};
use super::tile::{FindTile, Plan, Scratch, entries};
use crate::sh::{ShBasis, ShToForm};
use crate::unrolled::{Order4, Order6, Order8, Order10, Order12};

/// The orders of forms, or highest degrees of harmonics, whose peaks are found.
pub const ORDERS: [usize; 5] = [4, 6, 8, 10, 12];

/// Voxels of one task.
pub(super) const BLOCK: usize = 4096;
/// Voxels that are worked on together: a multiple of every strip, and few enough that their
/// coefficients stay in the first caches.
const TILE: usize = 256;

/// Peaks of every voxel.
#[derive(Clone, Debug)]
pub struct Peaks {
    /// Three volumes for each peak, largest first: its direction in scanner RAS+ axes times its
    /// value; NaN where there is none and outside the mask (MRtrix3's layout).
    pub peaks: Image,
    /// The values, a volume for each peak; NaN where there is none.
    pub values: Image,
    /// How many peaks there are.
    pub count: Image,
    /// The numbers of [`PeakStatus`].
    pub status: Image,
    /// How many voxels met which fate.
    pub counts: PeakCounts,
    /// Which part of the work each device and the CPU did, in chunks.
    pub shares: Shares,
    /// Wall time.
    pub seconds: f64,
}

/// Voxels of the mask by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeakCounts {
    /// By the number of [`PeakStatus`].
    pub by_status: [u64; 6],
    /// All peaks together.
    pub peaks: u64,
}

impl PeakCounts {
    /// Voxels of one fate.
    pub fn count(&self, status: PeakStatus) -> u64 {
        self.by_status[status as usize]
    }

    pub(super) fn merged(mut self, other: Self) -> Self {
        for (sum, n) in self.by_status.iter_mut().zip(other.by_status) {
            *sum += n;
        }
        self.peaks += other.peaks;
        self
    }
}

/// The maxima of forms given by their unique entries: `forms` has a volume for each, lexicographic,
/// never multiplied by multiplicities, in scanner RAS+ axes; `order` is one of [`ORDERS`].
///
/// Results have the same bits for any number of threads, on every SIMD level that fuses
/// multiply-add, and on devices.
///
/// # Errors
/// [`PeaksError`] for input that has no peaks by its kind; a voxel without is marked in the status.
pub fn find_peaks(
    forms: &dyn SignalSource,
    mask: &Mask,
    order: usize,
    options: &PeakOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Peaks, PeaksError> {
    find(forms, mask, order, None, options, on, progress)
}

/// The maxima of functions on the sphere given by even spherical harmonics in `basis` up to degree
/// `lmax` (one of [`ORDERS`]), one volume for each coefficient, in scanner RAS+ axes.
///
/// # Errors
/// As [`find_peaks`].
pub fn find_peaks_sh(
    harmonics: &dyn SignalSource,
    mask: &Mask,
    lmax: usize,
    basis: ShBasis,
    options: &PeakOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Peaks, PeaksError> {
    find(harmonics, mask, lmax, Some(basis), options, on, progress)
}

fn find(
    source: &dyn SignalSource,
    mask: &Mask,
    order: usize,
    basis: Option<ShBasis>,
    options: &PeakOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Peaks, PeaksError> {
    let start = Instant::now();
    if !ORDERS.contains(&order) {
        return Err(PeaksError::Order { order });
    }
    let (expected, volumes) = (entries(order), source.n_volumes());
    if volumes != expected {
        return Err(PeaksError::VolumeCount { order, expected, volumes });
    }
    options.check()?;
    let grid = source.grid();
    grid.check_same(&mask.grid, "the mask")?;
    let from_sh = basis.map(|basis| ShToForm::new(basis, order)).transpose()?;
    let from_sh = from_sh.map(|convert| Matrix::new(expected, convert.form_from_sh()));
    let plan = Plan::new(order, from_sh, options, TILE);

    let n_peaks = options.n_peaks;
    let mut images = [3 * n_peaks, n_peaks, 1, 1].map(|volumes| Image::zeros(*grid, volumes));
    if mask.len() < grid.len() {
        on.workers.install(|| {
            images[..2].iter_mut().for_each(|image| {
                image.data.par_chunks_mut(1 << 16).for_each(|part| part.fill(f32::NAN));
            });
        });
    }
    progress.start("finding peaks", mask.len() as u64);
    let mut blocks = MaskBlock::cut(images.iter_mut(), mask, BLOCK);
    let job = Job { source, plan: &plan, progress };
    let (counts, shares) = if on.devices.is_empty() {
        (job.on_cpu(on.workers, &mut blocks)?, Shares { devices: Vec::new(), cpu: 1 })
    } else {
        job.on_devices(on, blocks)?
    };
    let [peaks, values, count, status] = images;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Peaks { peaks, values, count, status, counts, shares, seconds })
}

/// What every block needs.
pub(super) struct Job<'a> {
    pub(super) source: &'a dyn SignalSource,
    pub(super) plan: &'a Plan,
    pub(super) progress: &'a dyn Progress,
}

impl Job<'_> {
    pub(super) fn on_cpu(
        &self,
        workers: &Workers,
        blocks: &mut [MaskBlock<'_>],
    ) -> Result<PeakCounts, PeaksError> {
        let level = workers.simd();
        workers.install(|| {
            blocks
                .par_iter_mut()
                .map(|block| {
                    self.progress.check()?;
                    let counts = self.block(level, block);
                    self.progress.advance(block.voxels.len() as u64);
                    Ok(counts)
                })
                .try_reduce(PeakCounts::default, |a, b| Ok(a.merged(b)))
        })
    }

    fn block(&self, level: SimdLevel, block: &mut MaskBlock<'_>) -> PeakCounts {
        let plan = self.plan;
        let mut scratch = Scratch::new(plan, self.source.n_volumes());
        let mut rows = vec![0.0; plan.n_rows() * TILE];
        let mut counts = PeakCounts::default();
        for (offset, tile) in (0..).step_by(TILE).zip(block.voxels.chunks(TILE)) {
            let n = tile.len();
            if n < TILE {
                // Nothing of the tile before shall be searched again.
                scratch.input.fill(0.0);
            }
            self.source.gather(tile, TILE, &mut scratch.input);
            self.tile(level, &mut scratch, n, &mut rows);
            counts = counts.merged(self.count(n, TILE, &rows));
            block.store(offset, n, TILE, &rows);
        }
        counts
    }

    fn tile(&self, level: SimdLevel, scratch: &mut Scratch, n: usize, rows: &mut [f32]) {
        let plan = self.plan;
        match plan.order {
            4 => level.run(FindTile { plan, scratch, n, rows, form: PhantomData::<Order4> }),
            6 => level.run(FindTile { plan, scratch, n, rows, form: PhantomData::<Order6> }),
            8 => level.run(FindTile { plan, scratch, n, rows, form: PhantomData::<Order8> }),
            10 => level.run(FindTile { plan, scratch, n, rows, form: PhantomData::<Order10> }),
            // No other is taken.
            _ => level.run(FindTile { plan, scratch, n, rows, form: PhantomData::<Order12> }),
        }
    }

    /// What `n` voxels of `rows`, `[row][stride]`, add to the counts.
    pub(super) fn count(&self, n: usize, stride: usize, rows: &[f32]) -> PeakCounts {
        let first = 4 * self.plan.selection.n_peaks * stride;
        let mut counts = PeakCounts::default();
        for (&peaks, &status) in rows[first..][..n].iter().zip(&rows[first + stride..][..n]) {
            counts.peaks += peaks as u64;
            counts.by_status[status as usize] += 1;
        }
        counts
    }
}
