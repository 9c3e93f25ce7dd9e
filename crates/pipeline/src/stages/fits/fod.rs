//! The stage that estimates fibre orientation densities.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::gradients::Shell;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::fod::{self, FodFit, FodOptions, REGULARISATION, Response, Responses, Tissues};
use serde::Serialize;
use serde_json::{Value, json};

use super::fit_maps::{Deviation, FitJob, FitModel, InRun, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, Takes, above, choice};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice, Derivatives, FileKind, Input, Named, StageError, Written};

/// When the responses of other tissues are written.
const THREE: &str = "where there are three tissues";

/// The options of a deconvolution.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// Degree of the density
    #[arg(long, visible_alias = "lmax", value_name = "L", default_value = "8")]
    #[arg(value_parser = choice::<Degree>())]
    pub order: Named<Degree>,

    /// Compartments of the signal
    #[arg(long, value_name = "TISSUES", default_value = "auto", value_parser = choice::<Tissues>())]
    pub tissues: Named<Tissues>,

    /// Response of single fibres, MRtrix3's text
    #[arg(long, value_name = "FILE", usually = "estimated")]
    #[arg(takes = Takes::TABLE)]
    pub response: Option<PathBuf>,

    /// Response of grey matter
    #[arg(long, value_name = "FILE", usually = "estimated")]
    #[arg(takes = Takes::TABLE)]
    pub response_gm: Option<PathBuf>,

    /// Response of fluid
    #[arg(long, value_name = "FILE", usually = "estimated")]
    #[arg(takes = Takes::TABLE)]
    pub response_csf: Option<PathBuf>,

    /// Preference for small coefficients, relative to the largest diagonal of the normal equations
    #[arg(long, value_name = "RHO", default_value_t = REGULARISATION, number = above(0.0, ""))]
    pub regularisation: f64,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,
}

/// The degree of the harmonics of a density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degree(pub usize);

impl Choice for Degree {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self(4), "4", "15 coefficients"),
        (Self(6), "6", "28 coefficients"),
        (Self(8), "8", "45 coefficients"),
        (Self(10), "10", "66 coefficients"),
        (Self(12), "12", "91 coefficients"),
    ];
}

/// A response that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(in crate::stages) struct ResponseError {
    path: PathBuf,
    source: StageError,
}

/// Reads the response of one tissue.
pub(in crate::stages) fn read_response(path: &Path) -> Result<Response, ResponseError> {
    let named = |source: StageError| ResponseError { path: path.to_owned(), source };
    let text = fimbria_image::read_regular_text(path).map_err(|error| named(error.into()))?;
    Response::from_text(&text).map_err(|error| named(error.into()))
}

/// The degree that a run gives densities where none is set: 8 where a shell has as many volumes as
/// harmonics of degree 6 have coefficients, since the constraint supplies the rest, else 4; `None` where the
/// directions of no shell determine that.
pub fn degree_in_run(gradients: &GradientTable) -> Option<usize> {
    let is_weighted = |shell: &Shell| !gradients.is_b0(shell.volumes[0]);
    let shells = gradients.shells().into_iter().filter(is_weighted);
    let volumes = shells.map(|shell| shell.volumes.len()).max();
    match (gradients.most_directions_of_a_shell(), volumes) {
        (..LEAST_DIRECTIONS, _) => None,
        (_, Some(28..)) => Some(FodOptions::default().order),
        _ => Some(4),
    }
}

/// As many as harmonics of degree 4 have coefficients.
pub const LEAST_DIRECTIONS: usize = 15;

impl FitModel for Parameters {
    const STAGE: &'static str = "fod";
    const BIDS_MODEL: &'static str = "csd";
    const DESCRIPTION: &'static str = "Constrained spherical deconvolution";
    const DEVIATION: Deviation = Deviation::Ignored;

    const IN_RUN: InRun = InRun::BeforeOthers;
    const TEXT: &MethodText = &TEXT;
    const TEXTS: &'static [Written] = &[
        Written::file(
            "response.txt",
            FileKind::Table,
            "the response of single fibres, a row of zonal harmonics for each shell, as MRtrix3 \
                 writes it",
        ),
        Written::file("response_gm.txt", FileKind::Table, "that of grey matter").only(THREE),
        Written::file("response_csf.txt", FileKind::Table, "that of fluid").only(THREE),
    ];

    const DERIVATIVES: Derivatives = Derivatives {
        place: |file, names| names.map(Self::BIDS_MODEL, file),
        complete: |file, sidecar| {
            if file.map() == "wm" {
                add_response(file.folder, sidecar);
            }
        },
        ..Derivatives::FROM_SERIES
    };

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        Ok(fod::check_directions(gradients, self.order.0.0, self.tissues.0)?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        fod::maps(self.order.0.0, 3)
    }

    fn inputs(&self) -> Vec<Input> {
        let Self { response, response_gm, response_csf, .. } = self;
        let given =
            [("response", response), ("response_gm", response_gm), ("response_csf", response_csf)];
        let given = given.into_iter().filter_map(|(role, path)| Some((role, path.clone()?)));
        given.map(|(role, path)| (role.to_owned(), path)).collect()
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let response = |path: &Option<PathBuf>| path.as_deref().map(read_response).transpose();
        let options = FodOptions {
            order: self.order.0.0,
            tissues: self.tissues.0,
            white: response(&self.response)?,
            grey: response(&self.response_gm)?,
            fluid: response(&self.response_csf)?,
            regularisation: self.regularisation,
        };
        let FodFit { fitted, responses } = fod::fit(
            &*job.subject.dwi,
            &job.subject.mask,
            &job.subject.gradients,
            &options,
            job.on(),
            job.log,
        )?;
        let Responses { white, isotropic } = responses;
        let texts = [white].into_iter().chain(isotropic.into_iter().flatten());
        Ok(Outcome { fitted, texts: texts.map(|response| response.to_string()).collect() })
    }
}

/// Adds to the sidecar of densities what BIDS wants to know of them: the response in `folder`.
fn add_response(folder: &Path, sidecar: &mut Value) {
    let text = std::fs::read_to_string(folder.join("response.txt")).unwrap_or_default();
    let numbers = |line: &str| -> Vec<f64> {
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(numbers);
    let rows: Vec<_> = rows.filter(|row| !row.is_empty()).collect();
    if !rows.is_empty() {
        sidecar["ResponseFunction"] = json!({ "Type": "zsh", "Coefficients": rows });
    }
    sidecar["NonNegativity"] = json!("constrained");
}

static TEXT: MethodText = MethodText {
    sentence: "Estimate fibre orientation densities by constrained spherical deconvolution",
    method: "",
    notes: "\
Units:
  b-values are read in s/mm². A density of integral 1 has the signal of the response; responses are
  in units of the input.

Order and frame:
  Harmonics are even, real and orthonormal, in MRtrix3's order: l = 0, 2, 4 ..., m = -l to l, sine
  terms first; entries of the tensor are lexicographic. Directions are in scanner RAS axes.

Method:
  Least squares over all shells with a density that is not negative in 300 directions, solved
  exactly. With unweighted volumes grey matter and fluid are fitted too and all volumes are used;
  else fibres alone on the weighted volumes. On one shell many mixtures of the three have the same
  signal: of these the one with the least fibres is taken, chosen by a small price on their amount
  (0.03 of a single fibre). Grey matter of one shell rests on its response and on anisotropy: fibres
  that cross or fan out are taken for it in part, the more the lower b is (below 1500 a warning says
  so). A given response of the weighted shell alone makes a fit of fibres alone, and so does, with a
  warning, a mask without grey matter or fluid. Responses are estimated from the data unless given:
  single fibres by repeated choice of the voxels most alike to one, grey matter and fluid among
  voxels of low FA by their signal decay. Where the signal leaves nothing for fibres, as in fluid,
  the density is exactly zero and the status 1. Fewer directions than an order has coefficients are
  allowed down to those of half the order, the constraint supplying the rest (super-resolution): of
  order 12, which tells narrow bundles at 45° apart and splits bundles that fan out, these are 28.",
    references: &[
        (
            "Tournier JD et al. NeuroImage 23, 1176 (2004); 35, 1459 (2007)",
            "spherical deconvolution",
        ),
        ("Jeurissen B et al. NeuroImage 103, 411 (2014)", "several shells and tissues"),
        ("Tournier JD et al. NMR Biomed 26, 1775 (2013)", "the response of single fibres"),
        ("Dhollander T et al. ISMRM workshop, Lisbon (2016)", "responses of the other tissues"),
        ("Dhollander T, Connelly A. ISMRM 24, 3010 (2016)", "three tissues of one shell"),
    ],
    examples: &[
        "fimbria fit fod dwi.nii.gz -o fod",
        "fimbria fit fod dwi.nii.gz --order 12 --mask mask.nii.gz -o fod",
        "fimbria fit fod dwi.mif --response wm.txt --response-gm gm.txt --response-csf csf.txt -o fod",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// One unweighted volume, and so many weighted ones along so many directions.
    fn table(volumes: usize, directions: usize) -> GradientTable {
        let direction = |i: usize| {
            // On a spiral over the half sphere, farther apart than any two that are taken for one.
            let z = (i as f64 + 0.5) / directions as f64;
            let (sin, cos) = (2.4 * i as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            [r * cos, r * sin, z]
        };
        let weighted = (0..volumes).map(|volume| direction(volume % directions));
        GradientTable {
            b_s_per_mm2: [0.0].into_iter().chain(vec![1000.0; volumes]).collect(),
            dirs_ras: [[0.0; 3]].into_iter().chain(weighted).collect(),
            b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
        }
    }

    #[test]
    fn a_run_lowers_the_degree_of_densities_by_the_directions_of_a_shell() {
        let degree = |volumes, directions| degree_in_run(&table(volumes, directions));
        // Scanners have tables of 32 volumes with directions that nearly coincide.
        assert_eq!([degree(30, 30), degree(32, 27)], [Some(8), Some(8)]);
        assert_eq!([degree(27, 27), degree(15, 15)], [Some(4), Some(4)]);
        assert_eq!([degree(14, 14), degree(30, 6)], [None, None]);
    }
}
