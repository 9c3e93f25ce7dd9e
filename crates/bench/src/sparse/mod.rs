//! `fimbria bench sparse`: the least that an operator can be, as scalar Rust, on threads and as a
//! kernel.
//!
//! [`Csr`] is the matrix. [`ScalarCsr`] multiplies by it as the definition reads and is what the
//! others are tested against; [`ThreadedCsr`] uses all threads, [`DeviceCsr`] a device.

mod check;
mod csr;
mod device;
mod scalar;
#[cfg(test)]
mod tests;
mod threaded;

use clap::Args;
use fimbria_compute::operator::{LinearOperator, VectorSpace};
use fimbria_compute::philox::Philox;
use fimbria_compute::{SimdLevel, Workers};
use fimbria_pipeline::options::{Described as _, within};

pub(crate) use self::check::checks;
use self::csr::Csr;
use self::device::DeviceCsr;
use self::scalar::ScalarCsr;
use self::threaded::ThreadedCsr;
use super::clock::best;
use super::floors::Floor;
use super::table::{Table, counted, digits, digits_or_dash, number, percent, words};
use crate::{Benchmark, Console, Failure, Machine};

/// Time products with a sparse matrix on threads and devices
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchSparse {
    /// Rows of the matrix
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(number = within(1000_u32, 100_000_000, ""))]
    rows: u32,

    /// Columns of the matrix
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(number = within(1000_u32, 100_000_000, ""))]
    columns: u32,

    /// Entries in each row, in columns at random
    #[arg(long, value_name = "N", default_value_t = 32)]
    #[arg(number = within(1_u32, 1000, ""))]
    entries: u32,
}

const HELP: &str = "\
Outputs, on standard output:
  What processor and devices attain, then a row per product and place:
    apply      y = A x
    adjoint    x = A' y, by a stored transpose
    gradient   A' (A x - b) and the norm of the residual, what a solver's step takes
  with
    ms         wall time
    GB/s       bytes that must come from memory: 8 for each entry, 8 for each row start, 4 for
               each element of the vectors, each once
    ratio      how many times faster than the plain loop (scalar, one thread)
    memory     GB/s over the attained bandwidth; elements of the vector that are read from
               anywhere cost more than the 4 bytes counted, so that it stays below 100 %";

impl Benchmark for BenchSparse {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { rows, columns, entries } = self;
        let counts = machine.thread_counts();
        let devices = machine.devices;
        let matrix = random(rows as usize, columns as usize, entries as usize)?;
        console.print(&format!(
            "{rows} x {columns}, {} entries, {} MB with the transpose\n",
            matrix.entries(),
            (16 * matrix.entries()) >> 20,
        ))?;

        let mut pools = Vec::new();
        for threads in counts {
            let workers = Workers::new(threads)?;
            let floor = Floor::of_cpu(&workers);
            console.print(&floor.described(&counted(threads)))?;
            pools.push((workers, floor));
        }
        let mut on_devices = Vec::new();
        for device in &devices {
            let floor = Floor::of_device(device)?;
            console.print(&floor.described(&device.info().name))?;
            on_devices.push((device, floor));
        }

        let table = Table::begin(
            console,
            [
                words("product", 9),
                words("on", 28),
                number("ms", 8),
                number("GB/s", 6),
                number("ratio", 6),
                number("memory", 7),
            ],
        )?;
        let report = Report { matrix: &matrix, console, table };
        let mut plain = None;
        if let Some((_, floor)) = pools.first() {
            let scalar = Workers::new(1)?.with_simd(SimdLevel::Scalar);
            let operator = ScalarCsr::new(&matrix, &scalar);
            plain = Some(report.products(&operator, "plain loop", floor, Some, || Ok(()))?);
        }
        for (workers, floor) in &pools {
            let operator = ThreadedCsr::new(&matrix, workers);
            let on = format!("{}, {:?}", counted(workers.threads()), workers.simd());
            report.products(&operator, &on, floor, |_| plain, || Ok(()))?;
        }
        for (device, floor) in on_devices {
            let operator = DeviceCsr::new(device, &matrix)?;
            let wait = || device.synchronize();
            report.products(&operator, &device.info().name, &floor, |_| plain, wait)?;
        }
        Ok(())
    }
}

struct Report<'a> {
    matrix: &'a Csr,
    console: &'a dyn Console,
    table: Table<'a>,
}

impl Report<'_> {
    /// Times the three products, beside those that `plain` says, given these; `wait` returns once what was
    /// asked for is done. Gives the seconds of each.
    fn products<A: LinearOperator>(
        &self,
        operator: &A,
        on: &str,
        floor: &Floor,
        plain: impl Fn([f64; 3]) -> Option<[f64; 3]>,
        wait: impl Fn() -> Result<(), <A::Domain as VectorSpace>::Error>,
    ) -> Result<[f64; 3], Failure> {
        let (domain, range) = (operator.domain(), operator.range());
        let x = domain.upload(&numbers(1, domain.len()))?;
        let mut y = range.upload(&numbers(2, range.len()))?;
        let b = range.upload(&numbers(3, range.len()))?;
        let apply = best(self.console, || {
            operator.apply(&x, &mut y)?;
            wait()
        })?;
        let mut back = domain.zeros()?;
        let adjoint = best(self.console, || {
            operator.adjoint(&y, &mut back)?;
            wait()
        })?;
        let gradient = best(self.console, || {
            operator.gradient(&x, &b, &mut back)?;
            wait()
        })?;

        let each = [apply, adjoint, gradient];
        let times = each.map(|time| time.wall);
        let plain = plain(times);
        for (product, name) in ["apply", "adjoint", "gradient"].into_iter().enumerate() {
            let bytes = self.bytes(product);
            let rate = bytes / times[product];
            self.table.row_of(
                each[product],
                [
                    name.to_owned(),
                    on.to_owned(),
                    digits(1e3 * times[product]),
                    digits(1e-9 * rate),
                    digits_or_dash(plain.map(|plain| plain[product] / times[product])),
                    percent(rate / floor.bytes_per_second),
                ],
            )?;
        }
        Ok(times)
    }

    /// What a product must read and write: the matrix, its row starts, both vectors; for the
    /// gradient, both products and the right-hand side.
    fn bytes(&self, product: usize) -> f64 {
        let matrix = self.matrix;
        let of = |rows: usize| 8 * matrix.entries() + 8 * rows;
        let vectors = 4 * (matrix.rows() + matrix.columns());
        let apply = of(matrix.rows()) + vectors;
        let adjoint = of(matrix.columns()) + vectors;
        let gradient = apply + adjoint + 4 * matrix.rows();
        [apply, adjoint, gradient][product] as f64
    }
}

/// A matrix of positive values in columns at random, the same on every machine.
fn random(rows: usize, columns: usize, entries: usize) -> Result<Csr, Failure> {
    let random = Philox::new(7);
    let row_start: Vec<usize> = (0..=rows).map(|row| row * entries).collect();
    let mut column = Vec::with_capacity(rows * entries);
    for row in 0..rows {
        let start = column.len();
        for four in 0..entries.div_ceil(4) {
            let words = random.at(row as u64, four as u32);
            let scaled = words.map(|word| ((u64::from(word) * columns as u64) >> 32) as u32);
            column.extend(&scaled[..4.min(entries - 4 * four)]);
        }
        column[start..].sort_unstable();
    }
    let value = numbers(4, column.len());
    Ok(Csr::new(columns, row_start, column, value)?)
}

/// Numbers between 1 and 2.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let random = Philox::new(seed);
    let fours = (0..n.div_ceil(4) as u64).flat_map(|item| random.at(item, 0));
    fours.take(n).map(|word| 1.0 + (word >> 9) as f32 * 2f32.powi(-23)).collect()
}
