//! The stage that fits a signal model given as text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fimbria_image::{GradientTable, Image, MapSpec, read_image};
use fimbria_models::curve::{CurveOptions, Likelihood, rules};
use fimbria_models::expr::{self, ExprOptions, Parameter, VoxelConstants};
use serde::{Deserialize, Serialize};

use super::curve::CurveParameters;
use super::fit_maps::{FitMaps, FitModel, Outcome};
use crate::stages::load::Subject;
use crate::stages::volumes::VolumeChoice;
use crate::{Choice, Input, Logbook, Products, StageError};

/// The stage.
pub type Expr = FitMaps<ExprParameters>;

/// The parameters of a fit of a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExprParameters {
    /// The signal, with b in ms/µm².
    pub formula: String,
    /// What is fitted, in the order of the maps.
    pub parameters: Vec<ExprParameter>,
    /// Maps by the names that the formula has for them.
    #[serde(default)]
    pub constants: BTreeMap<String, PathBuf>,
    /// What all fits of curves may be told.
    #[serde(default = "curve_of_expressions")]
    pub curve: CurveParameters,
    /// A map of the noise level in input units, instead of the level of `curve`.
    #[serde(default)]
    pub sigma_map: Option<PathBuf>,
}

/// What fits of curves are told unless one says otherwise: more iterations than others, for starts
/// that may be far off.
pub fn curve_of_expressions() -> CurveParameters {
    let max_iterations = rules::MAX_ITERATIONS_OF_EXPRESSIONS;
    CurveParameters { max_iterations, ..CurveParameters::default() }
}

/// One parameter of a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExprParameter {
    /// Its name in the formula and that of its map.
    pub name: String,
    /// Where the fit starts.
    pub start: f64,
    /// Least value, none for no limit.
    pub lower: Option<f64>,
    /// Largest value, none for no limit.
    pub upper: Option<f64>,
    /// It stays at its start.
    #[serde(default)]
    pub fixed: bool,
}

impl Choice for Likelihood {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Gaussian, "gaussian", "least squares of S"),
        (Self::OffsetGaussian, "offset-gaussian", "least squares against sqrt(S² + sigma²)"),
        (Self::Rician, "rician", "the likelihood of a magnitude"),
    ];
}

impl ExprParameters {
    fn parameters(&self) -> Vec<Parameter> {
        self.parameters
            .iter()
            .map(|given| Parameter {
                name: given.name.clone(),
                start: given.start,
                lower: given.lower.unwrap_or(f64::NEG_INFINITY),
                upper: given.upper.unwrap_or(f64::INFINITY),
                fixed: given.fixed,
            })
            .collect()
    }
}

impl ExprParameters {
    fn options(&self, curve: CurveOptions) -> ExprOptions {
        let (formula, parameters) = (self.formula.clone(), self.parameters());
        ExprOptions { formula, parameters, curve }
    }
}

impl FitModel for ExprParameters {
    const STAGE: &'static str = "expr";
    const BIDS_MODEL: &'static str = "expression";
    const DESCRIPTION: &'static str = "Signal model given as an expression";

    fn choice(&self) -> VolumeChoice {
        self.curve.choice()
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        let curve = CurveOptions { b_max_s_per_mm2: self.curve.bmax, ..CurveOptions::default() };
        let constants: Vec<&str> = self.constants.keys().map(String::as_str).collect();
        Ok(expr::check(gradients, &constants, &self.options(curve))?)
    }

    fn maps(&self) -> Vec<MapSpec> {
        expr::maps(&self.formula, &self.parameters(), self.curve.errors)
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs: Vec<Input> =
            self.constants.iter().map(|(name, path)| (name.clone(), path.clone())).collect();
        inputs.extend(self.sigma_map.iter().map(|path| ("sigma".to_owned(), path.clone())));
        inputs.extend(self.curve.inputs());
        inputs
    }

    fn fit(
        &self,
        subject: &Subject,
        _: &Products,
        log: &Logbook<'_>,
    ) -> Result<Outcome, StageError> {
        let workers = log.session().on.workers;
        let read = |path: &PathBuf| workers.install(|| read_image(path));
        let mut named: Vec<(String, Image)> = Vec::new();
        for (name, path) in &self.constants {
            named.push((name.clone(), read(path)?));
        }
        let sigma_map = self.sigma_map.as_ref().map(read).transpose()?;
        let takes_level = self.curve.likelihood_takes_noise() && sigma_map.is_none();
        let options = self.options(self.curve.options(subject, takes_level, log)?);
        let fitted = expr::fit(
            &*subject.dwi,
            &subject.mask,
            &subject.gradients,
            VoxelConstants { named: &named, sigma: sigma_map.as_ref() },
            &options,
            &log.session().on,
            log,
        )?;
        Ok(fitted.into())
    }
}
