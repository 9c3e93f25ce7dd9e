//! `fimbria bench life`
//!
//! * `products`: M and M' beside a plain loop, and beside what the machine attains;
//! * `solvers`: whole solutions, and where their time goes;
//! * `synthetic`: problems of any size;
//! * `plan`: a model of the time on several processes, beside the time;
//! * `elsewhere`, `cards`: that model on machines and cards that are not here.

mod cards;
mod elsewhere;
mod plan;
mod products;
mod solvers;
mod synthetic;

use std::time::Instant;

use clap::Args;
use fimbria_cluster::World;
use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::{Backend, Workers};
use fimbria_life::{Atoms, EncodeOptions, Method, Rank, System, TissueOptions};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::life::AtomsName;

use self::elsewhere::Elsewhere;
use self::synthetic::{Size, Synthetic};
use super::clock::{Interruptible, peak_memory};
use super::table::digits;
use crate::{Console, Failure, Machine, SharedBenchmark, usage};
use fimbria_pipeline::options::{Described as _, at_least, choice, within};

/// Time connectome evaluation: products, their shares, and solvers
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchLife {
    /// Streamlines; the paper's problem has 500000
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(number = within(10_u32, 20_000_000, ""))]
    streamlines: u32,

    /// Weighted volumes; the paper's problem has 96
    #[arg(long, value_name = "N", default_value_t = Size::PAPER.directions as u32)]
    #[arg(number = within(6_u32, 1000, ""))]
    directions: u32,

    /// Voxels of the brain, about; the paper's problem has 204060
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(number = within(100_u32, 20_000_000, ""))]
    voxels: u32,

    /// Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations)
    #[arg(long, value_name = "ATOMS", default_value_t = AtomsName(EncodeOptions::default().atoms))]
    atoms: AtomsName,

    /// Iterations of each solver at most
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(number = at_least(1_usize, ""))]
    iterations: usize,

    /// Only this solver
    #[arg(usually = "each")]
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Method>())]
    solver: Option<Named<Method>>,

    /// Only the short dictionary, in half the memory; the objective's loss is then not known
    #[arg(long)]
    short: bool,

    /// Predict the time of problems of three sizes, up to the one asked for, from a smaller one and
    /// what the machine attains, and measure it; under mpirun with all processes
    #[arg(long)]
    plan: bool,

    #[command(flatten)]
    elsewhere: Elsewhere,
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
    memory     ms that entries and vectors take at the bandwidth of memory
    columns    ms that the columns of all entries take to be read, in the order of the product, by a
               loop that does nothing else: the caches' rate at random (those of a voxel twice for
               the gradient, the second time from the first caches)
    adds       ms that the multiply-adds take at the attained rate
    x longest  the time over the longest of these three
  Then the solvers:
    to 0.1 %   seconds until the objective is within 0.1 % of the least that is found
    M w, both  shares of the time in y = M w and in M'(M w - y); the rest is the solver's own (the
               paper: y = M w 63 to 73 %, w = M'y 20 to 29 % of the original program's time)
    loss       how far the weights' objective lies above the least, both with full columns

With --plan, for each of three sizes, the time of 20 iterations of SBB as predicted, and measured:
  a product takes its multiply-adds as above times one factor, which is taken from a problem of an
  eighth of the size, and at least its memory; the solver's own vectors pass memory; sums
  over processes take their bytes at a bandwidth, and a latency, both measured. Then the time of the
  largest for every number of ranks and threads that this machine has cores for.
  `mpirun --bind-to none -n 2 fimbria bench life --plan --threads 1` (a build with MPI) measures two
  processes of one thread.
  Then the time on 1, 2, 4 … --machines: of it sums over them, by --network or as measured under
  mpirun on several. Then that on 1, 2, 4 and 8 cards in a machine as --card says, of which products
  are taken to attain half of the memory's bandwidth: of it products, transfers of weights and sums
  with two waits of 20 µs a product, and what the host does. Then on a card such as the first device
  here, whose gradient, transfers in it, is timed in a problem of an eighth of the size. Nothing of
  several machines or cards was measured.";

impl SharedBenchmark for BenchLife {
    /// Only plans share their work among processes.
    fn run(
        self,
        machine: Machine,
        world: &mut World,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        let Self {
            streamlines,
            directions,
            voxels,
            atoms: AtomsName(atoms),
            iterations,
            solver,
            short,
            plan,
            elsewhere,
        } = self;
        let [streamlines, directions, voxels] =
            [streamlines, directions, voxels].map(|n| n as usize);
        let size = Size { streamlines, directions, voxels };
        let counts = machine.thread_counts();
        let Machine { workers, devices, devices_only } = machine;
        let on = Backend::new(&workers, &devices);
        if plan && devices_only {
            return Err(usage("a plan is of threads, too: leave out --devices-only"));
        }
        if plan {
            return plan::report(size, atoms, &elsewhere, &on, world, console);
        }
        let (problem, line) = made(size, atoms, &workers, &Solo, console)?;
        console.print(&line)?;
        let ranks = if short { &RANKS[1..] } else { &RANKS[..] };
        let systems = ranks.iter().map(|rank| system(&problem, *rank, &on, &Solo));
        let systems = systems.collect::<Result<Vec<System>, Failure>>()?;
        products::report(&problem, &systems, &counts, &on, console)?;
        if devices_only {
            return Ok(());
        }
        let methods = match solver {
            Some(Named(method)) => vec![method],
            None => vec![Method::Conjugate, Method::Sbb],
        };
        solvers::report(&systems, &methods, iterations, &workers, console)?;
        if let Some(bytes) = peak_memory() {
            console.print(&format!("\nmost memory at any time: {} MB\n", bytes >> 20))?;
        }
        Ok(())
    }
}

/// Full columns, and as short as miss 0.1 % of them.
const RANKS: [Rank; 2] = [Rank::Full, Rank::Error(1e-3)];

/// A problem, and a line about it.
fn made(
    size: Size,
    atoms: Atoms,
    workers: &Workers,
    comm: &dyn Comm,
    console: &dyn Console,
) -> Result<(Synthetic, String), Failure> {
    let (quiet, options) = (Interruptible(console), EncodeOptions { atoms, ..Default::default() });
    let begun = Instant::now();
    let problem = Synthetic::new(size, &options, workers, comm, &quiet)?;
    let encoding = &problem.encoding;
    let line = format!(
        "{} streamlines, {} voxels, {} directions: {} entries, {} atoms, {} MB, made and encoded in \
         {} s\n",
        encoding.streamlines(),
        encoding.voxels.len(),
        size.directions,
        encoding.entries.len(),
        encoding.atoms.len(),
        encoding.bytes() >> 20,
        digits(begun.elapsed().as_secs_f64()),
    );
    Ok((problem, line))
}

fn system(
    problem: &Synthetic,
    rank: Rank,
    on: &Backend<'_>,
    comm: &dyn Comm,
) -> Result<System, Failure> {
    let tissue = TissueOptions { rank, ..TissueOptions::default() };
    let Synthetic { protocol, encoding, signal } = problem;
    Ok(System::new(encoding, signal, protocol, &tissue, on, comm)?)
}
