//! The paper's own problem: its table and its two figures, on this machine.

use std::path::Path;

use fimbria_cluster::World;
use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::device::DeviceOperator;
use fimbria_qsm::dqsm::ShapeProducts;
use fimbria_qsm::{Distributed, HostOperator, Products, SeveralDevices, Share};
use fimbria_report::Figure;
use fimbria_report::plot::{Axes, Axis, Guide, Marks, Series, bars, xy};

use super::super::clock::Time;
use super::super::figures::save;
use super::super::table::{Table, counted, digits, digits_or_dash, number, words};
use super::products::{PLAIN_PLACE, Problem as Cube, time_both, time_plain};
use crate::{Console, Failure};

/// Iterations to the end: the paper's 16 hours at 52 seconds each.
const ITERATIONS: f64 = 1100.0;

/// Where the paper computed, and seconds for each iteration (21 cards: 112 minutes to the end).
const PAPER: [(&str, f64); 4] = [
    ("12 cores of Westmere", 640.0),
    ("1 Tesla M2070", 140.0),
    ("4096 cores of Blue Gene/Q", 52.0),
    ("21 Tesla M2090", 112.0 * 60.0 / ITERATIONS),
];

/// The problem that stands for the paper's mouse brain.
pub(super) struct Problem<'a> {
    /// Voxels along each side.
    pub(super) side: usize,
    /// Part of them that are cylinders.
    pub(super) cylinders: f64,
    /// The products to time; with the dense one the plain loop.
    pub(super) which: &'a [Products],
    /// Leaves out threads, processes and the plain loop.
    pub(super) devices_only: bool,
}

/// What shares a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Threads,
    Devices,
    Processes,
}

impl Kind {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Threads, "threads"), (Self::Devices, "devices"), (Self::Processes, "processes")];
}

/// An iteration of a product, shared by so many.
struct Measured {
    product: &'static str,
    kind: Kind,
    count: usize,
    on: String,
    time: Time,
}

impl Problem<'_> {
    /// The paper's table and, into the folder `figures`, its two figures. Only the first process of `world`
    /// speaks; the others sleep while it measures by itself.
    pub(super) fn table(
        &self,
        console: &dyn Console,
        all: &Workers,
        with: &dyn Fn(usize) -> Result<Workers, Failure>,
        devices: &[Device],
        world: &World,
        figures: Option<&Path>,
    ) -> Result<(), Failure> {
        let comm = world.comm();
        let &Self { side, cylinders, which, devices_only } = self;
        if comm.rank() > 0 {
            if devices_only {
                return Ok(());
            }
            for &products in which {
                let cube = Cube::new(side, cylinders, products)?;
                world.wait_asleep();
                by_processes(
                    &cube,
                    products,
                    all.threads(),
                    with,
                    world,
                    console,
                    &mut |_| Ok(()),
                )?;
            }
            return Ok(());
        }
        let table = Table::begin(
            console,
            [
                words("product", 8),
                words("on", 28),
                number("s/iteration", 11),
                number("cpu s", 8),
                number("speed-up", 8),
                number("min to end", 10),
            ],
        )?;
        let row = |product: &str, on: &str, time: Time, first: f64| {
            let seconds = time.wall;
            table.row_of(
                time,
                [
                    product.to_owned(),
                    on.to_owned(),
                    digits(seconds),
                    digits_or_dash(time.processor),
                    digits(first / seconds),
                    digits(ITERATIONS * seconds / 60.0),
                ],
            )
        };
        for (on, seconds) in PAPER {
            row("paper", on, Time { wall: seconds, processor: None, spent: None }, PAPER[0].1)?;
        }
        if which.contains(&Products::Dense) && !devices_only {
            // The adjoint sums the same pairs.
            let product = time_plain(&super::cube(side, cylinders, None)?, console)?;
            let both = product.times(2.0);
            row("plain", PLAIN_PLACE, both, both.wall)?;
        }
        let mut measured: Vec<Measured> = Vec::new();
        for &products in which {
            let cube = Cube::new(side, cylinders, products)?;
            let mut first = None;
            let mut done = |one: Measured| {
                let first = *first.get_or_insert(one.time.wall);
                row(one.product, &one.on, one.time, first)?;
                measured.push(one);
                Ok(())
            };
            if !devices_only {
                by_threads(&cube, products, all.threads(), with, console, &mut done)?;
            }
            by_devices(&cube, products, all, devices, console, &mut done)?;
            if !devices_only {
                world.wait_asleep();
                by_processes(&cube, products, all.threads(), with, world, console, &mut done)?;
            }
        }
        match figures {
            Some(folder) => draw(&measured, folder, console),
            None => Ok(()),
        }
    }
}

type Done<'a> = dyn FnMut(Measured) -> Result<(), Failure> + 'a;

fn measured(
    cube: &Cube,
    kind: Kind,
    count: usize,
    on: String,
    (there, back): (Time, Time),
) -> Measured {
    Measured { product: cube.product, kind, count, on, time: there.plus(back) }
}

/// On 1 to `most` threads: every number up to 8, then powers of two, and the last.
fn by_threads(
    cube: &Cube,
    products: Products,
    most: usize,
    with: &dyn Fn(usize) -> Result<Workers, Failure>,
    console: &dyn Console,
    done: &mut Done<'_>,
) -> Result<(), Failure> {
    for count in (1..=most).filter(|&n| n <= 8 || n.is_power_of_two() || n == most) {
        let workers = with(count)?;
        let operator = HostOperator::new(&cube.model, products, &workers)?;
        let times = time_both(&operator, cube.scale, console, || Ok(()))?;
        let on = format!("{}, {:?}", counted(count), workers.simd());
        done(measured(cube, Kind::Threads, count, on, times))?;
    }
    Ok(())
}

/// On each device by itself, and on the first two, three … together.
fn by_devices(
    cube: &Cube,
    products: Products,
    workers: &Workers,
    devices: &[Device],
    console: &dyn Console,
    done: &mut Done<'_>,
) -> Result<(), Failure> {
    for device in devices {
        let operator = DeviceOperator::new(&cube.model, products, device, workers)?;
        let times = time_both(&operator, cube.scale, console, || device.synchronize())?;
        done(measured(cube, Kind::Devices, 1, device.info().name.clone(), times))?;
    }
    let problem = ShapeProducts { model: &cube.model, products };
    for count in 2..=devices.len() {
        let on = Backend::new(workers, &devices[..count]);
        let operator = SeveralDevices::new(&problem, &on, &Silent)?;
        let times = time_both(&operator, cube.scale, console, || Ok(()))?;
        done(measured(cube, Kind::Devices, count, format!("{count} devices together"), times))?;
    }
    Ok(())
}

/// On 1 to all processes, those of a machine with equal parts of its threads: the others have no sources, and
/// hear the sum. Nothing of one alone.
fn by_processes(
    cube: &Cube,
    products: Products,
    threads: usize,
    with: &dyn Fn(usize) -> Result<Workers, Failure>,
    world: &World,
    console: &dyn Console,
    done: &mut Done<'_>,
) -> Result<(), Failure> {
    let comm = world.comm();
    if comm.size() == 1 {
        return Ok(());
    }
    let last = comm.of_each(comm.local_rank() as u64).into_iter().max().unwrap_or(0);
    let workers = &with((threads / (last as usize + 1)).max(1))?;
    for count in 1..=comm.size() {
        let share = Share { rank: comm.rank(), size: count };
        let part = HostOperator::of_share(&cube.model, products, workers, share)?;
        let operator = Distributed::new(part, comm);
        comm.barrier();
        let times = time_both(&operator, cube.scale, console, || Ok(()))?;
        let processes = if count == 1 { "process" } else { "processes" };
        let on = format!("{count} {processes} of {}", counted(workers.threads()));
        done(measured(cube, Kind::Processes, count, on, times))?;
    }
    Ok(())
}

/// What the paper's machines are called below a bar.
const SHORT: [&str; 4] = ["12 cores", "1 card", "4096 cores", "21 cards"];

/// Of each product the paper's Figure 1, the speed-up over one thread, and its Figure 2, minutes to the end.
fn draw(measured: &[Measured], folder: &Path, console: &dyn Console) -> Result<(), Failure> {
    for product in ["dense", "fast"] {
        let all: Vec<&Measured> = measured.iter().filter(|one| one.product == product).collect();
        if all.is_empty() {
            continue;
        }
        for (name, figure) in [("speed-up", speed_up(&all)), ("minutes-to-end", to_end(&all))] {
            save(&figure, &format!("{name}-{product}.svg"), folder, console)?;
        }
    }
    Ok(())
}

/// Of one product, the first of them on one thread.
fn speed_up(measured: &[&Measured]) -> Figure {
    let points = |kind: Kind| -> Vec<[f64; 2]> {
        let of_kind = measured.iter().filter(|one| one.kind == kind);
        of_kind.map(|one| [one.count as f64, measured[0].time.wall / one.time.wall]).collect()
    };
    let curves: Vec<(&str, Vec<[f64; 2]>)> =
        Kind::ALL.map(|(kind, name)| (name, points(kind))).into();
    let series: Vec<Series<'_>> = curves
        .iter()
        .filter(|(_, points)| !points.is_empty())
        .map(|(name, points)| Series { name, points, marks: Marks::LineAndDots })
        .collect();
    let most = measured.iter().map(|one| one.count).max().unwrap_or(1) as f64;
    let axes = Axes {
        heading: &format!("Speed-up of an iteration, {} product", measured[0].product),
        x: Axis::new("threads, devices or processes; over one thread", "").over(0.5, most + 0.5),
        y: Axis::new("", ""),
        guides: vec![Guide::Identity],
    };
    xy(&series, &axes)
}

/// Of one product the most of each kind, beside the paper's machines.
fn to_end(measured: &[&Measured]) -> Figure {
    let paper = SHORT.iter().zip(PAPER).map(|(name, (_, seconds))| ((*name).to_owned(), seconds));
    let most = Kind::ALL.iter().filter_map(|(kind, name)| {
        let of_kind = measured.iter().filter(|one| one.kind == *kind);
        let most = of_kind.max_by_key(|one| one.count)?;
        Some((format!("{} {name}", most.count), most.time.wall))
    });
    let ends: Vec<(String, f64)> =
        paper.chain(most).map(|(name, seconds)| (name, minutes(seconds))).collect();
    let ends: Vec<(&str, f64)> = ends.iter().map(|(name, end)| (&name[..], *end)).collect();
    let axes = Axes {
        heading: &format!("Time to the end of 1100 iterations, {} product", measured[0].product),
        x: Axis::new("the paper: Westmere, Tesla M2070, Blue Gene/Q, M2090; then this machine", ""),
        y: Axis::new("time", "min"),
        guides: Vec::new(),
    };
    bars(&ends, &axes)
}

fn minutes(seconds: f64) -> f64 {
    ITERATIONS * seconds / 60.0
}
