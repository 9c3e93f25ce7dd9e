//! `fimbria fit mono`

use clap::Args;
use fimbria_pipeline::stages::curve::CurveParameters;
use fimbria_pipeline::stages::mono::MonoParameters;

use super::alone::FitArgs;
use crate::args::{LikelihoodArgs, ShellArgs, SolverArgs, b_limit};
use crate::console::Console;
use crate::failure::Failure;

/// Fit one exponential, S0 exp(-b D), to all volumes: D and S0
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitMono {
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
  S = S0 exp(-b D) over all volumes, directions not told apart: for powder averages, trace-weighted
  series, phantoms and gels. Where diffusion depends on direction, fit dti is the model of its
  kind. Needed are 2 different b-values.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.

Outputs (3-D, float32 unless said otherwise):
  D             diffusivity, mm²/s
  S0            signal without diffusion weighting, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Every map has one volume; none depends on axes.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Stejskal EO, Tanner JE. J Chem Phys 42, 288 (1965)         the decay
  Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995)      rician";

impl FitMono {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { bmax, likelihood, solver, shells, fit } = self;
        let mut curve =
            CurveParameters { shells: shells.list(), bmax, ..CurveParameters::default() };
        likelihood.add_to(&mut curve)?;
        solver.add_to(&mut curve);
        fit.run(MonoParameters { curve }, console)
    }
}
