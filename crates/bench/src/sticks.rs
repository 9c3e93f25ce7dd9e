//! `fimbria bench sticks`

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use fimbria_compute::{Backend, Workers};
use fimbria_image::{GradientTable, Mask};
use fimbria_phantoms::{Acquisition, CrossingSpec, Placement, ShellSpec, Subject, crossing};
use fimbria_pipeline::options::{Described as _, Takes, within};
use fimbria_sticks::{Diffusivity, Noise, SticksOptions, sample, sample_slowly, time_jump};
use fimbria_streamlines::{LengthStatistics, Tractogram};

use super::clock::{Interruptible, Time, once};
use super::peer::user_seconds_of;
use super::table::{Table, counted, digits, digits_or_dash, number, percent, words};
use crate::{Benchmark, Console, Failure, Machine};

/// Time ball-and-sticks sampling, beside a plain loop and what FSL's xfibres takes
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchSticks {
    /// Voxels to sample
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(number = within(1_u32, 100_000, ""))]
    voxels: u32,

    /// Voxels that the plain loop samples
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(number = within(1_u32, 1000, ""))]
    plain: u32,

    /// Jumps, a share of the usual number, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100)]
    #[arg(number = within(4_u32, 100, ""))]
    jumps: u32,

    /// Fibre orientation densities (harmonics of MRtrix3), with which to time its tckgen iFOD2: how
    /// fast this machine is beside the one on which xfibres was timed
    #[arg(long, value_name = "IMAGE", requires = "fod_mask")]
    #[arg(takes = Takes::IMAGE.frame("scanner RAS"))]
    fod: Option<PathBuf>,

    /// Voxels that tckgen starts in
    #[arg(long, value_name = "IMAGE", requires = "fod")]
    #[arg(takes = Takes::MASK)]
    fod_mask: Option<PathBuf>,
}

const HELP: &str = "\
Outputs, on standard output:
  For the models of bedpostx on 65 volumes (1 without weighting, 64 at b = 1000 s/mm²), of voxels
  of a phantom with fibres, starts included, 50 samples each:
    voxels/s   on the clock
    per core   over the processor time of all threads
    ratio      how many times a plain loop: scalar f64, a voxel and a proposal after the other,
               every signal computed anew; from the same starts
    xfibres    how many times the rate of FSL's xfibres, measured on one core of another server
               (EPYC): 18.5, 10.5, 7.1 and 5.1 voxels/s
    here       the same, as scaled to this machine by tckgen (with --fod): one voxel of xfibres took
               as long as 65, 115, 170 and 237 iFOD2 streamlines of 56 mm
  Then where the time of a jump goes, on one thread: signals computed anew (exponentials and
  powers), residuals and their squares, and the rest (random numbers, priors, decisions, what is
  kept).";

/// A setting of bedpostx, and what xfibres does with it.
struct Setting {
    name: &'static str,
    diffusivity: Diffusivity,
    n_fibres: usize,
    noise: Noise,
    /// Voxels per second and core on 65 volumes.
    xfibres: f64,
    /// Streamlines of iFOD2, of 56 mm, that take as long as a voxel.
    streamlines: f64,
}

const SETTINGS: [Setting; 4] = [
    Setting {
        name: "model 1, 2 fibres",
        diffusivity: Diffusivity::Single,
        n_fibres: 2,
        noise: Noise::Gaussian,
        xfibres: 18.5,
        streamlines: 65.0,
    },
    Setting {
        name: "model 1, 3 fibres",
        diffusivity: Diffusivity::Single,
        n_fibres: 3,
        noise: Noise::Gaussian,
        xfibres: 10.5,
        streamlines: 115.0,
    },
    Setting {
        name: "model 2, 3 fibres",
        diffusivity: Diffusivity::Gamma,
        n_fibres: 3,
        noise: Noise::Gaussian,
        xfibres: 7.1,
        streamlines: 170.0,
    },
    Setting {
        name: "model 2, 3, Rician",
        diffusivity: Diffusivity::Gamma,
        n_fibres: 3,
        noise: Noise::Rician,
        xfibres: 5.1,
        streamlines: 237.0,
    },
];

impl Benchmark for BenchSticks {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { voxels, plain, jumps, fod, fod_mask } = self;
        let counts = machine.thread_counts();
        let Machine { workers, devices, devices_only } = machine;
        let quiet = Interruptible(console);
        let spec = CrossingSpec {
            acquisition: Acquisition {
                b0s: 1,
                shells: vec![ShellSpec { b_s_per_mm2: 1000.0, directions: 64 }],
            },
            placement: placement(voxels as usize),
            ..CrossingSpec::default()
        };
        let subject = crossing(&spec, &workers, &quiet)?;
        let bench = Bench {
            mask: some_voxels(&subject, voxels as usize),
            few: some_voxels(&subject, plain as usize),
            subject: &subject,
            share: f64::from(jumps) / 100.0,
            here: match (&fod, &fod_mask) {
                (Some(fod), Some(mask)) => streamlines_per_second(fod, mask, console)?,
                _ => None,
            },
            console,
        };
        let one = Workers::new(1)?;
        let table = Table::begin(
            console,
            [
                words("setting", 18),
                words("on", 28),
                number("voxels", 6),
                number("voxels/s", 8),
                number("per core", 8),
                number("ratio", 6),
                number("xfibres", 7),
                number("here", 6),
            ],
        )?;
        for setting in &SETTINGS {
            let unit = if devices_only { None } else { Some(bench.plain(setting, &one, &table)?) };
            for &threads in &counts {
                let workers = Workers::new(threads)?;
                let place = format!("{}, {:?}", counted(threads), workers.simd());
                bench.row(setting, &place, Backend::cpu(&workers), unit, &table)?;
            }
            for device in &devices {
                let on = Backend::new(&workers, std::slice::from_ref(device));
                bench.row(setting, &device.info().name, on, unit, &table)?;
            }
        }
        if devices_only { Ok(()) } else { bench.shares(&one) }
    }
}

/// A head whose voxels are small enough for some `n` of them to hold fibres.
fn placement(n: usize) -> Placement {
    let usual = Placement { ..CrossingSpec::default().placement };
    // A quarter of the box is white matter with room to spare.
    let volume: f64 = (0..3).map(|k| usual.dims[k] as f64 * usual.voxel_mm[k]).product();
    let edge = (volume / (8.0 * n.max(500) as f64)).cbrt().min(8.0);
    Placement {
        dims: std::array::from_fn(|k| (usual.dims[k] as f64 * usual.voxel_mm[k] / edge) as usize),
        voxel_mm: [edge; 3],
        ..usual
    }
}

/// Evenly among the voxels that have fibres.
fn some_voxels(subject: &Subject, n: usize) -> Mask {
    let Mask { grid, voxels } = &subject.mask;
    let count = subject.truth.map("count");
    let has = |voxel: &&u32| count.is_none_or(|count| count.data[**voxel as usize] > 0.0);
    let all: Vec<u32> = voxels.iter().filter(has).copied().collect();
    let n = n.min(all.len());
    Mask { grid: *grid, voxels: (0..n).map(|k| all[k * all.len() / n]).collect() }
}

struct Bench<'a> {
    subject: &'a Subject,
    mask: Mask,
    few: Mask,
    /// Of the usual jumps.
    share: f64,
    /// Streamlines of 56 mm that tckgen makes per second here.
    here: Option<f64>,
    console: &'a dyn Console,
}

impl Bench<'_> {
    fn options(&self, setting: &Setting) -> SticksOptions {
        let usual = SticksOptions::default();
        let part = |jumps: u32| (f64::from(jumps) * self.share).ceil() as u32;
        SticksOptions {
            diffusivity: setting.diffusivity,
            n_fibres: setting.n_fibres,
            noise: setting.noise,
            burn_in: part(usual.burn_in),
            jumps: part(usual.jumps).max(usual.sample_every),
            ..usual
        }
    }

    fn gradients(&self) -> &GradientTable {
        &self.subject.gradients
    }

    /// Voxels per second of the plain loop, as if all jumps were made.
    fn plain(&self, setting: &Setting, one: &Workers, table: &Table<'_>) -> Result<f64, Failure> {
        let options = self.options(setting);
        let time = once(self.console, || -> Result<(), Failure> {
            let (dwi, gradients) = (&self.subject.dwi, self.gradients());
            sample_slowly(dwi, &self.few, gradients, &options, one)?;
            Ok(())
        })?;
        let rate = self.rate(&self.few, seconds(time));
        self.print(setting, "plain loop", &self.few, time, Some(rate), table)?;
        Ok(rate)
    }

    fn row(
        &self,
        setting: &Setting,
        on: &str,
        backend: Backend<'_>,
        unit: Option<f64>,
        table: &Table<'_>,
    ) -> Result<(), Failure> {
        let options = self.options(setting);
        let quiet = Interruptible(self.console);
        let run = |mask: &Mask| -> Result<(), Failure> {
            let (dwi, gradients) = (&self.subject.dwi, self.gradients());
            sample(dwi, mask, gradients, None, &options, None, &backend, &quiet)?;
            Ok(())
        };
        // Kernels are compiled, caches filled.
        let first = once(self.console, || run(&self.few))?;
        let mut time = once(self.console, || run(&self.mask))?;
        time.compiled_in(first);
        self.print(setting, on, &self.mask, time, unit, table)
    }

    fn rate(&self, mask: &Mask, seconds: f64) -> f64 {
        mask.len() as f64 * self.share / seconds
    }

    fn print(
        &self,
        setting: &Setting,
        on: &str,
        mask: &Mask,
        time: Time,
        unit: Option<f64>,
        table: &Table<'_>,
    ) -> Result<(), Failure> {
        let per_core = self.rate(mask, seconds(time));
        let here = self.here.map(|rate| per_core / (rate / setting.streamlines));
        table.row_of(
            time,
            [
                setting.name.to_owned(),
                on.to_owned(),
                mask.len().to_string(),
                digits(self.rate(mask, time.wall)),
                digits(per_core),
                digits_or_dash(unit.map(|unit| per_core / unit)),
                digits(per_core / setting.xfibres),
                here.map_or("-".to_owned(), digits),
            ],
        )
    }

    /// Where the time of a jump goes.
    fn shares(&self, one: &Workers) -> Result<(), Failure> {
        let table = Table::begin(
            self.console,
            [
                words("a jump, one thread", 18),
                number("ns/voxel", 8),
                number("signals", 8),
                number("residuals", 9),
                number("the rest", 8),
            ],
        )?;
        for setting in &SETTINGS {
            let options = self.options(setting);
            let (dwi, gradients) = (&self.subject.dwi, self.gradients());
            let time = time_jump(dwi, &self.mask, gradients, &options, one)?;
            table.row([
                setting.name.to_owned(),
                digits(1e9 * time.whole),
                percent(time.columns / time.whole),
                percent(time.sums / time.whole),
                percent(time.proposals() / time.whole),
            ])?;
        }
        Ok(())
    }
}

/// Processor seconds, or where the system does not count them those of the clock.
fn seconds(time: Time) -> f64 {
    time.processor.unwrap_or(time.wall)
}

/// What tckgen iFOD2 does per second of one core, in streamlines of 56 mm; `None` where it is not
/// installed.
fn streamlines_per_second(
    fod: &Path,
    mask: &Path,
    console: &dyn Console,
) -> Result<Option<f64>, Failure> {
    const SELECT: u32 = 2000;
    const USUAL_MM: f64 = 56.0;
    if !cfg!(unix) || Command::new("tckgen").arg("-version").output().is_err() {
        console.print("tckgen is not installed: no calibration\n")?;
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let tracks = folder.path().join("tracks.tck");
    let user = user_seconds_of(|| {
        let mut command = Command::new("tckgen");
        // Steps as where xfibres was timed, whatever the size of voxels here.
        command.args(["-algorithm", "iFOD2", "-step", "1", "-nthreads", "0", "-quiet"]);
        command.arg("-seed_image");
        command.arg(mask).arg("-select").arg(SELECT.to_string()).args([fod, &tracks]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    })?;
    let mut lengths = LengthStatistics::default();
    lengths.add(&Tractogram::read(&tracks)?.streamlines);
    let rate = lengths.count() as f64 / user * (lengths.mean() / USUAL_MM);
    console.print(&format!(
        "tckgen iFOD2: {} streamlines of {:.1} mm in {} s of one core: {} of 56 mm a second (1170 \
         where xfibres was timed)\n",
        lengths.count(),
        lengths.mean(),
        digits(user),
        digits(rate),
    ))?;
    Ok(Some(rate))
}
