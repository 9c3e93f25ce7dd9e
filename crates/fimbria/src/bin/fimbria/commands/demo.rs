//! `fimbria demo`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::options::{Described as _, at_least, usual, within};
use fimbria_pipeline::stages::accuracy::Accuracy;
use fimbria_pipeline::stages::head::{EchoTimes, HeadOptions, SeriesOptions, Several};
use fimbria_pipeline::{FileKind, Writes, Written, demo_stages};

use crate::args::{DeviceArgs, ExistingArgs, RunFolder, ThreadArgs};
use crate::commands::run_in_folders;
use crate::console::Console;
use crate::failure::Failure;

/// Make a head, run every stage on it, and show how close each came to the truth
#[derive(Debug, Args)]
#[command(add = Writes(WRITES), after_long_help = HELP)]
pub(crate) struct Demo {
    /// Folder to write
    #[arg(short, long, value_name = "OUT", default_value = "fimbria-demo")]
    #[arg(help_heading = "Output")]
    output: PathBuf,

    #[command(flatten)]
    existing: ExistingArgs,

    /// Edge of the voxels of the series; those of the gradient-echo scan are half as large; the
    /// time is inversely as its cube
    #[arg(long, value_name = "MM", default_value_t = 4.0)]
    #[arg(number = within(1.0, 10.0, "mm"))]
    voxel: f64,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    rng_seed: u64,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// What a demonstration writes.
const WRITES: &[Written] = &[
    Written::folder(
        "head/",
        "the subject and its truth, as `fimbria phantom head --gre` writes them",
    ),
    Written::folder("dti/", "the tensor maps, as `fimbria fit dti` writes them"),
    Written::folder(
        "quality/",
        "quality.json: verdicts on the series and the numbers they rest on",
    ),
    Written::folder("fod/", "the fibre orientation densities, as `fimbria fit fod` writes them"),
    Written::folder("peaks/", "the fibre directions, as `fimbria peaks` writes them"),
    Written::folder(
        "sticks/",
        "samples of ball and sticks, as `fimbria sticks` writes them, after half as \
         many jumps, in the voxels with a peak",
    ),
    Written::folder(
        "track/",
        "tracks.trx, visits: streamlines through the densities that end where the head has grey matter, as \
         `fimbria track --act` writes them",
    ),
    Written::folder("dki/", "the kurtosis maps, as `fimbria fit dki` writes them"),
    Written::folder("life/", "what each streamline explains, as `fimbria life` writes it"),
    Written::folder(
        "connectome/",
        "between which gyri and nuclei they run, as `fimbria connectome` writes it",
    ),
    Written::folder("field/", "its field, as `fimbria field` writes it"),
    Written::folder("qsm/", "its susceptibility, as `fimbria qsm` writes it"),
    Written::folder(
        "accuracy/",
        "accuracy.tsv: quantity, unit, voxels (or streamlines), median, 95 % and \
         worst error",
    ),
    Written::folder("report/", "report.html, one page with pictures"),
    Written::file("run.json", FileKind::Json, "what was done; each folder has one of its own"),
];

const HELP: &str = "\
Outputs:
{outputs}
  On standard output the table of accuracy and the place of the page.

Units:
  Errors of FA and MK as numbers, of MD in percent of the truth, of directions as angles in degrees,
  of field and susceptibility in parts per billion less their mean;
  a streamline is astray where it is 20° or more off every fibre of its voxel, in percent of its
  length: all of them, and those that keep a weight.

Order and frame:
  Those of the commands above: scanner RAS axes, dwi.bvec in FSL's frame. The head is described in
  docs/phantom-head.md.";

impl Demo {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { output, existing, voxel, rng_seed, threads, devices } = self;
        let stages = demo_stages(subject(voxel, rng_seed), &output)?;
        let page = output.join("report/report.html");
        let folder = RunFolder { output, existing, threads, devices };
        let finished = run_in_folders("demo", &stages, folder, console)?;
        if let Some(accuracy) = finished.products.find::<Accuracy>() {
            console
                .print(&format!("\nerrors, where the truth is known\n{}\n", accuracy.to_table()))?;
        }
        console.print(&format!("{}\n", page.display()))?;
        Ok(())
    }
}

/// The head in voxels of one size, with a gradient-echo scan in finer ones.
fn subject(voxel_mm: f64, seed: u64) -> HeadOptions {
    HeadOptions {
        voxel: Several([voxel_mm; 3]),
        series: SeriesOptions { rng_seed: seed, ..usual() },
        gre: Some(EchoTimes(vec![4.0, 12.0, 20.0, 28.0])),
        gre_voxel: Some(0.5 * voxel_mm),
        ..usual()
    }
}
