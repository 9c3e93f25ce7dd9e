//! Fits of one model over all volumes of each voxel.

use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, HostError, SimdLevel, Workers};
use fimbria_fitting::lm::{Model, Parameter, Rows, Weights};
use fimbria_image::{MapKind, MapSpec, Status};

use super::earlier;
use super::errors::{error_spec, standard_errors};
use super::tile::{Batch, OnDevice, Scaled, Solver, arithmetic, has_kernels, results_of, solve};
use super::{CurveOptions, Floor, Protocol};
use crate::Fitted;
use crate::precision::cost_in;
use crate::voxelwise::{
    Cost, DeviceVoxelFit, Job, JobError, Moved, Stacked, Tile, VoxelFit, in_columns,
};

/// A model of all samples of a voxel.
pub(crate) trait VoxelModel<const P: usize>: Model<P> {
    /// Whether its samples are the means of the shells, each as good as it has volumes.
    const OF_SHELLS: bool = false;

    /// Bounds and names; S0 is the first.
    fn parameters(&self) -> [Parameter; P];

    /// Appends the covariates of a volume with b ms/µm² along a direction.
    fn covariates(&self, b: f64, dir_ras: [f64; 3], to: &mut Vec<f32>);

    /// A start from the samples of a voxel (divided by its scale, in the order of `b`) and its
    /// constants.
    fn start(&self, b: &[f32], samples: &[f32], constants: &[f32]) -> [f32; P];

    /// The maps, without residual and status; vectors, which have no standard errors, last.
    fn specs(&self) -> Vec<MapSpec>;

    /// The values of a voxel's maps, volume by volume, from its parameters and constants; `scale`
    /// brings signals to input units. NaN is what the parameters do not define.
    fn values(&self, p: &[f32; P], constants: &[f32], scale: f32, out: &mut [f32]);

    /// The parameters that have these values.
    fn parameters_of(&self, values: &[f32], constants: &[f32], scale: f32) -> [f32; P];
}

/// The fit of a model to all volumes of a voxel. Inputs beyond the volumes of the series are the
/// constants of the model.
pub(crate) struct Whole<M, const P: usize> {
    pub(crate) model: M,
    pub(crate) protocol: Protocol,
    /// The noise level of a likelihood that needs one.
    pub(crate) sigma: Option<Floor>,
    pub(crate) options: CurveOptions,
}

impl<M: VoxelModel<P>, const P: usize> VoxelFit for Whole<M, P> {
    fn maps(&self) -> Vec<MapSpec> {
        whole_maps(&self.model, self.options.errors)
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let Ok(()) = self.fit_on(tile, &arithmetic(&self.options, simd));
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        has_kernels(&self.options).then_some(self)
    }
}

/// The maps of a model, where asked for with their standard errors, the status last.
pub(crate) fn whole_maps<const P: usize>(model: &impl VoxelModel<P>, errors: bool) -> Vec<MapSpec> {
    with_errors(model.specs(), errors)
}

/// These maps, where asked for with their standard errors, then residual and status.
pub(crate) fn with_errors(mut maps: Vec<MapSpec>, errors: bool) -> Vec<MapSpec> {
    if errors {
        let scalars = maps.iter().filter(|spec| spec.kind == MapKind::Scalar);
        maps.extend(scalars.map(error_spec).collect::<Vec<_>>());
    }
    maps.extend([MapSpec::residual(), MapSpec::status()]);
    maps
}

impl<M: VoxelModel<P>, const P: usize> DeviceVoxelFit for Whole<M, P> {
    fn cost(&self) -> Cost {
        cost_in(self.options.precision, Cost::CURVE)
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        // Samples, constants with the noise level, starts and results of a voxel.
        let results = results_of(P, &self.options);
        let rows = [self.protocol.volumes().len(), self.model.n_constants() + 1, P, results];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn moved(&self) -> Moved {
        Moved { inputs: false, rows: false }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        self.fit_on(tile, &OnDevice { device, precision: self.options.precision, workers })
    }
}

impl<M: VoxelModel<P>, const P: usize> Whole<M, P> {
    /// Fits the voxels of `job`, from the earlier maps where there are any.
    pub(crate) fn run(&self, job: &Job<'_>, on: &Backend<'_>) -> Result<Fitted, JobError> {
        let specs = self.model.specs();
        let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
        match earlier::inputs(self.options.earlier.as_ref(), &names) {
            Some(maps) => {
                let inputs = Stacked([vec![job.inputs], maps].concat());
                Job { inputs: &inputs, ..*job }.run(self, on)
            }
            None => job.run(self, on),
        }
    }

    fn fit_on<On: Solver>(&self, tile: Tile<'_>, on: &On) -> Result<(), On::Error> {
        let Protocol { unweighted, weighted, b, dirs_ras } = &self.protocol;
        let scaled = Scaled::new(&tile, unweighted, weighted, on.workers());
        let stride = scaled.stride;
        let shells = if M::OF_SHELLS { self.protocol.shells() } else { Vec::new() };
        let volumes = self.protocol.volumes();
        let of_rows: Vec<&[usize]> = match M::OF_SHELLS {
            true => shells.iter().map(Vec::as_slice).collect(),
            false => volumes.iter().map(std::slice::from_ref).collect(),
        };
        let lens = [of_rows.len(), P, results_of(P, &self.options)].map(|rows| rows * stride);
        let [samples, starts, results] = tile.scratch.with_lens(lens);
        scaled.samples(&of_rows, samples);
        let (mut covariates, mut b_of_rows) = (Vec::new(), Vec::new());
        for row in &of_rows {
            let mean = row.iter().map(|&v| b[v]).sum::<f64>() / row.len() as f64;
            self.model.covariates(mean, dirs_ras[row[0]], &mut covariates);
            b_of_rows.push(mean as f32);
        }
        let counts: Vec<f32> = of_rows.iter().map(|row| row.len() as f32).collect();
        let n_constants = self.model.n_constants();
        let (constants, earlier) = tile.inputs[b.len() * stride..].split_at(n_constants * stride);
        let mut constants = constants.to_vec();
        starts.fill(0.0);
        in_columns(on.workers(), stride, [&mut *starts], |range, [mut starts]| {
            let before = Before { b: &b_of_rows, samples, constants: &constants, earlier };
            self.start_some(&scaled, &before, range, &mut starts);
        });
        if let Some(sigma) = self.sigma {
            scaled.push_floor(sigma, &mut constants);
        }
        let batch = Batch {
            samples,
            covariates: &covariates,
            constants: &constants,
            weights: if M::OF_SHELLS { Weights::PerSample(&counts) } else { Weights::Equal },
            starts,
        };
        let parameters = self.model.parameters();
        let layout = solve(&self.model, &parameters, &scaled, &batch, &self.options, on, results)?;
        in_columns(on.workers(), stride, [tile.rows], |range, [mut rows]| {
            self.write_some(&scaled, &layout, [results, &constants], range, &mut rows);
        });
        Ok(())
    }

    /// Starts of some voxels, `rows` of which are theirs alone.
    fn start_some(
        &self,
        scaled: &Scaled<'_>,
        before: &Before<'_>,
        range: Range<usize>,
        rows: &mut [&mut [f32]],
    ) {
        let Before { b, samples, constants, earlier } = before;
        let (stride, n_constants) = (scaled.stride, self.model.n_constants());
        let n_values = self.n_values();
        let mut values = vec![0.0; n_values];
        let (mut of_voxel, mut known) = (vec![0.0; b.len()], vec![0.0; n_constants]);
        for voxel in range.start..range.end.min(scaled.n) {
            let settled = earlier.len() >= n_values * stride
                && (0..n_values).any(|row| earlier[row * stride + voxel] != 0.0);
            for (k, value) in known.iter_mut().enumerate() {
                *value = constants[k * stride + voxel];
            }
            let mut known_before = [f32::NAN; P];
            if settled {
                for (row, value) in values.iter_mut().enumerate() {
                    *value = earlier[row * stride + voxel];
                }
                known_before = self.model.parameters_of(&values, &known, scaled.scale[voxel]);
            }
            for (i, value) in of_voxel.iter_mut().enumerate() {
                *value = samples[i * stride + voxel];
            }
            let start = self.model.start(b, &of_voxel, &known);
            for (k, before) in known_before.into_iter().enumerate() {
                // NaN too where the fewer volumes did not determine it.
                let start = if before.is_nan() { start[k] } else { before };
                rows[k][voxel - range.start] = start;
            }
        }
    }

    /// Numbers of a voxel in the maps of the model.
    fn n_values(&self) -> usize {
        self.model.specs().iter().map(|spec| spec.n_volumes).sum()
    }

    /// Writes the rows of maps of some voxels from the results and constants of all.
    fn write_some(
        &self,
        scaled: &Scaled<'_>,
        layout: &Rows,
        [results, constants]: [&[f32]; 2],
        range: Range<usize>,
        rows: &mut [&mut [f32]],
    ) {
        rows.iter_mut().for_each(|row| row.fill(0.0));
        let [residual_row, status_row] = [rows.len() - 2, rows.len() - 1];
        let n_values = self.n_values();
        let (mut values, mut errors) = (vec![0.0; n_values], vec![0.0; n_values]);
        let mut known = vec![0.0; self.model.n_constants()];
        for voxel in range.start..range.end.min(scaled.n) {
            let lane = voxel - range.start;
            let at = |row: usize| results[row * scaled.stride + voxel];
            let status = scaled.status(voxel, at(layout.status()));
            rows[status_row][lane] = status.code();
            if !status.is_fitted() {
                continue;
            }
            let scale = scaled.scale[voxel];
            let p = std::array::from_fn(at);
            for (k, value) in known.iter_mut().enumerate() {
                *value = constants[k * scaled.stride + voxel];
            }
            self.model.values(&p, &known, scale, &mut values);
            let is_undefined = values.iter().any(|value| value.is_nan());
            if is_undefined && matches!(status, Status::Fitted | Status::Constrained) {
                rows[status_row][lane] = Status::Undefined.code();
            }
            for (row, &value) in rows.iter_mut().zip(&values) {
                row[lane] = value;
            }
            if self.options.errors {
                let values =
                    |p: &[f32; P], out: &mut [f32]| self.model.values(p, &known, scale, out);
                standard_errors(&p, layout, at, values, &mut errors);
                for (row, &error) in rows[n_values..residual_row].iter_mut().zip(&errors) {
                    row[lane] = error;
                }
            }
            rows[residual_row][lane] = at(layout.residual()) * scale;
        }
    }
}

/// What starts are made from, each `[row][stride]` but for the b-values (ms/µm²) of the samples.
struct Before<'a> {
    b: &'a [f32],
    samples: &'a [f32],
    constants: &'a [f32],
    earlier: &'a [f32],
}
