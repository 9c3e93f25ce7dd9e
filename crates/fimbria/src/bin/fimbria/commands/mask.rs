//! `fimbria mask`

use std::path::PathBuf;

use clap::Args;
use fimbria_image::ImageHeader;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_pipeline::stages::mask::{MASK_WRITES, MakeMask, MaskSource};

use crate::args::{FormatArgs, OutputArgs, ScratchArgs, TableArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make a brain mask of a diffusion series, or of the magnitudes of a gradient echo
#[derive(Debug, Args)]
#[command(add = Writes(MASK_WRITES), after_long_help = HELP)]
pub(crate) struct MaskCommand {
    /// A diffusion series with its gradient table, or magnitudes: an image with a volume for each
    /// echo, or an image for each
    #[arg(value_name = "IMAGE", required = true)]
    #[arg(takes = Takes::IMAGE)]
    images: Vec<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    scratch: ScratchArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  1 inside, 0 outside. run.json counts voxels and ml: an adult's has 1,100 to 1,700 ml, and a
  warning says where it has not (infants, animals, slabs, and masks that went wrong).

Order and frame:
  The grid of the image.

Every command that needs a mask and gets none makes this one. Of a series the brain is what is
bright with weighting (b 500 to 3500 s/mm2), compared with its own level nearby, so that coils do
not matter; what hangs on it by less than the midbrain's width (eyes, nose, neck, scalp) falls off;
furrows and the fluid around it, bright without weighting, come in. Of magnitudes the brain is
what is brighter than bone. There is no template and there are no trained weights: look at it
before a study rests on it.";

impl MaskCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { images, table, output, format, threads, scratch } = self;
        let source = match &images[..] {
            [image] => {
                let is_named = table.names_a_table();
                let mut files = SubjectFiles::new(image.clone());
                table.add_to(&mut files);
                (files.memory, files.scratch) = scratch.limits();
                let has_table = || -> Result<bool, Failure> {
                    Ok(files.read_gradients(&ImageHeader::read(image)?).is_ok())
                };
                if is_named || has_table()? {
                    MaskSource::Series(Box::new(files))
                } else {
                    MaskSource::Magnitudes(images)
                }
            }
            _ if table.names_a_table() => {
                return Err(Failure::usage(
                    "a gradient table is for one series, not for magnitudes",
                ));
            }
            _ => MaskSource::Magnitudes(images),
        };
        let make = MakeMask { source, format: format.format() };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("mask", &[&make], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
