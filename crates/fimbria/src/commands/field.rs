//! `fimbria field`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::field::{
    BackgroundMethod, FieldParameters, MakeField, PhaseFiles, Unwrapping,
};

use crate::args::{MapArgs, OutputArgs, ThreadArgs, choice, sign};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Field {
    /// Phase in any scaling: an image with a volume for each echo, or an image for each
    #[arg(value_name = "PHASE", required = true)]
    phase: Vec<PathBuf>,

    /// Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [default: told by
    /// the numbers, see below]
    #[arg(long, value_names = ["LOW", "HIGH"], num_args = 2, allow_negative_numbers = true)]
    #[arg(help_heading = "Input")]
    phase_range: Option<Vec<f32>>,

    /// Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    magnitude: Vec<PathBuf>,

    /// Echo times in milliseconds [default: EchoTime of the .json beside each phase]
    #[arg(long, value_name = "MS", num_args = 1.., value_delimiter = ',', help_heading = "Input")]
    te: Vec<f64>,

    /// Strength of B0, tesla [default: MagneticFieldStrength of the .json beside the phase]
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

    /// Sign of the phase along B0 beside a paramagnetic source: 1 or -1
    #[arg(long, value_name = "SIGN", default_value_t = 1, value_parser = sign)]
    #[arg(allow_negative_numbers = true, help_heading = "Input")]
    phase_sign: i8,

    /// Voxels to work on: a 3-D image on the same grid, inside where above zero
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    mask: Option<PathBuf>,

    /// How wraps are undone
    #[arg(long, value_name = "METHOD", default_value = "region")]
    #[arg(value_parser = choice::<Unwrapping>())]
    unwrap: Named<Unwrapping>,

    /// Fit the phase at echo time 0 (true) or take it as 0 (false) [default: true from three echoes
    /// on]
    #[arg(long, value_name = "true|false")]
    offset: Option<bool>,

    /// How the background is removed
    #[arg(long, value_name = "METHOD", default_value = "vsharp")]
    #[arg(value_parser = choice::<BackgroundMethod>())]
    background: Named<BackgroundMethod>,

    /// Largest radius of --background vsharp, mm [default: 12]
    #[arg(long, value_name = "MM")]
    radius: Option<f64>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs (float32 unless said otherwise):
  total_field   field of all sources, 0 outside the mask
  local_field   field of the sources inside the mask: the input of `fimbria qsm`
  mask          where the local field is known (uint8)
  r2star        with --magnitude of two echoes or more: rate of decay
  run.json      inputs with hashes, parameters, machine, times, counts, warnings

Units:
  Fields are in ppm of B0, R2* in 1/s. Phase within ±pi is taken as radians, integers of 0 to 4095,
  ±2048 or ±4096 as steps of a turn; anything else is scaled so that its extremes, over all echoes,
  are a turn apart. That a turn is so long has to show, by wraps inside the mask or by noise around
  it: magnitudes, fields and maps are refused. Where a phase is, --phase-range says its scaling.

Voxels:
  Those of the mask without a finite phase or without a magnitude above zero (of three echoes or
  with --offset true: in two of them) are left out of the mask that is written, and counted.

Order and frame:
  All maps are on the grid of the phase. B0 is along the scanner's z. A paramagnetic source raises
  the field along B0; where it lowers the phase (the scanner counts the other way), --phase-sign -1.

References:
  Dymerska B et al. Magn Reson Med 85, 2294 (2021)                     region
  Schofield M, Zhu Y. Opt Lett 28, 1194 (2003)                         laplacian
  Wu B et al. Magn Reson Med 67, 137 (2012)                            vsharp
  Liu T et al. NMR Biomed 24, 1129 (2011)                              pdf
  Zhou D et al. NMR Biomed 27, 312 (2014)                              lbv";

impl Field {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            phase,
            phase_range,
            magnitude,
            te,
            b0,
            b0_dir,
            b0_dir_vox,
            phase_sign,
            mask,
            unwrap,
            offset,
            background,
            radius,
            output,
            style,
            threads,
        } = self;
        if radius.is_some() && background.0 != BackgroundMethod::VSharp {
            return Err(Failure::usage("--radius is used by --background vsharp only"));
        }
        let three = |v: Option<Vec<f64>>| v.and_then(|v| v.try_into().ok());
        let files = PhaseFiles {
            phase,
            phase_range: phase_range.and_then(|range| range.try_into().ok()),
            magnitude,
            echo_times_ms: te,
            b0_tesla: b0,
            b0_ras: three(b0_dir),
            b0_vox: three(b0_dir_vox),
            negative: phase_sign < 0,
            mask,
        };
        let parameters = FieldParameters { unwrap, offset, background, radius_mm: radius };
        let make = MakeField { files: Some(files), parameters, style: style.style() };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("field", &make, &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
