//! `fimbria normalise`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, FileType, Takes};
use fimbria_pipeline::stages::normalise::{NORMALISE_WRITES, NormaliseFiles, NormaliseParameters};

use crate::args::{MapArgs, OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make densities comparable between subjects: intensities normalised by all tissues together
#[derive(Debug, Args)]
#[command(add = Writes(NORMALISE_WRITES), after_long_help = HELP)]
pub(crate) struct NormaliseCommand {
    /// Folder of `fit fod`, or spherical harmonics of the densities of white matter
    #[arg(value_name = "DENSITIES", takes = Takes::any_of(&[FileType::Image, FileType::Folder]))]
    densities: PathBuf,

    /// With harmonics, the other tissues: an image of l = 0 for each as dwi2fod writes them, or the
    /// tissues of `fit fod`
    #[arg(value_name = "TISSUE", takes = Takes::IMAGE)]
    tissues: Vec<PathBuf>,

    /// The brain: a 3-D image on the same grid, inside where above zero. Fluid around it may be in it,
    /// skull and air may not
    #[arg(long, visible_short_alias = 'm', value_name = "FILE", help_heading = "Input")]
    #[arg(required = true, takes = Takes::MASK)]
    mask: PathBuf,

    #[command(flatten)]
    parameters: NormaliseParameters,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs (float32 unless said otherwise):
{outputs}

Units:
  Amounts of tissues are in units of their responses: together they are 1 where tissue fills the
  voxel. l = 0 of harmonics is that over the root of 4 pi, so that mtnormalise's reference of
  0.28209 is the same. The record has the mean gain (scale) and the tissues' factors (balance).

Order and frame:
  Harmonics are in the order and axes they come in. Fibres first, then the other tissues as given.

The logarithm of the sum of all tissues, each times a factor of its own, is fitted by a polynomial
of position; factors, outliers and polynomial in turns until nothing changes. Outliers are voxels
beyond the quartiles by 1.5 of their distance. Densities compare between subjects whose responses
are the same: give all of them one set (fit fod --response).

References:
  Raffelt D et al. Proc. ISMRM 26, 3541 (2017)         a field that tissues fill evenly
  Dhollander T et al. Proc. ISMRM 29, 2472 (2021)      in the logarithm, balanced, without outliers";

impl NormaliseCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { densities, tissues, mask, parameters, output, style, threads } = self;
        let style = style.style();
        let normalise = NormaliseFiles::new(densities, tissues, mask, parameters, style)?;
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("normalise", &[&normalise], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
