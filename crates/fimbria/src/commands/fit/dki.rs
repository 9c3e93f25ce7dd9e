//! `fimbria fit dki`

use clap::Args;
use fimbria_models::dki::{Compat, DkiMap, Method};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::dki::DkiParameters;

use super::alone::FitArgs;
use crate::args::{ShellArgs, b_limit, choice};
use crate::console::Console;
use crate::failure::Failure;

/// Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitDki {
    /// How the tensors are estimated [default: wls; iwls with --compat mrtrix, as that program does]
    #[arg(long, value_name = "METHOD", value_parser = choice::<Method>())]
    method: Option<Named<Method>>,

    /// Follow the numerics of another program, for comparison; implies --unconstrained
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    compat: Option<Named<Compat>>,

    /// Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
    #[arg(long)]
    unconstrained: bool,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %)
    #[arg(long, value_name = "B", default_value_t = 3000.0, value_parser = b_limit)]
    bmax: f64,

    /// Clip MK, AK, RK, Kmax and Kmin to this range [default: -3/7,10]
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    clip: Option<[f32; 2]>,

    /// Maps to write, separated by commas; status always is [default: all]
    #[arg(long, value_name = "MAPS", value_delimiter = ',', help_heading = "Output")]
    #[arg(ignore_case = true, value_parser = choice::<DkiMap>())]
    maps: Option<Vec<Named<DkiMap>>>,

    #[command(flatten)]
    shells: ShellArgs,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Model:
  ln S = ln S0 - b D(n) + (b²/6) MD² W(n) for the gradient direction n, with the diffusion tensor D
  and the kurtosis tensor W; the kurtosis along n is K(n) = MD² W(n) / D(n)². The expansion stops
  at b², so that volumes above --bmax are left out. Needed are two shells beside b = 0 and 15
  distinct directions.

Constraints:
  By default the estimate is kept within what diffusion in tissue can be, on 300 directions:
  D > 0, K >= 0, and a signal that decays up to the largest b, K <= 3 / (b_max D). Voxels that
  violate one (noise, motion, ringing: else black or dark in MK) take the closest estimate that
  does not, in the metric of the weighted fit; their status is 2. --unconstrained leaves them.

Outputs (3-D unless said otherwise, float32):
  MK            mean kurtosis, the mean of K over all directions
  AK RK         axial and radial kurtosis, along the first eigenvector of D and the mean across it
  MKT           mean of W over directions, (W1111 + W2222 + W3333 + 2 (W1122 + W1133 + W2233)) / 5
  KFA           kurtosis fractional anisotropy of W, 0 to 1
  Kmax Kmin     largest and smallest K of any direction
  FA MD AD RD   of the diffusion tensor of this fit, diffusivities in mm²/s
  V1            its first eigenvector, 3 volumes: x y z, sign arbitrary
  S0            signal without diffusion weighting, units of the input
  tensor        D, 6 volumes: xx xy xz yy yz zz, mm²/s
  kurtosis      W, 15 volumes: 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233
                2333 3333, pure numbers
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive (raised), 7 fitted but maps
                that divide by a diffusivity are NaN because that is not positive (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Clipping:
  MK, AK, RK, Kmax and Kmin are clipped to --clip; by default -3/7 (diffusion confined to a
  sphere) to 10, as in DIPY. W, MKT and KFA are not. Where an unconstrained fit finds no
  diffusivity in some direction, K is not defined there and MK, AK, RK, Kmax and Kmin are NaN;
  where the mean diffusivity is not positive, so are W, MKT and KFA.

Order and frame:
  Vectors and tensors are in scanner RAS axes. --layout fsl turns them into the axes of FSL's
  bvecs and writes dki_MK ... --layout mrtrix writes dt.mif (xx yy zz xy xz yz) and dkt.mif
  (1111 2222 3333 1112 1113 1222 1333 2223 2333 1122 1133 2233 1123 1223 1233), mk.mif ... in
  scanner axes. DIPY's order has 2223 before 1333. --layout bids writes
  ..._model-dki_param-mk_dwimap with sidecars.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Jensen JH et al. Magn Reson Med 53, 1432 (2005)           the model
  Tabesh A et al. Magn Reson Med 65, 823 (2011)             the metrics, the constraints
  Hansen B, Jespersen SN. Sci Data 3, 160072 (2016)         KFA
  Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)        wls
  Veraart J et al. NeuroImage 81, 335 (2013)                iwls";

/// Two numbers, the first the smaller, with a comma between.
fn range(text: &str) -> Result<[f32; 2], String> {
    let numbers = text.split_once(',').map(|(low, high)| (low.trim().parse(), high.trim().parse()));
    match numbers {
        Some((Ok(low), Ok(high))) if low < high => Ok([low, high]),
        _ => Err("give two numbers, the smaller first: -3,10 or 0,3".to_owned()),
    }
}

impl FitDki {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { method, compat, unconstrained, bmax, clip, maps, shells, fit } = self;
        let defaults = DkiParameters::default();
        let clip = clip.unwrap_or(defaults.clip);
        let constrained = !unconstrained && compat.is_none();
        let maps = maps.unwrap_or(defaults.maps);
        let shells = shells.list();
        let parameters = DkiParameters { method, compat, constrained, shells, bmax, clip, maps };
        fit.run(parameters, console)
    }
}
