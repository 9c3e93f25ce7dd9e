//! Chunks of voxels: prepared, sampled on threads or a device, and put in their places.

use std::io;
use std::sync::{Mutex, PoisonError};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{Shares, run_pairs};
use fimbria_compute::{Backend, Progress, Workers};
use fimbria_fitting::lm::device::DeviceFitError;
use fimbria_image::gradients::GradientDeviation;
use fimbria_image::sticks::PackedStick;
use fimbria_image::{BvecFrame, GradientTable, Image, SignalSource, Status};
use rayon::prelude::*;

use crate::batch::{BatchRows, Recorded};
use crate::chunk::{CHUNK, Chunk, TILE, VoxelResult};
use crate::device::DeviceSampler;
use crate::lanes::{self, Constants};
use crate::protocol::Protocol;
use crate::start::{Begun, Starter};
use crate::summary::VoxelSamples;
use crate::{SticksError, SticksOptions};

/// All that a voxel's samples depend on.
pub(crate) struct Sampler<'a> {
    signals: &'a dyn SignalSource,
    deviation: Option<&'a Image>,
    options: &'a SticksOptions,
    pub(crate) constants: Constants,
    starter: Starter<'a>,
    n_samples: usize,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        signals: &'a dyn SignalSource,
        gradients: &GradientTable,
        deviation: Option<&'a Image>,
        options: &'a SticksOptions,
        protocol: &'a Protocol,
        workers: &'a Workers,
    ) -> Result<Self, SticksError> {
        Ok(Self {
            signals,
            deviation,
            options,
            constants: Constants::new(options, protocol),
            starter: Starter::new(options, protocol, gradients, workers)?,
            n_samples: options.n_samples(),
        })
    }
}

impl Sampler<'_> {
    /// Samples `chunks` on devices and threads; each goes to `finish` as soon as it is whole.
    pub(crate) fn run(
        &self,
        chunks: &mut [Chunk<'_>],
        finish: &(dyn Fn(&Chunk<'_>) -> io::Result<()> + Sync),
        on: &Backend<'_>,
        progress: &dyn Progress,
    ) -> Result<Shares, SticksError> {
        let finished = Mutex::new(Ok(()));
        let finished_so_far = || finished.lock().unwrap_or_else(PoisonError::into_inner);
        let shares = run_pairs(
            on.devices,
            chunks,
            |device, chunk| {
                // Once a chunk could not be kept, all others go by: what they come to is not used.
                if finished_so_far().is_ok() {
                    self.on_device(device, chunk, on, progress)?;
                    // One after the other: of several in hand none is kept after one that could not be.
                    let mut finished = finished_so_far();
                    if finished.is_ok() {
                        *finished = finish(chunk);
                    }
                }
                Ok(())
            },
            |chunk| {
                self.on_cpu(chunk, on, progress)?;
                Ok::<(), SticksError>(finish(chunk)?)
            },
            progress,
        )?;
        finished.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        Ok(shares)
    }

    /// Sticks of a voxel.
    pub(crate) fn per_voxel(&self) -> usize {
        self.n_samples * self.options.n_fibres
    }

    /// Signals, deviations and starts of some voxels, the status of each and its scale.
    pub(crate) fn prepare(
        &self,
        voxels: &[u32],
    ) -> Result<(BatchRows, Vec<(Status, f32)>), SticksError> {
        let (mut rows, begun) = self.begin(voxels)?;
        self.starter.end_on_lanes(&begun, &mut rows)?;
        Ok((rows, begun.scaled))
    }

    /// Signals and deviations of some voxels, and where the fits of their starts begin.
    fn begin(&self, voxels: &[u32]) -> Result<(BatchRows, Begun), SticksError> {
        let mut rows = BatchRows::new(voxels.len(), self.constants.n, self.deviation.is_some());
        rows.items[..voxels.len()].copy_from_slice(voxels);
        self.signals.gather(voxels, rows.stride, &mut rows.y);
        let mut without_gradients = Vec::new();
        if let (Some(image), Some(bend)) = (self.deviation, &mut rows.bend) {
            let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
            let none = GradientDeviation::from_fsl([0.0; 9], &turn);
            for (lane, &voxel) in voxels.iter().enumerate() {
                let sample = |volume| f64::from(image.volume(volume)[voxel as usize]);
                let deviation = GradientDeviation::from_fsl(std::array::from_fn(sample), &turn);
                if deviation.is_none() {
                    without_gradients.push(lane);
                }
                let Some(deviation) = deviation.or(none) else { continue };
                for (k, entry) in deviation.matrix_ras().as_flattened().iter().enumerate() {
                    bend[k * rows.stride + lane] = *entry as f32;
                }
            }
        }
        let mut begun = self.starter.begin(&mut rows)?;
        for lane in without_gradients {
            if begun.scaled[lane].0 == Status::Fitted {
                begun.scaled[lane].0 = Status::Singular;
            }
        }
        Ok((rows, begun))
    }

    fn recorded(&self, stride: usize) -> Recorded {
        Recorded::new(self.n_samples, self.constants.sampled.len(), stride)
    }

    /// Puts the samples of `started.len()` lanes in their places.
    fn finish(
        &self,
        recorded: &Recorded,
        started: &[(Status, f32)],
        sticks: &mut [PackedStick],
        results: &mut [VoxelResult],
    ) {
        let stride = recorded.stride;
        let per_voxel = self.per_voxel();
        let mut values = vec![0.0; recorded.samples.len() / stride];
        for (lane, &(status, scale)) in started.iter().enumerate() {
            if status != Status::Fitted {
                results[lane] = VoxelResult::without_samples(status);
                continue;
            }
            for (value, row) in values.iter_mut().zip(recorded.samples.chunks_exact(stride)) {
                *value = row[lane];
            }
            let voxel = VoxelSamples { sampled: &self.constants.sampled, values: &values };
            let scalars = voxel.scalars(scale);
            if !scalars.are_finite() {
                results[lane] = VoxelResult::without_samples(Status::BadSignal);
                continue;
            }
            voxel.pack(&mut sticks[lane * per_voxel..][..per_voxel]);
            let acceptance = recorded.acceptance[lane];
            results[lane] = VoxelResult { scalars, acceptance, status };
        }
    }

    fn on_cpu(
        &self,
        chunk: &mut Chunk<'_>,
        on: &Backend<'_>,
        progress: &dyn Progress,
    ) -> Result<(), SticksError> {
        let per_voxel = self.per_voxel();
        let simd = on.workers.simd();
        on.workers.install(|| {
            chunk
                .voxels
                .par_chunks(TILE)
                .zip(chunk.sticks.par_chunks_mut(TILE * per_voxel))
                .zip(chunk.results.par_chunks_mut(TILE))
                .try_for_each(|((voxels, sticks), results)| {
                    progress.check()?;
                    let (rows, started) = self.prepare(voxels)?;
                    let mut recorded = self.recorded(rows.stride);
                    let stops = || progress.is_cancelled();
                    lanes::sample(&rows.batch(), &self.constants, simd, &mut recorded, &stops);
                    progress.check()?;
                    self.finish(&recorded, &started, sticks, results);
                    progress.advance(voxels.len() as u64);
                    Ok(())
                })
        })
    }

    fn on_device(
        &self,
        device: &Device,
        chunk: &mut Chunk<'_>,
        on: &Backend<'_>,
        progress: &dyn Progress,
    ) -> Result<(), DeviceError> {
        let sampler = DeviceSampler::new(device, &self.constants, self.deviation.is_some())?;
        let per_voxel = self.per_voxel();
        let most = sampler.most_voxels(self.n_samples, self.starter.rows_on_device()).min(CHUNK);
        let parts = chunk
            .voxels
            .chunks(most)
            .zip(chunk.sticks.chunks_mut(most * per_voxel))
            .zip(chunk.results.chunks_mut(most));
        for ((voxels, sticks), results) in parts {
            let (rows, started) = self.prepare_on(device, voxels, on.workers)?;
            let mut recorded = self.recorded(rows.stride);
            sampler.sample(&rows.batch(), &mut recorded)?;
            on.workers.install(|| {
                let lanes = started.par_chunks(TILE).enumerate();
                lanes
                    .zip(sticks.par_chunks_mut(TILE * per_voxel))
                    .zip(results.par_chunks_mut(TILE))
                    .for_each(|(((tile, started), sticks), results)| {
                        let part = recorded.part(tile * TILE, started.len());
                        self.finish(&part, started, sticks, results);
                    });
            });
            device.stored();
            progress.advance(voxels.len() as u64);
        }
        Ok(())
    }

    /// As [`prepare`](Self::prepare), fits by the device and the rest tile by tile on all threads.
    fn prepare_on(
        &self,
        device: &Device,
        voxels: &[u32],
        workers: &Workers,
    ) -> Result<(BatchRows, Vec<(Status, f32)>), DeviceError> {
        let failed = |detail: String| DeviceError::Runtime {
            device: device.info().name.clone(),
            call: "starts of chains",
            detail,
        };
        let tiles: Result<Vec<_>, SticksError> =
            workers.install(|| voxels.par_chunks(TILE).map(|tile| self.begin(tile)).collect());
        let tiles = tiles.map_err(|error| failed(error.to_string()))?;
        let mut rows = BatchRows::new(voxels.len(), self.constants.n, self.deviation.is_some());
        let mut begun = Begun::default();
        for (tile, (part, of_part)) in tiles.into_iter().enumerate() {
            rows.place(tile * TILE, &part);
            begun.append(of_part);
        }
        rows.pad();
        self.starter.end_on_device(&begun, &mut rows, device).map_err(|error| match error {
            DeviceFitError::Device(error) => error,
            DeviceFitError::Problems(error) => failed(error.to_string()),
        })?;
        Ok((rows, begun.scaled))
    }
}
