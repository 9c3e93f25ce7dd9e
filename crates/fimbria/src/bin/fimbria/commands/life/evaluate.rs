use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_image::gradients::BScaling;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::life::{
    HinderedOptions, LIFE_WRITES, Life, LifeFiles, LifeParameters, LoadSeries,
};
use fimbria_pipeline::{Named, OutputFolder, Stage, Writes, bids_entities};

use crate::args::{DeviceArgs, KeptOutputArgs, MapArgs, SubjectArgs, ThreadArgs};
#[cfg(feature = "mpi")]
use crate::args::{ExchangeName, exchange};
use crate::commands::processes::run_kept;
use crate::console::Console;
use crate::failure::Failure;

/// Weigh every streamline of a tractogram by what it explains of the signal (LiFE)
#[derive(Debug, Args)]
#[command(add = Writes(LIFE_WRITES), after_long_help = HELP)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    files: LifeFiles,

    /// Diffusion-weighted series, 4-D; without --mask all its voxels count
    #[arg(long, value_name = "DWI", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    dwi: PathBuf,

    #[command(flatten)]
    subject: SubjectArgs,

    /// A second series that repeats the first volume by volume, to predict (cross-validation); its
    /// gradient table, where it has one, must say so
    #[arg(long, value_name = "DWI", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    second: Option<PathBuf>,

    #[command(flatten)]
    parameters: LifeParameters,

    #[command(flatten)]
    hindered: HinderedOptions,

    /// How processes of mpirun add up
    #[cfg(feature = "mpi")]
    #[arg(long, value_name = "EXCHANGE", default_value = "scatter", value_parser = exchange())]
    #[arg(help_heading = "Machine")]
    exchange: ExchangeName,

    #[command(flatten)]
    output: KeptOutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs (images float32):
{outputs}
  Errors over the unweighted signal are NaN where that is unusable, as rmse_xv is.

Units:
  Errors and predictions are in units of the series, diffusivities in mm²/s, b in s/mm². A weight
  is the share of the unweighted signal that a streamline carries through its voxels. objective is
  half the sum of squares of the demeaned signal's residual; with --compat dipy of the signal over
  the unweighted one. evidence.tsv: strength (d') without
  unit, earth_mover in units of the series, kullback_leibler and jeffreys in bits.

Order and frame:
  Streamlines are in scanner RAS mm, directions are taken in scanner axes, so that voxels need not
  be cubes; --compat encode takes them in voxel axes, as ENCODE does. Streamlines outside the image
  or mask, with fewer than two distinct points or with NaN get weight 0 and are counted. Labels
  may be on a grid of their own in the same space.

Solvers:
  All work on columns of norm 1, whatever a streamline's length. Weights at the optimum are the same
  as without; the path of --solver sbb, and where it is after few iterations, is not that of a
  program that steps in the weights themselves.

Memory:
  What is going to be held is said before the streamlines are encoded, and is an error where
  --memory allows less.

References:
  Pestilli F et al. Nat Methods 11, 1058 (2014)                    LiFE
  Caiafa C, Pestilli F. Sci Rep 7, 11491 (2017)                    ENCODE, --compat encode
  Gugnani S et al. HiPC (2017)                                     MPI-LiFE
  Kim D, Sra S, Dhillon I. Optim Methods Softw 28, 1012 (2013)     --solver sbb
  Schiavi S et al. Sci Adv 6, eaba8245 (2020)                      --group
  Daducci A et al. IEEE Trans Med Imaging 34, 246 (2015)           COMMIT, --hindered";

impl Evaluate {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            files,
            dwi,
            subject,
            second,
            parameters,
            hindered,
            #[cfg(feature = "mpi")]
            exchange,
            output,
            style,
            threads,
            devices,
        } = self;
        #[cfg_attr(not(feature = "mpi"), expect(unused_mut, reason = "there is one process"))]
        let mut world = World::start();
        #[cfg(feature = "mpi")]
        exchange.set(&mut world, console);
        let entities = bids_entities(&dwi);
        let mut series = subject.files(dwi);
        if parameters.in_voxel_axes() && series.bvalue_scaling.0 == BScaling::Auto {
            // Its exponents are -b g'Qg with g as it stands in the file.
            series.bvalue_scaling = Named(BScaling::Yes);
        }
        let second = second.map(|second| series.repeated_by(second));
        let (folder, _, resumes) = output.split();
        let kept = OutputFolder::kept(folder, "life");
        let life = Life {
            files,
            second,
            parameters,
            hindered,
            style: style.style(),
            entities,
            checkpoint: Some((kept.join("weights"), resumes)),
            memory: series.memory,
        };
        let stages: [&dyn Stage; 2] = [&LoadSeries(series), &life];
        run_kept("life", &stages, &world, &output, threads, devices, console)
    }
}
