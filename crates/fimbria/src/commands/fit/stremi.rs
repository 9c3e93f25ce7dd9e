//! `fimbria fit stremi`

use clap::Args;
use fimbria_models::stremi::Projection;
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::curve::CurveParameters;
use fimbria_pipeline::stages::stremi::StremiParameters;

use super::alone::FitArgs;
use crate::args::{LikelihoodArgs, ShellArgs, SolverArgs, b_limit, choice};
use crate::console::Console;
use crate::failure::Failure;

/// Fit the stretched-exponential model to all volumes: gamma, A, Mgamma and Agamma
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitStremi {
    /// How b projects on an axis e of the tensor, for a gradient along g
    #[arg(long, value_name = "PROJECTION", default_value = "dti")]
    #[arg(value_parser = choice::<Projection>())]
    projection: Named<Projection>,

    /// Largest b of the tensor fit that gives the axes, s/mm² (volumes up to 5 % above count)
    #[arg(long, value_name = "B", value_parser = b_limit)]
    #[arg(default_value_t = StremiParameters::default().axes_bmax)]
    axes_bmax: f64,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %) [default: all are used]
    #[arg(long, value_name = "B", value_parser = b_limit)]
    bmax: Option<f64>,

    #[command(flatten)]
    likelihood: LikelihoodArgs,

    #[command(flatten)]
    solver: SolverArgs,

    #[command(flatten)]
    shells: ShellArgs,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Model:
  ln S = ln S0 - sum of A_i b_i^gamma_i over the three axes e_i of the diffusion tensor, with b_i
  the projection of b on e_i and 0 < gamma_i <= 1: seven parameters, fitted to all volumes of all
  b. gamma is 1 where diffusion is Gaussian and falls with the disorder that water meets. The axes
  are those of a tensor fitted by weighted least squares to volumes up to --axes-bmax. Needed are
  directions enough for that tensor, 4 different b-values, each 0 or along directions that do not
  lie in a plane, and 8 volumes.

Projection:
  dti takes b_i = b (g·e_i)², with which the model is the diffusion tensor where all gamma are 1.
  paper takes b_i = b |g·e_i|, as published, with which it is not: exponents of the two are not
  comparable.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.

Outputs (float32, 3-D unless said otherwise):
  gamma         exponents along the three axes, 3 volumes, largest eigenvalue first
  A             generalised diffusivities along them, 3 volumes, (10^-3 mm²/s)^gamma:
                A^(1/gamma) is in 10^-3 mm²/s
  Mgamma        mean of the three exponents, 0.1 to 1
  Agamma        their anisotropy, sqrt(3/2) |gamma - Mgamma| / |gamma|, 0 to 1
  gamma_parallel        exponent along the first axis
  gamma_perpendicular   mean exponent along the other two
  S0            signal without diffusion weighting, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps
                undefined (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

  Status 2 says that a parameter rests at a bound, most often an exponent at 1: free water, or an
  axis along which too little signal is lost to say.

Units:
  b-values are read in s/mm². A has the unit that makes A b^gamma a number with b in ms/µm².

Order and frame:
  Volumes are in the order of the tensor's eigenvalues, largest first: those of V1 V2 V3 of fit dti
  with volumes up to --axes-bmax. The maps are numbers along these axes, without a frame.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  De Santis S et al. Magn Reson Med 65, 1043 (2011)          the model, Mgamma, Agamma
  Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR
  parametric imaging                                         equation 4";

impl FitStremi {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { projection, axes_bmax, bmax, likelihood, solver, shells, fit } = self;
        let mut curve =
            CurveParameters { shells: shells.list(), bmax, ..CurveParameters::default() };
        likelihood.add_to(&mut curve)?;
        solver.add_to(&mut curve);
        fit.run(StremiParameters { curve, projection, axes_bmax }, console)
    }
}
