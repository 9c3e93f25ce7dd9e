//! A model of the time that connectome evaluation takes on threads and processes, beside the time.
//!
//! A product takes its multiply-adds times one factor, which is taken from a small problem, and at
//! least what its bytes take from memory. Columns come from caches ahead of time, whichever holds
//! them: from 10,000 to 7 million entries, with dictionaries of 1 to 17 MB, an entry took the same
//! time within 12 %. Each process has its part of the entries, and none waits for another but in
//! sums, which take a latency and a time for each byte. The solver's own vectors pass memory some
//! times in each iteration. `elsewhere` and `cards` go on to machines and cards that are not here.

use std::time::Instant;

use fimbria_cluster::{Exchange, Link, World};
use fimbria_compute::comm::Comm;
use fimbria_compute::operator::{Operator as _, VectorSpace as _};
use fimbria_compute::{Backend, Workers};
use fimbria_life::solve::{Problem, Stop, sbb};
use fimbria_life::{Atoms, DealtProduct, Rank, Shared, System};

use super::super::clock::Interruptible;
use super::super::table::{Table, counted, digits, number, percent};
use super::cards::Cards;
use super::elsewhere::{Elsewhere, Fleet};
use super::products::{Attained, Product, Work};
use super::solvers::Timed;
use super::synthetic::Size;
use super::{RANKS, made, system};
use crate::{Console, Failure};

/// Iterations of SBB that are predicted: as many of its short steps as of its long ones.
const ITERATIONS: usize = 20;
/// Products of so many iterations, with those before the first: y = M w, and M'(M w - y).
pub(super) const PRODUCTS: [f64; 2] = [0.5 * ITERATIONS as f64, 1.5 * ITERATIONS as f64 + 2.0];
/// How often the solver's steps pass a vector of weights in an iteration.
const PASSES: f64 = 24.0;
/// How often a problem is solved for its time.
const REPETITIONS: usize = 5;
/// Parts of the size asked for: the problem that the factor is taken from, and those predicted.
const CALIBRATION: usize = 8;
const PARTS: [usize; 3] = [4, 2, 1];

/// What predictions are made from.
pub(super) struct Model {
    pub(super) attained: Attained,
    pub(super) link: Link,
    /// The time of products over that of their multiply-adds.
    factor: f64,
}

/// Predicts and measures.
pub(super) fn report(
    size: Size,
    atoms: Atoms,
    elsewhere: &Elsewhere,
    on: &Backend<'_>,
    world: &mut World,
    console: &dyn Console,
) -> Result<(), Failure> {
    let workers = on.workers;
    let machines_here = world.comm().of_each(world.comm().local_rank() as u64);
    let machines_here = machines_here.into_iter().filter(|&rank| rank == 0).count();
    let is_first = world.comm().rank() == 0;
    let say = |text: &str| if is_first { console.print(text) } else { Ok(()) };
    let threads = counted(workers.threads());
    say(&format!("{} processes of {threads}\n", world.comm().size()))?;
    let (link, exchange) = fastest_link(world, size.streamlines, &say)?;
    let network = elsewhere.network(machines_here, link)?;
    let comm = world.comm();
    comm.barrier();
    let mut model = Model { attained: Attained::by(workers), link, factor: 1.0 };
    let trial = |part| Trial::from_counts(size.part(part), atoms.clone(), workers, comm, console);
    let small = trial(CALIBRATION)?;
    // Of all processes: a small problem may leave one of them nothing to do.
    let mut all = [small.products, model.adds(&small.work)];
    comm.sum_f64(&mut all);
    model.factor = all[0] / all[1];
    let Link { latency, per_byte, .. } = model.link;
    say(&format!(
        "memory {} GB/s a process; a sum over processes {} µs and {} GB/s; products take {} times \
         their multiply-adds\n",
        digits(1e-9 * model.attained.memory()),
        digits(1e6 * latency),
        digits(1e-9 / per_byte),
        digits(model.factor),
    ))?;
    let columns = [
        number("streamlines", 11),
        number("entries", 10),
        number("predicted s", 11),
        number("measured s", 10),
        number("difference", 10),
    ];
    let table = if comm.rank() == 0 { Some(Table::begin(console, columns)?) } else { None };
    let mut largest = None;
    for part in PARTS {
        let trial = trial(part)?;
        let predicted = longest(model.seconds(&trial.work, trial.unknowns), comm);
        if let Some(table) = &table {
            table.row([
                (size.streamlines / part).to_string(),
                format!("{:.3e}", trial.work.entries * comm.size() as f64),
                digits(predicted),
                digits(trial.seconds),
                percent(predicted / trial.seconds - 1.0),
            ])?;
        }
        largest = Some(trial);
    }
    comm.barrier();
    let Some(mut largest) = largest.filter(|_| is_first) else { return Ok(()) };
    largest.work.scale(comm.size() as f64);
    // What was measured from machine to machine says nothing of processes of one.
    let within = Link { latency: 0.0, per_byte: 0.0, processes: 1 };
    let link = if machines_here > 1 { within } else { link };
    let machine = recommend(&largest, Model { link, ..model }, exchange, console)?;
    if let Some(network) = network {
        let fleet = Fleet { machine: &machine, trial: &largest, network };
        fleet.report(elsewhere.machines, console)?;
    }
    let cards =
        Cards::found(elsewhere.card.as_deref(), size.part(CALIBRATION), atoms, on, console)?;
    Cards::report(&cards, &largest, machine.model.attained.memory(), console)
}

/// A problem, and how long it took.
pub(super) struct Trial {
    /// Of this process.
    pub(super) work: Work,
    pub(super) unknowns: f64,
    /// Seconds of all iterations.
    pub(super) seconds: f64,
    /// Seconds in this process's products.
    pub(super) products: f64,
}

impl Trial {
    /// Solves a problem.
    fn from_counts(
        size: Size,
        atoms: Atoms,
        workers: &Workers,
        comm: &dyn Comm,
        console: &dyn Console,
    ) -> Result<Self, Failure> {
        let (problem, _) = made(size, atoms, workers, comm, console)?;
        let [_, short]: [Rank; 2] = RANKS;
        let system = system(&problem, short, &Backend::cpu(workers), comm)?;
        let run = || run(&system, workers, comm, console);
        // The first meets memory that nobody has touched yet; of the others the least disturbed counts.
        run()?;
        let [mut seconds, mut products] = [f64::INFINITY; 2];
        for _ in 0..REPETITIONS {
            let repeated = run()?;
            if repeated[0] < seconds {
                [seconds, products] = repeated;
            }
        }
        Ok(Self {
            work: Work::from_system(&system),
            unknowns: system.unknowns() as f64,
            seconds,
            products,
        })
    }
}

/// The most that any process says.
fn longest(seconds: f64, comm: &dyn Comm) -> f64 {
    comm.of_each(seconds.to_bits()).into_iter().map(f64::from_bits).fold(0.0, f64::max)
}

/// Seconds of all iterations, and of this process's products in them.
fn run(
    system: &System,
    workers: &Workers,
    comm: &dyn Comm,
    console: &dyn Console,
) -> Result<[f64; 2], Failure> {
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, workers);
    let timed = Timed::new(&product);
    let shared = Shared::new(&timed, comm);
    let problem = Problem { operator: &shared, data: &system.data, linear: None };
    let zero = shared.domain().zeros()?;
    let stop = Stop { max_iterations: ITERATIONS, gradient: 0.0, objective: 0.0 };
    comm.barrier();
    let begun = Instant::now();
    sbb(&problem, zero, &stop, &Interruptible(console), &mut |_, _| ())?;
    Ok([begun.elapsed().as_secs_f64(), timed.apply.get() + timed.gradient.get()])
}

/// The exchange that sums vectors of a number for each streamline fastest, and what it costs.
fn fastest_link(
    world: &mut World,
    streamlines: usize,
    say: &impl Fn(&str) -> Result<(), Failure>,
) -> Result<(Link, Exchange), Failure> {
    let links = world.set_fastest_exchange(streamlines);
    if world.comm().size() > 1 {
        for (exchange, link) in links {
            let microseconds = digits(1e6 * link.seconds(streamlines));
            say(&format!("sums, {} ({}): {microseconds} µs\n", exchange.name(), exchange.what()))?;
        }
    }
    let [(exchange, link), ..] = links;
    Ok((link, exchange))
}

/// How often the bytes of a sum over `n` pass the link of each: there and back, less the part that stays.
pub(super) fn passes_of_link(n: usize) -> f64 {
    2.0 * (n - 1) as f64 / n as f64
}

/// A link of another number of processes: bytes pass it twice, less the part that stays.
fn of_processes(link: Link, processes: usize, attained: &Attained) -> Link {
    /// A message within a machine, where none was measured.
    const LATENCY: f64 = 2e-6;
    match (processes, link.processes) {
        (1, _) => Link { latency: 0.0, per_byte: 0.0, processes },
        // Through memory: written and read, on the way there and back.
        (_, 1) => {
            let per_byte = 2.0 * passes_of_link(processes) / attained.memory();
            Link { latency: LATENCY, per_byte, processes }
        }
        (_, measured) => {
            let per_byte = link.per_byte * passes_of_link(processes) / passes_of_link(measured);
            Link { per_byte, processes, ..link }
        }
    }
}

impl Model {
    /// Seconds of the multiply-adds of all products.
    fn adds(&self, work: &Work) -> f64 {
        let of = |product| self.attained.adds_seconds(work, product);
        let [applies, gradients] = PRODUCTS;
        applies * of(Product::Apply) + gradients * of(Product::Gradient)
    }

    /// Seconds of all products: `share` of the work of one process.
    pub(super) fn products(&self, work: &Work, share: f64) -> f64 {
        let memory = self.attained.memory_seconds(work);
        let of = |product| memory.max(self.factor * self.attained.adds_seconds(work, product));
        let [applies, gradients] = PRODUCTS;
        share * (applies * of(Product::Apply) + gradients * of(Product::Gradient))
    }

    /// Seconds of sums and of the solver's own steps.
    pub(super) fn rest(&self, unknowns: f64, link: &Link) -> f64 {
        sums(unknowns, link) + passes(unknowns, self.attained.memory())
    }

    /// Seconds of all iterations.
    fn seconds(&self, work: &Work, unknowns: f64) -> f64 {
        self.products(work, 1.0) + self.rest(unknowns, &self.link)
    }
}

/// Seconds of the sums of all iterations.
pub(super) fn sums(unknowns: f64, link: &Link) -> f64 {
    let [applies, gradients] = PRODUCTS;
    (applies + gradients) * link.latency + gradients * 8.0 * unknowns * link.per_byte
}

/// Seconds of the solver's own steps.
pub(super) fn passes(unknowns: f64, bytes_per_second: f64) -> f64 {
    ITERATIONS as f64 * PASSES * 4.0 * unknowns / bytes_per_second
}

/// How a machine is best used.
pub(super) struct Machine {
    pub(super) model: Model,
    pub(super) processes: usize,
    pub(super) threads: usize,
}

impl Machine {
    /// The link of its processes among themselves.
    pub(super) fn link(&self) -> Link {
        of_processes(self.model.link, self.processes, &self.model.attained)
    }
}

/// The time of a problem for every number of processes and threads that the machine has cores for.
fn recommend(
    trial: &Trial,
    model: Model,
    exchange: Exchange,
    console: &dyn Console,
) -> Result<Machine, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let attained = Attained::by(&Workers::new(cores)?);
    let mut machine = Machine { model: Model { attained, ..model }, processes: 1, threads: cores };
    let table = Table::begin(
        console,
        [number("processes", 9), number("threads", 7), number("predicted s", 11)],
    )?;
    let model = &machine.model;
    let mut least = f64::INFINITY;
    for processes in (1..=cores).filter(|n| cores.is_multiple_of(*n)) {
        let link = of_processes(model.link, processes, &model.attained);
        let seconds = model.products(&trial.work, 1.0) + model.rest(trial.unknowns, &link);
        table.row([processes.to_string(), (cores / processes).to_string(), digits(seconds)])?;
        if seconds < least {
            (least, machine.processes, machine.threads) = (seconds, processes, cores / processes);
        }
    }
    let Machine { processes, threads, .. } = machine;
    let advice = if processes == 1 {
        format!("use one process with --threads {threads}\n")
    } else {
        let exchange = exchange.name();
        format!(
            "use mpirun --bind-to none -n {processes} with --threads {threads} --exchange \
             {exchange}\n"
        )
    };
    console.print(&advice)?;
    Ok(machine)
}
