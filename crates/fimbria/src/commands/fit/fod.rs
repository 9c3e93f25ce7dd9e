//! `fimbria fit fod`

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_models::fod::{REGULARISATION, Response, Tissues};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::fod::{FodParameters, ResponseText};

use super::alone::FitArgs;
use crate::args::{ShellArgs, b_limit, choice};
use crate::console::Console;
use crate::failure::Failure;

/// Estimate fibre orientation densities by constrained spherical deconvolution
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitFod {
    /// Degree of the density: 4, 6 or 8
    #[arg(long, visible_alias = "lmax", value_name = "L", default_value_t = 8)]
    #[arg(value_parser = order)]
    order: usize,

    /// Compartments of the signal
    #[arg(long, value_name = "TISSUES", default_value = "auto")]
    #[arg(value_parser = choice::<Tissues>())]
    tissues: Named<Tissues>,

    /// Response of single fibres, MRtrix3's text [default: estimated]
    #[arg(long, value_name = "FILE")]
    response: Option<PathBuf>,

    /// Response of grey matter [default: estimated]
    #[arg(long, value_name = "FILE")]
    response_gm: Option<PathBuf>,

    /// Response of fluid [default: estimated]
    #[arg(long, value_name = "FILE")]
    response_csf: Option<PathBuf>,

    /// Preference for small coefficients, relative to the largest diagonal of the normal equations
    #[arg(long, value_name = "RHO", default_value_t = REGULARISATION)]
    regularisation: f64,

    #[command(flatten)]
    shells: ShellArgs,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %) [default: all are used]
    #[arg(long, value_name = "B", value_parser = b_limit)]
    bmax: Option<f64>,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Outputs (4-D unless said otherwise, float32):
  fod           fibre orientation density, coefficients of spherical harmonics: 15, 28 or 45
                volumes for order 4, 6 or 8
  hot           the same density as a symmetric tensor, as many unique entries: 1111 1112 ...
  tissues       amounts of fibres (the integral of the density), grey matter and fluid, 3 volumes;
                1 volume where only fibres are fitted
  residual      root mean square of measured minus predicted signal, units of the input, 3-D
  status        0 outside the mask, 1 fitted, 2 constraint active (the usual case: the density is
                zero somewhere), 3 not converged, 4 bad signal, 5 not determined (uint8, 3-D)
  response.txt  the response of single fibres, a row of zonal harmonics for each shell, as MRtrix3
                writes it; response_gm.txt and response_csf.txt where there are three tissues
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  b-values are read in s/mm². A density of integral 1 has the signal of the response; responses are
  in units of the input.

Order and frame:
  Harmonics are even, real and orthonormal, in MRtrix3's order: l = 0, 2, 4 ..., m = -l to l, sine
  terms first; entries of the tensor are lexicographic. Directions are in scanner RAS axes.

Method:
  Least squares over all shells with a density that is not negative in 300 directions, solved
  exactly. With unweighted volumes and two shells or more, grey matter and fluid are fitted too and
  all volumes are used; else fibres alone on the weighted volumes. Responses are estimated from the
  data unless given: single fibres by repeated choice of the voxels most alike to one, grey matter
  and fluid among voxels of low FA by their signal decay. Fewer directions than an order has
  coefficients are allowed down to those of half the order, the constraint supplying the rest
  (super-resolution).

References:
  Tournier JD et al. NeuroImage 23, 1176 (2004); 35, 1459 (2007)    spherical deconvolution
  Jeurissen B et al. NeuroImage 103, 411 (2014)                     several shells and tissues
  Tournier JD et al. NMR Biomed 26, 1775 (2013)                     the response of single fibres
  Dhollander T et al. ISMRM workshop, Lisbon (2016)                 responses of the other tissues";

/// An order that is offered.
fn order(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(order @ (4 | 6 | 8)) => Ok(order),
        _ => Err("the order is 4, 6 or 8".to_owned()),
    }
}

/// Reads a response.
fn read(path: Option<&Path>) -> Result<Option<ResponseText>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let named = |error: &dyn std::fmt::Display| {
        Failure::Work(format!("{}: {error}", path.display()).into())
    };
    let text = fimbria_image::read_regular_text(path).map_err(|error| named(&error))?;
    let response = Response::from_text(&text).map_err(|error| named(&error))?;
    Ok(Some(ResponseText(response)))
}

impl FitFod {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            order,
            tissues,
            response,
            response_gm,
            response_csf,
            regularisation,
            shells,
            bmax,
            fit,
        } = self;
        let parameters = FodParameters {
            order,
            tissues,
            response: read(response.as_deref())?,
            response_gm: read(response_gm.as_deref())?,
            response_csf: read(response_csf.as_deref())?,
            regularisation,
            shells: shells.list(),
            bmax,
        };
        fit.run(parameters, console)
    }
}
