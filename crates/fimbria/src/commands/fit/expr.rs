//! `fimbria fit expr`

use std::path::PathBuf;

use clap::Args;
use fimbria_models::expr::{Likelihood, Robust};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::expr::{ExprParameter, ExprParameters, NoiseLevel};

use super::alone::FitArgs;
use crate::args::choice;
use crate::console::Console;
use crate::failure::Failure;

/// Fit a signal model written as an expression, 'S0*exp(-b*D)+C'
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct FitExpr {
    /// The signal: b, gx, gy, gz, parameters, constants, + - * / ^ and functions
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    model: String,

    /// A parameter, where its fit starts, and its bounds ('-' for none) or 'fixed'; once for each
    #[arg(long = "param", value_name = "NAME=START[,LOW,HIGH|,fixed]", required = true)]
    #[arg(value_parser = parameter)]
    parameters: Vec<ExprParameter>,

    /// A map of one volume that the expression takes as a constant of each voxel
    #[arg(long = "constant", value_name = "NAME=FILE", value_parser = constant)]
    constants: Vec<(String, PathBuf)>,

    /// How noise enters
    #[arg(long, value_name = "NAME", default_value = "gaussian")]
    #[arg(value_parser = choice::<Likelihood>())]
    likelihood: Named<Likelihood>,

    /// Standard deviation of the noise in input units, a number or a map, for the offset-Gaussian
    /// and Rician likelihoods
    #[arg(long, value_name = "V|FILE", value_parser = noise_level)]
    sigma: Option<NoiseLevel>,

    /// Keep outliers from pulling: fit again with weights made of the residuals, until these settle
    #[arg(long, value_name = "HOW", value_parser = choice::<Robust>())]
    robust: Option<Named<Robust>>,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Outputs (3-D, float32 unless said otherwise):
  NAME          each parameter, in the unit the expression gives it
  residual      root mean square of measured minus predicted signal, units of the input
  iterations    iterations of the fit
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 singular (uint8)
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Expression:
  Numbers (1.5e-3), names, pi, + - * / ^ (or **), parentheses, exp ln log log10 sqrt abs sin cos
  tan sinh cosh tanh min max pow. Powers bind tightest and to the right, -2^2 is -4. A power of
  zero is zero. Derivatives are exact. 1 to 8 parameters. A device compiles the expression to a
  kernel of its own.

  fimbria fit expr dwi.nii.gz --model 'S0*exp(-b*D)+C' \\
      --param S0=1000,0,1e5 --param D=1,0,5 --param C=0,0,- -o out

Units:
  b is in ms/µm² (s/mm² over 1000): diffusivities come out in µm²/ms, a thousand times mm²/s.

Order and frame:
  gx gy gz are the direction of each volume in scanner RAS axes, zero without weighting. A
  vector or tensor of the expression is then in scanner axes too.

Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.

References:
  Moré JJ. Lecture Notes in Mathematics 630, 105 (1978)      Levenberg-Marquardt
  Alexander DC. NeuroImage 43, 258 (2008)                     offset-gaussian
  Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995)       rician";

impl FitExpr {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { model, parameters, constants, likelihood, sigma, robust, fit } = self;
        if (likelihood.0 == Likelihood::Gaussian) != sigma.is_none() {
            return Err(Failure::usage(
                "--sigma goes with --likelihood offset-gaussian or rician, and they need it",
            ));
        }
        let n_constants = constants.len();
        let parameters = ExprParameters {
            formula: model,
            parameters,
            constants: constants.into_iter().collect(),
            likelihood,
            sigma,
            robust,
        };
        if parameters.constants.len() < n_constants {
            return Err(Failure::usage("a --constant was given twice"));
        }
        fit.run(parameters, console)
    }
}

/// `D=1,0,5`, `C=0,-,-`, `C=0.1,fixed` or `D=1`.
fn parameter(text: &str) -> Result<ExprParameter, String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=START,LOW,HIGH")?;
    let number = |text: &str| -> Result<f64, String> {
        text.trim().parse().map_err(|_| format!("'{text}' is no number"))
    };
    let bound = |text: &str| match text.trim() {
        "-" => Ok(None),
        text => number(text).map(Some),
    };
    let values: Vec<&str> = values.split(',').collect();
    let (start, lower, upper, fixed) = match values[..] {
        [start] => (start, None, None, false),
        [start, word] if word.trim() == "fixed" => (start, None, None, true),
        [start, lower, upper] => (start, bound(lower)?, bound(upper)?, false),
        _ => return Err("expected NAME=START, NAME=START,LOW,HIGH or NAME=START,fixed".into()),
    };
    Ok(ExprParameter { name: name.trim().to_owned(), start: number(start)?, lower, upper, fixed })
}

fn constant(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
    Ok((name.trim().to_owned(), PathBuf::from(file)))
}

fn noise_level(text: &str) -> Result<NoiseLevel, String> {
    Ok(text.parse().map_or_else(|_| NoiseLevel::Map(text.into()), NoiseLevel::Value))
}
