//! `fimbria fixel`

use clap::Args;
use fimbria_pipeline::options::{Described as _, FileType, Takes};
use fimbria_pipeline::stages::fixel::{
    FIXEL_WRITES, FixelFormat, FixelParameters, GivenFixels, MakeFixels, StreamlineOptions,
};
use fimbria_pipeline::stages::load_orientations::{LoadOrientations, OrientationFiles};
use fimbria_pipeline::{Named, Stage, Writes};

use crate::args::{OutputArgs, ScratchArgs, ThreadArgs, choice};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Take densities apart into fibre populations (fixels), and count streamlines along them
#[derive(Debug, Args)]
#[command(add = Writes(FIXEL_WRITES), after_long_help = HELP)]
#[command(mut_arg("image", |image| image
    .takes(Takes::any_of(&[FileType::Image, FileType::Folder]))
    .help("Densities in spherical harmonics of order 4 to 12, or fixels: a folder or an ODX")
    .long_help(None::<&str>)
    .value_name("DENSITIES")))]
pub(crate) struct FixelCommand {
    #[command(flatten)]
    densities: OrientationFiles,

    #[command(flatten)]
    streamlines: StreamlineOptions,

    #[command(flatten)]
    parameters: FixelParameters,

    #[command(flatten)]
    output: OutputArgs,

    /// How fixels are written
    #[arg(long, value_name = "FORMAT", default_value = "mif", help_heading = "Output")]
    #[arg(value_parser = choice::<FixelFormat>())]
    format: Named<FixelFormat>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    scratch: ScratchArgs,
}

const HELP: &str = "\
Outputs (float32; the index whole numbers):
{outputs}

Units:
  Integrals and maxima are in units of the densities: those of `normalise` compare between subjects.

Order and frame:
  MRtrix3's fixel folder, which mrview and the fixel commands read. Fixels of a voxel follow each
  other, largest maximum first. Harmonics are in the order of their basis, which the image says
  (`fit fod`, .mif files of dwi2fod) or --sh-basis. ODX has the same fixels voxel by voxel, and the
  densities in MRtrix3's basis: in it `peak` is called amplitude. An ODX with densities is taken
  apart as an image of them is; of one without, its fixels are taken. All are in scanner RAS axes.

A lobe is all from where the density rises to one maximum, in 724 directions of the half sphere;
maxima are then found to rounding.

References:
  Smith RE et al. NeuroImage 67, 298 (2013)         lobes of densities
  Raffelt D et al. NeuroImage 59, 3976 (2012)       apparent fibre density
  Raffelt DA et al. NeuroImage 144, 58 (2017)       statistics of fixels";

impl FixelCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { densities, streamlines, parameters, output, format, threads, scratch } = self;
        let given = GivenFixels::at(&densities.image)?;
        let is_same = matches!(format.0, FixelFormat::Images(_)) && densities.image.is_dir();
        if given.is_some() && is_same && streamlines.tractogram.is_none() {
            return Err(Failure::usage(
                "of a folder of fixels only streamlines are counted: give --tractogram, or densities",
            ));
        }
        let load = match given {
            Some(_) => None,
            None => {
                let (memory, scratch) = scratch.limits();
                let files = OrientationFiles { memory, scratch, ..densities }.settled()?;
                Some(LoadOrientations(files))
            }
        };
        let make = MakeFixels { given, parameters, streamlines, format: format.0 };
        let mut stages: Vec<&dyn Stage> = vec![&make];
        if let Some(load) = &load {
            stages.insert(0, load);
        }
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("fixel", &stages, &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
