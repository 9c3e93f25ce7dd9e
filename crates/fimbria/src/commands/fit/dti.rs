//! `fimbria fit dti`

use clap::Args;
use fimbria_models::dti::{Compat, DtiMap, Method, Precision};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::dti::DtiParameters;

use super::alone::FitArgs;
use crate::args::{ShellArgs, b_limit, choice};
use crate::console::Console;
use crate::failure::Failure;

/// Fit the diffusion tensor: FA, MD, eigenvectors and more
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitDti {
    /// How the tensor is estimated [default: wls; with --compat what that program does: ols with
    /// fsl, wls with dipy, iwls with mrtrix]
    #[arg(long, value_name = "METHOD", value_parser = choice::<Method>())]
    method: Option<Named<Method>>,

    /// Follow the numerics of another program, for comparison
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    compat: Option<Named<Compat>>,

    /// Arithmetic of the fit
    #[arg(long, value_name = "PRECISION", default_value = "single")]
    #[arg(value_parser = choice::<Precision>())]
    precision: Named<Precision>,

    /// Standard deviation of the noise in input units, for --method restore [default: estimated
    /// in each voxel]
    #[arg(long, value_name = "SIGMA")]
    sigma: Option<f64>,

    /// Maps to write, separated by commas; status always is [default: all]
    #[arg(long, value_name = "MAPS", value_delimiter = ',', help_heading = "Output")]
    #[arg(ignore_case = true, value_parser = choice::<DtiMap>())]
    maps: Option<Vec<Named<DtiMap>>>,

    #[command(flatten)]
    shells: ShellArgs,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %) [default: 1500 where that
    /// determines the tensor, all with --compat or --shells]
    #[arg(long, value_name = "B", value_parser = b_limit)]
    bmax: Option<f64>,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Outputs (3-D unless said otherwise, float32):
  FA            fractional anisotropy, 0 to 1
  MD AD RD      mean, axial and radial diffusivity, mm²/s
  L1 L2 L3      eigenvalues, largest first, mm²/s
  V1 V2 V3      their unit eigenvectors, 3 volumes: x y z, sign arbitrary
  MO            mode, -1 (planar) to 1 (linear)
  S0            signal without diffusion weighting, units of the input
  tensor        the tensor, 6 volumes: xx xy xz yy yz zz, mm²/s
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive (raised) (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Volumes:
  Where b is large the signal bends away from a tensor's, and diffusivities of all shells together
  come out too small. Used are those with b up to 1500 s/mm², where they determine the tensor; else
  all, with a warning; all with --compat, as those programs do. --shells and --bmax choose. The
  screen, run.json (volumes_used) and the page of `run` say which.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Vectors and tensors are in scanner RAS axes. --layout fsl turns them into the axes of FSL's
  bvecs (voxel axes, x reversed where det(affine) > 0) and writes dti_FA, dti_V1 ..., dti_tensor.
  --layout mrtrix writes dt.mif with volumes xx yy zz xy xz yz in scanner axes, fa.mif, adc.mif,
  vector1.mif ... --layout bids writes ..._model-tensor_param-fa_dwimap with sidecars.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Basser PJ, Mattiello J, Le Bihan D. J Magn Reson B 103, 247 (1994)   the tensor
  Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)                   wls
  Veraart J et al. NeuroImage 81, 335 (2013)                           iwls
  Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)      restore";

impl FitDti {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { method, compat, precision, sigma, maps, shells, bmax, fit } = self;
        if sigma.is_some() && method.is_none_or(|method| method.0 != Method::Restore) {
            return Err(Failure::usage("--sigma is used by --method restore only"));
        }
        let maps = maps.unwrap_or_else(|| DtiParameters::default().maps);
        let shells = shells.list();
        fit.run(DtiParameters { method, compat, precision, sigma, shells, bmax, maps }, console)
    }
}
