//! Deconvolves every voxel of a mask.

use fimbria_compute::{Backend, HostError, Progress, SimdLevel};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource};
use fimbria_tensors::sh::sh_count;
use pulp::{Simd, WithSimd};

use super::deconvolution::{VoxelOutcome, VoxelWork};
use super::device::OnDevice;
use super::group::Group;
use super::shells::Shelled;
use super::{Deconvolution, FodError, FodOptions, Responses, Tissues, estimate};
use crate::ProtocolError;
use crate::voxelwise::{DeviceVoxelFit, Fitted, Job, Tile, VoxelFit};

/// Voxels of a tile: their samples stay in the second-level cache, and groups of all widths fill it.
const TILE: usize = 288;
/// b of a single shell below which fibres that cross look much like grey matter, s/mm².
const LOW_B: f64 = 1500.0;

/// Densities and the responses they were made with.
#[derive(Clone, Debug)]
pub struct FodFit {
    /// The maps of [`maps`].
    pub fitted: Fitted,
    /// Given or estimated.
    pub responses: Responses,
}

/// The maps that a deconvolution of this order makes; `tissues` is 1 or 3.
pub fn maps(order: usize, tissues: usize) -> Vec<MapSpec> {
    let n = sh_count(order);
    vec![
        MapSpec::of_kind(
            "fod",
            MapKind::Harmonics(order),
            n,
            "",
            "fibre orientation density, spherical harmonics in MRtrix3's basis and order, scanner RAS \
             axes; integral 1 for tissue like that of the response",
        ),
        MapSpec::of_kind(
            "hot",
            MapKind::Form(order),
            n,
            "",
            "the same density as unique entries of a symmetric tensor, lexicographic (1111 1112 \
             ...), scanner RAS axes",
        ),
        MapSpec::of_kind(
            "tissues",
            MapKind::Scalar,
            tissues,
            "",
            "amounts of fibres (integral of the density) and, where they are told apart, of grey \
             matter and fluid, in units of their responses",
        ),
        MapSpec::residual(),
        MapSpec::status(),
    ]
}

/// Whether a gradient table carries densities of this order.
///
/// # Errors
/// [`FodError`] where it has no shell, or too few directions.
pub fn check_directions(
    gradients: &GradientTable,
    order: usize,
    tissues: Tissues,
) -> Result<(), FodError> {
    Shelled::new(gradients, tissues)?.check(gradients, order)
}

/// Estimates the responses that `options` leave open and the density of every voxel of `mask`.
///
/// `signals` has one volume per entry of `gradients`. Results have the same bits for any number of
/// threads and at every SIMD level that fuses multiply-add. The others, and devices, which work in double
/// precision too, end where no constraint is violated by 1e-9 as well ([`device`](super::device)).
///
/// # Errors
/// [`FodError`] for input that cannot be deconvolved; a voxel that cannot be is marked in the
/// status map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &FodOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<FodFit, FodError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    signals.grid().check_same(&mask.grid, "the mask")?;
    options.check()?;
    check_directions(gradients, options.order, options.tissues)?;
    let responses = estimate::estimate(signals, mask, gradients, options, on, progress)?;
    if responses.isotropic.is_some() {
        warn_of_low_b(gradients, progress)?;
    }
    let deconvolution = Deconvolution::new(gradients, &responses, options)?;
    let job = Job { name: "deconvolving fibre orientations", inputs: signals, mask, progress };
    let fitted = job.run(&FodTiles::new(&deconvolution, progress), on)?;
    Ok(FodFit { fitted, responses })
}

/// Warns where three tissues rest on one shell that hardly tells them apart.
fn warn_of_low_b(gradients: &GradientTable, progress: &dyn Progress) -> Result<(), FodError> {
    let shelled = Shelled::new(gradients, Tissues::Three)?;
    let b = shelled.shells.iter().map(|shell| shell.b_s_per_mm2).fold(0.0, f64::max);
    if shelled.single && b < LOW_B {
        progress.warn(&format!(
            "three tissues of one shell at b = {b:.0} s/mm²: fibres that cross are taken for grey \
             matter in part; densities are too small there and directions less certain (for \
             directions alone --tissues white finds more of them)"
        ));
    }
    Ok(())
}

/// The deconvolution as the driver sees it.
pub(crate) struct FodTiles<'a> {
    deconvolution: &'a Deconvolution,
    on_device: OnDevice<'a>,
    progress: &'a dyn Progress,
}

impl<'a> FodTiles<'a> {
    pub(crate) fn new(deconvolution: &'a Deconvolution, progress: &'a dyn Progress) -> Self {
        Self { deconvolution, on_device: OnDevice::new(deconvolution), progress }
    }
}

impl VoxelFit for FodTiles<'_> {
    fn maps(&self) -> Vec<MapSpec> {
        let deconvolution = self.deconvolution;
        maps(deconvolution.order(), 1 + deconvolution.n_unknowns() - deconvolution.n_harmonics())
    }

    fn tile_len(&self) -> usize {
        TILE
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        simd.run(SolveTile { deconvolution: self.deconvolution, tile, progress: self.progress });
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        Some(&self.on_device)
    }
}

struct SolveTile<'a, 't> {
    deconvolution: &'a Deconvolution,
    tile: Tile<'t>,
    progress: &'a dyn Progress,
}

impl WithSimd for SolveTile<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { deconvolution, tile, progress } = self;
        let (mut group, mut work) = (Group::default(), VoxelWork::default());
        let (n, width) = (tile.voxels.len(), Group::width::<S>());
        for first in (0..n).step_by(width) {
            let (samples, count) = (&tile.inputs[first..], width.min(n - first));
            deconvolution.pose_all(simd, samples, tile.stride, count, &mut group);
            for voxel in 0..count {
                // Thousands of rounds where hardly anything is preferred: who waits for the tile
                // throws it away.
                if progress.is_cancelled() {
                    return;
                }
                let outcome = deconvolution.solve_one_of(&mut group, voxel, &mut work);
                let lane = first + voxel;
                write_voxel(deconvolution, outcome, &mut work, lane, tile.stride, tile.rows);
            }
        }
    }
}

/// Writes the rows of one voxel from the solution in `work`.
#[inline(always)]
pub(super) fn write_voxel(
    deconvolution: &Deconvolution,
    outcome: VoxelOutcome,
    work: &mut VoxelWork,
    lane: usize,
    stride: usize,
    rows: &mut [f32],
) {
    deconvolution.to_form(work);
    let n = deconvolution.n_harmonics();
    let (density, tissues) = work.x.split_at(n);
    // The integral of Y_00 is √4π.
    let white = density[0] * (4.0 * std::f64::consts::PI).sqrt();
    let values = density
        .iter()
        .chain(&work.form)
        .copied()
        .chain([white])
        .chain(tissues.iter().copied())
        .chain([outcome.residual, f64::from(outcome.status.code())]);
    for (row, value) in rows.chunks_exact_mut(stride).zip(values) {
        row[lane] = value as f32;
    }
}
