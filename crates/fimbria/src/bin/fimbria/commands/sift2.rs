//! `fimbria sift2`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, FileType, Takes};
use fimbria_pipeline::stages::load_orientations::{LoadOrientations, OrientationFiles};
use fimbria_pipeline::stages::sift2::{SIFT2_WRITES, Sift2Parameters, WeighByDensities};

use crate::args::{OutputArgs, ScratchArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Weigh streamlines so that they are as dense as the fibres (the model of SIFT2)
#[derive(Debug, Args)]
#[command(add = Writes(SIFT2_WRITES), after_long_help = HELP)]
pub(crate) struct Sift2Command {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    tractogram: PathBuf,

    #[command(flatten)]
    densities: OrientationFiles,

    /// Tissues, of which white matter counts: five volumes as `phantom head` and 5ttgen write them, or
    /// labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space
    #[arg(long, value_name = "IMAGE", help_heading = "Input", usually = "all voxels count")]
    #[arg(takes = Takes::any_of(&[FileType::Image, FileType::Labels]))]
    act: Option<PathBuf>,

    /// Weights to begin with, as earlier weights.txt or those of tcksift2
    #[arg(long, value_name = "FILE", help_heading = "Input", usually = "all are 1")]
    #[arg(takes = Takes::TABLE)]
    start: Option<PathBuf>,

    #[command(flatten)]
    parameters: Sift2Parameters,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    scratch: ScratchArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  A weight times the streamline's length in a voxel, times mu, is a density of fibres: the integral
  of a lobe over the sphere, in units of the densities.

Order and frame:
  Weights are in the order of the tractogram. Streamlines are in scanner RAS mm; harmonics are in
  the order of their basis, which the image says (`fit fod`, .mif files of dwi2fod) or --sh-basis.

Densities are to be those of all tissues together (fit fod, dwi2fod msmt_csd), normalised where
subjects are compared. Ten times as many streamlines as a connectome needs unweighted are too many:
weights serve to make few count right.

References:
  Smith R, Tournier JD, Calamante F, Connelly A. NeuroImage 119, 338 (2015)    the model
  Smith R et al. NeuroImage 67, 298 (2013)                                     lobes of densities";

impl Sift2Command {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { tractogram, densities, act, start, parameters, output, threads, scratch } = self;
        let (memory, scratch) = scratch.limits();
        let load = LoadOrientations(OrientationFiles { memory, scratch, ..densities }.settled()?);
        let weigh = WeighByDensities { tractogram, act, start, parameters, memory };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("sift2", &[&load, &weigh], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
