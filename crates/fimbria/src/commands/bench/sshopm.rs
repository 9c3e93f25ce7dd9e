//! `fimbria bench sshopm`

use clap::Args;
use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_phantoms::{TensorsSpec, tensors};
use fimbria_tensors::batch::{
    Batch, BatchError, DeviceBatch, Endpoints, Products, Shift, Stop, executed_flops,
    nominal_flops, solve,
};
use fimbria_tensors::dense::DenseTensor;
use fimbria_tensors::layout::Layout;
use fimbria_tensors::starts::{in_cube, on_half_sphere};
use fimbria_tensors::tables::Tables;

use super::clock::best;
use super::floors::Floor;
use super::table::{Table, counted, digits, number, percent, words};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Time SS-HOPM as the paper's tables do, beside a naive loop and what the hardware attains
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct BenchSshopm {
    /// Orders of the tensors, separated by commas: 4, 6
    #[arg(long, value_name = "ORDERS", value_delimiter = ',', default_values_t = [4, 6])]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=6))]
    order: Vec<u32>,

    /// Tensors, rounded up to whole rows of 32
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tensors: u32,

    /// Starting vectors of each tensor, random in the cube
    #[arg(long, value_name = "N", default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    starts: u32,

    /// Iterations where their number is fixed
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    iterations: u32,

    /// Change of λ, relative to λ, at which an iteration stops otherwise
    #[arg(long, value_name = "X", default_value_t = 1e-6)]
    tolerance: f32,

    /// Also sets of 1, 2, 4 ... tensors, as in the paper's Figure 5
    #[arg(long)]
    figure: bool,

    /// Also larger orders and dimensions
    #[arg(long)]
    larger: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs, on standard output, for each order:
  Table II     stored values and flops of A x^m and A x^(m-1), of a dense tensor and of unique
               entries, and the time of both products timed side by side (scalar, one thread)
  Table III    a row per kind of product and place:
    general    indices computed on the fly: with one thread this is the naive loop
    tables     the same with precomputed indices and multinomials (devices: this is their general)
    plain      unrolled as in the paper, every term by itself
    shared     unrolled, from A x^(m-2) with shared subexpressions
    stop       a fixed number of iterations (shift 0); until λ rests (tol, shift 0); until λ rests
               with the adaptive shift (adaptive)
    ms         wall time for all tensors and starts; devices: tensors and starts already there
    GFLOPS     nominal: iterations times the flops of plain sums (printed above the table), to set
               beside the paper's
    executed   GFLOP/s really done, where the count is known
    of peak    executed over the attained multiply-add rate of that place
    its        mean iterations of a start; rest: share of starts that met the tolerance
    ratio      naive loop's time for as many iterations over this time
    of tol     naive loop's time with the same tolerance over this time
  Figure 5     --figure: ms of sets of 1, 2, 4 ... tensors
  larger       --larger: microseconds per iteration of other orders and dimensions

  The paper (2011): 2451 ms general and 289 ms unrolled on one core of a Nehalem, 1.9 ms on a
  Tesla C2050 (order 4, tolerance not stated).

Data:
  `fimbria phantom tensors` with 2 % of noise: one or two fibres in each tensor.

References:
  Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues on a GPU";

impl BenchSshopm {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let all = self.threads.start()?;
        let devices = self.devices.open(console)?;
        let mut places = Vec::new();
        for threads in if all.threads() > 1 { vec![1, all.threads()] } else { vec![1] } {
            let workers = Workers::new(threads)?;
            let floor = Floor::of_cpu(&workers);
            let name = format!("{}, {:?}", counted(threads), workers.simd());
            console.print(&floor.described(&name))?;
            places.push(Place { name, workers, device: None, floor });
        }
        for device in devices {
            let (name, floor) = (device.info().name.clone(), Floor::of_device(&device)?);
            console.print(&floor.described(&name))?;
            places.push(Place { name, workers: Workers::new(1)?, device: Some(device), floor });
        }
        for &order in &self.order {
            self.of_order(order as usize, &places, console)?;
        }
        if self.larger {
            larger(&places, console)?;
        }
        Ok(())
    }

    fn of_order(&self, order: usize, places: &[Place], console: &Console) -> Result<(), Failure> {
        let layout = Layout::new(order, 3)?;
        let rows = self.tensors.div_ceil(32) as usize;
        let spec = TensorsSpec { size: [32, rows], order, noise: 0.02, ..TensorsSpec::default() };
        let sheet = tensors(&spec)?;
        let n = 32 * rows;
        let tensors: Vec<f32> = (0..n)
            .flat_map(|t| (0..layout.len()).map(move |e| (t, e)))
            .map(|(t, e)| sheet.hot.volume(e)[t])
            .collect();
        let starts = random_starts(self.starts);
        let set = Set { layout, tensors: &tensors, starts: &starts, console };
        console.print(&format!(
            "\norder {order}, dimension 3: {n} tensors, {} starts, nominal flops an iteration {} \
             (with a shift {})\n",
            self.starts,
            nominal_flops(layout, Shift::Fixed(0.0)),
            nominal_flops(layout, Shift::Adaptive),
        ))?;
        set.table_2()?;
        set.table_3(self, places)?;
        if self.figure {
            set.figure_5(self, places)?;
        }
        Ok(())
    }
}

/// Where a batch runs.
struct Place {
    name: String,
    workers: Workers,
    device: Option<Device>,
    floor: Floor,
}

/// Unit vectors, components uniform in the cube before.
fn random_starts(count: u32) -> Vec<f32> {
    let mut starts = Vec::new();
    for start in 0..count {
        let mut x = [0.0; 3];
        in_cube(1, 0, start, &mut x);
        starts.extend(x.map(|x| x as f32));
    }
    starts
}

/// What one table is about.
struct Set<'a> {
    layout: Layout,
    tensors: &'a [f32],
    starts: &'a [f32],
    console: &'a Console,
}

/// Time and endpoints of a batch.
struct Timed {
    seconds: f64,
    ends: Endpoints,
}

impl Timed {
    fn iterations(&self) -> f64 {
        self.ends.iterations.iter().map(|&n| f64::from(n)).sum()
    }
}

impl Set<'_> {
    fn batch(&self) -> Batch<'_> {
        Batch { layout: self.layout, tensors: self.tensors, starts: self.starts }
    }

    fn time(
        &self,
        batch: &Batch<'_>,
        place: &Place,
        products: Products,
        shift: Shift,
        stop: Stop,
    ) -> Result<Timed, Failure> {
        if let Some(device) = &place.device {
            let mut on_device = DeviceBatch::new(device, batch, products, shift, stop)?;
            let time = best(self.console, || {
                on_device.solve()?;
                device.synchronize()
            })?;
            return Ok(Timed { seconds: time.wall, ends: on_device.endpoints()? });
        }
        let mut ends = None;
        let time = best(self.console, || {
            ends = Some(solve(batch, products, shift, stop, &place.workers)?);
            Ok::<_, BatchError>(())
        })?;
        let ends = ends.ok_or_else(|| Failure::usage("nothing was timed"))?;
        Ok(Timed { seconds: time.wall, ends })
    }

    /// Dense and unique: what they store and do, and how long both products take.
    fn table_2(&self) -> Result<(), Failure> {
        const REPEATS: usize = 20_000;
        let (m, n, unique) = (self.layout.order(), 3_usize, self.layout.len());
        let a = &self.tensors[..unique];
        let all = n.pow(m as u32);
        let Some(dense) = DenseTensor::from_unique(&self.layout, a) else { return Ok(()) };
        let tables = Tables::new(self.layout);
        let mut sum = 0.0;
        let of_dense = best(self.console, || {
            for start in self.starts.chunks(n).cycle().take(REPEATS) {
                sum += dense.form(start) + dense.contract(start, m - 1)[0];
            }
            Ok::<_, Failure>(())
        })?;
        let mut y = [0.0; 3];
        let of_unique = best(self.console, || {
            for start in self.starts.chunks(n).cycle().take(REPEATS) {
                tables.gradient(a, start, &mut y);
                sum += tables.form(a, start) + y[0];
            }
            Ok::<_, Failure>(())
        })?;
        std::hint::black_box(sum);
        // The chain of matrix-vector products of the dense tensor: 2 (nᵐ + nᵐ⁻¹ + …).
        let chain = |down_to: usize| (down_to + 1..=m).map(|k| 2 * n.pow(k as u32)).sum::<usize>();
        let nominal = nominal_flops(self.layout, Shift::Fixed(0.0)) - 3 * n;
        let table = Table::begin(
            self.console,
            [words("Table II", 10), number("values", 6), number("flops", 6), number("ns", 6)],
        )?;
        let row = |name: &str, values: usize, flops: usize, seconds: f64| {
            let ns = digits(1e9 * seconds / REPEATS as f64);
            table.row([name.to_owned(), values.to_string(), flops.to_string(), ns])
        };
        row("dense", all, chain(0) + chain(1), of_dense.wall)?;
        row("unique", unique, nominal, of_unique.wall)?;
        let factorial: usize = (1..=m).product();
        self.console.print(&format!(
            "stored values: {} times fewer, which grows to m! = {factorial} with the dimension\n",
            digits(all as f64 / unique as f64),
        ))?;
        Ok(())
    }

    fn table_3(&self, bench: &BenchSshopm, places: &[Place]) -> Result<(), Failure> {
        let table = Table::begin(
            self.console,
            [
                words("Table III", 9),
                words("stop", 8),
                words("on", 24),
                number("ms", 8),
                number("GFLOPS", 7),
                number("executed", 8),
                number("of peak", 7),
                number("its", 5),
                number("rest", 5),
                number("ratio", 6),
                number("of tol", 6),
            ],
        )?;
        let fixed = Stop::Iterations(bench.iterations);
        let tolerance = Stop::Tolerance { tolerance: bench.tolerance, max_iterations: 200 };
        let without = Shift::Fixed(0.0);
        // The naive loop, per iteration and for the whole with a tolerance.
        let mut naive = None;
        for (products, name) in [
            (Products::General, "general"),
            (Products::Tables, "tables"),
            (Products::Plain, "plain"),
            (Products::Shared, "shared"),
        ] {
            for (stop_name, stop, shift) in [
                ("fixed", fixed, without),
                ("tol", tolerance, without),
                ("adaptive", tolerance, Shift::Adaptive),
            ] {
                let adaptive = shift == Shift::Adaptive;
                if adaptive && products != Products::Shared {
                    continue;
                }
                for place in places {
                    if place.device.is_some() && products == Products::General {
                        continue; // a device's general products are those with tables
                    }
                    let timed = self.time(&self.batch(), place, products, shift, stop)?;
                    let iterations = timed.iterations();
                    let rate = iterations / timed.seconds;
                    if products == Products::General && naive.is_none_or(|(_, s)| s == 0.0) {
                        let per_iteration =
                            naive.map_or(timed.seconds / iterations, |n: (f64, f64)| n.0);
                        let whole = if stop_name == "tol" { timed.seconds } else { 0.0 };
                        if place.workers.threads() == 1 {
                            naive = Some((per_iteration, whole));
                        }
                    }
                    let (per_iteration, whole) = naive.unwrap_or_default();
                    let executed = executed_flops(self.layout, products, shift);
                    let executed = executed.map(|flops| flops as f64 * rate);
                    let peak = 2.0 * place.floor.instructions_per_second;
                    let n = timed.ends.converged.len() as f64;
                    let rested = timed.ends.converged.iter().filter(|c| **c).count() as f64;
                    table.row([
                        name.to_owned(),
                        stop_name.to_owned(),
                        place.name.chars().take(24).collect(),
                        digits(1e3 * timed.seconds),
                        digits(1e-9 * rate * nominal_flops(self.layout, shift) as f64),
                        executed.map_or("-".to_owned(), |flops| digits(1e-9 * flops)),
                        executed.map_or("-".to_owned(), |flops| percent(flops / peak)),
                        digits(iterations / n),
                        if stop_name == "fixed" { "-".to_owned() } else { percent(rested / n) },
                        digits(per_iteration * rate),
                        if stop_name == "fixed" {
                            "-".to_owned()
                        } else {
                            digits(whole / timed.seconds)
                        },
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn figure_5(&self, bench: &BenchSshopm, places: &[Place]) -> Result<(), Failure> {
        let table = Table::begin(
            self.console,
            [number("Figure 5", 8), words("on", 24), number("ms", 8), number("us/tensor", 9)],
        )?;
        let stop = Stop::Tolerance { tolerance: bench.tolerance, max_iterations: 200 };
        let total = self.tensors.len() / self.layout.len();
        let mut n = 1;
        while n <= total {
            let tensors = &self.tensors[..n * self.layout.len()];
            let batch = Batch { tensors, ..self.batch() };
            for place in places {
                let shift = Shift::Fixed(0.0);
                let timed = self.time(&batch, place, Products::Shared, shift, stop)?;
                table.row([
                    n.to_string(),
                    place.name.chars().take(24).collect(),
                    digits(1e3 * timed.seconds),
                    digits(1e6 * timed.seconds / n as f64),
                ])?;
            }
            n *= 2;
        }
        Ok(())
    }
}

/// Other orders and dimensions: where each kind of product stops paying.
fn larger(places: &[Place], console: &Console) -> Result<(), Failure> {
    const ITERATIONS: u32 = 10;
    let table = Table::begin(
        console,
        [
            words("larger", 6),
            number("unique", 7),
            words("products", 8),
            words("on", 24),
            number("us/it", 8),
            number("GFLOPS", 7),
        ],
    )?;
    for (m, n) in [(3, 3), (4, 3), (6, 3), (8, 3), (4, 4), (4, 5), (4, 6), (6, 4), (4, 10)] {
        let layout = Layout::new(m, n)?;
        let numbers = on_half_sphere(64, layout.len());
        let tensors: Vec<f32> = numbers.iter().map(|&a| a as f32).collect();
        let starts: Vec<f32> = on_half_sphere(32, n).iter().map(|&x| x as f32).collect();
        let set = Set { layout, tensors: &tensors, starts: &starts, console };
        for place in places {
            for (products, name) in [
                (Products::General, "general"),
                (Products::Tables, "tables"),
                (Products::Plain, "plain"),
                (Products::Shared, "shared"),
            ] {
                let on_device = place.device.is_some();
                // What is unrolled grows with the entries, and so does the compiler's time.
                let unrolls = if on_device { layout.len() <= 126 && n < 10 } else { n == 3 };
                let wanted = match products {
                    Products::General => !on_device,
                    Products::Tables => true,
                    Products::Plain => unrolls && (on_device || m == 4 || m == 6),
                    Products::Shared => unrolls && (on_device || m != 3),
                };
                if !wanted {
                    continue;
                }
                let shift = Shift::Fixed(1.0);
                let timed =
                    set.time(&set.batch(), place, products, shift, Stop::Iterations(ITERATIONS))?;
                let each = timed.seconds / timed.iterations();
                table.row([
                    format!("{m}, {n}"),
                    layout.len().to_string(),
                    name.to_owned(),
                    place.name.chars().take(24).collect(),
                    digits(1e6 * each),
                    digits(1e-9 * nominal_flops(layout, shift) as f64 / each),
                ])?;
            }
        }
    }
    Ok(())
}
