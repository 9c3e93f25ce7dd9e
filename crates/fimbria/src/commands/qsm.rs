//! `fimbria qsm`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fimbria_cluster::World;
use fimbria_compute::Progress as _;
use fimbria_image::{BvecFrame, image_called};
use fimbria_pipeline::stages::load_local_field::{FieldUnit, LoadLocalField, LocalFieldFiles};
use fimbria_pipeline::stages::qsm::{
    Keep, MapSusceptibility, QsmCompat, QsmMethod, QsmParameters, Start, options_by_method,
};
use fimbria_pipeline::{
    Choice as _, Existing, Named, OutputFolder, Stage, earlier_alone, refuse_name_of_file,
};
use fimbria_qsm::dqsm::Iterate;
use fimbria_qsm::{Edges, FA_THRESHOLD, Products};

use crate::args::{DeviceArgs, ExistingArgs, MapArgs, ThreadArgs, choice, sign};
use crate::commands::processes::{end_together, run_together};
use crate::console::Console;
use crate::failure::Failure;

/// Map magnetic susceptibility from a local field, guided by diffusion
#[derive(Debug, Args)]
#[command(after_long_help = help())]
pub(crate) struct Qsm {
    /// The local field (background removed), one volume; with --dqsm-files a deltab.bin
    #[arg(value_name = "FIELD")]
    field: PathBuf,

    /// Voxels to solve for: a 3-D image on the same grid, inside where above zero [default: all but
    /// those where the field is 0 from there to the edge of the volume]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    mask: Option<PathBuf>,

    /// Folder of `fimbria fit dti`: takes its FA and V1
    #[arg(long, value_name = "DIR", conflicts_with_all = ["v1", "fa"], help_heading = "Input")]
    dti: Option<PathBuf>,

    /// Fibre directions, 3 volumes: V1 with --fa, else FA·V1; without, every voxel is a sphere
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    v1: Option<PathBuf>,

    /// Fractional anisotropy
    #[arg(long, value_name = "FILE", requires = "v1", help_heading = "Input")]
    fa: Option<PathBuf>,

    /// Axes the fibre directions refer to [default: scanner]
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>(), help_heading = "Input")]
    v1_frame: Option<Named<BvecFrame>>,

    /// Take FA and fibre directions of another grid at the nearest voxel in the scanner
    #[arg(long, help_heading = "Input")]
    resample: bool,

    /// FA above which a voxel has a fibre, 0 to 1 [default: 0.2]
    #[arg(long, value_name = "FA", help_heading = "Input")]
    fa_threshold: Option<f64>,

    /// A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as
    /// they stand: where they are far from 1, --kappa weighs the smoothness less or more
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    weights: Option<PathBuf>,

    /// Unit of the field [default: ppm, refused where the numbers are unlike it]
    #[arg(long, value_name = "UNIT", value_parser = choice::<FieldUnit>())]
    #[arg(help_heading = "Input")]
    field_unit: Option<Named<FieldUnit>>,

    /// Sign of the field along B0 beside a paramagnetic source: 1 or -1
    #[arg(long, value_name = "SIGN", default_value_t = 1, value_parser = sign)]
    #[arg(allow_negative_numbers = true, help_heading = "Input")]
    phase_sign: i8,

    /// Strength of B0, tesla
    #[arg(long, value_name = "TESLA", help_heading = "Input")]
    b0: Option<f64>,

    /// Direction of B0 in scanner axes [default: 0 0 1]
    #[arg(long, value_names = ["X", "Y", "Z"], num_args = 3, allow_negative_numbers = true)]
    #[arg(conflicts_with = "b0_dir_vox", help_heading = "Input")]
    b0_dir: Option<Vec<f64>>,

    /// Direction of B0 in voxel axes
    #[arg(long, value_names = ["I", "J", "K"], num_args = 3, allow_negative_numbers = true)]
    #[arg(help_heading = "Input")]
    b0_dir_vox: Option<Vec<f64>>,

    /// FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin,
    /// models.bin), in tesla and with B0; also writes chi.bin
    #[arg(long, conflicts_with_all = ["fa", "dti", "field_unit", "b0_dir", "resample"])]
    #[arg(help_heading = "Input")]
    dqsm_files: bool,

    /// How the map is made
    #[arg(long, value_name = "METHOD", default_value = "dqsm")]
    #[arg(value_parser = choice::<QsmMethod>())]
    method: Named<QsmMethod>,

    /// Whose numerics to follow
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<QsmCompat>())]
    compat: Option<Named<QsmCompat>>,

    /// Share κ of the data, above 0 and at most 1 [default: 0.985; 0.75 with --compat dqsm]
    #[arg(long, value_name = "SHARE")]
    kappa: Option<f64>,

    /// Which iteration [default: cgls; landweber with --compat dqsm]
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Iterate>())]
    solver: Option<Named<Iterate>>,

    /// Step of --solver landweber; one that would diverge is made smaller [default: a safe one;
    /// 0.15 with --compat dqsm]
    #[arg(long, value_name = "STEP")]
    step: Option<f64>,

    /// How products are made; both are exact [default: fast]
    #[arg(long, value_name = "PRODUCTS", value_parser = choice::<Products>())]
    products: Option<Named<Products>>,

    /// What lies beyond the mask, for the penalty [default: free; zero with --compat dqsm]
    #[arg(long, value_name = "EDGES", value_parser = choice::<Edges>())]
    edges: Option<Named<Edges>>,

    /// Voxels that a source reaches along each axis [default: all; 50 with --compat dqsm]
    #[arg(long, value_name = "VOXELS")]
    support: Option<u32>,

    /// Where the iteration starts [default: zero]
    #[arg(long, value_name = "START", value_parser = choice::<Start>())]
    start: Option<Named<Start>>,

    /// Iterations at most [default: 1000]
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,

    /// Stop where the map changes by no more than this part of itself [default: 1e-6]
    #[arg(long, value_name = "SHARE")]
    tolerance: Option<f64>,

    /// Stop where the gradient is no more than this part of its first [default: 1e-6]
    #[arg(long, value_name = "SHARE")]
    gradient_tolerance: Option<f64>,

    /// Stop where the field is explained to this noise, ppm (after weights)
    #[arg(long, value_name = "PPM")]
    noise: Option<f64>,

    /// Parameter of a method without guidance: threshold of tkd [default: 0.15], λ of tikhonov
    /// [0.01] and tv [2e-4], δ of rts [0.15]
    #[arg(long, value_name = "VALUE")]
    strength: Option<f64>,

    /// Make the mean zero: over the mask (`mean`), or over the voxels of an image
    #[arg(long, value_name = "mean|FILE")]
    reference: Option<PathBuf>,

    /// Compare with a map of known susceptibility, ppm, on the same grid
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// Folder to write
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,

    /// Seconds between checkpoints, which --resume goes on from [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Output")]
    checkpoint: Option<u64>,

    #[command(flatten)]
    existing: ExistingArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs (float32):
  chi             magnetic susceptibility, 0 outside the mask
  msa             with --method tensor: anisotropy of the susceptibility tensor (along the fibre
                  less across it), 0 where FA is not above --fa-threshold; chi is then its mean
  iterations.tsv  iteration, rms of the map (ppm), relative change, data term ‖Ax - b‖² and penalty
                  ‖Dx‖² after it, relative gradient; of --method dqsm and tensor
  metrics.json    with --truth: NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope
  chi.bin         with --dqsm-files: the map (not ppm), bare float32 in that program's order; its
                  x_iter files are neither written nor read
  run.json        inputs with hashes, parameters in effect, machine, times, counts, warnings; of the
                  iteration kappa and step (in units of B0), iterations, and why it stopped
  .resume         until the run is done: where --resume goes on, with the same result

Units:
  The field is in ppm of B0 unless --field-unit says otherwise, susceptibility is in ppm (SI). A
  field that is unlike a local one in ppm is refused until --field-unit says what it is.

Order and frame:
  Fibre directions are in scanner RAS axes (--v1-frame for FSL's or voxel axes), B0 along the
  scanner's z. Oblique volumes and voxels that are not cubic are not resampled: kernels are turned.

The map minimises κ‖Ax - b‖² + (1 - κ)‖Dx‖²: A sums the fields of spheres (FA up to --fa-threshold)
and of cylinders (or, with --method tensor, of dipoles magnetised as tensors are) along V1, D is a
Laplacian. κ does not depend on the strength of B0. A map of
susceptibility is known up to a constant: see --reference.

Options that only some methods use, and that others refuse:
{options}

Several processes:
  `mpirun -n 4 fimbria qsm ...` of a program built with --features mpi deals the cylinders (with
  --products dense all voxels) out to the processes; the first one reads for itself and writes.

References:
  Ng A et al. ISMRM (2013) 2394; Kaluza OL et al. \"Fast diffusion-guided QSM using GPUs\"    dqsm
  Liu C. Magn Reson Med 63, 1471 (2010)                tensor
  Shmueli K et al. Magn Reson Med 62, 1510 (2009)      tkd
  Bilgic B et al. Magn Reson Med 72, 1444 (2014)       tv
  Kames C et al. NeuroImage 167, 276 (2018)            rts";

fn help() -> String {
    HELP.replace("{options}", &options_by_method())
}

impl Qsm {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let given = self.given();
        let Self {
            field,
            mask,
            dti,
            v1,
            fa,
            v1_frame,
            resample,
            fa_threshold,
            weights,
            field_unit,
            phase_sign,
            b0,
            b0_dir,
            b0_dir_vox,
            dqsm_files,
            method,
            compat,
            kappa,
            solver,
            step,
            products,
            edges,
            support,
            start,
            iterations,
            tolerance,
            gradient_tolerance,
            noise,
            strength,
            reference,
            truth,
            output,
            checkpoint,
            existing,
            style,
            threads,
            devices,
        } = self;
        let zero_mean = reference.as_deref() == Some(Path::new("mean"));
        let parameters = QsmParameters {
            method,
            compat,
            fa_threshold,
            products,
            solver,
            kappa,
            step,
            edges,
            support,
            start,
            iterations,
            tolerance,
            gradient_tolerance,
            noise_ppm: noise,
            strength,
            zero_mean,
        };
        parameters.check(&given).map_err(Failure::usage)?;
        let (v1, fa) = match dti {
            None => (v1, fa),
            Some(folder) => (Some(map_in(&folder, "V1")), Some(map_in(&folder, "FA"))),
        };
        if v1.is_none() && (v1_frame.is_some() || resample || fa_threshold.is_some()) {
            return Err(Failure::usage(
                "--v1-frame, --resample and --fa-threshold are about fibre directions: give --v1 or \
                 --dti",
            ));
        }
        let three = |v: Option<Vec<f64>>| v.and_then(|v| v.try_into().ok());
        let compares = truth.is_some();
        let files = LocalFieldFiles {
            field,
            mask,
            v1,
            fa,
            v1_frame,
            resample,
            fa_threshold: fa_threshold.unwrap_or(FA_THRESHOLD),
            weights,
            truth,
            reference: reference.filter(|_| !zero_mean),
            unit: field_unit,
            negative: phase_sign < 0,
            b0_tesla: b0,
            b0_ras: three(b0_dir),
            b0_vox: three(b0_dir_vox),
            dqsm_files,
        };
        let policy = existing.policy();
        let keep = Keep {
            folder: output.clone(),
            every: Duration::from_secs(checkpoint.unwrap_or(60)),
            resume: policy == Existing::Resume,
        };
        let world = World::start();
        let is_shared = method.0 == QsmMethod::Dqsm;
        if world.comm().size() > 1 && !is_shared {
            let message =
                format!("one process does --method {}: only dqsm is shared", method.0.name());
            return end_together(Err(Failure::usage(message)), &world, console);
        }
        let devices = if is_shared { devices } else { devices.without() };
        let map = MapSusceptibility {
            parameters,
            style: style.style(),
            dqsm_files,
            compares,
            keep: Some(keep),
        };
        let load = LoadLocalField(files);
        let stages: [&dyn Stage; 2] = [&load, &map];
        if policy == Existing::Resume
            && let Some(earlier) = earlier_alone(&stages, &output)?
        {
            if !earlier.is_same {
                return Err(Failure::usage(format!(
                    "{} is finished, with other inputs or parameters ({}): --force makes it anew",
                    output.display(),
                    earlier.record.command_line.join(" ")
                )));
            }
            if world.comm().rank() == 0 {
                console.note(&format!("{} is finished already", output.display()));
            }
            return Ok(());
        }
        let folder = |planned: &[String]| {
            refuse_name_of_file(&output)?;
            let overwrite = policy != Existing::Refuse;
            OutputFolder::create(&output, planned, overwrite, console.unfinished())
        };
        let kept = output.join(OutputFolder::KEPT);
        run_together("qsm", &stages, &world, &folder, Some(&kept), threads, devices, console)
    }

    /// The names of the options given that are no [`QsmParameters`].
    fn given(&self) -> Vec<&'static str> {
        let options = [
            ("dti", self.dti.is_some()),
            ("v1", self.v1.is_some()),
            ("fa", self.fa.is_some()),
            ("weights", self.weights.is_some()),
            ("checkpoint", self.checkpoint.is_some()),
            ("device", self.devices.names_a_device()),
        ];
        options.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }
}

/// The map `name` in a folder of `fimbria fit`, in the format it has there.
fn map_in(folder: &Path, name: &str) -> PathBuf {
    image_called(&folder.join(name)).unwrap_or_else(|| folder.join(format!("{name}.nii.gz")))
}
