//! What is only for measuring: the times of fimbria on this machine, beside plain loops, what the
//! hardware attains, and peers; the tables of the papers.
//!
//! Each benchmark is a struct of its options, which clap fills, and a [`Benchmark`]: it gets the
//! threads and devices of a [`Machine`], and prints rows on a [`Console`] as they are measured.
//!
//! * one file or folder per benchmark: its options, its help, what it times;
//! * `clock`: how things are timed; `floors`: what this machine attains; `table`: how it is shown;
//! * `watched`: devices that fail while they are measured, and where their time goes;
//! * `peer`: whole commands beside those of another program;
//! * `simd`: a level of SIMD as an option;
//! * [`checks()`]: the kernel that is measured and not used elsewhere, against its oracle.

mod clock;
mod dti;
mod fft;
mod figures;
mod fit;
mod floors;
mod io;
mod life;
mod paper;
mod peer;
mod qsm;
mod simd;
mod sparse;
mod sshopm;
mod sticks;
mod table;
mod track;
mod watched;

use std::error::Error;
use std::fmt;

use clap::Args;
use fimbria_cluster::World;
use fimbria_compute::check::Check;
use fimbria_compute::device::{Device, Spent};
use fimbria_compute::{Progress, Workers};

pub use dti::BenchDti;
pub use fft::BenchFft;
pub use fit::BenchFit;
pub use io::BenchIo;
pub use life::BenchLife;
pub use paper::{BenchPaper, Paper};
pub use qsm::BenchQsm;
pub use sparse::BenchSparse;
pub use sshopm::BenchSshopm;
pub use sticks::BenchSticks;
pub use track::BenchTrack;
pub use watched::{Rows, run_watched};

/// How tables are read, for the help.
pub const HELP: &str = "\
How to read the tables:
  Times are the best of several runs after one that is not counted, on a machine that should do
  nothing else; only ratios within one table carry over to another machine. `floor` is the time
  that the counted arithmetic or the counted bytes take at the rates printed above the table,
  whichever is longer, over the time measured: 100 % cannot be beaten without doing less.";

/// Options of a benchmark, and what is timed.
pub trait Benchmark: Args {
    /// Times it on `machine`, and prints rows as they come.
    ///
    /// # Errors
    /// Where something cannot be made or measured, a row not be printed, or the user stops it.
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure>;
}

/// A benchmark that `mpirun` may have started several times.
pub trait SharedBenchmark: Args {
    /// Runs it in every process of `world`, of which the first speaks.
    ///
    /// # Errors
    /// Where something cannot be made or measured, a row not be printed, or the user stops it.
    fn run(self, machine: Machine, world: &mut World, console: &dyn Console)
    -> Result<(), Failure>;
}

/// Where benchmarks run.
#[derive(Debug)]
pub struct Machine {
    /// The threads asked for.
    pub workers: Workers,
    /// The devices asked for, each measured by itself.
    pub devices: Vec<Device>,
    /// Whether devices alone have rows: nothing is timed on threads, nor beside other programs.
    pub devices_only: bool,
}

impl Machine {
    /// The numbers of threads that have rows: one, and all where they are more.
    fn thread_counts(&self) -> Vec<usize> {
        match self.workers.threads() {
            _ if self.devices_only => Vec::new(),
            1 => vec![1],
            all => vec![1, all],
        }
    }
}

/// Where rows go, who hears warnings, and who may stop the work.
pub trait Console: Progress {
    /// Shows a part of the result.
    ///
    /// # Errors
    /// Where it cannot be shown.
    fn print(&self, text: &str) -> Result<(), Failure>;

    /// How rows are shown.
    fn rows(&self) -> Rows {
        Rows::Text
    }

    /// Where the time of each metered device went until now.
    fn spent(&self) -> Vec<Spent> {
        Vec::new()
    }
}

/// Why a benchmark ends early: an error of what it times, or a [`Usage`].
pub type Failure = Box<dyn Error + Send + Sync>;

/// Options that nothing can be measured by.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

fn usage(message: impl fmt::Display) -> Failure {
    Usage(message.to_string()).into()
}

/// The checks of this crate's kernel.
pub fn checks() -> Vec<Check> {
    sparse::checks().into()
}
