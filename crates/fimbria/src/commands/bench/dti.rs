//! `fimbria bench dti`

use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Image, Mask, WriteOptions, write_image};
use fimbria_models::dti::{DtiMap, DtiOptions, Method, Precision, fit};
use fimbria_phantoms::Subject;
use fimbria_pipeline::Choice as _;

use super::{Measuring, grouped, subject};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Fit tensors to the demo's phantom by every method, beside a plain loop and MRtrix3
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct BenchDti {
    #[command(flatten)]
    measuring: Measuring,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs:
  Tables on standard output. The fit alone, in memory, all maps: by the plain loop (f64, one voxel
  after the other, one thread), on one thread, on all threads, and on the devices. Then whole
  commands from .mif to the tensor in .mif, one thread: fimbria and, where it is installed,
  MRtrix3's dwi2tensor.

Units:
  Seconds of wall-clock time, the best of the repetitions, beside the number of voxels fitted in
  it; voxels per second; and how many times as fast as the plain loop.";

impl BenchDti {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { measuring, threads, devices } = self;
        let (one, all) = (Workers::new(1)?, threads.start()?);
        let devices = devices.open(console)?;
        let subject = subject(&all, console)?;
        console.print(&format!(
            "{} voxels, {} volumes\n\n{:<9}{:<24}{:>10}{:>11}{:>14}{:>9}\n",
            grouped(subject.mask.len()),
            subject.gradients.len(),
            "method",
            "path",
            "voxels",
            "seconds",
            "voxels/s",
            "ratio",
        ))?;
        for (method, name, _) in Method::CHOICES {
            let paths = Paths { subject: &subject, measuring: &measuring, method: *method };
            let plain = paths.plain_loop(&one)?;
            let mut rows = vec![("plain loop, 1 thread".to_owned(), plain)];
            rows.push(("1 thread".to_owned(), paths.fast(&Backend::cpu(&one))?));
            if all.threads() > 1 {
                let name = format!("{} threads", all.threads());
                rows.push((name, paths.fast(&Backend::cpu(&all))?));
            }
            for device in &devices {
                rows.push((device.info().name.clone(), paths.on_device(&all, device)?));
            }
            for (path, (voxels, seconds)) in rows {
                let rate = voxels as f64 / seconds;
                let ratio = rate * plain.1 / plain.0 as f64;
                let path: String = path.chars().take(23).collect();
                console.print(&format!(
                    "{name:<9}{path:<24}{:>10}{seconds:>11.4}{rate:>14.3e}{ratio:>9.1}\n",
                    grouped(voxels)
                ))?;
            }
        }
        commands(&subject, &measuring, console)
    }
}

/// The same fit by several paths; each gives a number of voxels and the seconds they took.
struct Paths<'a> {
    subject: &'a Subject,
    measuring: &'a Measuring,
    method: Method,
}

impl Paths<'_> {
    /// Every hundredth voxel in `f64`, as the papers' formulas read.
    fn plain_loop(&self, one: &Workers) -> Result<(usize, f64), Failure> {
        let mask = &self.subject.mask;
        let voxels = mask.voxels.iter().copied().step_by(100).collect();
        self.time(&Mask { voxels, ..*mask }, Precision::Double, &Backend::cpu(one))
    }

    fn fast(&self, on: &Backend<'_>) -> Result<(usize, f64), Failure> {
        self.time(&self.subject.mask, Precision::Single, on)
    }

    fn on_device(&self, workers: &Workers, device: &Device) -> Result<(usize, f64), Failure> {
        self.fast(&Backend { workers, devices: std::slice::from_ref(device) })
    }

    fn time(
        &self,
        mask: &Mask,
        precision: Precision,
        on: &Backend<'_>,
    ) -> Result<(usize, f64), Failure> {
        let Subject { dwi, gradients, .. } = self.subject;
        let options = DtiOptions { method: self.method, precision, ..DtiOptions::default() };
        let seconds =
            self.measuring.best(|| fit(dwi, mask, gradients, None, &options, on, &Silent))?;
        Ok((mask.len(), seconds))
    }
}

/// Whole commands on one thread, ours and the peer's.
fn commands(subject: &Subject, measuring: &Measuring, console: &Console) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (dwi, mask) = (folder.path().join("dwi.mif"), folder.path().join("mask.mif"));
    let series = WriteOptions {
        dw_scheme: Some(subject.gradients.to_dw_scheme()),
        ..WriteOptions::default()
    };
    write_image(&dwi, &subject.dwi, &series)?;
    let mut inside = Image::zeros(subject.mask.grid, 1);
    for &voxel in &subject.mask.voxels {
        inside.data[voxel as usize] = 1.0;
    }
    write_image(&mask, &inside, &WriteOptions::default())?;

    let run = |mut command: Command| {
        measuring.best(|| {
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            if status.success() { Ok(()) } else { Err(std::io::Error::other("it failed")) }
        })
    };
    let ours = run(ours(&dwi, &mask, folder.path())?)?;
    console.print(&format!(
        "\nwhole commands, 1 thread, .mif to .mif, tensor only\n{:<40}{ours:>9.3} s\n",
        "fimbria fit dti --method wls"
    ))?;
    match run(peer(&dwi, &mask, folder.path())) {
        Ok(seconds) => console.print(&format!(
            "{:<40}{seconds:>9.3} s   {:.1} times as long\n",
            "dwi2tensor -iter 0",
            seconds / ours
        ))?,
        Err(_) => console.print("dwi2tensor (MRtrix3) is not installed\n")?,
    }
    Ok(())
}

fn ours(dwi: &Path, mask: &Path, folder: &Path) -> Result<Command, std::io::Error> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["fit", "dti", "--quiet", "--force", "--threads", "1", "--device", "cpu"]);
    command.args(["--maps", DtiMap::Tensor.name(), "--layout", "mrtrix", "--mask"]);
    command.arg(mask).arg("-o").arg(folder.join("ours")).arg(dwi);
    Ok(command)
}

fn peer(dwi: &Path, mask: &Path, folder: &Path) -> Command {
    let mut command = Command::new("dwi2tensor");
    command.args(["-quiet", "-force", "-nthreads", "0", "-iter", "0", "-mask"]);
    command.arg(mask).arg(dwi).arg(folder.join("peer.mif"));
    command
}
