//! `fimbria fit dki1d`

use clap::Args;
use fimbria_models::dki1d::B_MAX_S_PER_MM2;
use fimbria_pipeline::stages::curve::CurveParameters;
use fimbria_pipeline::stages::dki1d::{Dki1dParameters, NoiseFloor};

use super::alone::FitArgs;
use crate::args::{NoiseArgs, ShellArgs, SolverArgs, b_limit};
use crate::console::Console;
use crate::failure::Failure;

/// Fit kurtosis along each gradient direction, above a noise floor: D, K and MK
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitDki1d {
    /// The noise floor relative to S0: sigma (sigma / S0), rms (sqrt(2) sigma / S0), fixed:V (V in
    /// all voxels, as in fixed:0.02) or fit (one for each direction, 0 to 0.5)
    #[arg(long, value_name = "sigma|rms|fixed:V|fit", default_value = "sigma")]
    eta: NoiseFloor,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %)
    #[arg(long, value_name = "B", default_value_t = B_MAX_S_PER_MM2, value_parser = b_limit)]
    bmax: f64,

    #[command(flatten)]
    noise: NoiseArgs,

    #[command(flatten)]
    solver: SolverArgs,

    #[command(flatten)]
    shells: ShellArgs,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Model:
  S = S0 sqrt(exp(-b D + b² A)² + eta²) for each gradient direction by itself, A = D² K / 6, with
  the diffusivity D and the kurtosis K of that direction: K is 0 where diffusion is Gaussian and
  grows with the number and contrast of compartments. eta is the floor that noise leaves of a
  magnitude. The expansion stops at b², so that volumes above --bmax are left out. Needed are
  3 different b-values, 0 among them, in a direction (4 where eta is fitted); directions with
  fewer are left out. Volumes whose axes differ by 2 degrees or less share a direction.

Noise:
  sigma is the least biased floor for D and K; rms makes the mean square of the signal exact and K
  too low; fit takes many b-values and tells floor from kurtosis only where the signal reaches it.
  The noise level is that of --sigma, of air (--background), or else of the spread of the
  unweighted volumes; where there is one at most, of the residuals of a first fit without floor,
  for which directions need six samples.

Outputs (float32, 3-D unless said otherwise):
  D             diffusivity, a volume for each direction, mm²/s
  K             kurtosis, a volume for each direction
  MD            mean of D over the directions, mm²/s
  MK            mean of K over the directions, each limited to -3/7 (diffusion confined to a
                sphere) to 10; a direction that does not converge is left out and the status 3
  S0            signal without diffusion weighting, mean over directions, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  D_error, K_error   with --errors: standard errors of D and K, a volume for each direction
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps
                undefined (uint8)
  directions.txt   x y z of each direction, a line each, unit, in the order of the volumes
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Order and frame:
  Volumes of D and K are in the order of directions.txt, that in which directions first appear
  among the weighted volumes; its axes are those of the scanner (RAS), whatever the --layout.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

MK and noise:
  K = 6 A / D² of one direction scatters far where b D stays small, further down than up. With S0
  50 times the noise and b up to 3000 s/mm² MK is 0.02 too low at D = 0.7e-3 mm²/s, 0.06 at
  0.35e-3; in fixed tissue, with D from 0.1e-3 to 0.3e-3, the limits leave it 0.15 too high (with b
  up to 8000, 0.03 too low). A warning says where more than a tenth of all K lie beyond the limits.
  fit dki fits all directions at once: there slow directions are steadied by the others.

MK here and that of fit dki:
  Both are means of K over directions. Here over those measured, each fitted by itself; there over
  all directions of a tensor fitted to everything at once, which takes fewer volumes.

References:
  Jensen JH et al. Magn Reson Med 53, 1432 (2005)            the model, with its floor
  Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR
  parametric imaging                                         the fit of each direction, MK";

impl FitDki1d {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { eta, bmax, noise, solver, shells, fit } = self;
        let noise = noise.source(eta.takes_noise(), "with --eta sigma and rms")?;
        let curve = CurveParameters {
            shells: shells.list(),
            bmax: Some(bmax),
            noise,
            ..CurveParameters::default()
        };
        let mut parameters = Dki1dParameters { curve, eta };
        solver.add_to(&mut parameters.curve);
        fit.run(parameters, console)
    }
}
