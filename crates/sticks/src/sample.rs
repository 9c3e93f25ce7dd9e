//! Samples the voxels of a mask.

use std::time::Instant;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress};
use fimbria_image::sticks::StickSamples;
use fimbria_image::{GradientTable, Image, Mask, SignalSource, Status, StatusCounts};
use fimbria_models::FittedMap;
use fimbria_models::ProtocolError;

use crate::chunk::{CHUNK, Chunk, Keeper, VoxelResult};
use crate::maps::maps;
use crate::protocol::Protocol;
use crate::rounds;
use crate::sampler::Sampler;
use crate::slots;
use crate::{SticksError, SticksOptions};

/// What was sampled.
pub struct Sampled {
    /// The sticks, directions in scanner axes.
    pub sticks: StickSamples,
    /// Maps of the other parameters, of convergence, and the status last.
    pub maps: Vec<FittedMap>,
    /// What became of the voxels.
    pub counts: StatusCounts,
    /// Which of this process's devices did how many chunks or, of several processes, parts of them.
    pub shares: Shares,
    /// Time taken.
    pub seconds: f64,
}

/// Samples the posterior of every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`; `deviation`, where given, has nine volumes in
/// the order and frame of FSL's `grad_dev`. The samples depend on options and seed, on the voxel's
/// signals and on its place in the grid only: not on threads, chunks, mask, nor on who computes
/// them as long as it fuses multiply-add (AVX2, AVX-512, NEON, devices). `keeper` keeps finished
/// chunks, so that interrupted work can be taken up.
///
/// Of several processes (`on.comm`) this is what the first does, and all others [`sample_along`]: they
/// share the voxels, and what they sampled comes here, with the bits that one process makes.
///
/// # Errors
/// [`SticksError`] for input that cannot be sampled; a voxel that cannot be is marked in the status
/// map, and its sticks have no direction.
pub fn sample(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    deviation: Option<&Image>,
    options: &SticksOptions,
    keeper: Option<&dyn Keeper>,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Sampled, SticksError> {
    let start = Instant::now();
    check(signals, mask, gradients, deviation, options)?;
    let protocol = Protocol::new(gradients);
    let sampler = Sampler::new(signals, gradients, deviation, options, &protocol, on.workers)?;
    let (n_fibres, n_samples, voxels) = (options.n_fibres, options.n_samples(), mask.len());
    let memory = || SticksError::Memory { samples: n_samples, fibres: n_fibres, voxels };
    let mut sticks = StickSamples::empty(mask.clone(), n_fibres, n_samples).ok_or_else(memory)?;
    let mut scalars = vec![VoxelResult::without_samples(Status::Outside); voxels];

    progress.start("sampling sticks", voxels as u64);
    let mut chunks: Vec<Chunk<'_>> = mask
        .voxels
        .chunks(CHUNK)
        .zip(sticks.sticks.chunks_mut(CHUNK * n_fibres * n_samples))
        .zip(scalars.chunks_mut(CHUNK))
        .enumerate()
        .map(|(index, ((voxels, sticks), results))| Chunk { index, voxels, sticks, results })
        .collect();
    if let Some(keeper) = keeper {
        for chunk in &mut chunks {
            if keeper.kept(chunk.index).is_some_and(|kept| chunk.restore(&kept)) {
                progress.advance(chunk.voxels.len() as u64);
                chunk.voxels = &[];
            }
        }
        chunks.retain(|chunk| !chunk.voxels.is_empty());
    }
    let finish = |chunk: &Chunk<'_>| match keeper {
        Some(keeper) => keeper.keep(chunk.index, &chunk.bytes()),
        None => Ok(()),
    };
    let shares = if on.comm.size() == 1 {
        sampler.run(&mut chunks, &finish, on, progress)?
    } else {
        rounds::as_first(&sampler, mask, &mut chunks, &finish, on, progress)?
    };
    let (maps, counts) = maps(mask, &scalars, options);
    Ok(Sampled { sticks, maps, counts, shares, seconds: start.elapsed().as_secs_f64() })
}

/// What every process but the first does while that one [`sample`]s: samples its part, hands it over,
/// and keeps nothing. All must be given the same input.
///
/// # Errors
/// As [`sample`].
pub fn sample_along(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    deviation: Option<&Image>,
    options: &SticksOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(), SticksError> {
    check(signals, mask, gradients, deviation, options)?;
    let protocol = Protocol::new(gradients);
    let sampler = Sampler::new(signals, gradients, deviation, options, &protocol, on.workers)?;
    progress.start("sampling sticks", mask.len() as u64);
    rounds::as_another(&sampler, mask, on, progress)
}

fn check(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    deviation: Option<&Image>,
    options: &SticksOptions,
) -> Result<(), SticksError> {
    options.check()?;
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let parameters = slots::sampled(options).len();
    let table = gradients.len();
    if table < parameters {
        return Err(SticksError::TooFew { measurements: table, parameters });
    }
    signals.grid().check_same(&mask.grid, "the mask")?;
    if mask.is_empty() {
        return Err(SticksError::EmptyMask);
    }
    if let Some(image) = deviation {
        signals.grid().check_same(&image.grid, "the gradient deviation")?;
        if image.n_volumes != 9 {
            return Err(SticksError::Deviation(image.n_volumes));
        }
    }
    Ok(())
}
