//! The terms of a whole image.

use std::marker::PhantomData;
use std::time::Instant;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress, SimdLevel};
use fimbria_image::{Image, Mask, MaskBlock, SignalSource};
use rayon::prelude::*;

use super::super::find::{Job, ORDERS};
use super::super::matrix::Matrix;
use super::super::tile::{Plan, entries};
use super::super::{PeakCounts, PeakOptions, Peaks, PeaksError};
use super::Fibre;
use super::tile::{DecomposeTile, MAX_TERMS, Scratch};
use crate::sh::ShBasis;
use crate::unrolled::{Order4, Order6, Order8, Order10, Order12};

/// Voxels of one task.
const BLOCK: usize = 1024;
/// Voxels that are worked on together.
const TILE: usize = 256;

/// The rank-one terms of the forms in an image, at most `options.n_peaks` (up to 6) in each voxel,
/// in the place of [`Peaks`]: direction times λ, largest first.
///
/// `forms` has a volume for each unique entry of a form of one of [`ORDERS`], in scanner RAS+ axes;
/// or, with `basis`, for each spherical harmonic of even degree up to that order. `fibre` says what
/// a single fibre looks like there. One more term is taken only where all are as large as the relative
/// threshold asks and none are nearer to each other than the separation: otherwise it would split a
/// fibre or explain noise. `options.tolerance` is that of each climb. A voxel whose search
/// has not settled is marked [`Uncertain`](super::super::PeakStatus::Uncertain); its terms are the
/// last ones. Runs on the threads of `on`; results do not depend on their number.
///
/// # Errors
/// [`PeaksError`] for input that has no terms by its kind; a voxel without is marked in the status.
pub fn find_low_rank(
    forms: &dyn SignalSource,
    mask: &Mask,
    order: usize,
    basis: Option<ShBasis>,
    fibre: Fibre,
    options: &PeakOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Peaks, PeaksError> {
    let start = Instant::now();
    if !ORDERS.contains(&order) {
        return Err(PeaksError::Order { order });
    }
    let (expected, volumes) = (entries(order), forms.n_volumes());
    if volumes != expected {
        return Err(PeaksError::VolumeCount { order, expected, volumes });
    }
    options.check()?;
    let rank = options.n_peaks;
    if rank > MAX_TERMS {
        let (name, value) = ("the number of rank-one terms", rank as f64);
        return Err(PeaksError::Option { name, value, range: "from 1 to 6" });
    }
    let grid = forms.grid();
    grid.check_same(&mask.grid, "the mask")?;
    if !on.devices.is_empty() {
        progress.warn("rank-one terms are found on the CPU only; devices are not used");
    }
    let from_sh = fibre.to_form(order, basis)?.map(|matrix| Matrix::new(expected, &matrix));
    let plan = Plan::new(order, from_sh, options, TILE);

    let mut images = [3 * rank, rank, 1, 1].map(|volumes| Image::zeros(*grid, volumes));
    if mask.len() < grid.len() {
        images[..2].iter_mut().for_each(|image| image.data.fill(f32::NAN));
    }
    progress.start("finding rank-one terms", mask.len() as u64);
    let job = Job { source: forms, plan: &plan, progress };
    let level = on.workers.simd();
    let mut blocks = MaskBlock::cut(images.iter_mut(), mask, BLOCK);
    let counts = on.workers.install(|| {
        blocks
            .par_iter_mut()
            .map(|block| {
                progress.check()?;
                let counts = decompose_block(&job, level, block);
                progress.advance(block.voxels.len() as u64);
                Ok::<_, PeaksError>(counts)
            })
            .try_reduce(PeakCounts::default, |a, b| Ok(a.merged(b)))
    })?;
    let shares = Shares { devices: vec![0; on.devices.len()], cpu: 1 };
    let [peaks, values, count, status] = images;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Peaks { peaks, values, count, status, counts, shares, seconds })
}

fn decompose_block(job: &Job<'_>, level: SimdLevel, block: &mut MaskBlock<'_>) -> PeakCounts {
    let (forms, plan) = (job.source, job.plan);
    let mut scratch = Scratch::new(plan, forms.n_volumes());
    let mut rows = vec![0.0; plan.n_rows() * TILE];
    let mut counts = PeakCounts::default();
    for (offset, tile) in (0..).step_by(TILE).zip(block.voxels.chunks(TILE)) {
        let n = tile.len();
        if n < TILE {
            // Nothing of the tile before shall be decomposed again.
            scratch.input.fill(0.0);
        }
        forms.gather(tile, TILE, &mut scratch.input);
        let (scratch, rows) = (&mut scratch, &mut rows[..]);
        match plan.order {
            4 => level.run(DecomposeTile { plan, scratch, n, rows, form: PhantomData::<Order4> }),
            6 => level.run(DecomposeTile { plan, scratch, n, rows, form: PhantomData::<Order6> }),
            8 => level.run(DecomposeTile { plan, scratch, n, rows, form: PhantomData::<Order8> }),
            10 => level.run(DecomposeTile { plan, scratch, n, rows, form: PhantomData::<Order10> }),
            // No other is taken.
            _ => level.run(DecomposeTile { plan, scratch, n, rows, form: PhantomData::<Order12> }),
        }
        counts = counts.merged(job.count(n, TILE, rows));
        block.store(offset, n, TILE, rows);
    }
    counts
}
