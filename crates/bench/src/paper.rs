//! `fimbria bench paper`: the tables and figures of the five papers on this machine, beside theirs.

use std::path::PathBuf;

use clap::{Args, Command};
use fimbria_cluster::World;
use fimbria_pipeline::options::{Described as _, Takes, choice};
use fimbria_pipeline::{Choice, Named};

use crate::{
    BenchFit, BenchLife, BenchQsm, BenchSshopm, BenchTrack, Benchmark as _, Console, Failure,
    Machine, SharedBenchmark,
};

/// The papers that fimbria began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Ballard, Kolda and Plantenga 2011.
    Sshopm,
    /// The susceptibility of the mouse brain.
    Qsm,
    /// Oclptx, 2014.
    Tracking,
    /// Palombo and others 2014.
    Fitting,
    /// Gugnani and others 2017.
    Life,
}

impl Choice for Paper {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Sshopm, "000", "Tables II and III and Figure 5 of SS-HOPM on a GPU (2011)"),
        (Self::Qsm, "001", "Figures 1 and 2 of susceptibility from every voxel on every voxel"),
        (Self::Tracking, "002", "Figures 4.7 to 4.15 and Table 4.2 of oclptx (2014)"),
        (
            Self::Fitting,
            "003",
            "Table 1 and Figure 2 of fits of non-Gaussian diffusion on a GPU (2014)",
        ),
        (Self::Life, "004", "the profile and the speed-up of MPI-LiFE (2017)"),
    ];
}

impl Paper {
    /// The paper's tensors; as many and as many starts are usual.
    const SSHOPM: &'static [&'static str] = &["--order", "4", "--figure"];
    /// The paper's own problem, and no larger volume before it.
    const QSM: &'static [&'static str] = &["--sides", "32", "--no-solvers"];

    /// What the paper itself reports.
    fn reports(self) -> &'static str {
        match self {
            Self::Sshopm => {
                "The paper, 1024 tensors of order 4 and dimension 3, 128 starts each: 2451 ms general and 289 ms \
                 unrolled on one core of a Nehalem; 1.9 ms unrolled on a Tesla C2050."
            }
            Self::Qsm => {
                "The paper's own seconds stand in the table: an iteration on its machines, and 1100 iterations to the \
                 end."
            }
            Self::Tracking => {
                "The paper, one Radeon V9800 beside one core of an i7-950 with probtrackx2: 9.5 to 11.5 times its \
                 speed at 50,000 particles. Its Figure 4.7: 2000 paths of both programs, squared differences that add \
                 up to 1e-11. Its Table 4.2: interpolation 50.9 %, summing 43.2 %, new data 5.8 %, \
                 status 0.1 %, reduction below 0.01 % of the time. Its Figure 4.11: 100 states, 100,000 draws of each, \
                 \"uniform\". Figures 4.12 and 4.13: without random numbers 100,000 particles conform more to \"a \
                 particular set of paths\" than with them."
            }
            Self::Fitting => {
                "The paper, 360,000 fits of three parameters: 50 fits/s and 7200 s by lsqcurvefit with 8 threads of a \
                 Xeon E5430; 12,000 fits/s and 30 s on a Quadro K2000."
            }
            Self::Life => {
                "The paper: y = M w takes 63 to 73 % and w = M'y 20 to 29 % of the original program's time; up to \
                 8.7 times its speed on one node by processes and threads."
            }
        }
    }

    /// What of the paper this command does not show, and where it is.
    fn beyond(self) -> &'static str {
        match self {
            Self::Sshopm => {
                "Not here: its applications to DW-MRI; `fimbria peaks` and `eigen` do that work."
            }
            Self::Qsm => {
                "Not here: its maps of the mouse; `benches/rivals/qsm_methods.py` judges maps on known heads."
            }
            Self::Tracking => {
                "With --figures all are drawn; 4.7 and 4.11 to 4.13 are made only then. Not here: the paper's own 4.7, \
                 which lays paths of oclptx over those of a probtrackx2 whose source was changed to start where it is \
                 told and to draw no random numbers. Here paths of one particle at a time lie below those of lanes or \
                 of a device, with the same random numbers; `benches/rivals/probtrackx2.py` compares paths with FSL's, \
                 its random numbers replaced, and maps. 4.14 and 4.15 have steps of a launch and threads that take \
                 what has ended, of which fimbria has none: samples at a time and threads stand for them. Several \
                 devices are taken one by one."
            }
            Self::Fitting => {
                "Not here: Figure 1, maps of the mouse brain; `fimbria fit dki1d` and `stremi1d` make such maps. Figure 2 \
                 is drawn with --figures, where scipy is installed."
            }
            Self::Life => {
                "Not here: three clusters. `mpirun -n N fimbria bench paper 004 --threads T`, of a program built with \
                 --features mpi, measures N processes of T threads."
            }
        }
    }
}

/// Time a paper's tables and figures on this machine, beside what the paper reports
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchPaper {
    /// The paper, by its number
    #[arg(value_name = "PAPER", value_parser = choice::<Paper>())]
    paper: Named<Paper>,

    /// Draw its figures into this folder, as SVG (not of 004, which has tables)
    #[arg(long, value_name = "FOLDER")]
    #[arg(takes = Takes::FOLDER)]
    figures: Option<PathBuf>,
}

const HELP: &str = "\
Outputs, on standard output:
  What the paper reports, the tables of the benchmark on the paper's own problem, and what of the
  paper is not here. `bench sshopm`, `qsm`, `track`, `fit` and `life` take other sizes.";

/// A benchmark as it is with these words on the command line.
fn asked<B: Args>(words: &[&str], figures: Option<&PathBuf>) -> Result<B, Failure> {
    let figures = figures.map(|folder| format!("--figures={}", folder.display()));
    let words = ["bench"].iter().chain(words).map(|word| (*word).to_owned()).chain(figures);
    Ok(B::from_arg_matches(&B::augment_args(Command::new("bench")).try_get_matches_from(words)?)?)
}

impl SharedBenchmark for BenchPaper {
    fn run(
        self,
        machine: Machine,
        world: &mut World,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        let Self { paper: Named(paper), figures } = self;
        let figures = figures.as_ref();
        let speaks = world.comm().rank() == 0;
        if speaks {
            console.print(&format!("{}\n", paper.reports()))?;
        }
        match paper {
            Paper::Sshopm => {
                asked::<BenchSshopm>(Paper::SSHOPM, figures)?.run(machine, console)?;
            }
            Paper::Qsm => {
                asked::<BenchQsm>(Paper::QSM, figures)?.run(machine, world, console)?;
            }
            Paper::Tracking => asked::<BenchTrack>(&[], figures)?.run(machine, console)?,
            Paper::Fitting => asked::<BenchFit>(&[], figures)?.run(machine, console)?,
            Paper::Life => asked::<BenchLife>(&[], None)?.run(machine, world, console)?,
        }
        if speaks {
            console.print(&format!("\n{}\n", paper.beyond()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_take_what_papers_ask_of_them() {
        let folder = PathBuf::from("a folder");
        asked::<BenchSshopm>(Paper::SSHOPM, Some(&folder)).unwrap();
        asked::<BenchQsm>(Paper::QSM, Some(&folder)).unwrap();
        asked::<BenchTrack>(&[], Some(&folder)).unwrap();
        asked::<BenchFit>(&[], Some(&folder)).unwrap();
        asked::<BenchLife>(&[], None).unwrap();
    }
}
