//! `fimbria fit`

mod alone;
mod dki;
mod dki1d;
mod dti;
mod expr;
mod fod;
mod hot;
mod ivim;
mod mono;
mod stremi;
mod stremi1d;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// Fit a signal model in every voxel and write its maps
///
/// Built with --features mpi, `mpirun -n 4 fimbria fit ...` deals the voxels out to processes; the first
/// one writes, and maps have the bits of one process.
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
    Dki1d(dki1d::FitDki1d),
    Stremi1d(stremi1d::FitStremi1d),
    Stremi(stremi::FitStremi),
    Ivim(ivim::FitIvim),
    Mono(mono::FitMono),
    Expr(expr::FitExpr),
    Fod(fod::FitFod),
}

impl Fit {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.model {
            Model::Dti(fit) => fit.run(console),
            Model::Hot(fit) => fit.run(console),
            Model::Dki(fit) => fit.run(console),
            Model::Dki1d(fit) => fit.run(console),
            Model::Stremi1d(fit) => fit.run(console),
            Model::Stremi(fit) => fit.run(console),
            Model::Ivim(fit) => fit.run(console),
            Model::Mono(fit) => fit.run(console),
            Model::Expr(fit) => fit.run(console),
            Model::Fod(fit) => fit.run(console),
        }
    }
}
