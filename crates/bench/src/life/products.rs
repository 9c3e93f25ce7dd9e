//! Products beside a plain loop and beside the floors.

use fimbria_compute::measure::{cpu, rows};
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::{Backend, Workers};
use fimbria_life::oracle::Oracle;
use fimbria_life::{DealtProduct, Response, System};

use super::super::clock::{Interruptible, Time, best};
use super::super::floors::Floor;
use super::super::table::{Table, counted, digits, digits_or_dash, number, words};
use super::synthetic::Synthetic;
use crate::{Console, Failure};

/// Seconds of a product at least: by bytes of memory, by columns from caches, by multiply-adds.
pub(super) type Floors = [f64; 3];

/// How much there is to do in a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Entries of the sparse array.
    pub(super) entries: f64,
    /// Numbers of a column in memory.
    stride: f64,
    voxels: f64,
    /// Streamlines of all blocks, added up.
    slots: f64,
}

impl Work {
    /// What the part of `system` that is here takes.
    pub(super) fn from_system(system: &System) -> Self {
        let System { blocks, dictionary, .. } = system;
        let (_, slots) = blocks.blocks_and_slots();
        Self {
            entries: blocks.entries() as f64,
            stride: dictionary.stride() as f64,
            voxels: blocks.voxels() as f64,
            slots: slots as f64,
        }
    }

    /// Of these counts.
    #[cfg(test)]
    pub(super) fn of(entries: f64, stride: f64, voxels: f64, slots: f64) -> Self {
        Self { entries, stride, voxels, slots }
    }

    /// As many times as much.
    pub(super) fn scale(&mut self, times: f64) {
        let Self { entries, stride: _, voxels, slots } = self;
        [entries, voxels, slots].into_iter().for_each(|count| *count *= times);
    }

    /// Bytes of memory that a product moves: entries, y or b, and of every streamline in every block its
    /// number, its weight or sum.
    pub(super) fn bytes(&self) -> f64 {
        let Self { entries, stride, voxels, slots } = *self;
        12.0 * entries + 4.0 * stride * voxels + 8.0 * slots
    }
}

/// What some threads attain on products.
pub(super) struct Attained {
    floor: Floor,
    threads: usize,
}

/// Which product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Apply,
    Adjoint,
    Gradient,
}

impl Attained {
    /// By the threads of `workers`.
    pub(super) fn by(workers: &Workers) -> Self {
        let measured = cpu(workers);
        Self { floor: Floor::of_measured(&measured, workers.simd()), threads: workers.threads() }
    }

    /// Bytes of memory in a second.
    pub(super) fn memory(&self) -> f64 {
        self.floor.bytes_per_second
    }

    /// Seconds that bytes of memory take.
    pub(super) fn memory_seconds(&self, work: &Work) -> f64 {
        work.bytes() / self.memory()
    }

    /// Seconds that the multiply-adds take.
    pub(super) fn adds_seconds(&self, work: &Work, product: Product) -> f64 {
        let passes = if product == Product::Gradient { 2.0 } else { 1.0 };
        passes * work.entries * work.stride / self.floor.instructions_per_second
    }

    fn described(&self) -> String {
        self.floor.described(&counted(self.threads))
    }
}

/// Seconds in which all threads read a column for each entry, in the order of products: those of
/// y = M w and w = M'y, and of the gradient, which reads each voxel's columns twice.
fn columns_seconds(system: &System, workers: &Workers) -> [f64; 2] {
    let System { blocks, dictionary, .. } = system;
    let seconds =
        |atoms: &[u32]| rows(workers, dictionary.columns(), dictionary.stride(), atoms).seconds;
    let once: Vec<u32> = blocks.atoms().flatten().collect();
    let twice: Vec<u32> = blocks.atoms().flat_map(|voxel| voxel.clone().chain(voxel)).collect();
    [seconds(&once), seconds(&twice)]
}

/// A table of all products.
pub(super) fn report(
    problem: &Synthetic,
    systems: &[System],
    counts: &[usize],
    on: &Backend<'_>,
    console: &dyn Console,
) -> Result<(), Failure> {
    let Some(first) = systems.first() else { return Ok(()) };
    let mut pools = Vec::new();
    for &threads in counts {
        let workers = Workers::new(threads)?;
        let attained = Attained::by(&workers);
        console.print(&attained.described())?;
        pools.push((workers, attained));
    }
    let table = Table::begin(
        console,
        [
            words("product", 8),
            words("on", 17),
            number("rank", 4),
            number("ms", 7),
            number("ns/entry", 8),
            number("ratio", 6),
            number("memory", 7),
            number("columns", 7),
            number("adds", 7),
            number("x longest", 9),
        ],
    )?;
    let plain = if pools.is_empty() { None } else { Some(plain_loops(problem, console)?) };
    let report = Report { problem, console, table, plain };
    if let Some([forward, back]) = plain {
        let rows = problem.protocol.rows();
        report.row("apply", "plain loop", rows, forward, Some(forward.wall), None)?;
        report.row("adjoint", "plain loop", rows, back, Some(back.wall), None)?;
    }
    // What a device fails at ends the benchmark.
    let heard = Interruptible(console);
    for system in systems {
        for (workers, attained) in &pools {
            let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, workers);
            let place = format!("{}, {:?}", counted(workers.threads()), workers.simd());
            let (work, [once, twice]) =
                (Work::from_system(system), columns_seconds(system, workers));
            let floors = |product| {
                let columns = if product == Product::Gradient { twice } else { once };
                [attained.memory_seconds(&work), columns, attained.adds_seconds(&work, product)]
            };
            report.products(&product, system, &place, Some(&floors))?;
        }
        for device in on.devices {
            let devices = std::slice::from_ref(device);
            let product = system.product(&Backend::new(on.workers, devices), &heard);
            report.products(&product, system, &device.info().name, None)?;
        }
    }
    let (blocks, slots) = first.blocks.blocks_and_slots();
    let megabytes = |system: &System| (size_of_val(system.dictionary.columns()) >> 20).to_string();
    let sizes: Vec<String> = systems.iter().map(megabytes).collect();
    console.print(&format!(
        "{blocks} blocks with {slots} streamlines in all; dictionaries of {} MB\n",
        sizes.join(" and ")
    ))
}

/// The definition's two products.
fn plain_loops(problem: &Synthetic, console: &dyn Console) -> Result<[Time; 2], Failure> {
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
    Ok([apply, adjoint])
}

/// Weights none of which is zero, so that nothing is left out.
fn weight(f: usize) -> f32 {
    0.01 + 0.1 * (f % 5) as f32
}

struct Report<'a> {
    problem: &'a Synthetic,
    console: &'a dyn Console,
    table: Table<'a>,
    plain: Option<[Time; 2]>,
}

impl Report<'_> {
    fn products(
        &self,
        product: &DealtProduct<'_>,
        system: &System,
        on: &str,
        floors: Option<&dyn Fn(Product) -> Floors>,
    ) -> Result<(), Failure> {
        let (domain, range) = (product.domain(), product.range());
        let x: Vec<f32> = (0..domain.len()).map(weight).collect();
        let (mut y, mut g) = (range.zeros()?, domain.zeros()?);
        let apply = best(self.console, || product.apply(&x, &mut y))?;
        let adjoint = best(self.console, || product.adjoint(&y, &mut g))?;
        let gradient = best(self.console, || product.gradient(&x, &system.data, &mut g).map(drop))?;
        let rank = system.basis.rank();
        let plain = self.plain.map(|plain| plain.map(|time| time.wall));
        let [forward, back] = [0, 1].map(|which| plain.map(|plain| plain[which]));
        let both = plain.map(|[forward, back]| forward + back);
        for (product, name, time, plain) in [
            (Product::Apply, "apply", apply, forward),
            (Product::Adjoint, "adjoint", adjoint, back),
            (Product::Gradient, "gradient", gradient, both),
        ] {
            let floors = floors.map(|floors| floors(product));
            self.row(name, on, rank, time, plain, floors)?;
        }
        Ok(())
    }

    fn row(
        &self,
        product: &str,
        on: &str,
        rank: usize,
        time: Time,
        plain: Option<f64>,
        floors: Option<Floors>,
    ) -> Result<(), Failure> {
        let (seconds, entries) = (time.wall, self.problem.encoding.entries.len() as f64);
        let milliseconds = |seconds: f64| digits(1e3 * seconds);
        let floor = |which: usize| floors.map_or("-".to_owned(), |f| milliseconds(f[which]));
        let over = |floors: Floors| digits(seconds / longest(floors));
        self.table.row_of(
            time,
            [
                product.to_owned(),
                on.to_owned(),
                rank.to_string(),
                milliseconds(seconds),
                digits(1e9 * seconds / entries),
                digits_or_dash(plain.map(|plain| plain / seconds)),
                floor(0),
                floor(1),
                floor(2),
                floors.map_or("-".to_owned(), over),
            ],
        )
    }
}

/// The longest of some floors.
fn longest(floors: Floors) -> f64 {
    floors.into_iter().fold(0.0, f64::max)
}
