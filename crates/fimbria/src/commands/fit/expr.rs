//! `fimbria fit expr`

use std::path::PathBuf;

use clap::Args;
use fimbria_models::curve::Likelihood;
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::curve::{CurveParameters, NoiseSource};
use fimbria_pipeline::stages::expr::{ExprParameter, ExprParameters, curve_of_expressions};

use super::alone::FitArgs;
use crate::args::{ShellArgs, SolverArgs, b_limit, choice};
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

    /// Leave out volumes with b above this, s/mm² (by more than 5 %) [default: all are used]
    #[arg(long, value_name = "B", value_parser = b_limit)]
    bmax: Option<f64>,

    /// How noise enters
    #[arg(long, value_name = "NAME", default_value = "gaussian", help_heading = "Noise")]
    #[arg(value_parser = choice::<Likelihood>())]
    likelihood: Named<Likelihood>,

    /// Standard deviation of the noise in input units, a number or a map, for the offset-Gaussian
    /// and Rician likelihoods [default: estimated from the spread of repeated unweighted volumes]
    #[arg(long, value_name = "SIGMA|FILE", value_parser = noise_level, help_heading = "Noise")]
    sigma: Option<NoiseLevel>,

    /// Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros
    #[arg(long, value_name = "MASK", conflicts_with = "sigma", help_heading = "Noise")]
    background: Option<PathBuf>,

    #[command(flatten)]
    solver: SolverArgs,

    #[command(flatten)]
    shells: ShellArgs,

    #[command(flatten)]
    fit: FitArgs,
}

const HELP: &str = "\
Outputs (3-D, float32 unless said otherwise):
  NAME          each parameter, in the unit the expression gives it; NaN where the samples of a
                voxel do not determine it, and others are kept
  NAME_error    its standard error, with --errors
  residual      root mean square of measured minus predicted signal, units of the input
  iterations    iterations of the fit
  status        0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal,
                5 not determined, 7 fitted, some parameters undetermined (uint8)
  mask mean_b0  where no mask is given: the one that was made (uint8), and the mean unweighted
                volume that it was made of
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Expression:
  Numbers (1.5e-3), names, pi, + - * / ^ (or **), parentheses, exp ln log log10 sqrt abs sin cos
  tan atan sinh cosh tanh min max pow. Powers bind tightest and to the right, -2^2 is -4. A power of
  zero is zero. Derivatives are exact. 1 to 12 parameters. A device compiles the expression to a
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
        let Self {
            model,
            parameters,
            constants,
            bmax,
            likelihood,
            sigma,
            background,
            solver,
            shells,
            fit,
        } = self;
        let is_gaussian = likelihood.0 == Likelihood::Gaussian;
        if is_gaussian && (sigma.is_some() || background.is_some()) {
            return Err(Failure::usage(
                "--sigma and --background are used with --likelihood offset-gaussian and rician only",
            ));
        }
        let mut curve =
            CurveParameters { shells: shells.list(), bmax, likelihood, ..curve_of_expressions() };
        solver.add_to(&mut curve);
        let mut sigma_map = None;
        match (sigma, background) {
            (Some(NoiseLevel::Value(sigma)), _) => curve.noise = NoiseSource::Sigma(sigma),
            (Some(NoiseLevel::Map(path)), _) => sigma_map = Some(path),
            (None, Some(mask)) => curve.noise = NoiseSource::Background(mask),
            (None, None) => {}
        }
        let n_constants = constants.len();
        let parameters = ExprParameters {
            formula: model,
            parameters,
            constants: constants.into_iter().collect(),
            curve,
            sigma_map,
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

/// A noise level in input units.
#[derive(Clone, Debug)]
enum NoiseLevel {
    /// The same in all voxels.
    Value(f64),
    /// A map.
    Map(PathBuf),
}

fn noise_level(text: &str) -> Result<NoiseLevel, String> {
    match text.parse::<f64>() {
        Ok(sigma) if sigma.is_finite() && sigma > 0.0 => Ok(NoiseLevel::Value(sigma)),
        Ok(_) => Err("it must be a number above 0, or a map".to_owned()),
        Err(_) => Ok(NoiseLevel::Map(text.into())),
    }
}
