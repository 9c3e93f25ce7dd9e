//! `fimbria bench track`
//!
//! * `subject`: what is tracked, and from where; `speed`: the tables of particles, Figures 4.8 to
//!   4.10; `stages`: where the time goes, Table 4.2; `deal`: threads and how much is dealt at a time,
//!   in place of Figures 4.14 and 4.15
//! * `agreement`: the same paths by two trackers, in place of Figure 4.7
//! * `numbers`: how even random numbers are, Figure 4.11; `paths`: visits with and without them,
//!   Figures 4.12 and 4.13, from seeds in a `circle`

mod agreement;
mod circle;
mod deal;
#[cfg(test)]
mod fan;
mod numbers;
mod paths;
mod speed;
mod stages;
mod subject;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_pipeline::options::{Described as _, Takes, at_least, within};

use self::subject::Subject;
use super::table::counted;
use crate::{Benchmark, Console, Failure, Machine};

/// Time tracking as the paper's tables do, beside a plain scalar tracker
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchTrack {
    /// A bedpostX folder or base name of samples (FOLDER/merged)
    #[arg(usually = "a phantom's, made here")]
    #[arg(value_name = "SAMPLES", requires = "seeds")]
    #[arg(takes = Takes::SAMPLES)]
    samples: Option<PathBuf>,

    /// Voxels to start in
    #[arg(long, value_name = "IMAGE", requires = "samples")]
    #[arg(takes = Takes::MASK)]
    seeds: Option<PathBuf>,

    /// Voxels to track in
    #[arg(usually = "nodif_brain_mask of the folder")]
    #[arg(long, value_name = "IMAGE", requires = "samples")]
    #[arg(takes = Takes::MASK)]
    mask: Option<PathBuf>,

    /// Particles, separated by commas; rounded up to whole samples of every seed
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(default_values_t = [1_000, 10_000, 100_000, 1_000_000])]
    #[arg(number = within(1_u32, 100_000_000, ""))]
    particles: Vec<u32>,

    /// Particles that the plain tracker is timed with at most
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(number = at_least(0_u32, ""))]
    plain: u32,

    /// Draw the paper's Figures 4.7 to 4.15 into this folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    #[arg(takes = Takes::FOLDER)]
    figures: Option<PathBuf>,
}

const HELP: &str = "\
Outputs, on standard output, three tables:
  1  seconds to track particles and count their visits: basic; modified Euler; modified Euler and a
     look for loops (Figures 4.8 to 4.10 of the paper)
       M points/s  points of both halves, kept or not, in a second of wall time
       per core    the same in a second of processor time of all threads
       ratio       points in a second of processor time, over those of the plain tracker: one
                   particle at a time, random numbers one by one, the same paths
  2  where the time of one thread goes (Table 4.2): steps alone, counting of visits, streamlines
     with their data, and a TRX file of them
  3  threads, and how many samples are dealt at a time, for 100,000 particles at most. They stand
     for Figures 4.14 and 4.15, steps of a launch and host threads: here a launch makes whole
     streamlines, and a lane whose particle has ended takes the next at once, so that there are
     no steps to choose.
  With --figures, before the third, but not with --devices-only:
  4  how far the points of 2000 paths or more are apart, in voxels, by the plain tracker and by the
     others, with the same random numbers (in place of Figure 4.7: there probtrackx2 and oclptx
     without any). `other lengths` are paths that end elsewhere, or are missing
  5  how even random integers are over their range (Figure 4.11): 100 states, 100,000 draws of
     each, by the paper's generator and by fimbria's. `expected` and `SD` are of draws in a part
     of the range and of chi2, by chance
  6  visits without and with random numbers (Figures 4.12 and 4.13), for 100,000 particles at
     most from a circle as the paper's. It does not say where in a voxel they start: from centres
     (drawn) and from anywhere. Without, a particle follows the nearest voxel's middle sample.
     `in common`: of the voxels that a particle visits, those that another one from the same
     voxel of the circle visits, too

Units:
  A particle is a sample of a seed: a streamline of two halves. M is a million.

References:
  Afsharian D et al. oclptx: probabilistic tractography with OpenCL (2014)
  L'Ecuyer P. Tables of maximally equidistributed combined LFSR generators. Math Comput 68 (1999)";

/// Threads, or a device and the threads that judge and count beside it.
enum Processor {
    Threads(Workers),
    Device(Device, Workers),
}

impl Processor {
    /// So many threads each, and every device with all of them.
    fn all(counts: &[usize], n_threads: usize, devices: Vec<Device>) -> Result<Vec<Self>, Failure> {
        let threads = |&count: &usize| Ok(Self::Threads(Workers::new(count)?));
        let device = |device| Ok(Self::Device(device, Workers::new(n_threads)?));
        counts.iter().map(threads).chain(devices.into_iter().map(device)).collect()
    }

    fn name(&self) -> String {
        match self {
            Self::Threads(workers) => counted(workers.threads()),
            Self::Device(device, _) => device.info().name.chars().take(NAME).collect(),
        }
    }
}

/// Particles of the second and third table, as of the paper's.
const MOST: u32 = 100_000;

/// Width of the column of places.
const NAME: usize = 20;

impl Benchmark for BenchTrack {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { samples, seeds, mask, particles, plain, figures } = self;
        let counts = machine.thread_counts();
        let Machine { workers, devices, devices_only } = machine;
        let subject = match (samples, seeds) {
            (Some(samples), Some(seeds)) => {
                Subject::read(&samples, mask.as_deref(), &seeds, &workers, console)?
            }
            _ => Subject::phantom(&workers, console)?,
        };
        console.print(&subject.described())?;
        let n_threads = workers.threads();
        let places = Processor::all(&counts, n_threads, devices)?;
        let plain = if devices_only { 0 } else { plain };
        speed::table(&subject, &particles, plain, &places, figures.as_deref(), console)?;
        let most = particles.iter().copied().max().unwrap_or(MOST).min(MOST);
        if !devices_only {
            stages::table(&subject, most, console)?;
            if let Some(folder) = &figures {
                agreement::table(&subject, &places, folder, console)?;
                numbers::table(folder, console)?;
                paths::table(&subject, most, &workers, folder, console)?;
            }
        }
        deal::table(&subject, most, &counts, &places, figures.as_deref(), console)
    }
}
