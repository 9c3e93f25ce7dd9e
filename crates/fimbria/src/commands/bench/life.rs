//! `fimbria bench life`

use clap::Args;
use fimbria_compute::comm::Solo;
use fimbria_compute::measure::cpu;
use fimbria_compute::operator::{LinearOperator, VectorSpace};
use fimbria_compute::{Backend, Workers};
use fimbria_life::oracle::Oracle;
use fimbria_life::solve::Stop;
use fimbria_life::synthetic::{Size, Synthetic};
use fimbria_life::{
    DeviceProduct, EncodeOptions, Method, Rank, Response, System, ThreadedProduct, TissueOptions,
    WeighOptions,
};

use super::clock::{Interruptible, best, once};
use super::floors::{Floor, Needs};
use super::table::{Table, counted, digits, number, percent, words};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Time connectome evaluation: products, their shares, and solvers
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct BenchLife {
    /// Streamlines; the paper's problem has 500000
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=20_000_000))]
    streamlines: u32,

    /// Weighted volumes; the paper's problem has 96
    #[arg(long, value_name = "N", default_value_t = Size::PAPER.directions as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(6..=1000))]
    directions: u32,

    /// Voxels of the brain, about; the paper's problem has 204060
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=20_000_000))]
    voxels: u32,

    /// Iterations of each solver at most
    #[arg(long, value_name = "N", default_value_t = 200)]
    iterations: usize,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs, on standard output:
  What processor and devices attain, then a row per product and place:
    apply      y = M w
    adjoint    w = M'y
    gradient   M'(M w - y) and the norm of the residual in one pass, what a solver's step takes
  with
    rank       numbers of a column: one a volume, or as many as miss 0.1 % of columns
    ms         wall time
    ns/entry   that over the number of entries of the sparse array
    ratio      how many times faster than the plain loop: f64, one thread, entries as listed in the
               order of streamlines, columns in full width; for the gradient, than both products
    floor      the longer of the counted multiply-adds and the counted bytes of entries and vectors,
               at the rates above, over the time; columns come from caches and are not counted
  Then the solvers, with the share of products in their time (the paper: y = M w 63 to 73 %, w = M'y
  20 to 29 % of the original program's).";

impl BenchLife {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { streamlines, directions, voxels, iterations, threads, devices } = self;
        let workers = threads.start()?;
        let devices = devices.open(console)?;
        let size = Size {
            streamlines: streamlines as usize,
            directions: directions as usize,
            voxels: voxels as usize,
        };
        let (quiet, options) = (Interruptible(console), EncodeOptions::default());
        let mut made = None;
        let time = once(|| -> Result<(), Failure> {
            made = Some(Synthetic::new(size, &options, &workers, &quiet)?);
            Ok(())
        })?;
        let Some(problem) = made else { return Ok(()) };
        let encoding = &problem.encoding;
        console.print(&format!(
            "{} streamlines, {} voxels, {directions} directions: {} entries, {} atoms, {} MB, made \
             and encoded in {} s\n",
            encoding.streamlines(),
            encoding.voxels.len(),
            encoding.entries.len(),
            encoding.atoms.len(),
            encoding.bytes() >> 20,
            digits(time.wall),
        ))?;
        let floor = Floor::of_measured(&cpu(&workers), workers.simd());
        console.print(&floor.described(&counted(workers.threads())))?;

        let table = Table::begin(
            console,
            [
                words("product", 9),
                words("on", 28),
                number("rank", 4),
                number("ms", 9),
                number("ns/entry", 8),
                number("ratio", 6),
                number("floor", 6),
            ],
        )?;
        let plain = plain_loops(&problem, console)?;
        let report = Report { problem: &problem, console, table, plain };
        report.row("apply", "plain loop", size.directions, plain[0], plain[0], None)?;
        report.row("adjoint", "plain loop", size.directions, plain[1], plain[1], None)?;
        let on = Backend { workers: &workers, devices: &devices };
        let mut systems = Vec::new();
        for rank in [Rank::Full, Rank::Error(1e-3)] {
            let tissue = TissueOptions { rank, ..TissueOptions::default() };
            let Synthetic { protocol, encoding, signal } = &problem;
            let system = System::new(encoding, signal, protocol, &tissue, &on, &Solo)?;
            let product = ThreadedProduct::new(&system.blocks, &system.dictionary, &workers);
            let place = format!("{}, {:?}", counted(workers.threads()), workers.simd());
            report.products(&product, &system, &place, Some(&floor), || Ok(()))?;
            for device in &devices {
                let product = DeviceProduct::new(device, &system.blocks, &system.dictionary)?;
                let wait = || device.synchronize();
                report.products(&product, &system, &device.info().name, None, wait)?;
            }
            systems.push(system);
        }
        solvers(&systems, iterations, &workers, console)
    }
}

/// Seconds of the definition's two products.
fn plain_loops(problem: &Synthetic, console: &Console) -> Result<[f64; 2], Failure> {
    let Synthetic { protocol, encoding, signal } = problem;
    let oracle = Oracle::of_encoding(encoding, signal, protocol, &Response::default());
    let w: Vec<f64> = (0..encoding.streamlines()).map(weight).map(f64::from).collect();
    let mut y = Vec::new();
    let apply = best::<Failure>(console, || {
        y = oracle.apply(&w);
        Ok(())
    })?;
    let adjoint = best::<Failure>(console, || {
        std::hint::black_box(oracle.adjoint(&y));
        Ok(())
    })?;
    Ok([apply.wall, adjoint.wall])
}

/// Weights none of which is zero, so that nothing is left out.
fn weight(f: usize) -> f32 {
    0.01 + 0.1 * (f % 5) as f32
}

struct Report<'a> {
    problem: &'a Synthetic,
    console: &'a Console,
    table: Table<'a>,
    plain: [f64; 2],
}

impl Report<'_> {
    fn products<A: LinearOperator>(
        &self,
        product: &A,
        system: &System,
        on: &str,
        floor: Option<&Floor>,
        wait: impl Fn() -> Result<(), <A::Domain as VectorSpace>::Error>,
    ) -> Result<(), Failure> {
        let (domain, range) = (product.domain(), product.range());
        let x: Vec<f32> = (0..domain.len()).map(weight).collect();
        let x = domain.upload(&x)?;
        let b = range.upload(&system.data)?;
        let (mut y, mut g) = (range.zeros()?, domain.zeros()?);
        let apply = best(self.console, || {
            product.apply(&x, &mut y)?;
            wait()
        })?;
        let adjoint = best(self.console, || {
            product.adjoint(&y, &mut g)?;
            wait()
        })?;
        let gradient = best(self.console, || {
            product.gradient(&x, &b, &mut g)?;
            wait()
        })?;
        let rank = system.basis.rank();
        let entries = self.problem.encoding.entries.len() as f64;
        let stride = system.dictionary.stride() as f64;
        let vectors = 4.0 * (domain.len() + range.len()) as f64;
        let floor_of = |products: f64| {
            let needs = Needs {
                instructions: products * entries * stride,
                bytes: 12.0 * entries + vectors,
            };
            floor.map(|floor| floor.seconds(needs))
        };
        let [forward, back] = self.plain;
        self.row("apply", on, rank, apply.wall, forward, floor_of(1.0))?;
        self.row("adjoint", on, rank, adjoint.wall, back, floor_of(1.0))?;
        self.row("gradient", on, rank, gradient.wall, forward + back, floor_of(2.0))
    }

    fn row(
        &self,
        product: &str,
        on: &str,
        rank: usize,
        seconds: f64,
        plain: f64,
        floor: Option<f64>,
    ) -> Result<(), Failure> {
        let entries = self.problem.encoding.entries.len() as f64;
        Ok(self.table.row([
            product.to_owned(),
            on.to_owned(),
            rank.to_string(),
            digits(1e3 * seconds),
            digits(1e9 * seconds / entries),
            digits(plain / seconds),
            floor.map_or("-".to_owned(), |floor| percent(floor / seconds)),
        ])?)
    }
}

/// Both solvers on every system.
fn solvers(
    systems: &[System],
    iterations: usize,
    workers: &Workers,
    console: &Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("solver", 10),
            number("rank", 4),
            number("s", 8),
            number("iterations", 10),
            number("products", 9),
            number("in them", 7),
            number("objective", 12),
            number("nonzero", 8),
            number("optimality", 10),
        ],
    )?;
    let (on, quiet) = (Backend::cpu(workers), Interruptible(console));
    for system in systems {
        // What a product takes on this system, for the share of products in a solver's time.
        let product = ThreadedProduct::new(&system.blocks, &system.dictionary, workers);
        for method in [Method::Conjugate, Method::Sbb] {
            let stop = Stop { max_iterations: iterations, ..Stop::default() };
            let options = WeighOptions { method, stop, l1: 0.0 };
            let mut found = None;
            let time = once(|| -> Result<(), Failure> {
                found = Some(system.weigh(&options, None, &on, &Solo, &quiet, &mut |_, _| ())?);
                Ok(())
            })?;
            let Some(weights) = found else { continue };
            let share = match method {
                // On ever fewer streamlines: what a product took is not known.
                Method::Conjugate => "-".to_owned(),
                Method::Sbb => {
                    percent(in_products(&product, system, &weights.products)? / time.wall)
                }
            };
            table.row([
                format!("{method:?}").to_lowercase(),
                system.basis.rank().to_string(),
                digits(time.wall),
                weights.iterations.to_string(),
                (weights.products[0] + weights.products[1]).to_string(),
                share,
                format!("{:.5e}", weights.objective),
                weights.nonzero().to_string(),
                format!("{:.1e}", weights.optimality),
            ])?;
        }
    }
    Ok(())
}

/// Seconds that so many products take, half of the weights zero: fused ones as far as there are
/// both kinds.
fn in_products(
    product: &ThreadedProduct<'_>,
    system: &System,
    counts: &[usize; 2],
) -> Result<f64, Failure> {
    use fimbria_compute::operator::Operator as _;
    let half = |f: usize| if f.is_multiple_of(2) { weight(f) } else { 0.0 };
    let x: Vec<f32> = (0..system.unknowns()).map(half).collect();
    let (mut g, mut y) = (product.domain().zeros()?, product.range().zeros()?);
    let fused = once(|| product.gradient(&x, &system.data, &mut g).map(|_| ()))?;
    let forward = once(|| product.apply(&x, &mut y))?;
    let [applied, adjoint] = counts.map(|n| n as f64);
    Ok(adjoint * fused.wall + (applied - adjoint) * forward.wall)
}
