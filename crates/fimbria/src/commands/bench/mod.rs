//! `fimbria bench`

mod dti;
mod io;

use std::time::Instant;

use clap::{Args, Subcommand};
use fimbria_compute::Workers;
use fimbria_phantoms::{CrossingSpec, Subject, crossing};

use crate::console::Console;
use crate::failure::Failure;

/// Measure how fast this machine does the work
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    name: Name,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
enum Name {
    Dti(dti::BenchDti),
    Io(io::BenchIo),
}

impl Bench {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.name {
            Name::Dti(bench) => bench.run(console),
            Name::Io(bench) => bench.run(console),
        }
    }
}

/// How a measurement is made.
#[derive(Debug, Args)]
struct Measuring {
    /// Times each thing is done; the best counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

impl Measuring {
    /// The best wall time of `work`, in seconds.
    fn best<T, E>(&self, mut work: impl FnMut() -> Result<T, E>) -> Result<f64, E> {
        let Self { repeat } = self;
        let mut best = f64::INFINITY;
        for _ in 0..*repeat {
            let start = Instant::now();
            work()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best)
    }
}

/// The subject that everything is measured on: the one of the demo.
fn subject(workers: &Workers, console: &Console) -> Result<Subject, Failure> {
    Ok(crossing(&CrossingSpec::default(), workers, console)?)
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let head = (!head.is_empty()).then(|| head.to_owned());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (1234567, "1 234 567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
