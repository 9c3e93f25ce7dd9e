//! Beside what the sampler is measured: the oracle as a plain program would use it; and where the
//! sampler's own time goes.

use fimbria_compute::Workers;
use fimbria_image::sticks::StickSamples;
use fimbria_image::{GradientTable, Mask, SignalSource, Status};

use crate::lanes::{self, JumpTime};
use crate::oracle::{Chain, Posterior, Voxel};
use crate::protocol::Protocol;
use crate::sampler::Sampler;
use crate::slots::MOST;
use crate::summary::VoxelSamples;
use crate::{SticksError, SticksOptions};

/// As [`sample`](crate::sample), by the oracle: scalar `f64`, a voxel and a proposal after the
/// other, every signal computed anew. Gradients are nominal.
///
/// # Errors
/// [`SticksError`] where the chains cannot start.
pub fn sample_slowly(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &SticksOptions,
    workers: &Workers,
) -> Result<StickSamples, SticksError> {
    let protocol = Protocol::new(gradients);
    let sampler = Sampler::new(signals, gradients, None, options, &protocol, workers)?;
    let (n_samples, voxels) = (options.n_samples(), mask.len());
    let mut all = StickSamples::empty(mask.clone(), options.n_fibres, n_samples)
        .ok_or(SticksError::Memory { samples: n_samples, fibres: options.n_fibres, voxels })?;
    let (rows, started) = sampler.prepare(&mask.voxels)?;
    let sampled = &sampler.constants.sampled;
    let per_voxel = all.voxel_len();
    for (lane, (status, _)) in started.iter().enumerate() {
        if *status != Status::Fitted {
            continue;
        }
        let column = |rows: &[f32], stride: usize| -> Vec<f64> {
            rows.iter().skip(lane).step_by(stride).map(|&x| f64::from(x)).collect()
        };
        let (y, start) = (column(&rows.y, rows.stride), column(&rows.starts, rows.stride));
        let mut chain = Chain::new(Voxel {
            posterior: Posterior { options, protocol: &protocol, y: &y, bend: None },
            item: u64::from(mask.voxels[lane]),
            start: std::array::from_fn::<_, MOST, _>(|slot| start[slot]),
        });
        (0..options.burn_in).for_each(|_| chain.jump());
        let mut values = Vec::with_capacity(n_samples * sampled.len());
        for _ in 0..n_samples {
            (0..options.sample_every).for_each(|_| chain.jump());
            values.extend(sampled.iter().map(|&slot| chain.p[slot] as f32));
        }
        let voxel = VoxelSamples { sampled, values: &values };
        voxel.pack(&mut all.sticks[lane * per_voxel..][..per_voxel]);
    }
    Ok(all)
}

/// Where the time of a jump goes, on one thread, at the first voxels of `mask`.
///
/// # Errors
/// [`SticksError`] where the chains cannot start.
pub fn time_jump(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &SticksOptions,
    workers: &Workers,
) -> Result<JumpTime, SticksError> {
    if mask.is_empty() {
        return Err(SticksError::EmptyMask);
    }
    let protocol = Protocol::new(gradients);
    let sampler = Sampler::new(signals, gradients, None, options, &protocol, workers)?;
    let some = &mask.voxels[..mask.len().min(crate::batch::PADDING)];
    let (rows, _) = sampler.prepare(some)?;
    Ok(lanes::time(&rows.batch(), &sampler.constants, workers.simd()))
}
