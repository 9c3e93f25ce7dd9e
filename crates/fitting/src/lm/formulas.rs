//! The signal of a model and its derivatives as formulas: what kernels are made of.

use super::Model;
use crate::expr::{Graph, Staged};

/// A signal with its derivatives by all parameters, cut into what depends on samples alone and
/// what does not.
#[derive(Clone, Debug)]
pub struct SignalFormulas {
    /// The signal first, then its derivatives.
    pub(crate) staged: Staged,
    pub(crate) n_parameters: usize,
    pub(crate) n_covariates: usize,
    pub(crate) n_constants: usize,
}

impl SignalFormulas {
    /// Of a compiled model, by running its signal on symbols.
    pub fn trace<const P: usize>(model: &impl Model<P>) -> Self {
        let (graph, roots) = Graph::of_model(model);
        Self {
            staged: Staged::new(&graph, &roots),
            n_parameters: P,
            n_covariates: model.n_covariates(),
            n_constants: model.n_constants(),
        }
    }

    /// Number of parameters.
    pub fn n_parameters(&self) -> usize {
        self.n_parameters
    }

    /// Number of covariates of a sample.
    pub fn n_covariates(&self) -> usize {
        self.n_covariates
    }

    /// Number of constants of a problem.
    pub fn n_constants(&self) -> usize {
        self.n_constants
    }
}
