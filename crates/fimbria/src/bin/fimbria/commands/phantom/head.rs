//! `fimbria phantom head`

use clap::Args;
use fimbria_pipeline::stages::head::{HEAD_WRITES, HeadOptions, HeadPhantom};
use fimbria_pipeline::stages::head_data_set::{DataSetOptions, HeadDataSet};
use fimbria_pipeline::{MapFormat, Writes};

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// A head as in people: folded cortex, nuclei, ventricles, named bundles, skull and air
#[derive(Debug, Args)]
#[command(add = Writes(HEAD_WRITES), after_long_help = HELP)]
pub(crate) struct HeadCommand {
    #[command(flatten)]
    options: HeadOptions,

    #[command(flatten)]
    data_set: DataSetOptions,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Method:
  Surfaces in mm decide what every point is, so that the head is the same at any voxel size and on
  any grid; voxels on a boundary are sampled at --samples points along each axis. Cortex is a shell
  of 2.3 mm about a folded surface: sulci that every brain has (central, Sylvian with the insula,
  calcarine, cingulate ...) and between them others that differ from --subject to --subject.
  Bundles are streamlines from cortex to cortex or nucleus; their densities are the fibres of white
  matter, and what they leave is filled with fibres of no bundle.

  A fibre is half axon (a stick of 2.0e-3 mm²/s) and half water around it (1.6e-3 along, 0.55e-3
  across), its directions spread by Watson's distribution. Cortex is water of 0.95e-3 and 0.4e-3
  mm²/s and neurites at right angles to its surface, fluid 3.0e-3 mm²/s. Kurtosis follows from the
  mixture: it is not zero. TR 4 s, TE 75 ms, 3 T.

  With --gre every point of a grid twice as fine has a susceptibility: iron in nuclei, veins, bone,
  fat, air, a calcified pineal gland, a bleed, and in white matter a tensor about each of its
  fibres. Their field is by Fourier transform, with none of the models of `fimbria qsm`; shims of
  second order are taken off. A voxel's signal is that of its points, each in its own field, with
  the phase of the coil.

  With --motion the head walks and turns at random, the gradients keep still and the table says
  nothing of it. With --dropped-slices whole slices lose signal, as where the head moved within a
  gradient. With --nonlinearity the fields of the gradient coils have a term of third order, so that
  b and direction are others in every voxel. The truth is that of the head in its first volume,
  under the gradients asked for.

Data set:
  With --bids there are several heads, from --subject on, in the files and names of QSIPrep's
  derivatives: what `fimbria bids` takes. Each has the noise of --snr times 1, 0.8, 0.65, 1 ... and
  a seed of its own; the truth is left out. With --gre every subject has phase and magnitude of each
  echo.

Outputs:
{outputs}

Units:
  Susceptibility and fields in ppm (SI, relative to fluid and to B0), R2* in 1/s;
  b in s/mm², diffusivities in mm²/s, angles in degrees.

Order and frame:
  Scanner coordinates are mm from the anterior commissure. Directions of the truth are in scanner
  RAS axes; dwi.bvec is in FSL's frame. Volumes are the unweighted ones, spread evenly, and the
  shells in the order given.

Limits:
  Bundles are those named; what else white matter holds has plausible directions, not those of an
  atlas. There is no distortion, and the gradient echoes have none of the series' faults.

The same parameters give the same bits for any number of threads. What is as in people, and within
which published range, is in docs/phantom-head.md.

References:
  Zhang H et al. NeuroImage 61, 1000 (2012): dispersion
  Salomir R et al. Concepts Magn Reson B 19, 26 (2003): field by Fourier transform
  Smith RE et al. NeuroImage 62, 1924 (2012): five tissues";

impl HeadCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, data_set, making } = self;
        if data_set.bids.is_some() {
            if making.format.format() == MapFormat::Mif {
                return Err(Failure::usage("BIDS has no .mif: give --bids --format nii.gz or nii"));
            }
            return making
                .run(|format| Box::new(HeadDataSet { options, data_set, format }), console);
        }
        making.run(|format| Box::new(HeadPhantom { options, format }), console)
    }
}
