//! `fimbria fit hot`

use clap::Args;
use fimbria_models::hot::{HotMethod, HotOrder};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::hot::HotParameters;

use super::alone::FitArgs;
use crate::args::{ShellArgs, b_limit, choice};
use crate::console::Console;
use crate::failure::Failure;

/// Fit generalised diffusion tensors: forms of order 4, 6 or 8, and their measures
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitHot {
    /// Order of the form
    #[arg(long, value_name = "ORDER", default_value = "4")]
    #[arg(value_parser = choice::<HotOrder>())]
    order: Named<HotOrder>,

    /// How it is estimated
    #[arg(long, value_name = "METHOD", default_value = "wls")]
    #[arg(value_parser = choice::<HotMethod>())]
    method: Named<HotMethod>,

    /// Keep the diffusivity positive in 300 directions; voxels where that changes the fit have
    /// status 2
    #[arg(long)]
    positive: bool,

    #[command(flatten)]
    shells: ShellArgs,

    /// Leave out volumes with b above this, s/mm² (by more than 5 %) [default: all are used]
    #[arg(long, value_name = "B", value_parser = b_limit)]
    bmax: Option<f64>,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
The model is ln S = ln S0 - b D(g) with the diffusivity D a homogeneous form of the direction g.
Order 2 would be the diffusion tensor; orders 4, 6 and 8 have 15, 28 and 45 unique entries and
follow profiles with several maxima. They take at least as many well-spread directions, and an
unweighted volume or a second b.

Outputs (3-D unless said otherwise, float32):
  hot           the form's unique entries, 15, 28 or 45 volumes, mm²/s
  MD            mean diffusivity over all directions, mm²/s
  GA            generalised anisotropy, 0 to 1
  variance      variance of D over its generalised trace (3 MD), the V that GA is made of
  S0            signal without diffusion weighting, units of the input
  residual      root mean square of measured minus predicted signal, units of the input
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 6 fitted, some samples not positive (raised) (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Entries are in lexicographic order of their indices (order 4: xxxx xxxy xxxz xxyy xxyz xxzz xyyy
  xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz), each once, not multiplied by how often it occurs, in
  scanner RAS axes.

Maxima are not fibres:
  D says what the signal loses in a direction. Where fibres cross, that is least along each of
  them and most between them: of two equal bundles at right angles the maxima of D lie 45° from
  both. For fibre directions fit an orientation density.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Ozarslan E, Mareci TH. Magn Reson Med 50, 955 (2003)                  the form
  Ozarslan E, Vemuri BC, Mareci TH. Magn Reson Med 53, 866 (2005)       MD, variance, GA
  Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)                    wls
  Veraart J et al. NeuroImage 81, 335 (2013)                            iwls";

impl FitHot {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { order, method, positive, shells, bmax, fit } = self;
        fit.run(HotParameters { order, method, positive, shells: shells.list(), bmax }, console)
    }
}
