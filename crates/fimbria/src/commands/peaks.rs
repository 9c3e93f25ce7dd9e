//! `fimbria peaks`

use std::path::PathBuf;

use clap::Args;
use fimbria_image::BvecFrame;
use fimbria_pipeline::stages::load_field::{FieldFiles, LoadField};
use fimbria_pipeline::stages::peaks::{FindPeaks, PeakMethod, PeaksParameters};
use fimbria_pipeline::{Named, bids_entities};
use fimbria_tensors::peaks::low_rank::Fibre;
use fimbria_tensors::sh::ShBasis;

use crate::args::{DeviceArgs, MapArgs, OutputArgs, ScratchArgs, ThreadArgs, choice};
use crate::commands::run_stages;
use crate::console::Console;
use crate::failure::Failure;

/// Find fibre directions: the maxima of a function on the sphere in every voxel
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Peaks {
    /// Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis,
    /// where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// The coefficients are spherical harmonics of this basis [default: what the image says of
    /// itself; unique entries where it says nothing]
    #[arg(long, value_name = "BASIS", value_parser = choice::<ShBasis>(), help_heading = "Input")]
    sh_basis: Option<Named<ShBasis>>,

    /// Order of the tensors, or highest degree of the harmonics [default: what the number of
    /// volumes says]
    #[arg(long, value_name = "ORDER", help_heading = "Input")]
    order: Option<usize>,

    /// Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>(), help_heading = "Input")]
    frame: Option<Named<BvecFrame>>,

    /// Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    mask: Option<PathBuf>,

    /// What counts as a fibre direction
    #[arg(long, value_name = "METHOD", default_value = "maxima")]
    #[arg(value_parser = choice::<PeakMethod>())]
    method: Named<PeakMethod>,

    /// What a single fibre looks like in the input, for --method low-rank [default: delta with
    /// --sh-basis, else rank-one]
    #[arg(long, value_name = "FIBRE", value_parser = choice::<Fibre>())]
    fibre: Option<Named<Fibre>>,

    /// Directions of a voxel at most
    #[arg(short, long, visible_alias = "num", value_name = "N", default_value_t = 3)]
    number: usize,

    /// Least value of a direction, as a share of the voxel's largest
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    threshold: f64,

    /// Value that a direction must exceed, in units of the input
    #[arg(long, value_name = "VALUE", default_value_t = 0.0, allow_hyphen_values = true)]
    absolute_threshold: f64,

    /// Of two directions nearer than this only the larger is kept, degrees
    #[arg(long, value_name = "DEG", default_value_t = 25.0)]
    separation: f64,

    /// Directions of the half sphere from which the search sets out
    #[arg(long, value_name = "N", default_value_t = PeaksParameters::default().starts)]
    starts: usize,

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
  peaks         3 volumes for each direction, largest first: x y z, length = value; NaN = none
  values        their values, a volume for each; NaN = none
  count         how many there are (uint8)
  status        0 outside the mask, 1 found, 2 none above the thresholds, 3 uncertain (a search
                ended without a certified maximum), 4 a coefficient is not finite, 5 the same in
                all directions (uint8)
  run.json      inputs with hashes, parameters, machine, times, counts, voxels per second, warnings

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
        let Self {
            image,
            sh_basis,
            order,
            frame,
            mask,
            method,
            fibre,
            number,
            threshold,
            absolute_threshold,
            separation,
            starts,
            output,
            style,
            threads,
            devices,
            scratch,
        } = self;
        if fibre.is_some() && method.0 != PeakMethod::LowRank {
            return Err(Failure::usage("--fibre is used by --method low-rank only"));
        }
        let peaks = FindPeaks {
            parameters: PeaksParameters {
                method,
                fibre,
                number,
                threshold,
                absolute_threshold,
                separation_deg: separation,
                starts,
            },
            style: style.style(),
            entities: bids_entities(&image),
        };
        let (memory, scratch) = scratch.limits();
        let files = FieldFiles { image, sh_basis, order, frame, mask, memory, scratch };
        let load = LoadField(files.settled()?);
        run_stages("peaks", &[&load, &peaks], &output, threads, devices, console)
    }
}
