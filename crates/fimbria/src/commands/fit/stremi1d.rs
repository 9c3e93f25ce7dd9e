//! `fimbria fit stremi1d`

use clap::Args;
use fimbria_pipeline::stages::curve::CurveParameters;
use fimbria_pipeline::stages::stremi1d::Stremi1dParameters;

use super::alone::FitArgs;
use crate::args::{LikelihoodArgs, ShellArgs, SolverArgs, b_limit};
use crate::console::Console;
use crate::failure::Failure;

/// Fit a stretched exponential along each gradient direction: A, gamma and Mgamma
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitStremi1d {
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
  S = S0 exp(-A b^gamma) for each gradient direction by itself, 0 < gamma <= 1: gamma is 1 where
  diffusion is Gaussian and falls the more the signal is spread over fast and slow decays. Unlike
  kurtosis it holds at large b, so that all volumes are used. Needed are 4 different b-values, 0
  among them, in a direction; directions with fewer are left out. Volumes whose axes differ by
  2 degrees or less share a direction.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.

Outputs (float32, 3-D unless said otherwise):
  A             a volume for each direction, (10^-3 mm²/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s
  gamma         stretching exponent, a volume for each direction, 0.05 to 1
  MA            mean of A over the directions
  Mgamma        mean of gamma over the directions; a direction that does not converge is left out
                and the status 3
  S0            signal without diffusion weighting, mean over directions, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps
                undefined (uint8)
  directions.txt   x y z of each direction, a line each, unit, in the order of the volumes
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

  Status 2 says that a direction rests at a bound, most often gamma at 1: free water.

Units:
  b-values are read in s/mm². A has the unit that makes A b^gamma a number with b in ms/µm².

Order and frame:
  Volumes of A and gamma are in the order of directions.txt, that in which directions first appear
  among the weighted volumes; its axes are those of the scanner (RAS), whatever the --layout.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Bennett KM et al. Magn Reson Med 50, 727 (2003)            the stretched exponential
  Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR
  parametric imaging                                         the fit of each direction, Mgamma";

impl FitStremi1d {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { bmax, likelihood, solver, shells, fit } = self;
        let mut curve =
            CurveParameters { shells: shells.list(), bmax, ..CurveParameters::default() };
        likelihood.add_to(&mut curve)?;
        solver.add_to(&mut curve);
        fit.run(Stremi1dParameters { curve }, console)
    }
}
