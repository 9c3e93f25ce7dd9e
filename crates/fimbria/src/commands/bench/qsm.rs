//! `fimbria bench qsm`

use clap::Args;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{Silent, Workers};
use fimbria_qsm::device::DeviceOperator;
use fimbria_qsm::solver::{Method, Objective, Solver, StoppingRule, run, safe_step};
use fimbria_qsm::{Edges, FieldModel, Geometry, HostOperator, Laplacian, Products, Shape, oracle};

use super::clock::{Time, once};
use super::table::{Table, counted, digits, digits_or_dash, number, words};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Time the products and solvers of diffusion-guided susceptibility mapping
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct BenchQsm {
    /// Voxels along each side of the volumes to time
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [32, 48, 64])]
    #[arg(value_parser = clap::value_parser!(u32).range(8..=512))]
    sides: Vec<u32>,

    /// Part of the voxels that are cylinders
    #[arg(long, value_name = "SHARE", default_value_t = 1.0 / 3.0)]
    cylinders: f64,

    /// Leave out the dense product and the plain loop
    #[arg(long)]
    fast_only: bool,

    /// Leave out the comparison of solvers
    #[arg(long)]
    no_solvers: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs, on standard output:
  A row per product and place for each volume (every voxel unknown and receiver, cylinders along
  axes that turn smoothly):
    s         wall time of A x
    s adj.    wall time of A' y: both together are one Landweber iteration
    cpu s     processor time of A x, of all threads: what to trust on a busy machine
    ns/pair   processor time over all pairs of a voxel and a voxel
    ratio     the plain loop's processor time over this one's
  The plain loop (scalar f32, one thread) is timed on 1 % of the rows and scaled; the dense product,
  where it would take long, on as many planes of receivers as hold 4·10^9 pairs, and scaled.
  Then iterations and products with A that solvers need to reach the objective of 100 Landweber
  iterations, on 24^3 voxels.

The paper's own table (mouse brain, about 2.5e11 pairs): 640 s an iteration on 12 cores, 140 s on one
Tesla M2070, 52 s on 4096 cores of a Blue Gene/Q; 112 min to the end on 21 Tesla M2090.";

/// Pairs that a dense product is timed on.
const DENSE_PAIRS: f64 = 4e9;

impl BenchQsm {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { sides, cylinders, fast_only, no_solvers, threads, devices } = self;
        if !(0.0..=1.0).contains(&cylinders) {
            return Err(Failure::usage("--cylinders is a share, 0 to 1"));
        }
        let all = threads.start()?;
        let one = Workers::new(1)?;
        let devices = devices.open(console)?;
        let table = Table::begin(
            console,
            [
                number("side", 4),
                words("product", 8),
                words("on", 28),
                number("s", 8),
                number("s adj.", 8),
                number("cpu s", 8),
                number("ns/pair", 8),
                number("ratio", 7),
            ],
        )?;
        for side in sides {
            let side = side as usize;
            let model = model(side, cylinders, None)?;
            let mut row = Rows { table: &table, side, plain: None };
            if !fast_only {
                row.plain_loop(&model)?;
                // Whole tiles of four planes: the product makes no less.
                let planes = (DENSE_PAIRS / (side as f64).powi(5)).ceil() as usize;
                let planes = planes.next_multiple_of(4).min(side);
                let part = self::model(side, cylinders, Some(planes))?;
                let scale = side as f64 / planes as f64;
                row.host(&part, Products::Dense, &one, scale)?;
                if all.threads() > 1 {
                    row.host(&part, Products::Dense, &all, scale)?;
                }
                for device in &devices {
                    let operator = DeviceOperator::new(&part, Products::Dense, device, &all)?;
                    let wait = || device.synchronize();
                    row.timed("dense", &device.info().name, &operator, scale, wait)?;
                }
            }
            row.host(&model, Products::Fast, &one, 1.0)?;
            if all.threads() > 1 {
                row.host(&model, Products::Fast, &all, 1.0)?;
            }
            for device in &devices {
                let operator = DeviceOperator::new(&model, Products::Fast, device, &all)?;
                let wait = || device.synchronize();
                row.timed("fast", &device.info().name, &operator, 1.0, wait)?;
            }
        }
        if no_solvers { Ok(()) } else { solvers(console, cylinders, &all) }
    }
}

struct Rows<'a> {
    table: &'a Table<'a>,
    side: usize,
    /// Processor seconds of the plain loop's product.
    plain: Option<f64>,
}

impl Rows<'_> {
    fn pairs(&self) -> f64 {
        (self.side as f64).powi(6)
    }

    fn plain_loop(&mut self, model: &FieldModel) -> Result<(), Failure> {
        const STRIDE: usize = 100;
        let x = numbers(model.unknowns.len());
        let mut rows = 0;
        let time = once(|| {
            rows = std::hint::black_box(oracle::plain_loop(model, &x, STRIDE)).len();
            Ok::<(), Failure>(())
        })?;
        let scale = model.receivers.len() as f64 / rows as f64;
        self.plain = Some(scale * time.processor.unwrap_or(time.wall));
        self.row("plain", "1 thread, 1 % of the rows", (time, None), scale)
    }

    fn host(
        &self,
        model: &FieldModel,
        products: Products,
        workers: &Workers,
        scale: f64,
    ) -> Result<(), Failure> {
        let operator = HostOperator::new(model, products, workers)?;
        let name = if products == Products::Fast { "fast" } else { "dense" };
        let on = format!("{}, {:?}", counted(workers.threads()), workers.simd());
        self.timed(name, &on, &operator, scale, || Ok(()))
    }

    fn timed<A: LinearOperator>(
        &self,
        name: &str,
        on: &str,
        operator: &A,
        scale: f64,
        wait: impl Fn() -> Result<(), <A::Domain as VectorSpace>::Error>,
    ) -> Result<(), Failure> {
        let (domain, range) = (operator.domain(), operator.range());
        let mut x = domain.upload(&numbers(domain.len()))?;
        let mut y = range.zeros()?;
        // Once uncounted, for fresh memory and, on a device, for compilation.
        operator.apply(&x, &mut y)?;
        wait()?;
        let there = once(|| {
            operator.apply(&x, &mut y)?;
            wait()
        })?;
        let back = once(|| {
            operator.adjoint(&y, &mut x)?;
            wait()
        })?;
        self.row(name, on, (there, Some(back)), scale)
    }

    fn row(
        &self,
        name: &str,
        on: &str,
        (there, back): (Time, Option<Time>),
        scale: f64,
    ) -> Result<(), Failure> {
        let processor = there.processor.map(|seconds| scale * seconds);
        self.table.row([
            self.side.to_string(),
            name.to_owned(),
            on.to_owned(),
            digits(scale * there.wall),
            digits_or_dash(back.map(|back| scale * back.wall)),
            digits_or_dash(processor),
            digits_or_dash(processor.map(|seconds| 1e9 * seconds / self.pairs())),
            digits_or_dash(self.plain.zip(processor).map(|(plain, seconds)| plain / seconds)),
        ])?;
        Ok(())
    }
}

/// A cube of voxels, cylinders mixed among spheres; seen from all of it, or from some planes.
fn model(side: usize, cylinders: f64, planes: Option<usize>) -> Result<FieldModel, Failure> {
    let geometry = Geometry { dims: [side; 3], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let shape = |&voxel: &u32| {
        let [x, y, z] = geometry.voxel(voxel as usize).map(|i| i as f64 / 10.0);
        let axis = [(x + z).sin(), (y - 0.3).cos(), (x * y).sin() + 0.2];
        let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
        // A golden-ratio sequence spreads them evenly.
        let turn = (f64::from(voxel) * 0.618_033_988_749_895).fract();
        if turn < cylinders { Shape::Cylinder(axis.map(|a| a / length)) } else { Shape::Sphere }
    };
    let shapes = mask.iter().map(shape).collect();
    let plane = side * side;
    let receivers = planes.map_or(0..geometry.len(), |planes| {
        let first = (side - planes) / 2 / 4 * 4;
        first * plane..(first + planes) * plane
    });
    let receivers: Vec<u32> = receivers.map(|v| v as u32).collect();
    Ok(FieldModel::new(&geometry, &mask, shapes, &receivers)?)
}

/// Numbers of either sign.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) * 1e-3).collect()
}

/// Iterations of each solver to the objective of 100 Landweber iterations.
fn solvers(console: &Console, cylinders: f64, workers: &Workers) -> Result<(), Failure> {
    const SIDE: usize = 24;
    const ITERATIONS: usize = 100;
    let model = model(SIDE, cylinders, None)?;
    let data = HostOperator::new(&model, Products::Fast, workers)?;
    let penalty = Laplacian::new(&model, Edges::Free, workers);
    // A map of blocks, and its field.
    let block = |&voxel: &u32| {
        let [x, y, z] = model.geometry.voxel(voxel as usize).map(|i| i / 6 % 2);
        if (x + y + z) % 2 == 0 { 0.1 } else { -0.05 }
    };
    let chi: Vec<f32> = model.unknowns.iter().map(block).collect();
    let mut field = data.range().zeros()?;
    data.apply(&chi, &mut field)?;
    let kappa = fimbria_qsm::dqsm::DqsmOptions::KAPPA;
    let objective = Objective::new(&data, &penalty, &field, kappa)?;
    let step = safe_step(&objective, None)?;
    let mut goal = f64::INFINITY;
    let table = Table::begin(
        console,
        [
            words("solver", 10),
            number("iterations", 10),
            number("products", 9),
            number("objective", 12),
        ],
    )?;
    for (name, method) in [("landweber", Method::Landweber { step }), ("cgls", Method::Cgls)] {
        let mut solver = Solver::new(&objective, method, None)?;
        let iterations = ITERATIONS;
        let rule = StoppingRule {
            iterations,
            relative_change: 0.0,
            relative_gradient: 0.0,
            discrepancy: None,
        };
        let mut reached = None;
        run(&mut solver, &rule, &Silent, |it, _| {
            let value = kappa * it.data + (1.0 - kappa) * it.penalty;
            if reached.is_none() && (value <= goal || it.number == iterations) {
                reached = Some((it.number, value));
            }
            Ok(())
        })?;
        if let Some((iterations, value)) = reached {
            goal = goal.min(value);
            table.row([
                name.to_owned(),
                iterations.to_string(),
                (2 * iterations + 1).to_string(),
                format!("{value:.5e}"),
            ])?;
        }
    }
    Ok(())
}
