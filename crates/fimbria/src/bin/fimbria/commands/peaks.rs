//! `fimbria peaks`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::bids_entities;
use fimbria_pipeline::stages::load_orientations::{LoadOrientations, OrientationFiles};
use fimbria_pipeline::stages::peaks::{FindPeaks, PEAKS_WRITES, PeaksParameters};

use crate::args::{DeviceArgs, MapArgs, OutputArgs, ScratchArgs, ThreadArgs};
use crate::commands::run_stages;
use crate::console::Console;
use crate::failure::Failure;

/// Find fibre directions: the maxima of a function on the sphere in every voxel
#[derive(Debug, Args)]
#[command(add = Writes(PEAKS_WRITES), after_long_help = HELP)]
pub(crate) struct Peaks {
    #[command(flatten)]
    files: OrientationFiles,

    #[command(flatten)]
    parameters: PeaksParameters,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,

    #[command(flatten)]
    scratch: ScratchArgs,
}

const HELP: &str = "\
Outputs (float32 unless said otherwise):
{outputs}

Units:
  Values are in units of the input; with --method low-rank they are the weights of the terms.

Order and frame:
  Unique entries are lexicographic (1111 1112 1113 1122 ...), not multiplied by multiplicities.
  Harmonics are in the order of their basis, which the image says (`fit fod`, .mif files of
  dwi2fod) or --sh-basis, and which is never guessed. Directions are in scanner RAS
  axes: the peaks of MRtrix3 (sh2peaks), to be opened in mrview. --layout fsl turns them into the
  axes of FSL's bvecs.

The maxima of a diffusivity profile (fit hot) are not the fibre directions where fibres cross: take
those of a fibre orientation distribution (fit fod).

References:
  Ballard G, Kolda T, Plantenga T. IPDPS Workshops (2011)          maxima of symmetric tensors
  Kolda T, Mayo J. SIAM J Matrix Anal Appl 32, 1095 (2011)         what certifies a maximum
  Schultz T, Seidel HP. IEEE Trans Vis Comput Graph 14, 1635 (2008)    low-rank";

impl Peaks {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files, parameters, output, style, threads, devices, scratch } = self;
        parameters.check().map_err(Failure::usage)?;
        let entities = bids_entities(&files.image);
        let peaks = FindPeaks { parameters, style: style.style(), entities };
        let (memory, scratch) = scratch.limits();
        let load = LoadOrientations(OrientationFiles { memory, scratch, ..files }.settled()?);
        run_stages("peaks", &[&load, &peaks], &output, threads, devices, console)
    }
}
