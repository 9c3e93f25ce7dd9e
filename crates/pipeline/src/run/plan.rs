//! What of a run is not made as it was asked for, and why: it is said before anything is made.

use std::collections::BTreeMap;

use fimbria_image::GradientTable;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Asked, ConfigError, RunConfig};
use crate::options::{Values, from_values};
use crate::stages::fits::fit_maps::FitModel as _;
use crate::stages::fits::fod::{self, LEAST_DIRECTIONS, degree_in_run};
use crate::stages::fits::{DTI, FOD, Fit, FitStage};
use crate::stages::in_run::InRunError;
use crate::stages::studies::{Member, fit_of_folder};
use crate::{Input, Logbook, OutputFolder, Page, Products, Stage, StageError};

/// What of a run is not made as it was asked for: a stage that warns of it and writes it down.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Plan {
    /// What the gradient table does not carry.
    left_out: Vec<LeftOut>,
    /// The degree of the densities, where it is lower than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_degree: Option<LowerDegree>,
    /// The tables whose options no stage of the run takes.
    unused: Vec<String>,
    /// The files of the gradient table.
    #[serde(skip)]
    inputs: Vec<Input>,
}

/// Stages that are not made.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct LeftOut {
    stages: Vec<String>,
    reason: String,
}

/// A degree that the directions of a series determine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct LowerDegree {
    degree: usize,
    directions: usize,
}

impl Plan {
    const FILE: &'static str = "plan.json";

    /// The stage, where something is not made as it was asked for; `inputs` are those of the series.
    pub(super) fn stage(self, inputs: Vec<Input>) -> Option<Box<dyn Stage>> {
        let is_table = |(role, _): &Input| role == "gradients";
        let inputs = inputs.into_iter().filter(is_table).collect();
        (self != Self::default()).then(|| Box::new(Self { inputs, ..self }) as Box<dyn Stage>)
    }

    /// The degree of the densities, where it is lower than usual.
    pub(super) fn lower_degree(&self) -> Option<usize> {
        self.lower_degree.map(|lower| lower.degree)
    }

    /// Whether the gradient table does not carry a stage that was asked for.
    pub(super) fn leaves_out(&self, stage: &str) -> bool {
        self.left_out.iter().any(|left_out| left_out.stages.iter().any(|name| name == stage))
    }

    pub(super) fn leave_out(&mut self, stages: Vec<String>, reason: String) {
        self.left_out.push(LeftOut { stages, reason });
    }

    /// Notes the tables with options whose stages are neither among `made` nor left out.
    pub(super) fn compare(&mut self, tables: &BTreeMap<String, Values>, made: &[Box<dyn Stage>]) {
        let is_made = |table: &str| {
            // The scan of [gre] is read by the stage of its field.
            let stage = if table == "gre" { "field" } else { table };
            let makes = |name: &str| {
                name == stage || fit_of_folder(name).is_some_and(|fit| fit.name() == stage)
            };
            made.iter().any(|made| makes(made.name())) || self.leaves_out(stage)
        };
        let tables = tables.iter().filter(|(_, values)| !values.is_empty());
        let unused = tables.filter(|(table, _)| !is_made(table)).map(|(table, _)| table.clone());
        self.unused = unused.collect();
    }

    /// What the user should know of it, a sentence each.
    fn sentences(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|LeftOut { stages, reason }| {
            let verb = if stages.len() == 1 { "is" } else { "are" };
            format!("{} {verb} left out: {reason}", stages.join(", "))
        });
        let lower = self.lower_degree.map(|LowerDegree { degree, directions }| {
            format!(
                "the densities have degree {degree}, which {directions} directions on one shell determine \
                 (fod.order sets another): fibres that cross at small angles are not told apart"
            )
        });
        let unused = self.unused.iter().map(|table| {
            format!("the options of [{table}] have no effect: this run does not make that stage")
        });
        left_out.chain(lower).chain(unused).collect()
    }
}

/// Why a run does not make a fit with these options; `None` where it does.
fn refusal(
    fit: &dyn Fit,
    stage: &dyn FitStage,
    config: &RunConfig,
    gradients: &GradientTable,
) -> Option<String> {
    if config.input.grad_dev.is_some() && fit.name() != DTI.name() {
        let reason = "it takes one b and direction of a volume for all voxels, and the gradient \
                      deviation has others for each";
        return Some(reason.to_owned());
    }
    stage.supports(gradients).err().map(|error| error.to_string())
}

impl Asked {
    /// Whether a fit is made, or left out.
    pub(super) fn has_met(&self, fit: &dyn Fit) -> bool {
        self.fits.iter().any(|other| other.name() == fit.name()) || self.plan.leaves_out(fit.name())
    }

    /// Adds a fit where the gradient table carries it; else the plan says why not.
    pub(super) fn add_fit(
        &mut self,
        fit: &'static dyn Fit,
        config: &RunConfig,
        gradients: &GradientTable,
    ) -> Result<(), ConfigError> {
        match refusal(fit, &*config.fit(fit, "")?, config, gradients) {
            None => self.fits.push(fit),
            Some(reason) => self.plan.leave_out(vec![fit.name().to_owned()], reason),
        }
        Ok(())
    }

    /// Adds a fit of a study, likewise.
    pub(super) fn add_member(
        &mut self,
        member: Member,
        config: &RunConfig,
        gradients: &GradientTable,
    ) -> Result<(), ConfigError> {
        let fit = member.fit();
        if !member.is_labelled() {
            if fit.name() != FOD.name() {
                return self.add_fit(fit, config, gradients);
            }
            // The degree of densities is lowered to what the table carries.
            self.fits.push(fit);
            return Ok(());
        }
        let stage = member.stage(&config.tables, config.maps, "")?;
        match refusal(fit, &*stage, config, gradients) {
            None => self.labelled.push(member),
            Some(reason) => self.plan.leave_out(vec![member.folder.to_owned()], reason),
        }
        Ok(())
    }

    /// Lowers the degree of the densities to what the directions determine, where none is set. Where they
    /// carry none, all that takes them is left out; what was asked for by name is left to be refused.
    pub(super) fn limit_densities(
        &mut self,
        config: &RunConfig,
        gradients: &GradientTable,
        by_name: bool,
    ) -> Result<(), ConfigError> {
        let is_named = self.fits.iter().any(|fit| fit.name() == FOD.name());
        if !self.methods.contains(&"peaks") && !is_named {
            return Ok(());
        }
        let none = Values::new();
        let values = config.tables.get(FOD.name()).unwrap_or(&none);
        let parameters: fod::Parameters =
            from_values(values).map_err(InRunError::in_table(FOD.name()))?;
        let reason = if values.contains_key("order") {
            match parameters.supports(gradients) {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            }
        } else {
            let volumes = parameters.volumes(gradients);
            let volumes = volumes.map_err(|error| InRunError::Fit(error.into()))?;
            let directions = volumes.gradients.most_directions_of_a_shell();
            match degree_in_run(&volumes.gradients) {
                Some(degree) if degree == parameters.order.0.0 => return Ok(()),
                Some(degree) => {
                    self.plan.lower_degree = Some(LowerDegree { degree, directions });
                    return Ok(());
                }
                None => format!(
                    "densities take {LEAST_DIRECTIONS} directions on one shell, and the most are \
                     {directions} (fod.order = 4 makes them of fewer)"
                ),
            }
        };
        if by_name {
            return Ok(());
        }
        self.fits.retain(|fit| fit.name() != FOD.name());
        let mut stages = vec![FOD.name().to_owned()];
        stages.extend(self.methods.drain(..).map(str::to_owned));
        let has_lines = stages.iter().any(|stage| stage == "track");
        if has_lines && config.tables.contains_key("connectome") {
            stages.push("connectome".to_owned());
        }
        self.plan.leave_out(stages, reason);
        Ok(())
    }
}

impl Stage for Plan {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn inputs(&self) -> Vec<Input> {
        self.inputs.clone()
    }

    fn parameters(&self) -> Value {
        // Reasons tell of the gradient table, which is an input.
        let left_out = self.left_out.iter().flat_map(|left_out| &left_out.stages);
        let left_out: Vec<_> = left_out.collect();
        json!({ "left_out": left_out, "degree": self.lower_degree(), "unused": self.unused })
    }

    fn outputs(&self) -> Vec<String> {
        vec![Self::FILE.to_owned()]
    }

    fn compute(&self, _products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        for sentence in self.sentences() {
            log.warn(Page::Run, &sentence);
        }
        Ok(())
    }

    fn write(
        &self,
        _products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let text = serde_json::to_string_pretty(self)?;
        Ok(out.write(Self::FILE, format!("{text}\n").as_bytes())?)
    }
}
