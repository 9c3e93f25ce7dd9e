//! What the methods share that weigh the data against smoothness by κ: options and words.

use fimbria_qsm::dqsm::{DqsmOptions, Iterate};
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::{Edges, FA_THRESHOLD};
use serde::{Deserialize, Serialize};

use crate::options::{OptionError, Place};
use crate::stages::qsm::choices::Start;
use crate::stages::shown::Methods;
use crate::{Choice as _, Named};

/// Options of a map as smooth as κ asks for.
#[derive(Serialize, Deserialize)]
pub(in crate::stages) struct SmoothOptions {
    pub(super) fa_threshold: f64,
    pub(super) kappa: f64,
    pub(super) solver: Named<Iterate>,
    pub(super) step: Option<f64>,
    pub(super) edges: Named<Edges>,
    pub(super) support: Option<u32>,
    pub(super) start: Named<Start>,
    pub(super) iterations: usize,
    pub(super) tolerance: f64,
    pub(super) gradient_tolerance: f64,
    pub(super) noise: Option<f64>,
}

impl SmoothOptions {
    /// The defaults. Fields of a run are noisier: they want a smaller share of the data and an early end.
    pub(super) fn new(place: Place) -> Self {
        let stop = StoppingRule::default();
        let (kappa, iterations) = match place {
            Place::Command => (DqsmOptions::KAPPA, stop.iterations),
            Place::Run => (0.95, 20),
        };
        Self {
            fa_threshold: FA_THRESHOLD,
            kappa,
            solver: Named::default(),
            step: None,
            edges: Named::default(),
            support: None,
            start: Named::default(),
            iterations,
            tolerance: stop.relative_change,
            gradient_tolerance: stop.relative_gradient,
            noise: None,
        }
    }

    /// Whether a step that is given is used.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.step.is_none() || self.solver.0 == Iterate::Landweber {
            return Ok(());
        }
        let solver = self.solver.0.name();
        let text = format!("`step` is that of the solver landweber; {solver} chooses its own");
        Err(OptionError::Unusable(text))
    }

    /// When to stop.
    pub(super) fn stop(&self) -> StoppingRule {
        StoppingRule {
            iterations: self.iterations,
            relative_change: self.tolerance,
            relative_gradient: self.gradient_tolerance,
            discrepancy: self.noise,
        }
    }

    /// In words for a paper: what voxels with a fibre are, where there are any, and the unit of the fields
    /// where κ depends on it.
    pub(super) fn methods(
        &self,
        shape: Option<&str>,
        unit: &str,
        cited: &[&'static str],
    ) -> Methods {
        let Self { fa_threshold: fa, kappa, .. } = self;
        let solver = match self.solver.0 {
            Iterate::Landweber => "Landweber's iteration",
            Iterate::Lsmr => "LSMR",
            Iterate::Cgls => "conjugate gradients",
        };
        let edges = match self.edges.0 {
            Edges::Free => "",
            Edges::Zero => " that is zero outside the mask",
        };
        let start = match self.start.0 {
            Start::Zero => "",
            Start::Tikhonov => " from Tikhonov's map on",
        };
        let voxels = match shape {
            Some(shape) => format!(
                "guided by diffusion: voxels of FA above {fa} as {shape} the tensor's first eigenvector, \
                 others as spheres"
            ),
            None => "without guidance, every voxel as a sphere".to_owned(),
        };
        let text = format!(
            "Susceptibility was mapped from the local field {voxels}; κ‖Ax - b‖² + (1 - κ)‖Dx‖², D a \
             Laplacian{edges}, was made smaller by {solver}{start} with κ = {kappa}{unit}."
        );
        Methods { text, references: cited.to_vec() }
    }
}
