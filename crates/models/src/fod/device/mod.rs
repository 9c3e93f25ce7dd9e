//! The deconvolution on a device: Hildreth's method in single precision, one voxel per item.
//!
//! The items of a group read the same table rows at the same time, so that every load serves all
//! of them. Voxels that have not come to rest after [`MOST_SWEEPS`] sweeps are solved again on the
//! CPU.

use fimbria_compute::device::{Argument, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;

use super::Deconvolution;
use super::deconvolution::VoxelWork;
use super::fit::write_voxel;
use crate::Status;
use crate::voxelwise::{DeviceVoxelFit, Tile};

/// Sweeps over the constraints after which a voxel is left to the CPU.
pub const MOST_SWEEPS: usize = 400;
/// A sweep that moves no slack by more than this part of the largest is the last.
const STILL: f32 = 2e-6;

/// The tables of a deconvolution as a kernel reads them.
pub(crate) struct OnDevice<'a> {
    deconvolution: &'a Deconvolution,
    /// L⁻¹Aᵀ, `[volume that enters][unknown]`: samples to the whitened minimum.
    whitened: Vec<f32>,
    /// The constraints as unit vectors, `[constraint][unknown]`.
    units: Vec<f32>,
    /// L⁻ᵀ, `[whitened unknown][unknown]`.
    back: Vec<f32>,
    /// A, `[volume that enters][unknown]`.
    matrix: Vec<f32>,
    /// `[coefficient][entry]`.
    form: Vec<f32>,
    volumes: Vec<u32>,
}

fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&x| x as f32).collect()
}

/// The kernel's text for a problem.
pub(crate) fn source(deconvolution: &Deconvolution) -> KernelSource {
    let constraints = deconvolution.programme.constraints().len();
    let mut source = KernelSource::new("fod", include_str!("deconvolve.cl"))
        .after(math::KERNEL_TEXT)
        .with("N_USED", format_args!("{}u", deconvolution.convolution.volumes.len()))
        .with("N_UNKNOWNS", format_args!("{}u", deconvolution.n_unknowns()))
        .with("N_HARMONICS", format_args!("{}u", deconvolution.n_harmonics()))
        .with("N_CONSTRAINTS", format_args!("{constraints}u"))
        .with("MOST_SWEEPS", format_args!("{MOST_SWEEPS}u"))
        .with_f32("STILL", STILL)
        .with_f32("SQRT_4PI", (4.0 * std::f64::consts::PI).sqrt() as f32);
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
        let programme = &deconvolution.programme;
        let convolution = &deconvolution.convolution;
        let rows = convolution.matrix.chunks_exact(n);
        let whitened: Vec<f64> = rows.flat_map(|row| programme.whiten(row)).collect();
        let constraints = programme.constraints();
        let unit = |i| {
            let vector = programme.whiten(constraints.row(i));
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector.into_iter().map(move |x| x / length)
        };
        let units: Vec<f64> = (0..constraints.len()).flat_map(unit).collect();
        let axis = |k| (0..n).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
        let back: Vec<f64> = (0..n).flat_map(|k| programme.unwhiten(&axis(k))).collect();
        Self {
            deconvolution,
            whitened: single(&whitened),
            units: single(&units),
            back: single(&back),
            matrix: single(&convolution.matrix),
            form: single(&deconvolution.form_from_sh),
            volumes: convolution.volumes.iter().map(|&v| v as u32).collect(),
        }
    }

    fn n_constraints(&self) -> usize {
        self.deconvolution.programme.constraints().len()
    }

    /// Rows of results as the kernel leaves them.
    pub(crate) fn rows(
        &self,
        inputs: &[f32],
        n: usize,
        device: &Device,
    ) -> Result<Vec<f32>, DeviceError> {
        let kernel: Kernel = device.kernel(&source(self.deconvolution), "fod_deconvolve")?;
        let tables = [&self.whitened, &self.units, &self.back, &self.matrix, &self.form];
        let mut uploaded = Vec::new();
        for table in tables {
            uploaded.push(device.upload::<f32>(table)?);
        }
        let volumes = device.upload::<u32>(&self.volumes)?;
        let signals = device.upload::<f32>(inputs)?;
        let multipliers = device.zeros::<f32>(self.n_constraints() * n)?;
        let rows = device.zeros::<f32>(self.n_rows() * n)?;
        let mut arguments: Vec<Argument> = vec![(n as u64).into(), (&volumes).into()];
        for table in &uploaded {
            arguments.push(table.into());
        }
        arguments.push((&signals).into());
        arguments.push((&multipliers).into());
        arguments.push((&rows).into());
        // SAFETY: the kernel's ten parameters; the tables have the sizes its constants say, the
        // others `n` elements for each volume, constraint and row.
        unsafe { kernel.launch(Launch::items(n), &arguments)? };
        rows.to_vec()
    }

    fn n_rows(&self) -> usize {
        let (n, n_sh) = (self.deconvolution.n_unknowns(), self.deconvolution.n_harmonics());
        n_sh + n + 3
    }
}

impl DeviceVoxelFit for OnDevice<'_> {
    fn bytes_of_voxel(&self) -> Vec<usize> {
        let rows = [self.deconvolution.n_volumes(), self.n_constraints(), self.n_rows()];
        rows.map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn fit(&self, tile: Tile<'_>, device: &Device) -> Result<(), DeviceError> {
        let n = tile.stride;
        let rows = self.rows(tile.inputs, n, device)?;
        tile.rows[..rows.len()].copy_from_slice(&rows);
        let mut work = VoxelWork::default();
        let status_row = (self.n_rows() - 1) * n;
        for lane in 0..tile.voxels.len() {
            if Status::from_code(rows[status_row + lane]) == Status::NotConverged {
                let outcome = self.deconvolution.solve(&tile.inputs[lane..], n, &mut work);
                write_voxel(self.deconvolution, outcome, &mut work, lane, n, tile.rows);
            }
        }
        Ok(())
    }
}
