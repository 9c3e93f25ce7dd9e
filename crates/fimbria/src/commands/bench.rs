//! `fimbria bench`

use clap::builder::Resettable;
use clap::{Args, Subcommand};
use fimbria_bench::{
    BenchDti, BenchFft, BenchFit, BenchIo, BenchLife, BenchPaper, BenchQsm, BenchSparse,
    BenchSshopm, BenchSticks, BenchTrack, Benchmark, Machine, SharedBenchmark, Usage, run_watched,
};
use fimbria_cluster::World;

use super::processes::end_together;
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Time fimbria on this machine, beside plain loops, what the hardware attains, and peers
#[derive(Debug, Args)]
#[command(after_long_help = fimbria_bench::HELP)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

/// The benchmarks there are.
#[derive(Debug, Subcommand)]
enum What {
    Dti(Anywhere<BenchDti>),
    Fit(Anywhere<BenchFit>),
    Io(OnThreads<BenchIo>),
    Fft(Anywhere<BenchFft>),
    Life(Anywhere<BenchLife>),
    Sparse(Anywhere<BenchSparse>),
    Sshopm(Anywhere<BenchSshopm>),
    Qsm(Anywhere<BenchQsm>),
    Track(Anywhere<BenchTrack>),
    Sticks(Anywhere<BenchSticks>),
    Paper(Anywhere<BenchPaper>),
}

// The benchmark stands last in both: a command takes the description of what is flattened last.

#[derive(Debug, Args)]
struct Anywhere<B: Args> {
    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,

    #[command(flatten, next_help_heading = Resettable::Reset)]
    benchmark: B,
}

#[derive(Debug, Args)]
struct OnThreads<B: Args> {
    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten, next_help_heading = Resettable::Reset)]
    benchmark: B,
}

impl Bench {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.what {
            What::Dti(bench) => bench.run(console),
            What::Fit(bench) => bench.run(console),
            What::Io(bench) => bench.run(console),
            What::Fft(bench) => bench.run(console),
            What::Life(bench) => bench.run_together(console),
            What::Sparse(bench) => bench.run(console),
            What::Sshopm(bench) => bench.run(console),
            What::Qsm(bench) => bench.run_together(console),
            What::Track(bench) => bench.run(console),
            What::Sticks(bench) => bench.run(console),
            What::Paper(bench) => bench.run_together(console),
        }
    }
}

impl<B: Benchmark> Anywhere<B> {
    fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, devices, benchmark } = self;
        let machine = Machine { workers: threads.start()?, devices: devices.open(console)? };
        run_watched(benchmark, machine, console).map_err(failure)
    }
}

impl<B: SharedBenchmark> Anywhere<B> {
    /// What `mpirun` may have started several times.
    fn run_together(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, devices, benchmark } = self;
        let mut world = World::start();
        let devices = if benchmark.is_on_threads() { devices.without() } else { devices };
        let machine = Machine { workers: threads.start()?, devices: devices.open(console)? };
        let done = benchmark.run(machine, &mut world, console).map_err(failure);
        end_together(done, &world, console)
    }
}

impl<B: Benchmark> OnThreads<B> {
    fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, benchmark } = self;
        let machine = Machine { workers: threads.start()?, devices: Vec::new() };
        benchmark.run(machine, console).map_err(failure)
    }
}

impl fimbria_bench::Console for Console {
    fn print(&self, text: &str) -> Result<(), fimbria_bench::Failure> {
        Ok(Self::print(self, text)?)
    }
}

fn failure(error: fimbria_bench::Failure) -> Failure {
    match error.downcast::<Usage>() {
        Ok(usage) => Failure::usage(usage),
        Err(error) => Failure::Work(error),
    }
}
