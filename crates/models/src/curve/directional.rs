//! Fits of one curve over b for each gradient direction of each voxel.

use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, HostError, SimdLevel, Workers};
use fimbria_fitting::lm::{Model, Parameter, Rows, Weights};
use fimbria_image::{MapSpec, Status};

use super::earlier;
use super::errors::{error_spec, standard_errors};
use super::tile::{Batch, OnDevice, Scaled, Solver, arithmetic, has_kernels, results_of, solve};
use super::{CurveOptions, Direction, Floor, Protocol};
use crate::Fitted;
use crate::precision::cost_in;
use crate::voxelwise::{
    Cost, DeviceVoxelFit, Job, JobError, Moved, Stacked, Tile, VoxelFit, in_columns,
};

/// A model of the signal of one direction; its only covariate is made from b.
pub(crate) trait DirectionModel<const P: usize>: Model<P> {
    /// Bounds and names; S0 is the first.
    fn parameters(&self) -> [Parameter; P];

    /// The covariate of a sample at b ms/µm².
    fn covariate(&self, b: f64) -> f32;

    /// A start, from the signal at one b > 0 in units of that at b = 0 (the logarithm of its
    /// loss), for samples up to `b_most`.
    fn start(&self, b: f32, log_loss: f32, b_most: f32) -> [f32; P];

    /// The two quantities of a direction, as maps have them.
    fn quantities(&self, p: &[f32; P]) -> [f32; 2];

    /// The logarithm that the signal loses up to b (ms/µm²).
    fn log_loss(&self, p: &[f32; P], b: f32) -> f32;

    /// Parameters with these quantities and this S0 (in units of the samples), where they make a
    /// fair start.
    fn parameters_of(&self, quantities: [f32; 2], s0: f32) -> Option<[f32; P]>;

    /// Each quantity as it enters the mean over directions.
    fn for_mean(&self, quantities: [f32; 2]) -> [f32; 2] {
        quantities
    }

    /// The maps of both quantities, `n` volumes each, and of their means.
    fn specs(&self, n: usize) -> [MapSpec; 4];
}

/// The fit of a model in all directions of a voxel.
pub(crate) struct Directional<M, const P: usize> {
    pub(crate) model: M,
    pub(crate) protocol: Protocol,
    pub(crate) directions: Vec<Direction>,
    /// The constant of a model that has one, or the noise level of the likelihood.
    pub(crate) floor: Option<Floor>,
    pub(crate) options: CurveOptions,
}

/// Starts take the measured loss between these.
const LEAST_LOSS: f32 = 0.02;
const MOST_LOSS: f32 = 4.0;
/// A signal that loses less up to the largest b does not tell how it bends: of kurtosis 1 that
/// changes it by less than 2e-5.
const LEAST_TELLING_LOSS: f32 = 0.01;

impl<M: DirectionModel<P>, const P: usize> Directional<M, P> {
    /// Fits the voxels of `job`, from the earlier maps where there are any.
    pub(crate) fn run(&self, job: &Job<'_>, on: &Backend<'_>) -> Result<Fitted, JobError> {
        let [first, second, ..] = self.model.specs(0);
        let earlier = self.options.earlier.as_ref();
        match earlier::inputs(earlier, &[&first.name, &second.name, "S0"]) {
            Some(maps) => {
                let inputs = Stacked([vec![job.inputs], maps].concat());
                Job { inputs: &inputs, ..*job }.run(self, on)
            }
            None => job.run(self, on),
        }
    }

    /// Writes starts of every voxel for some directions, `[direction][parameter][stride]`: from the sample nearest
    /// b = 1 ms/µm², or from the rows of earlier maps.
    fn starts(
        &self,
        scaled: &Scaled<'_>,
        directions: &[Direction],
        earlier: &[f32],
        workers: Option<&Workers>,
        starts: &mut [f32],
    ) {
        let b_of = |volume: usize| self.protocol.b[volume];
        let distance = |&&v: &&usize| (b_of(v) - 1.0).abs();
        let nearest: Vec<usize> = directions
            .iter()
            .map(|direction| {
                let volumes = direction.volumes.iter();
                let nearest = volumes.min_by(|v, w| distance(v).total_cmp(&distance(w)));
                nearest.copied().unwrap_or_default()
            })
            .collect();
        let of_rows: Vec<&[usize]> = nearest.iter().map(std::slice::from_ref).collect();
        let stride = scaled.stride;
        let mut samples = vec![0.0; of_rows.len() * stride];
        scaled.samples(&of_rows, &mut samples);
        let n_earlier = (earlier.len() / stride).saturating_sub(1) / 2;
        in_columns(workers, stride, [starts], |range, [mut starts]| {
            let of_directions = starts.chunks_exact_mut(P).zip(samples.chunks_exact(stride));
            for ((starts, samples), (direction, &volume)) in
                of_directions.zip(directions.iter().zip(&nearest))
            {
                let b = b_of(volume) as f32;
                let b_most = direction.volumes.iter().map(|&v| b_of(v) as f32).fold(b, f32::max);
                let place = self.options.earlier.as_ref().and_then(|e| e.place_of(direction));
                let place = place.filter(|&place| place < n_earlier);
                let from_earlier = |voxel: usize| {
                    let at = |row: usize| earlier[row * stride + voxel];
                    let quantities = place.map(|place| [at(place), at(n_earlier + place)])?;
                    self.model.parameters_of(quantities, at(2 * n_earlier) / scaled.scale[voxel])
                };
                for (lane, voxel) in range.clone().enumerate() {
                    let log_loss = -samples[voxel].max(f32::MIN_POSITIVE).ln();
                    let start = from_earlier(voxel).unwrap_or_else(|| {
                        self.model.start(b, log_loss.clamp(LEAST_LOSS, MOST_LOSS), b_most)
                    });
                    for (row, start) in starts.iter_mut().zip(start) {
                        row[lane] = start;
                    }
                }
            }
        });
    }
}

impl<M: DirectionModel<P>, const P: usize> VoxelFit for Directional<M, P> {
    fn maps(&self) -> Vec<MapSpec> {
        directional_maps(&self.model, self.directions.len(), self.options.errors)
    }

    fn tile_len(&self) -> usize {
        1024
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Ok(()) = self.fit_on(tile, &arithmetic(&self.options, simd));
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        has_kernels(&self.options).then_some(self)
    }
}

/// The maps of both quantities of `n` directions, of their means, where asked for of standard
/// errors, of S0, residual and status.
pub(crate) fn directional_maps<const P: usize>(
    model: &impl DirectionModel<P>,
    n: usize,
    errors: bool,
) -> Vec<MapSpec> {
    let mut maps = model.specs(n).to_vec();
    if errors {
        maps.extend([error_spec(&maps[0]), error_spec(&maps[1])]);
    }
    maps.push(MapSpec::scalar(
        "S0",
        "arbitrary",
        "signal without diffusion weighting, mean of the fits of all directions, input units",
    ));
    maps.extend([MapSpec::residual(), MapSpec::status()]);
    maps
}

impl<M: DirectionModel<P>, const P: usize> DeviceVoxelFit for Directional<M, P> {
    fn cost(&self) -> Cost {
        cost_in(self.options.precision, Cost::CURVES)
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        self.bytes_of_rows().to_vec()
    }

    fn moved(&self) -> Moved {
        Moved { inputs: false, rows: false }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        self.fit_on(tile, &OnDevice { device, precision: self.options.precision, workers })
    }
}

/// Bytes of directions that are prepared at a time for a chunk on a device.
const AT_ONCE_BYTES: usize = 64 << 20;

impl<M: DirectionModel<P>, const P: usize> Directional<M, P> {
    /// Of a voxel and one direction, by array: samples, constants with the noise level, starts and results.
    fn bytes_of_rows(&self) -> [usize; 4] {
        let volumes = self.directions.iter().map(|d| d.volumes.len()).max().unwrap_or(0);
        let rows = [volumes + 1, self.model.n_constants() + 1, P, results_of(P, &self.options)];
        rows.map(|rows| rows * size_of::<f32>())
    }

    /// The same in all.
    fn bytes_of_direction(&self) -> usize {
        self.bytes_of_rows().iter().sum()
    }

    fn fit_on<On: Solver>(&self, tile: Tile<'_>, on: &On) -> Result<(), On::Error> {
        let Protocol { unweighted, weighted, b, .. } = &self.protocol;
        let scaled = Scaled::new(&tile, unweighted, weighted, on.workers());
        let stride = scaled.stride;
        let parameters = self.model.parameters();
        let mut constants = Vec::new();
        if let Some(floor) = self.floor {
            scaled.push_floor(floor, &mut constants);
        }
        let earlier = &tile.inputs[b.len() * stride..];
        let Tile { rows, scratch, .. } = tile;
        rows.fill(0.0);
        let mut sums = vec![0.0; sum::COUNT * stride];
        // Threads are called seldom, for as many directions as take a reasonable part of memory. One alone does
        // one after the other, which stays in its cache.
        let at_once = match on.workers() {
            Some(_) => (AT_ONCE_BYTES / (self.bytes_of_direction() * stride.max(1))).max(1),
            None => 1,
        };
        // Room for all groups, of which a later one may have more samples, so that it stays where it is.
        let most = at_once.min(self.directions.len());
        scratch.with_len::<f32>(most * self.bytes_of_direction() / size_of::<f32>() * stride);
        for (group, directions) in self.directions.chunks(at_once).enumerate() {
            let first = group * at_once;
            let parts: Vec<Part<'_>> = directions.iter().map(|d| self.part(d)).collect();
            let of_rows: Vec<&[usize]> =
                parts.iter().flat_map(|part| &part.of_rows).copied().collect();
            let (n, n_results) = (directions.len(), results_of(P, &self.options) * stride);
            let lens = [of_rows.len() * stride, n * P * stride, n * n_results];
            let [samples, starts, results] = scratch.with_lens(lens);
            scaled.samples(&of_rows, samples);
            self.starts(&scaled, directions, earlier, on.workers(), starts);
            let mut rest = &samples[..];
            let mut found = Vec::new();
            let of_directions =
                starts.chunks_exact(P * stride).zip(results.chunks_exact_mut(n_results));
            for (part, (starts, results)) in parts.iter().zip(of_directions) {
                let (samples, after) = rest.split_at(part.of_rows.len() * stride);
                rest = after;
                let batch = Batch {
                    samples,
                    covariates: &part.covariates,
                    constants: &constants,
                    weights: Weights::PerSample(&part.weights),
                    starts,
                };
                let layout =
                    solve(&self.model, &parameters, &scaled, &batch, &self.options, on, results)?;
                found.push((layout, &*results));
            }
            let arrays = [&mut *rows, &mut sums];
            in_columns(on.workers(), stride, arrays, |range, [mut rows, mut sums]| {
                for (k, (direction, (layout, results))) in directions.iter().zip(&found).enumerate()
                {
                    let (of, range) = ((layout, *results), range.clone());
                    self.add_some((first + k, direction), &scaled, of, range, &mut rows, &mut sums);
                }
            });
        }
        let arrays = [rows, &mut sums];
        in_columns(on.workers(), stride, arrays, |range, [mut rows, sums]| {
            self.end_some(&scaled, range, &mut rows, &sums);
        });
        Ok(())
    }

    /// What is fitted of a direction.
    fn part<'p>(&'p self, direction: &'p Direction) -> Part<'p> {
        let Protocol { unweighted, b, .. } = &self.protocol;
        let mut part = Part { of_rows: Vec::new(), covariates: Vec::new(), weights: Vec::new() };
        if !unweighted.is_empty() {
            // Their mean with their number as weight has the same minimum as all of them.
            part.of_rows.push(&unweighted[..]);
            part.covariates.push(self.model.covariate(0.0));
            part.weights.push(unweighted.len() as f32);
        }
        for volume in &direction.volumes {
            part.of_rows.push(std::slice::from_ref(volume));
            part.covariates.push(self.model.covariate(b[*volume]));
            part.weights.push(1.0);
        }
        part
    }

    /// The rows of maps: the mean of the first quantity, standard errors, S0, residual, status.
    fn places(&self) -> Places {
        let n_directions = self.directions.len();
        let mean = 2 * n_directions;
        let error = mean + 2;
        let s0 = error + if self.options.errors { 2 * n_directions } else { 0 };
        Places { mean, error, s0, residual: s0 + 1, status: s0 + 2 }
    }

    /// Adds a direction to the rows and sums of some voxels, from the results of all.
    fn add_some(
        &self,
        (d, direction): (usize, &Direction),
        scaled: &Scaled<'_>,
        (layout, results): (&Rows, &[f32]),
        range: Range<usize>,
        rows: &mut [&mut [f32]],
        sums: &mut [&mut [f32]],
    ) {
        let n_directions = self.directions.len();
        let places = self.places();
        let b_most = direction.volumes.last().map_or(0.0, |&v| self.protocol.b[v] as f32);
        for voxel in range.start..range.end.min(scaled.n) {
            let lane = voxel - range.start;
            let at = |row: usize| results[row * scaled.stride + voxel];
            let status = match scaled.has_signal[voxel] {
                true => at(layout.status()),
                false => Status::BadSignal.code(),
            };
            let p = std::array::from_fn(at);
            let quantities = self.model.quantities(&p);
            // With no more than one of its quantities determined, a direction counts as not
            // determined; NaN is what is not.
            let has_first = Status::from_code(status).is_fitted() && !quantities[0].is_nan();
            let tells = has_first
                && !quantities[1].is_nan()
                && self.model.log_loss(&p, b_most) >= LEAST_TELLING_LOSS;
            let undetermined = Status::Singular.code();
            let of_direction = if has_first && !tells { undetermined } else { status };
            let worst = &mut sums[sum::WORST][lane];
            *worst = worst.max(of_direction.min(undetermined));
            if !has_first {
                continue;
            }
            rows[d][lane] = quantities[0];
            let for_mean = self.model.for_mean(quantities);
            if status != Status::NotConverged.code() {
                rows[places.mean][lane] += for_mean[0];
                rows[places.s0][lane] += p[0] * scaled.scale[voxel];
                // Squares of signals may be beyond `f32`.
                let residual = at(layout.residual());
                rows[places.residual][lane] += residual * residual;
                sums[sum::FITTED][lane] += 1.0;
            }
            if !tells {
                continue;
            }
            rows[n_directions + d][lane] = quantities[1];
            if self.options.errors {
                let quantities = |p: &[f32; P], out: &mut [f32]| {
                    out.copy_from_slice(&self.model.quantities(p));
                };
                let mut errors = [0.0; 2];
                standard_errors(&p, layout, at, quantities, &mut errors);
                rows[places.error + d][lane] = errors[0];
                rows[places.error + n_directions + d][lane] = errors[1];
            }
            if status != Status::NotConverged.code() {
                rows[places.mean + 1][lane] += for_mean[1];
                sums[sum::TELLING][lane] += 1.0;
            }
        }
    }

    /// Makes means of sums over directions, and the status of some voxels.
    fn end_some(
        &self,
        scaled: &Scaled<'_>,
        range: Range<usize>,
        rows: &mut [&mut [f32]],
        sums: &[&mut [f32]],
    ) {
        let n_directions = self.directions.len();
        let places = self.places();
        for voxel in range.start..range.end.min(scaled.n) {
            let lane = voxel - range.start;
            let [count, count_telling, worst] =
                [sum::FITTED, sum::TELLING, sum::WORST].map(|row| sums[row][lane]);
            for row in [places.mean, places.s0, places.residual] {
                rows[row][lane] /= count.max(1.0);
            }
            rows[places.mean + 1][lane] /= count_telling.max(1.0);
            let residual = &mut rows[places.residual][lane];
            *residual = residual.sqrt() * scaled.scale[voxel];
            // A direction that is not determined makes the voxel's means those of the others.
            let status = if count == 0.0 {
                if worst > Status::NotConverged.code() {
                    rows[..n_directions].iter_mut().for_each(|row| row[lane] = 0.0);
                }
                worst
            } else if count_telling == 0.0 {
                rows[places.mean + 1][lane] = f32::NAN;
                Status::Undefined.code()
            } else {
                worst.min(Status::NotConverged.code())
            };
            rows[places.status][lane] = scaled.status(voxel, status).code();
        }
    }
}

/// The samples of a direction: the volumes whose mean each is, its covariate and its weight.
struct Part<'a> {
    of_rows: Vec<&'a [usize]>,
    covariates: Vec<f32>,
    weights: Vec<f32>,
}

/// Where rows of maps begin; the quantities of the directions come before them.
struct Places {
    mean: usize,
    error: usize,
    s0: usize,
    residual: usize,
    status: usize,
}

/// Rows of what is summed over the directions of a voxel.
mod sum {
    /// Directions whose first quantity counts.
    pub(super) const FITTED: usize = 0;
    /// Those whose second does.
    pub(super) const TELLING: usize = 1;
    /// The worst status, by its number.
    pub(super) const WORST: usize = 2;
    pub(super) const COUNT: usize = 3;
}
