//! The fit of a series.

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::{Backend, HostError, Progress, SimdLevel, Workers};
use fimbria_fitting::linear::{DeviceFit, LogLinearFit, Problems, Recipe};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource};

use super::design::design;
use super::form::Form;
use super::maps::{MapVoxels, specs};
use super::measures::MeasureTables;
use super::positivity::Positivity;
use super::{HotError, HotOptions};
use crate::ProtocolError;
use crate::voxelwise::{Cost, DeviceVoxelFit, Fitted, Job, Moved, Tile, VoxelFit, on_threads};

/// Fits a form in every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients` and is read tile by tile, so that it may be
/// larger than memory. The maps are `hot` (the unique entries, lexicographic, in scanner RAS axes,
/// mm²/s), `MD`, `GA`, `variance`, `S0`, `residual` and `status`. Results have the same bits for
/// any number of threads, on every SIMD level that fuses multiply-add and on devices, which fit
/// all but positive forms.
///
/// # Errors
/// [`HotError`] for input that cannot be fitted; a voxel that cannot be is marked in the status
/// map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &HotOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, HotError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let fit = HotFit::new(gradients, options)?;
    let name = "fitting generalised diffusion tensors";
    Ok(Job { name, inputs: signals, mask, progress }.run(&fit, on)?)
}

/// The maps that [`fit`] makes, the status last.
pub fn maps(options: &HotOptions) -> Vec<MapSpec> {
    specs(options.order.get(), options.order.n_entries())
}

/// Everything that is the same for all voxels.
pub(super) struct HotFit {
    order: usize,
    linear: LogLinearFit,
    measures: MeasureTables,
    positivity: Option<Positivity>,
}

impl HotFit {
    pub(super) fn new(gradients: &GradientTable, options: &HotOptions) -> Result<Self, HotError> {
        let form = Form::new(options.order.get());
        let recipe = Recipe { passes: options.method.passes(), ..Recipe::default() };
        Ok(Self {
            order: form.order(),
            linear: LogLinearFit::new(design(gradients, &form)?, recipe),
            measures: MeasureTables::new(&form),
            positivity: options.positive.then(|| Positivity::new(&form)).transpose()?,
        })
    }
}

impl VoxelFit for HotFit {
    fn maps(&self) -> Vec<MapSpec> {
        specs(self.order, self.measures.mean.len())
    }

    fn most_raised(&self) -> usize {
        let design = self.linear.design();
        design.n_samples() - design.n_unknowns()
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows: maps, raised, .. } = tile;
        let (n, rows) = (voxels.len(), self.linear.rows());
        let mut results = vec![0.0; rows.count() * stride];
        let problems = Problems { samples: inputs, weights: None, stride, n };
        self.linear.fit_lanes(simd, problems, &mut results);
        if let Some(positivity) = &self.positivity {
            positivity.enforce(&self.linear, simd, inputs, stride, n, &mut results);
        }
        raised.copy_from_slice(&results[rows.raised() * stride..][..stride]);
        let (tables, results) = (&self.measures, &results);
        simd.run(MapVoxels { tables, rows, stride, n, results, maps });
        Ok(())
    }

    /// Positive forms are found by the threads.
    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        self.positivity.is_none().then_some(self)
    }
}

impl DeviceVoxelFit for HotFit {
    fn cost(&self) -> Cost {
        Cost::FORM
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        DeviceFit::bytes_of_problem(&self.linear)
    }

    fn moved(&self) -> Moved {
        Moved { inputs: true, rows: false }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        let Tile { stride, inputs, rows: maps, raised, scratch, .. } = tile;
        let rows = self.linear.rows();
        let fit = DeviceFit::new(device, &self.linear, stride)?;
        let mut on_device = fit.range().zeros()?;
        fit.apply(&fit.domain().upload(inputs)?, &mut on_device)?;
        let results = scratch.with_len(fit.range().len());
        fit.range().download(&on_device, results)?;
        let problems = Problems { samples: inputs, weights: None, stride, n: stride };
        self.linear.refit_singular(problems, results);
        raised.copy_from_slice(&results[rows.raised() * stride..][..stride]);
        on_threads(workers, stride, results, maps, |n, results, maps| {
            let tables = &self.measures;
            workers.simd().run(MapVoxels { tables, rows, stride: n, n, results, maps });
        });
        Ok(())
    }
}
