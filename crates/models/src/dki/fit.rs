//! The kurtosis fit of a series.

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::{Backend, HostError, Progress, SimdLevel, Workers};
use fimbria_fitting::linear::{DeviceFit, Passes, Problems};
use fimbria_fitting::lm;
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Status};

use super::device::DeviceMaps;
use super::lanes::{Constrain, FindViolations, MapVoxels};
use super::layout::parameter_row;
use super::moments::N_UNKNOWNS;
use super::{DkiError, DkiOptions, Problem};
use crate::ProtocolError;
use crate::nlls::ExpLinear;
use crate::voxelwise::{Cost, DeviceVoxelFit, Fitted, Job, Moved, Tile, VoxelFit, on_threads};

/// Fits diffusion and kurtosis tensors in every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`. Samples are read tile by tile, so that
/// `signals` may be larger than memory. Results have the same bits for any number of threads.
///
/// # Errors
/// [`DkiError`] for input that cannot be fitted; a voxel that cannot be is marked in the status
/// map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &DkiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, DkiError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let problem = Problem::new(gradients, options, progress)?;
    let job = Job { name: "fitting kurtosis", inputs: signals, mask, progress };
    Ok(job.run(&problem, on)?)
}

impl VoxelFit for Problem {
    fn maps(&self) -> Vec<MapSpec> {
        self.layout.maps().iter().map(|map| map.spec()).collect()
    }

    fn most_raised(&self) -> usize {
        self.volumes.len() - N_UNKNOWNS
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows, raised, scratch } = tile;
        let samples = self.chosen(inputs, stride, scratch.with_len(self.copied_len(stride)));
        let parameters = self.parameters(samples, stride, voxels.len(), simd);
        raised.copy_from_slice(&parameters[parameter_row::RAISED * stride..][..stride]);
        self.write_maps(&parameters, stride, voxels.len(), simd, rows);
        Ok(())
    }

    /// Non-linear and robust fits are done by the threads.
    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        (!self.recipe.nonlinear && !self.recipe.robust).then_some(self)
    }
}

impl DeviceVoxelFit for Problem {
    fn cost(&self) -> Cost {
        Cost::KURTOSIS
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        let mut bytes = DeviceFit::bytes_of_problem(&self.linear);
        bytes.push(self.layout.n_rows() * size_of::<f32>());
        bytes
    }

    fn moved(&self) -> Moved {
        Moved { inputs: self.copied_len(1) == 0, rows: true }
    }

    /// The linear fit and the maps are the device's, the constraints in between the processor's.
    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        let Tile { stride, inputs, rows, raised, scratch, .. } = tile;
        let fit = DeviceFit::new(device, &self.linear, stride)?;
        let maps = DeviceMaps::new(device, self, stride)?;
        let lens = [self.copied_len(stride), fit.range().len()];
        let [copied, parameters] = scratch.with_lens(lens);
        let samples = self.chosen(inputs, stride, copied);
        let mut fitted = fit.range().zeros()?;
        fit.apply(&fit.domain().upload(samples)?, &mut fitted)?;
        fit.range().download(&fitted, parameters)?;
        let problems = Problems { samples, weights: None, stride, n: stride };
        self.linear.refit_singular(problems, parameters);
        // Nothing else follows the linear fit.
        if self.constraints.is_some() {
            on_threads(workers, stride, samples, parameters, |n, samples, parameters| {
                self.finish_parameters(samples, n, n, workers.simd(), parameters);
            });
        }
        fitted.write(0, parameters)?;
        raised.copy_from_slice(&parameters[parameter_row::RAISED * stride..][..stride]);
        let mut on_device = maps.range().zeros()?;
        maps.apply(&fitted, &mut on_device)?;
        maps.range().download(&on_device, rows)
    }
}

impl Problem {
    /// How many samples are copied, for rows of that length, to have those of the volumes that are used one behind the
    /// other: none where these are the first.
    pub(crate) fn copied_len(&self, stride: usize) -> usize {
        let are_first = self.volumes.iter().enumerate().all(|(at, &v)| at == v);
        if are_first { 0 } else { self.volumes.len() * stride }
    }

    /// The samples `[volume][stride]` of the volumes that are used, in `room` of [`copied_len`](Self::copied_len)
    /// where they are copied.
    pub(crate) fn chosen<'a>(
        &self,
        inputs: &'a [f32],
        stride: usize,
        room: &'a mut [f32],
    ) -> &'a [f32] {
        if room.is_empty() {
            return &inputs[..self.volumes.len() * stride];
        }
        for (row, &v) in room.chunks_exact_mut(stride).zip(&self.volumes) {
            row.copy_from_slice(&inputs[v * stride..][..stride]);
        }
        room
    }

    /// The parameter rows of the first `n` voxels of `samples`.
    pub(crate) fn parameters(
        &self,
        samples: &[f32],
        stride: usize,
        n: usize,
        simd: SimdLevel,
    ) -> Vec<f32> {
        let mut parameters = vec![0.0; parameter_row::COUNT * stride];
        let problems = Problems { samples, weights: None, stride, n };
        match self.recipe.robust {
            true => self.linear.fit_robust_lanes(simd, problems, &mut parameters),
            false => self.linear.fit_lanes(simd, problems, &mut parameters),
        }
        self.finish_parameters(samples, stride, n, simd, &mut parameters);
        parameters
    }

    /// What follows the linear fit: the non-linear one and the constraints.
    pub(crate) fn finish_parameters(
        &self,
        samples: &[f32],
        stride: usize,
        n: usize,
        simd: SimdLevel,
        parameters: &mut [f32],
    ) {
        if self.recipe.nonlinear {
            self.refine(samples, stride, n, simd, parameters);
        }
        let Some(constraints) = &self.constraints else { return };
        let found = FindViolations { constraints, stride, n, parameters };
        let voxels = simd.run(found);
        let unweighted = self.is_unweighted();
        let moments = &self.moments;
        let voxels = &voxels[..];
        simd.run(Constrain { moments, constraints, unweighted, stride, voxels, parameters });
        if self.recipe.linear.residual {
            for &voxel in voxels {
                let residual = self.residual(samples, stride, voxel, parameters);
                parameters[parameter_row::RESIDUAL * stride + voxel] = residual;
            }
        }
    }

    fn is_unweighted(&self) -> bool {
        self.recipe.linear.passes == Passes::OLS && !self.recipe.nonlinear
    }

    /// Non-linear least squares from the linear estimates.
    fn refine(
        &self,
        samples: &[f32],
        stride: usize,
        n: usize,
        simd: SimdLevel,
        parameters: &mut [f32],
    ) {
        let options = lm::LmOptions::default();
        let rows = lm::Rows::new(N_UNKNOWNS, &options);
        let mut results = vec![0.0; rows.count() * stride];
        // The signal is exp(x·p) with ln S0 the first of p.
        let mut starts = parameters[..N_UNKNOWNS * stride].to_vec();
        starts[..n].iter_mut().for_each(|s0| *s0 = s0.max(f32::MIN_POSITIVE).ln());
        let problems = lm::Problems {
            n,
            stride,
            samples,
            covariates: &self.rows,
            constants: &[],
            weights: lm::Weights::Equal,
            starts: lm::Starts::PerProblem(&starts),
        };
        let on = lm::Arithmetic::Single(simd);
        let of_all: [lm::Parameter; N_UNKNOWNS] =
            std::array::from_fn(|_| lm::Parameter::new("", 0.0, f64::MIN, f64::MAX));
        // The arrays fit together; what goes wrong in a voxel stands in its status.
        if lm::fit(&ExpLinear, &of_all, &problems, &options, on, &mut results).is_err() {
            return;
        }
        for voxel in 0..n {
            let at = |row: usize| row * stride + voxel;
            let fitted = parameters[at(parameter_row::STATUS)] == Status::Fitted.code();
            let status = Status::from_code(results[at(rows.status())]);
            if !fitted || !matches!(status, Status::Fitted | Status::NotConverged) {
                // The linear estimate stays.
                if fitted {
                    parameters[at(parameter_row::STATUS)] = Status::NotConverged.code();
                }
                continue;
            }
            parameters[at(parameter_row::S0)] = results[at(0)].exp();
            for row in 1..N_UNKNOWNS {
                parameters[at(row)] = results[at(row)];
            }
            parameters[at(parameter_row::RESIDUAL)] = results[at(rows.residual())];
            parameters[at(parameter_row::STATUS)] = status.code();
        }
    }

    /// The root mean square of S - Ŝ of one voxel.
    fn residual(&self, samples: &[f32], stride: usize, voxel: usize, parameters: &[f32]) -> f32 {
        let at = |row: usize| parameters[row * stride + voxel];
        let s0 = at(parameter_row::S0);
        let mut sum = 0.0;
        for (row, sample) in self.moments.rows.iter().zip(samples.chunks(stride)) {
            let log: f32 =
                row.iter().enumerate().map(|(k, x)| x * at(parameter_row::TENSOR + k)).sum();
            let r = f64::from(sample[voxel] - s0 * log.exp());
            sum += r * r;
        }
        (sum / self.moments.rows.len() as f64).sqrt() as f32
    }

    /// Map rows from parameter rows.
    pub(crate) fn write_maps(
        &self,
        parameters: &[f32],
        stride: usize,
        n: usize,
        simd: SimdLevel,
        maps: &mut [f32],
    ) {
        simd.run(MapVoxels {
            layout: &self.layout,
            grid: &self.grid,
            clip: self.clip,
            min_diffusivity: self.recipe.min_diffusivity,
            least_mean: self.recipe.least_mean,
            stride,
            n,
            parameters,
            maps,
        });
    }
}
