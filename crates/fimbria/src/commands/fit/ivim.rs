//! `fimbria fit ivim`

use clap::Args;
use fimbria_pipeline::stages::curve::CurveParameters;
use fimbria_pipeline::stages::ivim::IvimParameters;

use super::alone::FitArgs;
use crate::args::{LikelihoodArgs, ShellArgs, SolverArgs, b_limit};
use crate::console::Console;
use crate::failure::Failure;

/// Fit intravoxel incoherent motion: perfusion fraction, D and D* of two exponentials
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitIvim {
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
  S = S0 (f exp(-b D*) + (1 - f) exp(-b D)) over all volumes, directions not told apart: blood in
  capillaries that point everywhere loses its signal fast, D* >= 3e-3 mm²/s, tissue slowly,
  D <= 3e-3 mm²/s. Needed are 2 different b-values below 200 s/mm² (0 is one) and 2 from there on;
  f and D* take several small b and a high signal-to-noise ratio.

Noise:
  The magnitude of a weak signal is biased upwards. --likelihood offset-gaussian compares the
  measured signal with sqrt(S² + sigma²), rician maximises the likelihood of a magnitude; both
  take sigma from --sigma, from air (--background), or else from the spread of the unweighted
  volumes, of which there must then be two or more.
  In IVIM protocols small b may lie below --b0-threshold (50): set it to 0 to tell them from b = 0.

Outputs (3-D, float32 unless said otherwise):
  f             perfusion fraction of the signal without weighting, 0 to 1
  D             diffusivity of tissue, mm²/s
  Dstar         pseudo-diffusivity of perfusion, mm²/s; NaN where f is 0 (status 7), noise where
                it is near 0
  S0            signal without diffusion weighting, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps
                undefined (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

  Status 2 says that a parameter rests at a bound: D or D* at 3e-3 mm²/s. Status 7 says that no
  perfusion was seen: f is 0, D and S0 are those of what is left, an exponential.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Every map has one volume; none depends on axes.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Le Bihan D et al. Radiology 168, 497 (1988)                the model
  Federau C. NMR Biomed 30, e3780 (2017)                     what protocols and fits it takes";

impl FitIvim {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { bmax, likelihood, solver, shells, fit } = self;
        let mut curve =
            CurveParameters { shells: shells.list(), bmax, ..CurveParameters::default() };
        likelihood.add_to(&mut curve)?;
        solver.add_to(&mut curve);
        fit.run(IvimParameters { curve }, console)
    }
}
