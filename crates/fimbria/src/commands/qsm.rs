//! `fimbria qsm`

use std::time::Duration;

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::options::{Described as _, at_least};
use fimbria_pipeline::stages::load_local_field::{LoadLocalField, LocalFieldFiles};
use fimbria_pipeline::stages::qsm::{Keep, MapSusceptibility, QSM_WRITES, QsmParameters};
use fimbria_pipeline::{Choice as _, Stage, Writes};

use crate::args::{DeviceArgs, KeptOutputArgs, MapArgs, ThreadArgs};
use crate::commands::processes::{end_together, run_kept};
use crate::console::Console;
use crate::failure::Failure;

/// Map magnetic susceptibility from a local field, guided by diffusion
#[derive(Debug, Args)]
#[command(add = Writes(QSM_WRITES), after_long_help = HELP)]
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

const HELP: &str = "\
Outputs (float32):
{outputs}
  Maps are 0 outside the mask, msa also where FA is not above --fa-threshold; with it chi is the
  mean of the tensor.

Units:
  The field is in ppm of B0 unless --field-unit says otherwise, susceptibility is in ppm (SI). A
  field that is unlike a local one in ppm is refused until --field-unit says what it is. Of a
  relative field (`fimbria field --relative`) the map is relative, too: in the unit of that field.

Order and frame:
  Fibre directions are in scanner RAS axes (--v1-frame for FSL's or voxel axes), B0 along the
  scanner's z. Oblique volumes are not resampled: kernels are turned.

By default (dtv) few edges are wanted, but for those that diffusion explains: ½‖w (x * d + a B -
b)‖² + λ Σ|∇(x - Σ c Φ)| is made least, d the dipole, x 0 outside the mask, Φ the images FA, MD and
S0 and their squares, B the field of tensors along V1 whose anisotropy is FA. The coefficients c and
a are fitted with the map, so that images which explain nothing change nothing; without any it is
tv.

tgv makes λ Σ|∇x - v| + 3 λ Σ|E v| least in place of λ Σ|∇x|, so that slopes cost nothing; medi
leaves out the 30 % of the differences along the axes in which --magnitude differs most. With --data
phase the field is explained up to whole turns of the phase, w² (1 - cos s r) / s² of what it is off
by, r, and ndi goes downhill from 0 in that and λ Σ x² / 2; s follows from --te and --b0.

ilsqr makes ‖W (x * d - b)‖ small by a few steps of least squares, W small where the Laplacian of
the field is large; then a map of the frequencies where the dipole is below --strength, whose
differences are those of x but for boundaries, is taken off.

The methods dqsm and tensor minimise κ‖Ax - b‖² + (1 - κ)‖Dx‖²: A sums the fields of spheres (FA up
to --fa-threshold) and of cylinders (or, with --method tensor, of dipoles magnetised as tensors are)
along V1, D is a Laplacian. κ does not depend on the strength of B0. A map of susceptibility is
known up to a constant: see --zero-mean and --reference.

Devices:
  dqsm shares its sources among all devices, tensor the components of the magnetisation among three
  at most; dtv, tv, tgv, medi, ndi, ilsqr and rts run on the first. tkd and tikhonov run on threads,
  and refuse a device that is named. `--device auto` leaves volumes of less than 2 million voxels,
  padding included, to the threads, but for dqsm.

Several processes:
  `mpirun -n 4 fimbria qsm --method dqsm ...` of a program built with --features mpi deals the
  cylinders (with --products dense all voxels) out to the processes, each on its threads or a
  device; with --method tensor each of at most three has components of the magnetisation. The first
  process reads for itself and writes. The other methods are made of transforms of one volume, which
  do not gain from processes: they are refused.

References:
  Ng A et al. ISMRM (2013) 2394; Kaluza OL et al. \"Fast diffusion-guided QSM using GPUs\"    dqsm
  Liu C. Magn Reson Med 63, 1471 (2010)                tensor
  Shmueli K et al. Magn Reson Med 62, 1510 (2009)      tkd
  Bilgic B et al. Magn Reson Med 72, 1444 (2014)       dtv, tv
  Milovic C et al. Magn Reson Med 80, 814 (2018)       dtv, tv (data inside the mask)
  Kames C et al. NeuroImage 167, 276 (2018)            rts
  Langkammer C et al. NeuroImage 111, 622 (2015)       tgv
  Liu J et al. NeuroImage 59, 2560 (2012)              medi
  Liu T et al. Magn Reson Med 69, 467 (2013)           --data phase
  Polak D et al. NMR Biomed 33, e4271 (2020)           ndi
  Li W et al. NeuroImage 108, 111 (2015)               ilsqr
  Stewart AW et al. Magn Reson Med 87, 1289 (2022)     --two-pass";

impl Qsm {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files, parameters, output, checkpoint, style, threads, devices } = self;
        files.check(&parameters).and_then(|()| parameters.check()).map_err(Failure::usage)?;
        let method = parameters.method.0;
        let takes_devices = method.takes_devices();
        for (option, is_given, is_used) in [
            ("checkpoint", checkpoint.is_some(), parameters.is_smooth()),
            ("device", devices.names_a_device(), takes_devices),
        ] {
            if is_given && !is_used {
                let method = method.name();
                return Err(Failure::usage(format!("--{option} is not used by --method {method}")));
            }
        }
        let (folder, _, resume) = output.split();
        let keep = Keep {
            folder: folder.to_owned(),
            every: Duration::from_secs(checkpoint.unwrap_or(60)),
            resume,
        };
        let world = World::start();
        if world.comm().size() > 1 && !method.takes_processes() {
            let message = format!(
                "one process does --method {}: only dqsm and tensor are shared",
                method.name()
            );
            return end_together(Err(Failure::usage(message)), &world, console);
        }
        let devices = if takes_devices { devices } else { devices.without() };
        let fa_threshold = parameters.threshold();
        let map = MapSusceptibility {
            parameters,
            style: style.style(),
            dqsm_files: files.dqsm_files,
            compares: files.truth.is_some(),
            relative: files.is_relative(),
            keep: Some(keep),
        };
        let load = LoadLocalField { files, fa_threshold };
        let stages: [&dyn Stage; 2] = [&load, &map];
        run_kept("qsm", &stages, &world, &output, threads, devices, console)
    }
}
