//! `fimbria phantom`

mod crossing;
mod gre;
mod head;
mod protocol;
mod tensors;

use clap::{Args, Subcommand};
use fimbria_phantoms::Placement;
use fimbria_pipeline::stages::head::{Snr, Three};
use fimbria_pipeline::stages::phantom::{Phantom, PhantomSpec};
use fimbria_pipeline::{MapFormat, Named, Stage};

use crate::args::{OutputArgs, ThreadArgs, choice};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make a digital subject whose truth is known
#[derive(Debug, Args)]
pub(crate) struct PhantomCommand {
    #[command(subcommand)]
    kind: Kind,
}

/// The kinds there are.
#[derive(Debug, Subcommand)]
enum Kind {
    Crossing(crossing::Crossing),
    Gre(gre::Gre),
    Head(head::HeadCommand),
    Protocol(protocol::Protocol),
    Tensors(tensors::Tensors),
}

impl PhantomCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.kind {
            Kind::Crossing(crossing) => crossing.run(console),
            Kind::Gre(gre) => gre.run(console),
            Kind::Head(head) => head.run(console),
            Kind::Protocol(protocol) => protocol.run(console),
            Kind::Tensors(tensors) => tensors.run(console),
        }
    }
}

/// The grid of the phantoms of a head.
#[derive(Debug, Args)]
struct HeadGrid {
    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", default_value = "60,72,56", value_parser = three::<usize>)]
    size: [usize; 3],

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "2.5", value_parser = three::<f64>)]
    voxel: [f64; 3],

    /// Turns of the grid about scanner x, y, z in degrees
    #[arg(long, value_name = "DEG", default_value = "6,-4,10", value_parser = three::<f64>)]
    #[arg(allow_hyphen_values = true)]
    tilt: [f64; 3],

    /// Store x from left to right (det(affine) > 0) instead of right to left
    #[arg(long)]
    x_left_to_right: bool,
}

impl HeadGrid {
    fn placement(self) -> Placement {
        let Self { size, voxel, tilt, x_left_to_right } = self;
        Placement { dims: size, voxel_mm: voxel, tilt_deg: tilt, x_right_to_left: !x_left_to_right }
    }
}

/// What all kinds share.
#[derive(Debug, Args)]
struct Making {
    #[command(flatten)]
    output: OutputArgs,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", default_value = "nii.gz", help_heading = "Output")]
    #[arg(value_parser = choice::<MapFormat>())]
    format: Named<MapFormat>,

    #[command(flatten)]
    threads: ThreadArgs,
}

impl Making {
    fn make(self, spec: PhantomSpec, console: &Console) -> Result<(), Failure> {
        self.run(|format| Box::new(Phantom { spec, format }), console)
    }

    /// Makes the phantom whose images are in a format.
    fn run(
        self,
        phantom: impl FnOnce(MapFormat) -> Box<dyn Stage>,
        console: &Console,
    ) -> Result<(), Failure> {
        let Self { output, format, threads } = self;
        let phantom = phantom(format.0);
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("phantom", &*phantom, &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}

/// Three numbers separated by commas, or one for all three.
fn three<T: std::str::FromStr + Copy>(text: &str) -> Result<[T; 3], String> {
    text.parse::<Three<T>>().map(|three| three.0)
}

/// A signal-to-noise ratio, `inf` for no noise.
fn snr(text: &str) -> Result<f64, String> {
    text.parse::<Snr>().map(|snr| snr.0)
}
