//! Fits of one curve over b for each gradient direction of each voxel.

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, HostError, SimdLevel, Workers};
use fimbria_fitting::lm::{Model, Parameter, Weights};
use fimbria_image::{MapSpec, Status};

use super::earlier;
use super::errors::{error_spec, standard_errors};
use super::tile::{Batch, OnDevice, Scaled, Solver, arithmetic, has_kernels, results_of, solve};
use super::{CurveOptions, Direction, Floor, Protocol};
use crate::Fitted;
use crate::precision::cost_in;
use crate::voxelwise::{Cost, DeviceVoxelFit, Job, JobError, Stacked, Tile, VoxelFit};

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

    /// Starts of every voxel, `[parameter][stride]`: from the sample nearest b = 1 ms/µm², or from
    /// the rows of earlier maps.
    fn starts(&self, scaled: &Scaled<'_>, direction: &Direction, earlier: &[f32]) -> Vec<f32> {
        let distance = |&&v: &&usize| (self.protocol.b[v] - 1.0).abs();
        let nearest = direction.volumes.iter().min_by(|v, w| distance(v).total_cmp(&distance(w)));
        let volume = nearest.copied().unwrap_or_default();
        let mut samples = Vec::with_capacity(scaled.stride);
        scaled.push(volume, &mut samples);
        let b = self.protocol.b[volume] as f32;
        let b_most = direction.volumes.iter().map(|&v| self.protocol.b[v] as f32);
        let b_most = b_most.fold(b, f32::max);
        let stride = scaled.stride;
        let n_earlier = (earlier.len() / stride).saturating_sub(1) / 2;
        let place = self.options.earlier.as_ref().and_then(|e| e.place_of(direction));
        let place = place.filter(|&place| place < n_earlier);
        let from_earlier = |voxel: usize| {
            let at = |row: usize| earlier[row * stride + voxel];
            let quantities = place.map(|place| [at(place), at(n_earlier + place)])?;
            self.model.parameters_of(quantities, at(2 * n_earlier) / scaled.scale[voxel])
        };
        let mut starts = vec![0.0; P * scaled.stride];
        for (voxel, s) in samples.iter().enumerate() {
            let log_loss = -s.max(f32::MIN_POSITIVE).ln();
            let start = from_earlier(voxel).unwrap_or_else(|| {
                self.model.start(b, log_loss.clamp(LEAST_LOSS, MOST_LOSS), b_most)
            });
            for k in 0..P {
                starts[k * scaled.stride + voxel] = start[k];
            }
        }
        starts
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
        // Samples, constants with the noise level, starts and results of one direction.
        let rows = {
            let volumes = self.directions.iter().map(|d| d.volumes.len()).max().unwrap_or(0);
            [volumes + 1, self.model.n_constants() + 1, P, results_of(P, &self.options)]
        };
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, _: &Workers) -> Result<(), DeviceError> {
        self.fit_on(tile, &OnDevice { device, precision: self.options.precision })
    }
}

impl<M: DirectionModel<P>, const P: usize> Directional<M, P> {
    fn fit_on<On: Solver>(&self, tile: Tile<'_>, on: &On) -> Result<(), On::Error> {
        let Protocol { unweighted, weighted, b, .. } = &self.protocol;
        let scaled = Scaled::new(&tile, unweighted, weighted);
        let (n, stride, n_directions) = (scaled.n, scaled.stride, self.directions.len());
        let parameters = self.model.parameters();
        let mut constants = Vec::new();
        if let Some(floor) = self.floor {
            scaled.push_floor(floor, &mut constants);
        }
        let earlier = &tile.inputs[b.len() * stride..];
        let mean_row = 2 * n_directions;
        let error_row = mean_row + 2;
        let s0_row = error_row + if self.options.errors { 2 * n_directions } else { 0 };
        let [residual_row, status_row] = [s0_row + 1, s0_row + 2];
        let rows = tile.rows;
        rows.fill(0.0);
        // Directions whose first quantity counts, and whose second does.
        let mut fitted = vec![0.0; stride];
        let mut telling = vec![0.0; stride];
        let mut worst = vec![Status::Outside.code(); stride];
        for (d, direction) in self.directions.iter().enumerate() {
            let (mut samples, mut covariates) = (Vec::new(), Vec::new());
            let mut weights = Vec::new();
            if !unweighted.is_empty() {
                // Their mean with their number as weight has the same minimum as all of them.
                scaled.push_mean(unweighted, &mut samples);
                covariates.push(self.model.covariate(0.0));
                weights.push(unweighted.len() as f32);
            }
            for &volume in &direction.volumes {
                scaled.push(volume, &mut samples);
                covariates.push(self.model.covariate(b[volume]));
                weights.push(1.0);
            }
            let batch = Batch {
                samples: &samples,
                covariates: &covariates,
                constants: &constants,
                weights: Weights::PerSample(&weights),
                starts: &self.starts(&scaled, direction, earlier),
            };
            let (layout, results) =
                solve(&self.model, &parameters, &scaled, &batch, &self.options, on)?;
            let b_most = direction.volumes.last().map_or(0.0, |&volume| b[volume] as f32);
            for voxel in 0..n {
                let at = |row: usize| results[row * stride + voxel];
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
                worst[voxel] = worst[voxel].max(of_direction.min(undetermined));
                if !has_first {
                    continue;
                }
                rows[d * stride + voxel] = quantities[0];
                let for_mean = self.model.for_mean(quantities);
                if status != Status::NotConverged.code() {
                    rows[mean_row * stride + voxel] += for_mean[0];
                    rows[s0_row * stride + voxel] += p[0] * scaled.scale[voxel];
                    // Squares of signals may be beyond `f32`.
                    let residual = at(layout.residual());
                    rows[residual_row * stride + voxel] += residual * residual;
                    fitted[voxel] += 1.0;
                }
                if !tells {
                    continue;
                }
                rows[(n_directions + d) * stride + voxel] = quantities[1];
                if self.options.errors {
                    let quantities = |p: &[f32; P], out: &mut [f32]| {
                        out.copy_from_slice(&self.model.quantities(p));
                    };
                    let mut errors = [0.0; 2];
                    standard_errors(&p, &layout, at, quantities, &mut errors);
                    rows[(error_row + d) * stride + voxel] = errors[0];
                    rows[(error_row + n_directions + d) * stride + voxel] = errors[1];
                }
                if status != Status::NotConverged.code() {
                    rows[(mean_row + 1) * stride + voxel] += for_mean[1];
                    telling[voxel] += 1.0;
                }
            }
        }
        for voxel in 0..n {
            let (count, count_telling): (f32, f32) = (fitted[voxel], telling[voxel]);
            for row in [mean_row, s0_row, residual_row] {
                rows[row * stride + voxel] /= count.max(1.0);
            }
            rows[(mean_row + 1) * stride + voxel] /= count_telling.max(1.0);
            let residual = &mut rows[residual_row * stride + voxel];
            *residual = residual.sqrt() * scaled.scale[voxel];
            // A direction that is not determined makes the voxel's means those of the others.
            let status = if count == 0.0 {
                if worst[voxel] > Status::NotConverged.code() {
                    (0..n_directions).for_each(|d| rows[d * stride + voxel] = 0.0);
                }
                worst[voxel]
            } else if count_telling == 0.0 {
                rows[(mean_row + 1) * stride + voxel] = f32::NAN;
                Status::Undefined.code()
            } else {
                worst[voxel].min(Status::NotConverged.code())
            };
            rows[status_row * stride + voxel] = scaled.status(voxel, status).code();
        }
        Ok(())
    }
}
