//! `fimbria bench`
//!
//! * one file per benchmark: its options, its help, what it times;
//! * `clock`: how things are timed; `floors`: what this machine attains; `table`: how it is shown;
//! * `peer`: whole commands beside those of another program.

mod clock;
mod dti;
mod fft;
mod fit;
mod floors;
mod io;
mod life;
mod peer;
mod qsm;
mod sparse;
mod sshopm;
mod sticks;
mod table;
mod track;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// Time fimbria on this machine, beside plain loops, what the hardware attains, and peers
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Bench {
    #[command(subcommand)]
    benchmark: Benchmark,
}

/// The benchmarks there are.
#[derive(Debug, Subcommand)]
enum Benchmark {
    Dti(dti::BenchDti),
    Fit(fit::BenchFit),
    Io(io::BenchIo),
    Fft(fft::BenchFft),
    Life(life::BenchLife),
    Sparse(sparse::BenchSparse),
    Sshopm(sshopm::BenchSshopm),
    Qsm(qsm::BenchQsm),
    Track(track::BenchTrack),
    Sticks(sticks::BenchSticks),
}

const HELP: &str = "\
How to read the tables:
  Times are the best of several runs after one that is not counted, on a machine that should do
  nothing else; only ratios within one table carry over to another machine. `floor` is the time
  that the counted arithmetic or the counted bytes take at the rates printed above the table,
  whichever is longer, over the time measured: 100 % cannot be beaten without doing less.";

impl Bench {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.benchmark {
            Benchmark::Dti(bench) => bench.run(console),
            Benchmark::Fit(bench) => bench.run(console),
            Benchmark::Io(bench) => bench.run(console),
            Benchmark::Fft(bench) => bench.run(console),
            Benchmark::Life(bench) => bench.run(console),
            Benchmark::Sparse(bench) => bench.run(console),
            Benchmark::Sshopm(bench) => bench.run(console),
            Benchmark::Qsm(bench) => bench.run(console),
            Benchmark::Track(bench) => bench.run(console),
            Benchmark::Sticks(bench) => bench.run(console),
        }
    }
}
