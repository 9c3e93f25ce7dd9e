//! Samples the voxels of a mask.

use std::time::Instant;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{Shares, run_chunks};
use fimbria_compute::{Backend, Interrupted, Progress};
use fimbria_image::gradients::GradientDeviation;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, GradientTable, GridMismatch, Image, Mask, SignalSource};
use fimbria_models::dti::DtiError;
use fimbria_models::{FittedMap, MapSpec, Status, StatusCounts};
use rayon::prelude::*;

use crate::batch::{BatchRows, Recorded};
use crate::device::DeviceSampler;
use crate::lanes::{self, Constants};
use crate::protocol::Protocol;
use crate::slots;
use crate::start::{StartError, Starter};
use crate::summary::{Scalars, VoxelSamples};
use crate::{BadOption, Diffusivity, Noise, Offset, SticksOptions};

/// Voxels that a thread takes at a time: a few registers of lanes, so that all threads finish
/// together.
const TILE: usize = 64;
/// Voxels of a chunk: what a device takes at a time, and what is kept where work is resumed.
pub const CHUNK: usize = 16_384;

/// Why nothing was sampled.
#[derive(Debug, thiserror::Error)]
pub enum SticksError {
    /// An option that makes no sense.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// Gradient table and series differ.
    #[error("{series} volumes, but {table} entries in the gradient table")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the table.
        table: usize,
    },
    /// Fewer measurements than parameters.
    #[error("{measurements} volumes cannot determine {parameters} parameters; sample fewer fibres")]
    TooFew {
        /// Volumes.
        measurements: usize,
        /// Parameters of a voxel.
        parameters: usize,
    },
    /// The start needs a tensor, and the table determines none.
    #[error("a tensor, where chains start, cannot be fitted: {0}")]
    Tensor(#[from] DtiError),
    /// The mask or the gradient deviation lies on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A gradient deviation has nine volumes.
    #[error("the gradient deviation has {0} volumes; it must have 9")]
    Deviation(usize),
    /// The mask has no voxel.
    #[error("the mask is empty")]
    EmptyMask,
    /// There is not enough memory for the samples.
    #[error("{samples} samples of {fibres} fibres in {voxels} voxels do not fit into memory")]
    Memory {
        /// Samples of a voxel.
        samples: usize,
        /// Fibres.
        fibres: usize,
        /// Voxels.
        voxels: usize,
    },
    /// A start could not be computed.
    #[error("no start for the chains: {0}")]
    Start(String),
    /// Finished chunks could not be kept.
    #[error(transparent)]
    Keep(#[from] std::io::Error),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<StartError> for SticksError {
    fn from(error: StartError) -> Self {
        Self::Start(error.to_string())
    }
}

/// What was sampled.
pub struct Sampled {
    /// The sticks, directions in scanner axes.
    pub sticks: StickSamples,
    /// Maps of the other parameters, of convergence, and the status last.
    pub maps: Vec<FittedMap>,
    /// What became of the voxels.
    pub counts: StatusCounts,
    /// Who did how many chunks.
    pub shares: Shares,
    /// Time taken.
    pub seconds: f64,
}

/// Finished chunks of an earlier run, and a place for those of this one.
pub trait Keeper: Sync {
    /// The results of a chunk, if an earlier run finished it.
    fn kept(&self, chunk: usize) -> Option<Vec<u8>>;

    /// Keeps the results of a chunk.
    ///
    /// # Errors
    /// Where they cannot be written.
    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()>;
}

/// Samples the posterior of every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`; `deviation`, where given, has nine volumes in
/// the order and frame of FSL's `grad_dev`. The samples depend on options and seed, on the voxel's
/// signals and on its place in the grid only: not on threads, chunks, mask, nor on who computes
/// them as long as it fuses multiply-add (AVX2, AVX-512, NEON, devices). `keeper` keeps finished
/// chunks, so that interrupted work can be taken up.
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
    let sampler = Sampler {
        signals,
        deviation,
        options,
        constants: Constants::new(options, &protocol),
        starter: Starter::new(options, &protocol, gradients, on.workers)?,
        n_samples: options.n_samples(),
    };
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
    let kept = std::sync::Mutex::new(Ok(()));
    let shares = run_chunks(
        on.devices,
        &mut chunks,
        |device, chunk| {
            sampler.on_device(device, chunk, on, progress)?;
            if let Err(error) = finish(chunk) {
                *kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Err(error);
            }
            Ok(())
        },
        |chunk| {
            sampler.on_cpu(chunk, on, progress)?;
            Ok::<(), SticksError>(finish(chunk)?)
        },
        progress,
    )?;
    kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)?;
    let (maps, counts) = maps(mask, &scalars, options);
    Ok(Sampled { sticks, maps, counts, shares, seconds: start.elapsed().as_secs_f64() })
}

fn check(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    deviation: Option<&Image>,
    options: &SticksOptions,
) -> Result<(), SticksError> {
    options.check()?;
    let (series, table) = (signals.n_volumes(), gradients.len());
    if series != table {
        return Err(SticksError::VolumeCount { series, table });
    }
    let parameters = slots::sampled(options).len();
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

/// What is known of a voxel beside its sticks.
#[derive(Clone, Copy, Debug)]
struct VoxelResult {
    scalars: Scalars,
    acceptance: f32,
    status: Status,
}

impl VoxelResult {
    fn without_samples(status: Status) -> Self {
        Self { scalars: Scalars::default(), acceptance: 0.0, status }
    }
}

/// Voxels in a row of the mask and the places of their results.
struct Chunk<'a> {
    index: usize,
    voxels: &'a [u32],
    sticks: &'a mut [PackedStick],
    results: &'a mut [VoxelResult],
}

/// Numbers that [`Chunk::bytes`] keeps of a voxel beside its sticks.
const KEPT: usize = 10;

impl VoxelResult {
    fn to_numbers(self) -> [f32; KEPT] {
        let s = self.scalars;
        [
            s.d,
            s.d_deviation,
            s.s0,
            s.spread,
            s.ratio,
            s.offset,
            s.precision,
            s.effective,
            self.acceptance,
            self.status.code(),
        ]
    }

    fn from_numbers(n: [f32; KEPT]) -> Self {
        let [d, d_deviation, s0, spread, ratio, offset, precision, effective, acceptance, status] =
            n;
        let scalars = Scalars { d, d_deviation, s0, spread, ratio, offset, precision, effective };
        Self { scalars, acceptance, status: Status::from_code(status) }
    }
}

impl Chunk<'_> {
    /// The results as bytes: sticks, then ten numbers per voxel.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = bytemuck::cast_slice::<_, u8>(self.sticks).to_vec();
        for result in self.results.iter() {
            bytes.extend_from_slice(bytemuck::cast_slice(&result.to_numbers()));
        }
        bytes
    }

    /// Takes results from [`bytes`](Self::bytes); false where they are not of this chunk's size.
    fn restore(&mut self, bytes: &[u8]) -> bool {
        let sticks = size_of_val(&*self.sticks);
        let per_voxel = KEPT * size_of::<f32>();
        if bytes.len() != sticks + self.results.len() * per_voxel {
            return false;
        }
        let (of_sticks, of_voxels) = bytes.split_at(sticks);
        bytemuck::cast_slice_mut::<_, u8>(self.sticks).copy_from_slice(of_sticks);
        for (result, bytes) in self.results.iter_mut().zip(of_voxels.chunks_exact(per_voxel)) {
            let mut numbers = [0.0; KEPT];
            bytemuck::cast_slice_mut::<f32, u8>(&mut numbers).copy_from_slice(bytes);
            *result = VoxelResult::from_numbers(numbers);
        }
        true
    }
}

/// All that a voxel's samples depend on.
struct Sampler<'a> {
    signals: &'a dyn SignalSource,
    deviation: Option<&'a Image>,
    options: &'a SticksOptions,
    constants: Constants,
    starter: Starter<'a>,
    n_samples: usize,
}

impl Sampler<'_> {
    /// Signals, deviations and starts of some voxels.
    fn prepare(&self, voxels: &[u32]) -> Result<(BatchRows, Vec<(Status, f32)>), SticksError> {
        let mut rows = BatchRows::new(voxels.len(), self.constants.n, self.deviation.is_some());
        rows.items[..voxels.len()].copy_from_slice(voxels);
        self.signals.gather(voxels, rows.stride, &mut rows.y);
        if let (Some(image), Some(bend)) = (self.deviation, &mut rows.bend) {
            let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
            for (lane, &voxel) in voxels.iter().enumerate() {
                let sample = |volume| f64::from(image.volume(volume)[voxel as usize]);
                let deviation = GradientDeviation::from_fsl(std::array::from_fn(sample), &turn);
                for (k, entry) in deviation.matrix_ras().as_flattened().iter().enumerate() {
                    bend[k * rows.stride + lane] = *entry as f32;
                }
            }
        }
        let started = self.starter.start(&mut rows)?;
        Ok((rows, started))
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
        let per_voxel = self.n_samples * self.options.n_fibres;
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
            voxel.pack(&mut sticks[lane * per_voxel..][..per_voxel]);
            let acceptance = recorded.acceptance[lane];
            results[lane] = VoxelResult { scalars: voxel.scalars(scale), acceptance, status };
        }
    }

    fn on_cpu(
        &self,
        chunk: &mut Chunk<'_>,
        on: &Backend<'_>,
        progress: &dyn Progress,
    ) -> Result<(), SticksError> {
        let per_voxel = self.n_samples * self.options.n_fibres;
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
                    lanes::sample(&rows.batch(), &self.constants, simd, &mut recorded);
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
        let per_voxel = self.n_samples * self.options.n_fibres;
        let most = sampler.most_voxels(self.n_samples).min(CHUNK);
        let parts = chunk
            .voxels
            .chunks(most)
            .zip(chunk.sticks.chunks_mut(most * per_voxel))
            .zip(chunk.results.chunks_mut(most));
        for ((voxels, sticks), results) in parts {
            let prepared = on.workers.install(|| self.prepare_all(voxels));
            let (rows, started) = prepared.map_err(|error| DeviceError::Runtime {
                device: device.info().name.clone(),
                call: "starts of chains",
                detail: error.to_string(),
            })?;
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
            progress.advance(voxels.len() as u64);
        }
        Ok(())
    }

    /// As [`prepare`](Self::prepare), tile by tile on all threads.
    fn prepare_all(&self, voxels: &[u32]) -> Result<(BatchRows, Vec<(Status, f32)>), SticksError> {
        let tiles: Vec<_> = voxels
            .par_chunks(TILE)
            .map(|tile| self.prepare(tile))
            .collect::<Result<_, SticksError>>()?;
        let mut rows = BatchRows::new(voxels.len(), self.constants.n, self.deviation.is_some());
        let mut started = Vec::with_capacity(voxels.len());
        for (tile, (part, of_part)) in tiles.into_iter().enumerate() {
            rows.place(tile * TILE, &part);
            started.extend(of_part);
        }
        rows.pad();
        Ok((rows, started))
    }
}

/// The maps of all voxels, and what became of them.
fn maps(
    mask: &Mask,
    results: &[VoxelResult],
    options: &SticksOptions,
) -> (Vec<FittedMap>, StatusCounts) {
    let map = |spec: MapSpec, value: &(dyn Fn(&VoxelResult) -> f32 + Sync)| {
        let mut image = Image::zeros(mask.grid, 1);
        for (&voxel, result) in mask.voxels.iter().zip(results) {
            image.data[voxel as usize] = value(result);
        }
        FittedMap { spec, image }
    };
    let mut counts = StatusCounts::default();
    for result in results {
        counts.add(result.status);
    }
    let mut all = vec![
        map(
            MapSpec::scalar("mean_dsamples", "mm^2/s", "mean diffusivity of the samples, mm²/s"),
            &|r| r.scalars.d,
        ),
        map(
            MapSpec::scalar("std_dsamples", "mm^2/s", "standard deviation of the same, mm²/s"),
            &|r| r.scalars.d_deviation,
        ),
        map(MapSpec::scalar("mean_S0samples", "arbitrary", "mean S0, input units"), &|r| {
            r.scalars.s0
        }),
    ];
    if options.diffusivity != Diffusivity::Single {
        all.push(map(
            MapSpec::scalar("mean_d_stdsamples", "mm^2/s", "mean spread of diffusivities, mm²/s"),
            &|r| r.scalars.spread,
        ));
    }
    if options.diffusivity == Diffusivity::Zeppelin {
        all.push(map(
            MapSpec::scalar("mean_Rsamples", "", "mean ratio of diffusivity across to along"),
            &|r| r.scalars.ratio,
        ));
    }
    if options.offset != Offset::None {
        all.push(map(
            MapSpec::scalar("mean_f0samples", "", "mean fraction without attenuation"),
            &|r| r.scalars.offset,
        ));
    }
    if options.noise == Noise::Rician {
        all.push(map(
            MapSpec::scalar("mean_tausamples", "", "mean 1/variance of the noise, input units"),
            &|r| r.scalars.precision,
        ));
    }
    all.push(map(
        MapSpec::scalar("acceptance", "", "share of proposals after burn-in that were taken"),
        &|r| r.acceptance,
    ));
    all.push(map(
        MapSpec::scalar(
            "effective_samples",
            "",
            "least effective number of samples of S0, d and the fraction of the first fibre",
        ),
        &|r| r.scalars.effective,
    ));
    all.push(map(MapSpec::status(), &|r| r.status.code()));
    (all, counts)
}
