//! `fimbria fit`

mod dki;
mod dti;
mod expr;
mod hot;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// Fit a signal model in every voxel and write its maps
#[derive(Debug, Args)]
pub(crate) struct Fit {
    #[command(subcommand)]
    model: Model,
}

/// The models there are.
#[derive(Debug, Subcommand)]
enum Model {
    Dti(dti::FitDti),
    Hot(hot::FitHot),
    Dki(dki::FitDki),
    Expr(expr::FitExpr),
}

impl Fit {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.model {
            Model::Dti(fit) => fit.run(console),
            Model::Hot(fit) => fit.run(console),
            Model::Dki(fit) => fit.run(console),
            Model::Expr(fit) => fit.run(console),
        }
    }
}
