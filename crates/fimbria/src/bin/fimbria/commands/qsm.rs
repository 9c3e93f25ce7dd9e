//! `fimbria qsm`

use std::time::Duration;

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::options::{Described as _, Place, Resolve as _, at_least};
use fimbria_pipeline::stages::load_local_field::{LoadLocalField, LocalFieldFiles};
use fimbria_pipeline::stages::qsm::{
    Checkpointing, MapSusceptibility, QSM_WRITES, QsmParameters, help,
};
use fimbria_pipeline::{Choice as _, Stage, Writes};

use crate::args::{DeviceArgs, KeptOutputArgs, MapArgs, ThreadArgs};
use crate::commands::processes::{end_together, run_kept};
use crate::console::Console;
use crate::failure::Failure;

/// Map magnetic susceptibility from a local field, guided by diffusion
#[derive(Debug, Args)]
#[command(add = Writes(QSM_WRITES), after_long_help = long_help())]
pub(crate) struct Qsm {
    #[command(flatten)]
    files: LocalFieldFiles,

    #[command(flatten)]
    parameters: QsmParameters,

    #[command(flatten)]
    output: KeptOutputArgs,

    /// Time between checkpoints, which --resume goes on from
    #[arg(long, value_name = "SECONDS", help_heading = "Output")]
    #[arg(number = at_least(0_u64, "s"), usually = "60")]
    checkpoint: Option<u64>,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

fn long_help() -> String {
    format!(
        "\
Outputs (float32):
{{outputs}}
  Maps are 0 outside the mask, msa also where FA is not above --fa-threshold.

Units:
  The field is in ppm of B0 unless --field-unit says otherwise, susceptibility is in ppm (SI). A
  field that is unlike a local one in ppm is refused until --field-unit says what it is. Of a
  relative field (`fimbria field --relative`) the map is relative, too: in the unit of that field.
  A map of susceptibility is known up to a constant: see --zero-mean and --reference.

Order and frame:
  Fibre directions are in scanner RAS axes (--v1-frame for FSL's or voxel axes), B0 along the
  scanner's z. Oblique volumes are not resampled: kernels are turned.

Methods:
{methods}
  With --data phase the field is explained up to whole turns of the phase, by the data term of ndi.

Devices:
{devices}

Several processes:
  `mpirun -n 4 fimbria qsm --method dqsm ...` of a program built with --features mpi:
{processes}
  The first process reads for itself and writes. The other methods are made of transforms of one
  volume, which do not gain from processes: they are refused.

References:
{references}",
        methods = help::methods(),
        devices = help::devices(),
        processes = help::processes(),
        references = help::references(),
    )
}

impl Qsm {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files, parameters, output, checkpoint, style, threads, devices } = self;
        files.check(&parameters).and_then(|()| parameters.check()).map_err(Failure::usage)?;
        let method = parameters.method.0;
        let takes_devices = method.takes_devices();
        for (option, is_given, is_used) in [
            ("checkpoint", checkpoint.is_some(), method.takes_checkpoints()),
            ("device", devices.names_a_device(), takes_devices),
        ] {
            if is_given && !is_used {
                let method = method.name();
                return Err(Failure::usage(format!("--{option} is not used by --method {method}")));
            }
        }
        let (folder, _, resume) = output.split();
        let checkpointing = Checkpointing {
            folder: folder.to_owned(),
            every: Duration::from_secs(checkpoint.unwrap_or(60)),
            resume,
        };
        let world = World::start();
        if world.comm().size() > 1 && !method.takes_processes() {
            let (method, shared) = (method.name(), help::of_processes());
            let message = format!("one process does --method {method}: only {shared} are shared");
            return end_together(Err(Failure::usage(message)), &world, console);
        }
        let devices = if takes_devices { devices } else { devices.without() };
        let parameters = parameters.resolve(&Place::Command);
        let fa_threshold = parameters.fibre_threshold();
        let map = MapSusceptibility {
            parameters,
            style: style.style(),
            dqsm_files: files.dqsm_files,
            compares: files.truth.is_some(),
            relative: files.is_relative(),
            guided: files.has_directions(),
            checkpointing: Some(checkpointing),
        };
        let load = LoadLocalField { files, fa_threshold };
        let stages: [&dyn Stage; 2] = [&load, &map];
        run_kept("qsm", &stages, &world, &output, threads, devices, console)
    }
}
