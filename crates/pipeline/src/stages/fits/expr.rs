//! The stage that fits a signal model given as text.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use fimbria_image::{GradientTable, Image, MapSpec, read_image};
use fimbria_models::curve::{CurveOptions, Likelihood, rules};
use fimbria_models::expr::{self, ExprFitError, ExprOptions, Parameter, VoxelConstants};
use serde::Serialize;
use serde_json::{Value, json};

use super::curve::{MORE, NoiseOptions, SolverOptions};
use super::fit_maps::{FitJob, FitModel, InRun, Outcome};
use crate::method_text::MethodText;
use crate::options::{Described as _, FileType, NamedFile, Takes, above, choice, within};
use crate::stages::per_volume;
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{FileKind, Input, Named, StageError, Written};

/// The options of a fit of a formula.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// The signal: b, gx, gy, gz, parameters, constants, + - * / ^ and functions
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub model: String,

    /// A parameter, where its fit starts, and its bounds ('-' for none) or 'fixed'; once for each,
    /// in the order of the maps
    #[arg(long, value_name = "NAME=START[,LOW,HIGH|,fixed]", required = true)]
    pub param: Vec<ExprParameter>,

    /// A map of one volume that the expression takes as a constant of each voxel
    #[arg(long, value_name = "NAME=FILE")]
    #[arg(takes = Takes::IMAGE)]
    pub constant: Vec<NamedFile>,

    /// Numbers of the volumes, such as echo times, that the expression takes by name: a list, the
    /// column of that name in a .tsv, or of a sidecar (.json) the key of that name; TE, TI, TR,
    /// delta and Delta are EchoTime, InversionTime, RepetitionTime, SmallDelta and LargeDelta too
    #[arg(long, value_name = "NAME=FILE")]
    #[arg(takes = Takes::any_of(&[FileType::Table, FileType::Json]))]
    pub per_volume: Vec<NamedFile>,

    /// What a parameter is, for the sidecar of its map, with its unit in brackets at the end
    #[arg(long, value_name = "NAME=TEXT[UNIT]")]
    pub about: Vec<About>,

    /// Fit each voxel from so many starts and keep the smallest residual: the others are spread
    /// within the bounds of the parameters that have both
    #[arg(long, value_name = "N", default_value_t = 1, number = within(1_u32, 1000, ""))]
    pub starts: u32,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"), usually = "all are used")]
    pub bmax: Option<f64>,

    /// How noise enters
    #[arg(long, value_name = "NAME", default_value = "gaussian", help_heading = "Noise")]
    #[arg(value_parser = choice::<Likelihood>())]
    pub likelihood: Named<Likelihood>,

    /// Standard deviation of the noise in input units, a number or a map, for the offset-Gaussian
    /// and Rician likelihoods
    #[arg(long, value_name = "SIGMA|FILE", help_heading = "Noise")]
    #[arg(usually = "estimated from the spread of repeated unweighted volumes")]
    pub sigma: Option<NoiseLevel>,

    /// Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros
    #[arg(long, value_name = "MASK", conflicts_with = "sigma", help_heading = "Noise")]
    #[arg(takes = Takes::MASK)]
    pub background: Option<PathBuf>,

    /// How the solver works.
    #[command(flatten)]
    #[serde(flatten)]
    pub solver: SolverOptions,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

/// One parameter of a formula: `D=1,0,5`, `C=0,-,-`, `C=0.1,fixed` or `D=1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct ExprParameter(pub Parameter);

impl FromStr for ExprParameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').ok_or("expected NAME=START,LOW,HIGH")?;
        let number = |text: &str| -> Result<f64, String> {
            text.trim().parse().map_err(|_| format!("'{text}' is no number"))
        };
        let bound = |text: &str, none: f64| match text.trim() {
            "-" => Ok(none),
            text => number(text),
        };
        let (none_below, none_above) = (f64::NEG_INFINITY, f64::INFINITY);
        let values: Vec<&str> = values.split(',').collect();
        let (start, lower, upper, fixed) = match values[..] {
            [start] => (start, none_below, none_above, false),
            [start, word] if word.trim() == "fixed" => (start, none_below, none_above, true),
            [start, lower, upper] => {
                (start, bound(lower, none_below)?, bound(upper, none_above)?, false)
            }
            _ => return Err("expected NAME=START, NAME=START,LOW,HIGH or NAME=START,fixed".into()),
        };
        let (name, start) = (name.trim().to_owned(), number(start)?);
        Ok(Self(Parameter { name, start, lower, upper, fixed }))
    }
}

impl From<ExprParameter> for String {
    fn from(ExprParameter(parameter): ExprParameter) -> Self {
        let Parameter { name, start, lower, upper, fixed } = parameter;
        let bound = |bound: f64| if bound.is_finite() { bound.to_string() } else { "-".to_owned() };
        match fixed {
            true => format!("{name}={start},fixed"),
            false => format!("{name}={start},{},{}", bound(lower), bound(upper)),
        }
    }
}

/// What a parameter is: `D=diffusivity of tissue [um^2/ms]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct About {
    name: String,
    text: String,
    unit: String,
}

impl FromStr for About {
    type Err = &'static str;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let (name, words) = words.split_once('=').ok_or("expected NAME=TEXT [UNIT]")?;
        let (text, unit) = match words.trim().strip_suffix(']').and_then(|w| w.rsplit_once('[')) {
            Some((text, unit)) => (text.trim(), unit.trim()),
            None => (words.trim(), ""),
        };
        Ok(Self { name: name.trim().to_owned(), text: text.to_owned(), unit: unit.to_owned() })
    }
}

impl From<About> for String {
    fn from(About { name, text, unit }: About) -> Self {
        match unit.as_str() {
            "" => format!("{name}={text}"),
            unit => format!("{name}={text} [{unit}]"),
        }
    }
}

/// A noise level in input units: a number, or a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NoiseLevel {
    /// The same in all voxels.
    Value(f64),
    /// A map.
    Map(PathBuf),
}

impl FromStr for NoiseLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<f64>() {
            Ok(sigma) if sigma.is_finite() && sigma > 0.0 => Ok(Self::Value(sigma)),
            Ok(_) => Err("it must be a number above 0, or a map"),
            Err(_) => Ok(Self::Map(text.into())),
        }
    }
}

impl Parameters {
    /// What is fitted, in the order of the maps.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.param.iter().map(|parameter| parameter.0.clone()).collect()
    }

    fn options(&self, curve: CurveOptions) -> ExprOptions {
        ExprOptions {
            formula: self.model.clone(),
            parameters: self.parameters(),
            acquired: Vec::new(),
            starts: self.starts as usize,
            curve,
        }
    }

    /// The names that come with files.
    fn constants(&self) -> Vec<&str> {
        self.constant.iter().chain(&self.per_volume).map(|file| file.name.as_str()).collect()
    }

    /// What is said of a parameter.
    fn about(&self, name: &str) -> Option<&About> {
        self.about.iter().find(|about| about.name == name)
    }

    /// Says of a map what was said of its parameter.
    fn describe(&self, map: &mut MapSpec) {
        if let Some(About { text, unit, .. }) = self.about(&map.name) {
            map.description = text.clone().into();
            map.unit = unit.clone().into();
        }
    }

    /// The model alone, as a file that `fit` takes: what is of one series is left out.
    fn file(&self) -> Result<String, StageError> {
        let model = Self {
            constant: Vec::new(),
            per_volume: Vec::new(),
            sigma: None,
            background: None,
            ..self.clone()
        };
        let mut values = json!(model);
        let is_said = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(values) => !values.is_empty(),
            _ => true,
        };
        values.as_object_mut().into_iter().for_each(|all| all.retain(|_, value| is_said(value)));
        let files = [(&self.constant, "constant"), (&self.per_volume, "per-volume")];
        let needed = files.iter().flat_map(|(files, option)| {
            files.iter().map(move |file| format!("# needs --{option} {}=FILE\n", file.name))
        });
        let noise = [(self.sigma.is_some(), "sigma"), (self.background.is_some(), "background")];
        let noise = noise.into_iter().filter(|(is_given, _)| *is_given);
        let noise = noise.map(|(_, option)| {
            format!("# was fitted with --{option}: without, noise is estimated\n")
        });
        let needed = needed.chain(noise);
        let table = toml::to_string(&json!({ Self::STAGE: values }))?;
        Ok(needed.collect::<String>() + &table)
    }

    fn curve(&self) -> CurveOptions {
        let options = self.solver.options(self.bmax, rules::MAX_ITERATIONS_OF_EXPRESSIONS);
        CurveOptions { likelihood: self.likelihood.0, ..options }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "expr";
    const BIDS_MODEL: &'static str = "expression";
    const DESCRIPTION: &'static str = "Signal model given as an expression";
    const IN_RUN: InRun = InRun::ByTable;
    const TEXTS: &'static [Written] = &[Written::file(
        "model.toml",
        FileKind::Text,
        "the model, which `fimbria fit model.toml DWI` fits to other series",
    )];
    const TEXT: &MethodText = &TEXT;

    fn consistent(&self) -> Result<(), String> {
        let is_given = self.sigma.is_some() || self.background.is_some();
        if is_given && self.likelihood.0 == Likelihood::Gaussian {
            return Err("--sigma and --background are used with --likelihood offset-gaussian, \
                        rician-mean and rician only"
                .to_owned());
        }
        if let Some(about) =
            self.about.iter().find(|a| self.param.iter().all(|p| p.0.name != a.name))
        {
            return Err(format!("--about says what {} is, which is no --param", about.name));
        }
        // What the formula takes besides may come with another series.
        match expr::read(&self.options(self.curve()), &self.constants()) {
            Err(error) if !error.is_unknown_name() => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    fn in_effect(&self) -> Value {
        SolverOptions::in_effect(json!(self), rules::MAX_ITERATIONS_OF_EXPRESSIONS)
    }

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax)
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        let curve = CurveOptions { b_max_s_per_mm2: self.bmax, ..CurveOptions::default() };
        Ok(expr::check(gradients, &self.constants(), &self.options(curve))?)
    }

    fn described_maps() -> Vec<MapSpec> {
        let parameter = MapSpec::scalar(
            "NAME",
            "",
            "each parameter, in the unit the expression gives it; NaN where the samples of a voxel \
             do not determine it, and others are kept",
        );
        let error = MapSpec::scalar("NAME_error", "", "its standard error, with --errors");
        let rest = expr::maps("b", &[], false);
        [parameter, error].into_iter().chain(rest).collect()
    }

    fn described_others() -> Vec<Written> {
        Vec::new()
    }

    fn maps(&self) -> Vec<MapSpec> {
        let mut maps = expr::maps(&self.model, &self.parameters(), self.solver.errors);
        maps.iter_mut().for_each(|map| self.describe(map));
        maps
    }

    fn shown(&self) -> Option<ShownMaps> {
        let free = self.param.iter().map(|ExprParameter(parameter)| parameter).filter(|p| !p.fixed);
        let shown = free.map(|p| {
            let about = self.about(&p.name).map(|of| format!("{}: {}", p.name, of.text));
            ShownMap::new(&p.name, about.as_ref().unwrap_or(&p.name), "")
        });
        Some(ShownMaps::new(&self.model, shown))
    }

    fn methods(&self) -> Option<Methods> {
        let text = format!("{} was fitted by Levenberg and Marquardt's method.", self.model);
        Some(Methods { text, references: vec![MORE] })
    }

    fn inputs(&self) -> Vec<Input> {
        let files = self.constant.iter().chain(&self.per_volume);
        let files = files.map(|of| (of.name.clone(), of.file.clone()));
        let sigma = match &self.sigma {
            Some(NoiseLevel::Map(path)) => Some(("sigma".to_owned(), path.clone())),
            Some(NoiseLevel::Value(_)) | None => None,
        };
        let background = self.background.iter().map(|path| ("background".to_owned(), path.clone()));
        files.chain(sigma).chain(background).collect()
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let workers = job.log.session().on.workers;
        let read = |path: &PathBuf| workers.install(|| read_image(path));
        let mut named: Vec<(String, Image)> = Vec::new();
        for NamedFile { name, file } in &self.constant {
            named.push((name.clone(), read(file)?));
        }
        let (sigma, map) = match &self.sigma {
            Some(NoiseLevel::Value(sigma)) => (Some(*sigma), None),
            Some(NoiseLevel::Map(path)) => (None, Some(read(path)?)),
            None => (None, None),
        };
        let noise = NoiseOptions { sigma, background: self.background.clone() };
        let takes_level = self.likelihood.0 != Likelihood::Gaussian && map.is_none();
        let sigma = if takes_level { noise.level(job.subject, job.log)? } else { None };
        let mut options = self.options(CurveOptions { sigma, ..self.curve() });
        for NamedFile { name, file } in &self.per_volume {
            let all = per_volume::read(name, file, job.series_volumes)?;
            if all.len() != job.series_volumes {
                let (values, volumes) = (all.len(), job.series_volumes);
                let name = name.clone();
                return Err(ExprFitError::Acquired { name, values, volumes }.into());
            }
            let used = job.volumes.iter().map(|&volume| all[volume]).collect();
            options.acquired.push((name.clone(), used));
        }
        let mut fitted = expr::fit(
            &*job.subject.dwi,
            &job.subject.mask,
            &job.subject.gradients,
            VoxelConstants { named: &named, sigma: map.as_ref() },
            &options,
            job.on(),
            job.log,
        )?;
        fitted.maps.iter_mut().for_each(|map| self.describe(&mut map.spec));
        Ok(Outcome { fitted, texts: vec![self.file()?] })
    }
}

static TEXT: MethodText = MethodText {
    sentence: "Fit a signal model written as an expression, 'S0*exp(-b*D)+C'",
    method: "",
    notes: "\
Expression:
  Numbers (1.5e-3), names, pi, + - * / ^ (or **), parentheses, exp ln log log10 sqrt abs sin cos
  tan atan sinh cosh tanh min max pow. Powers bind tightest and to the right, -2^2 is -4. A power of
  zero is zero. Derivatives are exact. 1 to 12 parameters. A device compiles the expression to a
  kernel of its own.

  fimbria fit expr dwi.nii.gz --model 'S0*exp(-b*D)+C' \\
      --param S0=1000,0,1e5 --param D=1,0,5 --param C=0,0,- -o out

A model in a file:
  The folder has model.toml, a table [expr] with the options of this command, _ for -:
    [expr]
    model = \"S0*exp(-TE/T2)*exp(-b*D)\"
    param = [\"S0=1000,0,-\", \"T2=80,5,500\", \"D=1,0,5\"]
    about = [\"T2=transverse relaxation time [ms]\"]
  `fimbria fit model.toml DWI --per-volume TE=te.txt -o OUT` fits it to another series, and a run
  whose file has the table does.

Units:
  b is in ms/µm² (s/mm² over 1000): diffusivities come out in µm²/ms, a thousand times mm²/s.

Order and frame:
  gx gy gz are the direction of each volume in scanner RAS axes, zero without weighting. A
  vector or tensor of the expression is then in scanner axes too.",
    references: &[
        ("Moré JJ. Lecture Notes in Mathematics 630, 105 (1978)", "Levenberg-Marquardt"),
        ("Alexander DC. NeuroImage 43, 258 (2008)", "offset-gaussian"),
        ("Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995)", "rician"),
    ],
    examples: &[
        "fimbria fit expr dwi.nii.gz --model 'S0*exp(-b*D)' --param S0=1000 --param D=1,0,5 -o adc",
        "fimbria fit expr dwi.nii.gz --model 'S0*exp(-b*D)' --param S0=900 --param D=1 --errors -o adc",
        "fimbria fit expr dwi.nii --model 'S*exp(-TE/T)' --param S=9 --param T=80 --per-volume TE=te.txt -o t",
        "fimbria fit expr dwi.nii.gz --model 'S0*(1-b*D)' --param S0=900 --param D=1,fixed -o s0",
    ],
};
