//! Drives a tensor fit over a mask: blocks of voxels in parallel, tiles within a block.

use std::time::Instant;

use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, HostError, HostSpace, Progress, Workers};
use fimbria_image::{GradientTable, Image, Mask, SignalSource};
use rayon::prelude::*;

use super::deviation::Deviation;
use super::device::DeviceFit;
use super::layout::{Block, parameter_row};
use super::operators::{LanesFit, LanesMaps, ScalarFit, ScalarMaps, fit_voxel};
use super::{DtiError, DtiMap, DtiOptions, Precision, Problem};
use crate::{Status, StatusCounts};

/// Voxels one task takes: many enough to make the task's cost nothing, few enough that all
/// threads finish together.
pub(super) const BLOCK: usize = 4096;
/// Voxels that are fitted at a time: their samples stay in the second-level cache, and the rows
/// of 17 cache lines do not fall onto the same sets of the first.
const TILE: usize = 272;

/// The maps of a series.
#[derive(Clone, Debug)]
pub struct DtiFit {
    /// The wanted maps, in the wanted order, zero outside the mask; the status always last.
    pub maps: Vec<(DtiMap, Image)>,
    /// How many voxels met which fate.
    pub status: StatusCounts,
    /// Samples that had to be raised to have a logarithm, and in how many voxels.
    pub raised: RaisedSamples,
    /// Which part of the work each device and the CPU did, in chunks.
    pub shares: Shares,
    /// Wall time of the fit.
    pub seconds: f64,
}

impl DtiFit {
    /// One map, `None` where it was not wanted.
    pub fn map(&self, map: DtiMap) -> Option<&Image> {
        self.maps.iter().find(|(m, _)| *m == map).map(|(_, image)| image)
    }
}

/// Samples that had to be raised to have a logarithm ([`Compat`](super::Compat) says when).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaisedSamples {
    /// How many samples.
    pub samples: u64,
    /// In how many voxels.
    pub voxels: u64,
}

/// Fits a tensor in every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`. `deviation`, where given, has nine volumes
/// in the order and frame of FSL's `grad_dev` and corrects the gradients voxel by voxel. Samples
/// are read tile by tile, so that `signals` may be larger than memory. The devices of `on` do
/// linear fits in single precision; what they cannot do, or fail at, the threads do. Results have
/// the same bits for any number of threads, on every SIMD level that fuses multiply-add and on
/// devices.
///
/// # Errors
/// [`DtiError`] for input that cannot be fitted; a voxel that cannot be is marked in the status
/// map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    deviation: Option<&Image>,
    options: &DtiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<DtiFit, DtiError> {
    let start = Instant::now();
    if signals.n_volumes() != gradients.len() {
        let (series, table) = (signals.n_volumes(), gradients.len());
        return Err(DtiError::VolumeCount { series, table });
    }
    let grid = signals.grid();
    grid.check_same(&mask.grid, "the mask")?;
    let deviation = deviation.map(|image| Deviation::new(image, grid)).transpose()?;
    let problem = Problem::new(gradients, options)?;
    let mut maps = problem.layout.images(grid);
    let job = Job { signals, problem: &problem, deviation: deviation.as_ref(), progress };
    progress.start("fitting tensors", mask.len() as u64);
    let mut blocks = Block::cut(&mut maps, mask, BLOCK);
    let (tally, shares) = match options.precision {
        Precision::Single if !on.devices.is_empty() && DeviceFit::supports(&problem) => {
            job.on_devices(on, blocks)?
        }
        precision => {
            if !on.devices.is_empty() {
                progress.warn(
                    "devices fit tensors by linear least squares in single precision; this fit \
                     runs on the CPU",
                );
            }
            let workers = on.workers;
            let tally = match precision {
                Precision::Single => {
                    job.on_cpu(workers, &mut blocks, LanesFit::new, LanesMaps::new)?
                }
                Precision::Double => {
                    job.on_cpu(workers, &mut blocks, ScalarFit::new, ScalarMaps::new)?
                }
            };
            (tally, Shares { devices: vec![0; on.devices.len()], cpu: 1 })
        }
    };
    let Tally { status, raised } = tally;
    Ok(DtiFit { maps, status, raised, shares, seconds: start.elapsed().as_secs_f64() })
}

/// What every block needs.
pub(super) struct Job<'a> {
    pub(super) signals: &'a dyn SignalSource,
    pub(super) problem: &'a Problem,
    pub(super) deviation: Option<&'a Deviation<'a>>,
    pub(super) progress: &'a dyn Progress,
}

/// What a block adds to the counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) status: StatusCounts,
    pub(super) raised: RaisedSamples,
}

impl Tally {
    pub(super) fn merged(self, other: Self) -> Self {
        Self {
            status: self.status.merged(other.status),
            raised: RaisedSamples {
                samples: self.raised.samples + other.raised.samples,
                voxels: self.raised.voxels + other.raised.voxels,
            },
        }
    }
}

impl<'a> Job<'a> {
    /// All blocks on the threads of `workers`, with the operators that `fit` and `maps` make.
    pub(super) fn on_cpu<F, M>(
        &self,
        workers: &'a Workers,
        blocks: &mut [Block<'_>],
        fit: impl Fn(&'a Problem, &'a Workers, usize) -> F,
        maps: impl Fn(&'a Problem, &'a Workers, usize) -> M,
    ) -> Result<Tally, DtiError>
    where
        F: Operator<Domain = HostSpace<'a>, Range = HostSpace<'a>> + Sync,
        M: Operator<Domain = HostSpace<'a>, Range = HostSpace<'a>> + Sync,
    {
        let (fit, maps) = (fit(self.problem, workers, TILE), maps(self.problem, workers, TILE));
        workers.install(|| {
            blocks
                .par_iter_mut()
                .map(|block| {
                    self.progress.check()?;
                    let tally = self.fit_block(&fit, &maps, block)?;
                    self.progress.advance(block.voxels.len() as u64);
                    Ok(tally)
                })
                .try_reduce(Tally::default, |a, b| Ok(a.merged(b)))
        })
    }

    fn fit_block<F, M>(&self, fit: &F, maps: &M, block: &mut Block<'_>) -> Result<Tally, HostError>
    where
        F: Operator<Domain = HostSpace<'a>, Range = HostSpace<'a>>,
        M: Operator<Domain = HostSpace<'a>, Range = HostSpace<'a>>,
    {
        let mut signals = fit.domain().zeros()?;
        let mut parameters = fit.range().zeros()?;
        let mut rows = maps.range().zeros()?;
        let mut tally = Tally::default();
        let voxels = block.voxels;
        for (offset, tile) in (0..).step_by(TILE).zip(voxels.chunks(TILE)) {
            if tile.len() < TILE {
                // Nothing of the tile before shall be fitted again.
                signals.fill(0.0);
            }
            self.signals.gather(tile, TILE, &mut signals);
            fit.apply(&signals, &mut parameters)?;
            self.finish_parameters(tile, TILE, &signals, &mut parameters);
            maps.apply(&parameters, &mut rows)?;
            tally = tally.merged(self.count(tile.len(), TILE, &parameters, &rows));
            block.store(offset, tile.len(), TILE, &rows);
        }
        Ok(tally)
    }

    /// What no operator does: voxels in which `f32` came to no result, because equations are nearly
    /// singular or an iteration ends in rounding, are fitted again in `f64`, and tensors are carried from the nominal to the true gradients. True where
    /// that changed anything.
    pub(super) fn finish_parameters(
        &self,
        voxels: &[u32],
        stride: usize,
        signals: &[f32],
        parameters: &mut [f32],
    ) -> bool {
        let mut changed = self.deviation.is_some();
        let mut samples = vec![0.0; self.problem.n_volumes()];
        for lane in 0..voxels.len() {
            let at = |row: usize| row * stride + lane;
            let status = Status::from_code(parameters[at(parameter_row::STATUS)]);
            if matches!(status, Status::Singular | Status::NotConverged) {
                fit_voxel(self.problem, signals, stride, lane, &mut samples, parameters);
                changed = true;
            }
        }
        let Some(deviation) = self.deviation else { return changed };
        for (lane, &voxel) in voxels.iter().enumerate() {
            let at = |row: usize| row * stride + lane;
            let nominal =
                std::array::from_fn(|k| f64::from(parameters[at(parameter_row::TENSOR + k)]));
            match deviation.correct(voxel, nominal) {
                Some(tensor) => {
                    for k in 0..6 {
                        parameters[at(parameter_row::TENSOR + k)] = tensor[k] as f32;
                    }
                }
                None => {
                    for row in 0..parameter_row::COUNT {
                        parameters[at(row)] = 0.0;
                    }
                    parameters[at(parameter_row::STATUS)] = Status::Singular.code();
                }
            }
        }
        changed
    }

    pub(super) fn count(&self, n: usize, stride: usize, parameters: &[f32], maps: &[f32]) -> Tally {
        let mut tally = Tally::default();
        let raised = &parameters[parameter_row::RAISED * stride..][..n];
        let status = &maps[self.problem.layout.status_row() * stride..][..n];
        for (&raised, &status) in raised.iter().zip(status) {
            tally.status.add(Status::from_code(status));
            tally.raised.samples += raised as u64;
            tally.raised.voxels += u64::from(raised > 0.0);
        }
        tally
    }
}
