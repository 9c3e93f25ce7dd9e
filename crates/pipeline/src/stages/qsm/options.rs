//! The options of a map: method, numerics, solver and when to stop.

use std::path::PathBuf;

use clap::Args;
use fimbria_qsm::dqsm::Iterate;
use fimbria_qsm::variation::Outside;
use fimbria_qsm::{Edges, Products};
use serde::{Deserialize, Serialize};

use super::choices::{DataTerm, QsmCompat, Start};
use super::inversion::QsmMethod;
use super::ways::{DEFAULT, PUBLISHED};
use crate::Named;
use crate::options::{
    Described as _, OptionError, Place, Resolve, Takes, Ways, above, at_least, choice,
    refuse_unused, with_defaults_of, within,
};

const METHOD: Ways<QsmMethod> = Ways::NEW;

/// The options of a map as given; [`Resolve`] fills in the defaults of the method.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
pub struct QsmParameters {
    /// How the map is made
    #[arg(long, value_name = "METHOD", default_value = DEFAULT)]
    #[arg(value_parser = choice::<QsmMethod>(), default_value_if("compat", "dqsm", PUBLISHED))]
    #[arg(default_value_if("dqsm_files", "true", PUBLISHED))]
    pub method: Named<QsmMethod>,

    /// Whose numerics to follow
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<QsmCompat>(), by = METHOD)]
    pub compat: Option<Named<QsmCompat>>,

    /// FA above which a voxel has a fibre
    #[arg(long, value_name = "FA", number = within(0.0, 1.0, ""), help_heading = "Input")]
    #[arg(by = METHOD)]
    pub fa_threshold: Option<f64>,

    /// Share κ of the data
    #[arg(long, value_name = "SHARE", number = above(0.0, "").up_to(1.0), by = METHOD)]
    pub kappa: Option<f64>,

    /// Which iteration
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Iterate>(), by = METHOD)]
    pub solver: Option<Named<Iterate>>,

    /// Step of --solver landweber; one that would diverge is made smaller
    #[arg(long, value_name = "STEP", number = above(0.0, ""), by = METHOD.or("a safe one"))]
    pub step: Option<f64>,

    /// How products are made; both are exact
    #[arg(long, value_name = "PRODUCTS", value_parser = choice::<Products>(), by = METHOD)]
    pub products: Option<Named<Products>>,

    /// What lies beyond the mask, for the penalty
    #[arg(long, value_name = "EDGES", value_parser = choice::<Edges>(), by = METHOD)]
    pub edges: Option<Named<Edges>>,

    /// What is outside the mask, for the field
    #[arg(long, value_name = "WHAT", value_parser = choice::<Outside>(), by = METHOD)]
    pub outside: Option<Named<Outside>>,

    /// What is explained
    #[arg(long, value_name = "WHAT", value_parser = choice::<DataTerm>(), by = METHOD)]
    pub data: Option<Named<DataTerm>>,

    /// Voxels that a source reaches along each axis
    #[arg(long, value_name = "VOXELS", number = at_least(1_u32, ""), by = METHOD.or("all"))]
    pub support: Option<u32>,

    /// Where the iteration starts
    #[arg(long, value_name = "START", value_parser = choice::<Start>(), by = METHOD)]
    pub start: Option<Named<Start>>,

    /// Iterations at most
    #[arg(long, value_name = "N", number = at_least(1_usize, ""), by = METHOD)]
    pub iterations: Option<usize>,

    /// Stop where the map changes by no more than this part of itself
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""), by = METHOD)]
    pub tolerance: Option<f64>,

    /// Stop where the gradient is no more than this part of its first
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""), by = METHOD)]
    pub gradient_tolerance: Option<f64>,

    /// Stop where the field is explained to this noise (after weights)
    #[arg(long, value_name = "PPM", number = above(0.0, "ppm"), by = METHOD)]
    pub noise: Option<f64>,

    /// Weight λ of what is penalised; of methods that treat some frequencies differently the size |D| of the
    /// dipole below which they do
    #[arg(long, value_name = "VALUE", number = above(0.0, ""))]
    #[arg(by = METHOD.or("by the field's noise, see below"))]
    pub strength: Option<f64>,

    /// Make the mean over the mask zero
    #[arg(long, in_run = "true", conflicts_with = "reference")]
    pub zero_mean: bool,

    /// Make the mean over these voxels zero instead: a 3-D image on the same grid, inside where above
    /// zero
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::MASK)]
    pub reference: Option<PathBuf>,

    /// Regions of --reference, which holds labels then, on any grid of the same scanner space: their
    /// numbers, or names of the table beside it (NAME.tsv)
    #[arg(long, value_name = "LABEL", num_args = 1.., requires = "reference")]
    pub reference_label: Option<Vec<String>>,
}

impl Resolve for QsmParameters {
    type Setting = Place;

    fn with_defaults(&self, place: &Place) -> Self {
        // No default depends on the path, which need not be text.
        let given = Self { reference: None, ..self.clone() };
        let reference = self.reference.clone();
        Self { reference, ..with_defaults_of(self.method.0, &given, *place) }
    }
}

impl QsmParameters {
    /// Whether every option that is given is used, and the options go together.
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn check(&self) -> Result<(), OptionError> {
        refuse_unused(self, "method", crate::Choice::name(self.method.0))?;
        self.method.0.check(&self.resolve(&Place::Command))
    }
}

#[cfg(test)]
mod tests;
