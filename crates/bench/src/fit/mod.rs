//! `fimbria bench fit`
//!
//! * `place`: where a fit runs; `work`: what is fitted; `scipy`: the same by scipy

mod processor;
mod scipy;
mod work;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_pipeline::options::{Described as _, Takes, within};
use fimbria_report::plot::{Axes, Axis, bars};

use self::processor::Processor;
use self::work::{Work, by_direction, by_voxel};
use super::clock::{Time, best};
use super::figures::save;
use super::table::{Table, digits, digits_or_dash, number, words};
use crate::{Benchmark, Console, Failure, Machine};

/// Time the fits of curves as the paper's Table 1 does, beside a plain loop and scipy, and tensors
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchFit {
    /// Fits of the paper's job, rounded down to whole voxels of 30
    #[arg(long, value_name = "N", default_value_t = 360_000)]
    #[arg(number = within(3000_u32, 3_000_000, ""))]
    fits: u32,

    /// Fits that scipy does, where it is installed; 0 for none
    #[arg(long, value_name = "N", default_value_t = 600)]
    #[arg(number = within(0_u32, 100_000, ""))]
    scipy: u32,

    /// Voxels of the fits of whole voxels
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(number = within(1000_u32, 10_000_000, ""))]
    voxels: u32,

    /// Draw the paper's Table 1 as bars and its Figure 2, differences to scipy, into this folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    #[arg(takes = Takes::FOLDER)]
    figures: Option<PathBuf>,
}

const HELP: &str = "\
Outputs, on standard output:
  Table 1      the paper's job: 3 parameters in each of 30 directions of each voxel. Kurtosis above
               a fixed floor (eq. 3) from 8 samples up to b = 3000 s/mm², and the stretched
               exponential from 11 up to 8000. A row for the plain loop, for scipy, for one thread,
               all threads, and each device:
    fits/s       of the wall time, from the series in memory to the maps: gathering and scaling of
                 samples, starts, means over directions included
    job s        what the whole job takes at this rate
    CPU us       processor time of a fit, all threads
    ratio        fits/s over those of the plain loop
  Voxels       fits of whole voxels: the diffusion tensor (70 volumes) and the kurtosis tensors
               (134 volumes) by weighted least squares, all maps; constrained is the default of
               `fit dki`; other models of the same 134 volumes with their usual options; and the
               7 parameters of `fit stremi` (305 volumes)

  The plain loop is the same algorithm written in f64 for one fit at a time (the oracle of the
  tests), on one thread and part of the voxels. scipy's is least_squares(method='lm') on the same
  samples with derivatives by differences, as lsqcurvefit's are, from the start (1, 1 µm²/ms, 0.1)
  and without bounds; the difference is the median |K - K'| of both.

  The paper (2014): 50 fits/s by lsqcurvefit with 8 threads of a Xeon E5430, 7200 s for the job;
  12,000 fits/s and 30 s on a Quadro K2000. Fits per second beside the `levenberg-marquardt` crate:
  cargo run --release -p fimbria-fitting --example fits_per_second

Data:
  `fimbria phantom protocol` at SNR 50 for curves, `phantom crossing` at SNR 30 for tensors, both in
  memory.

Reference:
  Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR
  parametric imaging";

impl Benchmark for BenchFit {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { fits, scipy, voxels, figures } = self;
        let counts = machine.thread_counts();
        let Machine { workers: all, devices, devices_only } = machine;
        let places = Processor::all(&all, &counts, devices)?;

        let curves = by_direction(fits as usize, &all, console)?;
        let scipy = if devices_only { 0 } else { scipy };
        let table = Table::begin(
            console,
            [
                words("Table 1", 20),
                words("on", Processor::NAME),
                number("fits/s", 9),
                number("job s", 8),
                number("CPU us", 7),
                number("ratio", 7),
            ],
        )?;
        for work in curves.works() {
            let row = |on: &str, n: usize, time: Time, plain: Option<f64>| {
                let rate = n as f64 / time.wall;
                table.row_of(
                    time,
                    [
                        work.name.to_owned(),
                        on.to_owned(),
                        format!("{rate:.0}"),
                        digits(f64::from(fits) / rate),
                        digits_or_dash(time.processor.map(|s| 1e6 * s / n as f64)),
                        digits_or_dash(plain.map(|plain| rate / plain)),
                    ],
                )
            };
            let mut rates = Vec::new();
            let mut plain = None;
            if !devices_only {
                let (n, time) = timed(&work, &Processor::plain()?, console)?;
                let rate = n as f64 / time.wall;
                plain = Some(rate);
                row("plain f64 loop", n, time, plain)?;
                rates.push(("plain f64 loop".to_owned(), rate));
            }
            if let Some(model) = work.model.filter(|_| scipy > 0) {
                let samples = curves.samples(model, scipy as usize)?;
                match scipy::fit(&samples)? {
                    Some(found) => {
                        row("scipy least_squares", samples.n, found.time(), plain)?;
                        console.print(&format!("{:20}  ({})\n", "", found.difference()))?;
                        if let Some(folder) = &figures {
                            found.draw(folder, console)?;
                        }
                    }
                    None => console.print("no comparison with scipy: it is not installed\n")?,
                }
            }
            for place in &places {
                let (n, time) = timed(&work, place, console)?;
                row(&place.name, n, time, plain)?;
                rates.push((place.name.clone(), n as f64 / time.wall));
            }
            if let Some(folder) = &figures {
                draw(work.name, &rates, folder, console)?;
            }
        }

        let tensors = by_voxel(voxels as usize, &all, console)?;
        let table = Table::begin(
            console,
            [
                words("Voxels", 20),
                words("on", Processor::NAME),
                number("voxels/s", 9),
                number("CPU us", 7),
            ],
        )?;
        for work in tensors.works().into_iter().chain([curves.stretched_tensor()]) {
            for place in &places {
                let (n, time) = timed(&work, place, console)?;
                table.row_of(
                    time,
                    [
                        work.name.to_owned(),
                        place.name.clone(),
                        format!("{:.0}", n as f64 / time.wall),
                        digits_or_dash(time.processor.map(|s| 1e6 * s / n as f64)),
                    ],
                )?;
            }
        }
        Ok(())
    }
}

/// The paper's Table 1 as bars of fits per second, of one model.
fn draw(
    model: &str,
    rates: &[(String, f64)],
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let ours: Vec<(&str, f64)> = rates.iter().map(|(on, rate)| (&on[..], *rate)).collect();
    let theirs = [("paper, CPU", 50.0), ("paper, GPU", 12_000.0)];
    let axes = Axes {
        heading: &format!("Fits of {model}"),
        x: Axis::new("where", ""),
        y: Axis::new("rate", "fits/s"),
        guides: Vec::new(),
    };
    let file = format!("fits-{}.svg", model.replace([' ', ','], "-"));
    save(&bars(&[&theirs[..], &ours].concat(), &axes), &file, folder, console)
}

/// Fits done and their time, on so many voxels as take about a second.
fn timed(
    work: &Work<'_>,
    place: &Processor,
    console: &dyn Console,
) -> Result<(usize, Time), Failure> {
    const SECONDS: f64 = 1.0;
    /// Voxels whose time tells how many that are.
    const PILOT: usize = 64;
    let on = place.backend();
    let time = |voxels: usize| {
        let mask = work.part(voxels);
        best(console, || (work.fit)(&mask, place.precision, &on, console))
    };
    let pilot = work.mask.len().min(if place.is_device() { work.mask.len() } else { PILOT });
    let first = time(pilot)?;
    let seconds = first.wall / pilot as f64;
    let voxels = work.mask.len().min((SECONDS / seconds) as usize).max(pilot);
    let mut time = time(voxels)?;
    time.compiled_in(first);
    Ok((voxels * work.fits_of_voxel, time))
}
