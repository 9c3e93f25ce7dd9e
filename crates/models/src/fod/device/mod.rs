//! The deconvolution on a device: the active-set walk of the CPU in double precision, a group of
//! items per voxel.
//!
//! A voxel whose walk takes in a thousand constraints, binds more constraints than there are unknowns, or comes to
//! one that follows from those that are bound of which none yields, is solved again on the CPU, which has room for any
//! number and forms its inverse anew. So is one with hardly any fibres, which the CPU solves without a walk.

use fimbria_compute::Workers;
use fimbria_compute::dense::vector::dot;
use fimbria_compute::device::{Argument, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;
use fimbria_fitting::active_set::{DEPENDENT, NEAR, REGULARISATION};
use fimbria_image::Status;
use pulp::{Simd, WithSimd};

use super::Deconvolution;
use super::deconvolution::VoxelWork;
use super::fit::write_voxel;
use crate::voxelwise::{Cost, DeviceVoxelFit, Moved, Tile, on_threads};

/// Items of a group: one for each unknown and one more, and a power of two.
fn group(deconvolution: &Deconvolution) -> usize {
    (deconvolution.n_unknowns() + 1).next_power_of_two().max(64)
}

/// Bytes that a group shares: the arrays that `deconvolve.cl` declares.
fn local_memory(deconvolution: &Deconvolution) -> usize {
    let (n, group) = (deconvolution.n_unknowns(), group(deconvolution));
    let active = n + 1;
    let doubles = active * (active + 1) / 2 + n + 3 * active + group;
    let singles = active + group + deconvolution.convolution.volumes.len();
    size_of::<f64>() * doubles + size_of::<f32>() * singles
}

/// Constraints taken in after which a voxel is left to the CPU; a hard one takes two hundred.
const MOST_ROUNDS: usize = 1000;
/// Fibres that a voxel may have and be solved on the CPU: beyond what single precision leaves of none.
const LITTLE: f32 = 1e-4;

/// The tables of a deconvolution as a kernel reads them: neighbouring items read neighbours.
pub(crate) struct OnDevice<'a> {
    deconvolution: &'a Deconvolution,
    /// H⁻¹Aᵀ, `[volume that enters][unknown]`: samples to the unconstrained minimum; one row more is the
    /// minimum without signal.
    minima: Vec<f64>,
    /// C, `[unknown][constraint]`.
    constraints: Vec<f64>,
    /// What gives the constraints length 1 in the metric of H.
    scales: Vec<f64>,
    /// Products of constraints of length 1, `[constraint][constraint]`.
    gram: Vec<f64>,
    /// How the minimum moves with their multipliers, `[constraint][unknown]`.
    steps: Vec<f64>,
    /// A, `[unknown][volume that enters]`.
    matrix: Vec<f64>,
    volumes: Vec<u32>,
}

/// `rows` of length `n` as columns.
fn transposed(rows: &[f64], n: usize) -> Vec<f64> {
    let m = rows.len() / n;
    (0..rows.len()).map(|at| rows[at % m * n + at / m]).collect()
}

/// The kernel's text for a problem.
pub(crate) fn source(deconvolution: &Deconvolution) -> KernelSource {
    let n_unknowns = deconvolution.n_unknowns();
    let mut source = KernelSource::new("fod", include_str!("deconvolve.cl"))
        .after(math::KERNEL_TEXT)
        .with("GROUP", format_args!("{}u", group(deconvolution)))
        .with("N_USED", format_args!("{}u", deconvolution.convolution.volumes.len()))
        .with("N_UNKNOWNS", format_args!("{n_unknowns}u"))
        .with("N_HARMONICS", format_args!("{}u", deconvolution.n_harmonics()))
        .with("N_CONSTRAINTS", format_args!("{}u", deconvolution.programme.constraints().len()))
        .with("MOST_ACTIVE", format_args!("{}u", n_unknowns + 1))
        .with("MOST_ROUNDS", format_args!("{MOST_ROUNDS}u"))
        .with("TOLERANCE", format_args!("{:e}", deconvolution.programme.tolerance()))
        .with("REGULARISATION", format_args!("{REGULARISATION:e}"))
        .with("NEAR", format_args!("{NEAR:e}"))
        .with("DEPENDENT", format_args!("{DEPENDENT:e}"))
        .with("YIELDS", format_args!("{:e}", DEPENDENT.sqrt()))
        .with("SQRT_4PI", format_args!("{:e}", (4.0 * std::f64::consts::PI).sqrt()));
    for (name, status) in [
        ("STATUS_FITTED", Status::Fitted),
        ("STATUS_CONSTRAINED", Status::Constrained),
        ("STATUS_NOT_CONVERGED", Status::NotConverged),
        ("STATUS_BAD_SIGNAL", Status::BadSignal),
    ] {
        source = source.with_f32(name, status.code());
    }
    source
}

impl<'a> OnDevice<'a> {
    pub(crate) fn new(deconvolution: &'a Deconvolution) -> Self {
        let n = deconvolution.n_unknowns();
        let Deconvolution { programme, convolution, .. } = deconvolution;
        let constraints = programme.constraints();
        let rows: Vec<&[f64]> = (0..constraints.len()).map(|i| constraints.row(i)).collect();
        let mut steps: Vec<Vec<f64>> = rows.iter().map(|row| programme.minimum(row)).collect();
        let lengths = rows.iter().zip(&steps).map(|(row, step)| dot(row, step).sqrt());
        let scales: Vec<f64> = lengths.map(|length| 1.0 / length).collect();
        for (step, scale) in steps.iter_mut().zip(&scales) {
            step.iter_mut().for_each(|s| *s *= scale);
        }
        let priced = |(row, price): (&[f64], &f64)| {
            let mut row = row.to_vec();
            row[0] -= price;
            programme.minimum(&row)
        };
        let gram = |i: usize| steps.iter().map(move |step| (i, step));
        let product = |(i, step): (usize, &Vec<f64>)| scales[i] * dot(rows[i], step);
        Self {
            deconvolution,
            minima: convolution
                .matrix
                .chunks_exact(n)
                .zip(&deconvolution.prices)
                .flat_map(priced)
                .collect(),
            constraints: transposed(&rows.concat(), n),
            gram: (0..rows.len()).flat_map(gram).map(product).collect(),
            scales,
            steps: steps.concat(),
            matrix: transposed(&convolution.matrix, n),
            volumes: convolution.volumes.iter().map(|&v| v as u32).collect(),
        }
    }

    /// Rows of results as the kernel leaves them, of which there are [`n_rows`](Self::n_rows).
    pub(crate) fn rows(
        &self,
        inputs: &[f32],
        n: usize,
        device: &Device,
        found: &mut [f32],
    ) -> Result<(), DeviceError> {
        device.has_local_memory(local_memory(self.deconvolution))?;
        let kernel: Kernel = device.kernel(&source(self.deconvolution), "fod_deconvolve")?;
        let tables = [
            &self.minima,
            &self.constraints,
            &self.scales,
            &self.gram,
            &self.steps,
            &self.matrix,
            &self.deconvolution.form_from_sh,
        ];
        let mut uploaded = Vec::new();
        for table in tables {
            uploaded.push(device.upload::<f64>(table)?);
        }
        let volumes = device.upload::<u32>(&self.volumes)?;
        let signals = device.upload::<f32>(inputs)?;
        let rows = device.zeros::<f32>(self.n_rows() * n)?;
        let mut arguments: Vec<Argument> = vec![(n as u64).into(), (&volumes).into()];
        for table in &uploaded {
            arguments.push(table.into());
        }
        arguments.push((&signals).into());
        arguments.push((&rows).into());
        // SAFETY: the kernel's eleven parameters; the tables have the sizes its constants say, the
        // others `n` elements for each volume and row, and every voxel has a group of its own.
        unsafe { kernel.launch(Launch::groups_of(group(self.deconvolution), n), &arguments)? };
        rows.read(0, found)
    }

    pub(crate) fn n_rows(&self) -> usize {
        let (n, n_sh) = (self.deconvolution.n_unknowns(), self.deconvolution.n_harmonics());
        n_sh + n + 3
    }
}

impl DeviceVoxelFit for OnDevice<'_> {
    fn cost(&self) -> Cost {
        Cost::DENSITY
    }

    fn bytes_of_voxel(&self) -> Vec<usize> {
        let rows = [self.deconvolution.n_volumes(), self.n_rows()];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn moved(&self) -> Moved {
        Moved { inputs: true, rows: true }
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, workers: &Workers) -> Result<(), DeviceError> {
        device.has_double()?;
        let n = tile.stride;
        self.rows(tile.inputs, n, device, tile.rows)?;
        on_threads(workers, n, tile.inputs, tile.rows, |stride, samples, rows| {
            workers.simd().run(SolveAgain { on_device: self, stride, samples, rows });
        });
        Ok(())
    }
}

/// Solves on the CPU what the kernel leaves to it.
struct SolveAgain<'a> {
    on_device: &'a OnDevice<'a>,
    stride: usize,
    samples: &'a [f32],
    rows: &'a mut [f32],
}

impl WithSimd for SolveAgain<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { on_device: OnDevice { deconvolution, .. }, stride, samples, rows } = self;
        let mut work = VoxelWork::default();
        let amount_row = 2 * deconvolution.n_harmonics() * stride;
        let status_row = rows.len() - stride;
        for lane in 0..stride {
            let is_finite = rows.iter().skip(lane).step_by(stride).all(|value| value.is_finite());
            let status = Status::from_code(rows[status_row + lane]);
            let has_fibres = rows[amount_row + lane] > LITTLE;
            if status == Status::NotConverged || !is_finite || !has_fibres {
                let outcome = deconvolution.solve(&samples[lane..], stride, &mut work);
                write_voxel(deconvolution, outcome, &mut work, lane, stride, rows);
            }
        }
    }
}
