//! `fimbria bench dti`

use std::path::Path;

use clap::Args;
use fimbria_compute::device::Device;
use fimbria_compute::measure::cpu;
use fimbria_compute::{Backend, SimdLevel, Workers};
use fimbria_image::{
    Datatype, GradientTable, Image, Mask, OpenOptions, StoredImage, WriteOptions, write_image,
};
use fimbria_models::dti::{DtiMap, DtiOptions, LeastWork, Method, Precision, Problem, fit};
use fimbria_phantoms::{Acquisition, CrossingSpec, ShellSpec, crossing};
use fimbria_pipeline::{Choice, Named};

use super::clock::{Interruptible, Time, best};
use super::floors::{Floor, Needs};
use super::peer;
use super::table::{Table, counted, digits, digits_or_dash, number, percent, words};
use crate::{Benchmark, Console, Failure, Machine};
use fimbria_pipeline::options::{Described as _, choice, within};

/// Time tensor fits by every method, beside a plain f64 loop, the floor, and MRtrix3
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchDti {
    /// About how many voxels the mask has
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    #[arg(number = within(1000_u32, 100_000_000, ""))]
    voxels: u32,

    /// Volumes, a twelfth of them unweighted, the others at b = 1000 s/mm²
    #[arg(long, value_name = "N", default_value_t = 70)]
    #[arg(number = within(12_u32, 1000, ""))]
    volumes: u32,

    /// Methods to time, separated by commas
    #[arg(usually = "all")]
    #[arg(long, value_name = "METHODS", value_delimiter = ',', value_parser = choice::<Method>())]
    method: Option<Vec<Named<Method>>>,

    /// Maps to compute, separated by commas
    #[arg(usually = "all")]
    #[arg(long, value_name = "MAPS", value_delimiter = ',', value_parser = choice::<DtiMap>())]
    #[arg(ignore_case = true)]
    maps: Option<Vec<Named<DtiMap>>>,
}

const HELP: &str = "\
Outputs, on standard output:
  What processor and devices attain, then a row per method and SIMD level with one thread and with
  all, and for linear fits per device:
    ns/voxel     wall time of the fit, reading of the mapped int16 series and maps included
    Mvoxels/s    its reciprocal
    CPU ns       processor time of all threads
    ratio        how many times faster than the plain f64 fit of one voxel after the other, one
                 thread, which is timed on 1 % of the voxels
    kinstr, B    the least f32 arithmetic instructions (a multiply-add is one) and the bytes that a
                 voxel needs, where the method does not iterate
    floor        the time these take at the attained rates, over the wall time
  Slow combinations are timed on part of the voxels; their number is in the table.

  Where MRtrix3 is installed, whole commands with one thread on the same uncompressed .mif, tensor
  only: user and system CPU and wall seconds, user CPU of dwi2tensor over that of the row, and how
  far the tensors are apart (largest difference of an element over the largest element).

Data:
  The crossing phantom at SNR 30 in its brain mask, int16, in the system's folder for temporary
  files (TMPDIR), removed at the end.";

impl Benchmark for BenchDti {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { voxels, volumes, method, maps } = self;
        let methods = match method {
            Some(methods) => methods.into_iter().map(|method| method.0).collect(),
            None => Method::CHOICES.iter().map(|(method, ..)| *method).collect::<Vec<_>>(),
        };
        let maps = maps.map_or(DtiMap::ALL.to_vec(), |maps| maps.iter().map(|m| m.0).collect());
        let counts = machine.thread_counts();
        let Machine { workers: all, devices, devices_only } = machine;
        let folder = tempfile::tempdir()?;
        let files = peer::Files::in_folder(folder.path());
        let (mask, gradients) = make_subject(voxels, volumes, &files, &all, console)?;
        let series = all.install(|| StoredImage::open(&files.dwi, &OpenOptions::default()))?;
        console.print(&format!("{} voxels, {} volumes\n", mask.len(), gradients.len()))?;

        let places = places(&all, &counts, devices, console)?;
        let table = Table::begin(
            console,
            [
                words("method", 7),
                words("on", WIDTH),
                number("threads", 7),
                number("voxels", 7),
                number("ns/voxel", 8),
                number("Mvoxels/s", 9),
                number("CPU ns", 7),
                number("ratio", 6),
                number("kinstr", 6),
                number("B", 5),
                number("floor", 6),
            ],
        )?;
        let job = Job { series: &series, mask: &mask, gradients: &gradients, console };
        for method in methods {
            let options = DtiOptions { method, maps: maps.clone(), ..DtiOptions::default() };
            job.rows(&options, &places, devices_only, &table)?;
        }
        if devices_only {
            return Ok(());
        }
        all.install(|| peer::report(&files, &mask, console))
    }
}

/// Where a fit may run, and what is attained there.
struct Processor {
    name: String,
    workers: Workers,
    device: Option<Device>,
    floor: Floor,
}

/// Every SIMD level with so many threads, then the devices; prints what they attain.
fn places(
    all: &Workers,
    counts: &[usize],
    devices: Vec<Device>,
    console: &dyn Console,
) -> Result<Vec<Processor>, Failure> {
    let mut places = Vec::new();
    for &threads in counts {
        let measured = cpu(&Workers::new(threads)?);
        for level in SimdLevel::available() {
            let workers = Workers::new(threads)?.with_simd(level);
            let floor = Floor::of_measured(&measured, level);
            let name = format!("{level:?}");
            console.print(&floor.described(&format!("{name}, {}", counted(threads))))?;
            places.push(Processor { name, workers, device: None, floor });
        }
    }
    for device in devices {
        let (name, floor) = (device.info().name.clone(), Floor::of_device(&device)?);
        console.print(&floor.described(&name))?;
        let workers = Workers::new(all.threads())?;
        places.push(Processor { name, workers, device: Some(device), floor });
    }
    Ok(places)
}

/// Characters of the name of a place.
const WIDTH: usize = 24;

struct Job<'a> {
    series: &'a StoredImage,
    mask: &'a Mask,
    gradients: &'a GradientTable,
    console: &'a dyn Console,
}

impl Job<'_> {
    /// The plain fit, where threads have rows, then every place.
    fn rows(
        &self,
        options: &DtiOptions,
        places: &[Processor],
        devices_only: bool,
        table: &Table<'_>,
    ) -> Result<(), Failure> {
        let problem = Problem::new(self.gradients, options)?;
        let least = problem.least_work();
        let needs = least.map(|LeastWork { instructions, samples_read, numbers_written }| Needs {
            instructions,
            bytes: (2 * samples_read + 4 * numbers_written) as f64,
        });
        let name = options.method.name();
        let show =
            |place: &str, threads: usize, n: usize, time: Time, ratio: Option<f64>, floor: f64| {
                let per_voxel = 1.0 / n as f64;
                table.row_of(
                    time,
                    [
                        name.to_owned(),
                        place.chars().take(WIDTH).collect(),
                        threads.to_string(),
                        n.to_string(),
                        digits(1e9 * time.wall * per_voxel),
                        digits(1e-6 * n as f64 / time.wall),
                        digits_or_dash(time.processor.map(|seconds| 1e9 * seconds * per_voxel)),
                        digits_or_dash(ratio),
                        digits_or_dash(needs.map(|needs| 1e-3 * needs.instructions)),
                        needs.map_or("-".to_owned(), |needs| format!("{:.0}", needs.bytes)),
                        if floor.is_finite() { percent(floor) } else { "-".to_owned() },
                    ],
                )
            };

        let sample = part_of(self.mask, 0.01);
        let mut oracle = None;
        if !devices_only {
            let one = Workers::new(1)?;
            let plain = DtiOptions { precision: Precision::Double, ..options.clone() };
            let time = self.time(&plain, &sample, &Backend::cpu(&one))?;
            show("plain f64", 1, sample.len(), time, Some(1.0), f64::NAN)?;
            oracle = Some(time.wall / sample.len() as f64);
        }

        for Processor { name, workers, device, floor } in places {
            if device.is_some() && least.is_none() {
                continue; // devices do linear fits
            }
            let on = Backend::new(workers, device.as_slice());
            /// Longest run; beyond it fewer voxels are timed.
            const SECONDS: f64 = 1.0;
            let pilot = self.time(options, &sample, &on)?;
            let per_voxel = pilot.wall / sample.len() as f64;
            let mask = part_of(self.mask, SECONDS / (per_voxel * self.mask.len() as f64));
            let mut time = self.time(options, &mask, &on)?;
            time.compiled_in(pilot);
            let seconds = time.wall / mask.len() as f64;
            let attained = needs.map_or(f64::NAN, |needs| floor.seconds(needs) / seconds);
            let ratio = oracle.map(|oracle| oracle / seconds);
            show(name, workers.threads(), mask.len(), time, ratio, attained)?;
        }
        Ok(())
    }

    fn time(&self, options: &DtiOptions, mask: &Mask, on: &Backend<'_>) -> Result<Time, Failure> {
        let progress = Interruptible(self.console);
        best(self.console, || {
            fit(self.series, mask, self.gradients, None, options, on, &progress).map(drop)
        })
    }
}

/// A `fraction` of the voxels, in runs spread over the whole mask: neighbours stay neighbours.
fn part_of(mask: &Mask, fraction: f64) -> Mask {
    const RUN: usize = 256;
    let every = RUN * (1.0 / fraction.clamp(1e-3, 1.0)).ceil() as usize;
    let runs = mask.voxels.chunks(every).map(|chunk| &chunk[..RUN.min(chunk.len())]);
    Mask { grid: mask.grid, voxels: runs.flatten().copied().collect() }
}

/// Makes the series and its mask, and writes both.
fn make_subject(
    voxels: u32,
    volumes: u32,
    files: &peer::Files,
    workers: &Workers,
    console: &dyn Console,
) -> Result<(Mask, GradientTable), Failure> {
    /// The part of the phantom's grid that its brain takes.
    const BRAIN: f64 = 0.45;
    let mut spec = CrossingSpec::default();
    // Axes as MRtrix3 turns them when it reads an image, so that results lie on the same grid.
    spec.placement.x_right_to_left = false;
    let dims = spec.placement.dims;
    let of_default = dims.iter().product::<usize>() as f64 * BRAIN;
    let zoom = (f64::from(voxels) / of_default).cbrt();
    spec.placement.dims = dims.map(|n| (n as f64 * zoom).round() as usize);
    spec.placement.voxel_mm = spec.placement.voxel_mm.map(|mm| mm / zoom);
    let b0s = volumes as usize / 12;
    let shell = ShellSpec { b_s_per_mm2: 1000.0, directions: volumes as usize - b0s };
    spec.acquisition = Acquisition { b0s, shells: vec![shell] };
    let subject = crossing(&spec, workers, console)?;

    let dw_scheme = Some(subject.gradients.to_dw_scheme());
    write_int16(&files.dwi, &subject.dwi, dw_scheme, workers)?;
    write_int16(&files.mask, &subject.mask.to_image(), None, workers)?;
    Ok((subject.mask, subject.gradients))
}

fn write_int16(
    path: &Path,
    image: &Image,
    dw_scheme: Option<Vec<Vec<f64>>>,
    workers: &Workers,
) -> Result<(), Failure> {
    let options = WriteOptions { datatype: Datatype::Int16, dw_scheme, ..WriteOptions::default() };
    Ok(workers.install(|| write_image(path, image, &options))?)
}
