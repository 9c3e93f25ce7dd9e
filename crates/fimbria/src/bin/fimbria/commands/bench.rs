//! `fimbria bench`

use clap::builder::Resettable;
use clap::{Args, Subcommand};
use fimbria_bench::{
    BenchDti, BenchFft, BenchFit, BenchIo, BenchLife, BenchPaper, BenchQsm, BenchSparse,
    BenchSshopm, BenchSticks, BenchTrack, Benchmark, Machine, Rows, SharedBenchmark, Usage,
    run_watched,
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

    /// Time devices alone: no threads, no plain loops, no other programs. Each row ends with where its
    /// milliseconds went: compiling (in the first run), preparing on the host, copying there, kernels,
    /// copying back, storing; then launches and megabytes. Each kernel is waited for, so that all takes
    /// somewhat longer
    #[arg(long, help_heading = "Machine")]
    devices_only: bool,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten, next_help_heading = Resettable::Reset)]
    benchmark: B,
}

#[derive(Debug, Args)]
struct OnThreads<B: Args> {
    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten, next_help_heading = Resettable::Reset)]
    benchmark: B,
}

/// How rows are shown.
#[derive(Debug, Args)]
struct RowArgs {
    /// Print rows alone, each a JSON object on a line of its own
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl RowArgs {
    fn shown(&self) -> Rows {
        let Self { json } = self;
        if *json { Rows::Json } else { Rows::Text }
    }
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

/// The threads and the devices.
fn machine(
    threads: &ThreadArgs,
    devices: &DeviceArgs,
    devices_only: bool,
    console: &Console,
) -> Result<Machine, Failure> {
    let devices = devices.open_metered(devices_only, console)?;
    if devices_only && devices.is_empty() {
        return Err(Failure::usage("--devices-only has no device to time: choose one by --device"));
    }
    Ok(Machine { workers: threads.start()?, devices, devices_only })
}

impl<B: Benchmark> Anywhere<B> {
    fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, devices, devices_only, rows, benchmark } = self;
        let machine = machine(&threads, &devices, devices_only, console)?;
        let opened = machine.devices.clone();
        run_watched(&opened, rows.shown(), console, |console| benchmark.run(machine, console))
            .map_err(failure)
    }
}

impl<B: SharedBenchmark> Anywhere<B> {
    /// What `mpirun` may have started several times.
    fn run_together(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, devices, devices_only, rows, benchmark } = self;
        let mut world = World::start();
        let machine = machine(&threads, &devices, devices_only, console)?;
        let opened = machine.devices.clone();
        let run =
            |console: &dyn fimbria_bench::Console| benchmark.run(machine, &mut world, console);
        let done = run_watched(&opened, rows.shown(), console, run).map_err(failure);
        end_together(done, &world, console)
    }
}

impl<B: Benchmark> OnThreads<B> {
    fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { threads, rows, benchmark } = self;
        let workers = threads.start()?;
        let machine = Machine { workers, devices: Vec::new(), devices_only: false };
        run_watched(&[], rows.shown(), console, |console| benchmark.run(machine, console))
            .map_err(failure)
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
