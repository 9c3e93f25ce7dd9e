//! `fimbria fixel`

use clap::Args;
use fimbria_pipeline::options::{Described as _, FileType, Takes};
use fimbria_pipeline::stages::fixel::{
    FIXEL_WRITES, FixelParameters, MakeFixels, StreamlineOptions,
};
use fimbria_pipeline::stages::load_orientations::{LoadOrientations, OrientationFiles};
use fimbria_pipeline::{MapFormat, Named, Stage, Writes};

use crate::args::{OutputArgs, ScratchArgs, ThreadArgs, choice};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Take densities apart into fibre populations (fixels), and count streamlines along them
#[derive(Debug, Args)]
#[command(add = Writes(FIXEL_WRITES), after_long_help = HELP)]
#[command(mut_arg("image", |image| image
    .takes(Takes::any_of(&[FileType::Image, FileType::Folder]))
    .help("Densities in spherical harmonics of order 4 to 12, or a folder of fixels with --tractogram")
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

    /// Format of the images
    #[arg(long, value_name = "FORMAT", default_value = "mif", help_heading = "Output")]
    #[arg(value_parser = choice::<MapFormat>())]
    format: Named<MapFormat>,

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
  (`fit fod`, .mif files of dwi2fod) or --sh-basis.

A lobe is all from where the density rises to one maximum, in 724 directions of the half sphere;
maxima are then found to rounding.

References:
  Smith RE et al. NeuroImage 67, 298 (2013)         lobes of densities
  Raffelt D et al. NeuroImage 59, 3976 (2012)       apparent fibre density
  Raffelt DA et al. NeuroImage 144, 58 (2017)       statistics of fixels";

impl FixelCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { densities, streamlines, parameters, output, format, threads, scratch } = self;
        let is_folder = densities.image.is_dir();
        if is_folder && streamlines.tractogram.is_none() {
            return Err(Failure::usage(
                "of a folder of fixels only streamlines are counted: give --tractogram, or densities",
            ));
        }
        let folder = is_folder.then(|| densities.image.clone());
        let make = MakeFixels { folder, parameters, streamlines, format: format.0 };
        let mut stages: Vec<&dyn Stage> = vec![&make];
        let (memory, scratch) = scratch.limits();
        let load = match is_folder {
            true => None,
            false => {
                let files = OrientationFiles { memory, scratch, ..densities }.settled()?;
                Some(LoadOrientations(files))
            }
        };
        if let Some(load) = &load {
            stages.insert(0, load);
        }
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("fixel", &stages, &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
