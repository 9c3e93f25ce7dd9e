//! The tensor fit of a series.

use std::sync::atomic::{AtomicBool, Ordering};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::{Backend, HostError, HostSpace, Progress, SimdLevel, Workers};
use fimbria_image::{GradientTable, Image, MapSpec, Mask, SignalSource, Status};

use super::deviation::Deviation;
use super::device::{DeviceFit, DeviceMaps, double};
use super::layout::parameter_row;
use super::operators::{
    LanesFit, LanesMaps, OnSlices, ScalarFit, ScalarMaps, fit_voxel, write_maps,
};
use super::{DtiError, DtiOptions, Precision, Problem};
use crate::ProtocolError;
use crate::voxelwise::{
    Cost, DeviceVoxelFit, Fitted, Job, Moved, Tile, VoxelFit, in_columns, on_threads,
};

/// Voxels that are fitted at a time.
const TILE: usize = 272;

/// Fits a tensor in every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`. `deviation`, where given, has nine volumes
/// in the order and frame of FSL's `grad_dev` and corrects the gradients voxel by voxel. Samples
/// are read tile by tile, so that `signals` may be larger than memory. The devices of `on` do
/// linear fits, and in double precision, where they have it, all; what they cannot do, or fail at, the
/// threads do. In single precision results have the same bits for any number of threads, on every SIMD level
/// that fuses multiply-add and on devices. In double precision devices have exponentials of their own, which
/// may change the last digit of a map and, in robust fits, which samples of a voxel are outliers.
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
) -> Result<Fitted, DtiError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let grid = signals.grid();
    let deviation = deviation.map(|image| Deviation::new(image, grid)).transpose()?;
    let problem = Problem::new(gradients, options)?;
    let job = Job { name: "fitting tensors", inputs: signals, mask, progress };
    let workers = on.workers;
    let deviation = deviation.as_ref();
    let precision = options.precision;
    let fitted = match precision {
        Precision::Single => {
            let (fit, maps) =
                (LanesFit::new(&problem, workers, TILE), LanesMaps::new(&problem, workers, TILE));
            job.run(&TensorFit { problem: &problem, deviation, fit, maps, precision }, on)
        }
        Precision::Double => {
            let (fit, maps) =
                (ScalarFit::new(&problem, workers, TILE), ScalarMaps::new(&problem, workers, TILE));
            job.run(&TensorFit { problem: &problem, deviation, fit, maps, precision }, on)
        }
    };
    Ok(fitted?)
}

/// The two operators of a fit, and what no operator does.
struct TensorFit<'a, F, M> {
    problem: &'a Problem,
    deviation: Option<&'a Deviation<'a>>,
    fit: F,
    maps: M,
    /// That of the operators.
    precision: Precision,
}

impl<'a, F, M> VoxelFit for TensorFit<'a, F, M>
where
    F: OnSlices<Domain = HostSpace<'a>, Range = HostSpace<'a>> + Sync,
    M: OnSlices<Domain = HostSpace<'a>, Range = HostSpace<'a>> + Sync,
{
    fn maps(&self) -> Vec<MapSpec> {
        self.problem.layout.maps().iter().map(|map| map.spec()).collect()
    }

    fn tile_len(&self) -> usize {
        TILE
    }

    fn most_raised(&self) -> usize {
        // Six of the tensor, and S0.
        self.problem.n_volumes() - 7
    }

    fn fit(&self, tile: Tile<'_>, _: SimdLevel) -> Result<(), HostError> {
        let mut parameters = self.fit.range().zeros()?;
        self.fit.apply_to(tile.inputs, &mut parameters);
        self.finish_parameters(None, tile.voxels, tile.inputs, &mut parameters);
        tile.raised.copy_from_slice(&parameters[parameter_row::RAISED * TILE..][..TILE]);
        self.maps.apply_to(&parameters, tile.rows);
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        let supported = self.precision == Precision::Double || DeviceFit::supports(self.problem);
        supported.then_some(self)
    }
}

impl<F, M> DeviceVoxelFit for TensorFit<'_, F, M>
where
    F: Sync,
    M: Sync,
{
    fn cost(&self) -> Cost {
        match self.precision {
            Precision::Single => Cost::TENSOR,
            Precision::Double if DeviceFit::supports(self.problem) => Cost::TENSOR_IN_DOUBLE,
            Precision::Double => Cost::TENSOR_NONLINEAR_IN_DOUBLE,
        }
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        let problem = self.problem;
        if self.precision == Precision::Double {
            return double::bytes_of_voxel(problem);
        }
        let rows = [problem.n_volumes(), problem.n_parameter_rows(), problem.n_map_rows()];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn moved(&self) -> Moved {
        Moved { inputs: true, rows: self.precision == Precision::Single }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        if self.precision == Precision::Double {
            return self.fit_in_double(tile, device, workers);
        }
        let n = tile.voxels.len();
        let fit = DeviceFit::new(device, self.problem, n)?;
        let maps = DeviceMaps::new(device, self.problem, n)?;
        let samples = fit.domain().upload(tile.inputs)?;
        let mut fitted = fit.range().zeros()?;
        fit.apply(&samples, &mut fitted)?;

        let parameters = tile.scratch.with_len(fit.range().len());
        fit.range().download(&fitted, parameters)?;
        if self.finish_parameters(Some(workers), tile.voxels, tile.inputs, parameters) {
            fitted.write(0, parameters)?;
        }
        tile.raised.copy_from_slice(&parameters[parameter_row::RAISED * n..][..n]);

        let mut on_device = maps.range().zeros()?;
        maps.apply(&fitted, &mut on_device)?;
        maps.range().download(&on_device, tile.rows)
    }
}

impl<F: Sync, M: Sync> TensorFit<'_, F, M> {
    /// The fit is the device's; the maps, far less work, are made by the threads.
    fn fit_in_double(
        &self,
        tile: Tile<'_>,
        device: &Device,
        workers: &Workers,
    ) -> Result<(), DeviceError> {
        let n = tile.voxels.len();
        let parameters = tile.scratch.with_len(self.problem.n_parameter_rows() * n);
        double::fit(device, self.problem, tile.inputs, n, parameters)?;
        self.finish_parameters(Some(workers), tile.voxels, tile.inputs, parameters);
        tile.raised.copy_from_slice(&parameters[parameter_row::RAISED * n..][..n]);
        on_threads(workers, n, parameters, tile.rows, |n, parameters, maps| {
            write_maps(self.problem, n, parameters, maps);
        });
        Ok(())
    }

    /// What no operator does: voxels in which `f32` came to no result, because equations are
    /// nearly singular or an iteration ends in rounding, are fitted again in `f64`, tensors of
    /// signals that are constant but for rounding become zero (their anisotropy would be that of the
    /// rounding), and tensors are carried from the nominal to the true gradients. True where that changed anything.
    fn finish_parameters(
        &self,
        workers: Option<&Workers>,
        voxels: &[u32],
        signals: &[f32],
        parameters: &mut [f32],
    ) -> bool {
        let changed = AtomicBool::new(false);
        let stride = signals.len() / self.problem.n_volumes();
        in_columns(workers, stride, [parameters], |range, [mut rows]| {
            let voxels = &voxels[range.start..range.end.min(voxels.len())];
            if self.finish_some(voxels, signals, range.start, &mut rows) {
                changed.store(true, Ordering::Relaxed);
            }
        });
        changed.into_inner()
    }

    /// The same for `voxels`, of which the first is at `first` in signals; `rows` are theirs alone.
    fn finish_some(
        &self,
        voxels: &[u32],
        signals: &[f32],
        first: usize,
        rows: &mut [&mut [f32]],
    ) -> bool {
        let mut changed = self.deviation.is_some();
        let mut samples = vec![0.0; self.problem.n_volumes()];
        let stride = signals.len() / self.problem.n_volumes();
        for lane in 0..voxels.len() {
            let status = Status::from_code(rows[parameter_row::STATUS][lane]);
            if matches!(status, Status::Singular | Status::NotConverged) {
                let fitted = fit_voxel(self.problem, signals, stride, first + lane, &mut samples);
                for (row, value) in rows.iter_mut().zip(fitted) {
                    row[lane] = value;
                }
                changed = true;
            }
        }
        let (_, tensors) = rows.split_at_mut(parameter_row::TENSOR);
        let tensors = &mut tensors[..6];
        for lane in 0..voxels.len() {
            let most = tensors.iter().fold(0.0, |most: f32, row| most.max(row[lane].abs()));
            if 0.0 < most && most <= self.problem.rounding_of_tensor() {
                tensors.iter_mut().for_each(|row| row[lane] = 0.0);
                changed = true;
            }
        }
        let Some(deviation) = self.deviation else { return changed };
        for (lane, &voxel) in voxels.iter().enumerate() {
            let nominal = std::array::from_fn(|k| f64::from(rows[parameter_row::TENSOR + k][lane]));
            match deviation.correct(voxel, nominal) {
                Some(tensor) => {
                    for k in 0..6 {
                        rows[parameter_row::TENSOR + k][lane] = tensor[k] as f32;
                    }
                }
                None => {
                    rows.iter_mut().for_each(|row| row[lane] = 0.0);
                    rows[parameter_row::STATUS][lane] = Status::Singular.code();
                }
            }
        }
        changed
    }
}
