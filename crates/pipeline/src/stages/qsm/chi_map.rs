//! The map of susceptibility, and the files of one.

use fimbria_image::{Image, MapKind, MapSpec, Window};
use fimbria_qsm::metrics::Metrics;
use fimbria_qsm::solver::Stopped;

use super::convergence::{self, ConvergenceLog};
use crate::stages::local_field::LocalField;
use crate::{FileKind, Written};

/// What `fimbria qsm` writes.
pub const QSM_WRITES: &[Written] = &[
    Written::map(&CHI),
    Written::map(&CHI_TV).only("with --method dtv and dtv-all that are guided"),
    Written::map(&MSA).only("with --method tensor"),
    Written::map(&RESIDUAL),
    Written::file(
        convergence::FILE,
        FileKind::Table,
        "iteration, rms of the map (ppm), relative change, and after it the data term ‖Ax - b‖² \
         and the penalty and the relative gradient, or the variation that costs, as the method has \
         them; of ilsqr the relative gradient alone, first of the map, then of its streaks",
    )
    .only("of methods that iterate"),
    Written::file(
        "metrics.json",
        FileKind::Json,
        "NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope",
    )
    .only("with --truth"),
    Written::file(
        "chi.bin",
        FileKind::Binary,
        "the map (not ppm), bare float32 in that program's order; its x_iter files \
         are neither written nor read",
    )
    .only("with --dqsm-files"),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters in effect, machine, times, counts, warnings; \
         of the iteration kappa and step (in units of B0), iterations, and why it \
         stopped",
    ),
    Written::folder(".resume", "where --resume goes on, with the same result")
        .only("until the run is done"),
];

/// A map of susceptibility.
pub struct ChiMap {
    /// In ppm, 0 outside the mask.
    pub chi: Image,
    /// Of a map that diffusion guides the same without: total variation alone, ppm, 0 outside the mask.
    pub unguided: Option<Image>,
    /// Of the method of tensors, along a fibre less across it, ppm; 0 where there is none.
    pub anisotropy: Option<Image>,
    /// The field of the map less the field that it is made of, ppm, 0 outside the mask; of folders of
    /// earlier versions there is none.
    pub residual: Option<Image>,
    /// Every iteration.
    pub convergence: ConvergenceLog,
    /// Why it ended.
    pub stopped: Option<Stopped>,
    /// How far it is from the truth.
    pub metrics: Option<Metrics>,
    /// B0 in tesla, where it is known.
    pub b0_tesla: Option<f64>,
}

impl ChiMap {
    /// A map and its field at the voxels of the mask of `field`, how it converged, and nothing else.
    pub(super) fn new(
        field: &LocalField,
        chi_ppm: &[f32],
        field_of_map: &[f32],
        convergence: ConvergenceLog,
    ) -> Self {
        let mut residual = field.volume_of(field_of_map);
        for &voxel in &field.mask.voxels {
            residual.data[voxel as usize] -= field.field_ppm[voxel as usize];
        }
        Self {
            chi: field.volume_of(chi_ppm),
            unguided: None,
            anisotropy: None,
            residual: Some(residual),
            convergence,
            stopped: None,
            metrics: None,
            b0_tesla: field.b0_tesla,
        }
    }

    /// Its images, in the order of [`specs`].
    pub(super) fn images(&self) -> impl Iterator<Item = &Image> {
        let others = [&self.unguided, &self.anisotropy, &self.residual].map(Option::as_ref);
        std::iter::once(&self.chi).chain(others.into_iter().flatten())
    }

    /// The same, to change.
    pub(super) fn images_mut(&mut self) -> impl Iterator<Item = &mut Image> {
        let others = [&mut self.unguided, &mut self.anisotropy, &mut self.residual];
        std::iter::once(&mut self.chi).chain(others.map(Option::as_mut).into_iter().flatten())
    }
}

/// What the images of a map are, in ppm or relative, with a map without guidance and with the anisotropy of
/// tensors or not.
pub(super) fn specs(
    is_relative: bool,
    has_unguided: bool,
    has_anisotropy: bool,
) -> impl Iterator<Item = &'static MapSpec> + use<> {
    let [chi, tv, msa, residual] = match is_relative {
        true => [&CHI_RELATIVE, &CHI_TV_RELATIVE, &MSA_RELATIVE, &RESIDUAL_RELATIVE],
        false => [&CHI, &CHI_TV, &MSA, &RESIDUAL],
    };
    let is_there = [true, has_unguided, has_anisotropy, true];
    [chi, tv, msa, residual].into_iter().zip(is_there).filter(|(_, is)| *is).map(|(spec, _)| spec)
}

pub(super) static CHI: MapSpec = MapSpec::of_kind(
    "chi",
    MapKind::Scalar,
    1,
    "ppm",
    "magnetic susceptibility (SI), ppm, relative to the reference",
)
.within(Window::Symmetric);

static CHI_RELATIVE: MapSpec = MapSpec::of_kind(
    "chi",
    MapKind::Scalar,
    1,
    "",
    "magnetic susceptibility in the unit of the relative field, relative to the reference",
)
.within(Window::Symmetric);

pub(super) static CHI_TV: MapSpec = MapSpec::of_kind(
    "chi_tv",
    MapKind::Scalar,
    1,
    "ppm",
    "the same by total variation alone, which knows nothing of diffusion: what chi shows and this does \
     not comes from the diffusion images",
)
.within(Window::Symmetric);

static CHI_TV_RELATIVE: MapSpec = MapSpec::of_kind(
    "chi_tv",
    MapKind::Scalar,
    1,
    "",
    "the same by total variation alone, which knows nothing of diffusion",
)
.within(Window::Symmetric);

static MSA_RELATIVE: MapSpec = MapSpec::of_kind(
    "msa",
    MapKind::Scalar,
    1,
    "",
    "anisotropy of the susceptibility tensor, in the unit of the relative field",
)
.within(Window::Symmetric);

pub(super) static MSA: MapSpec = MapSpec::of_kind(
    "msa",
    MapKind::Scalar,
    1,
    "ppm",
    "anisotropy of the susceptibility tensor, along the fibre less across it, ppm",
)
.within(Window::Symmetric);

pub(super) static RESIDUAL: MapSpec = MapSpec::of_kind(
    "residual",
    MapKind::Scalar,
    1,
    "ppm",
    "field of the map, as the method has it and before a reference is taken off, less the field \
     given, ppm; 0 where that has no weight",
)
.within(Window::Symmetric);

static RESIDUAL_RELATIVE: MapSpec = MapSpec::of_kind(
    "residual",
    MapKind::Scalar,
    1,
    "",
    "field of the map less the field given, in its unit; 0 where that has no weight",
)
.within(Window::Symmetric);
