//! `fimbria field`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Place, Resolve as _};
use fimbria_pipeline::stages::field::{
    FIELD_WRITES, FieldParameters, MakeField, PhaseFiles, references,
};

use crate::args::{MapArgs, OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`
#[derive(Debug, Args)]
#[command(add = Writes(FIELD_WRITES), after_long_help = long_help())]
pub(crate) struct Field {
    #[command(flatten)]
    files: PhaseFiles,

    #[command(flatten)]
    parameters: FieldParameters,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

fn long_help() -> String {
    HELP.to_owned() + &references()
}

const HELP: &str = "\
Outputs (float32 unless said otherwise):
{outputs}
  Fields are 0 outside the mask. The local field is the input of `fimbria qsm`.

Units:
  Fields are in ppm of B0, R2* in 1/s. Phase within ±pi is taken as radians, integers of 0 to 4095,
  ±2048 or ±4096 as steps of a turn; anything else is scaled so that its extremes, over all echoes,
  are a turn apart. That a turn is so long has to show, by wraps inside the mask or by noise around
  it: magnitudes, fields and maps are refused. Where a phase is, --phase-range says its scaling.
  Where the .json says Units rad, or a Manufacturer whose integers are known, that is believed.
  Sidecars are inherited as in BIDS: sub-1_MEGRE.json is that of sub-1_echo-1_part-phase_MEGRE too.
  Of one image with EchoTime1 and EchoTime2 (phasediff) the phase is the difference of two, with one
  magnitude or two; one with Units Hz, rad/s or T (fieldmap) is a field, which is not unwrapped.
  Images of an echo each are put in the order of the times that their sidecars say.

Voxels:
  A smooth phase at time 0 is taken off two echoes or more; where what is left is not zero, a
  warning names what mends it. Of the mask the largest piece stays whose phase is reliable
  (--mask-quality), its holes filled: a mask that is too large does no harm. Holes that were not
  measured are counted and warned of. Voxels without a finite phase or without a magnitude above
  zero (with --offset true: in two echoes) are left out of the mask that is written, and counted.

Order and frame:
  All maps are on the grid of the phase. B0 is along the scanner's z. A paramagnetic source raises
  the field along B0; where it lowers the phase (the scanner counts the other way), --phase-sign -1.

References:
";

impl Field {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files, parameters, output, style, threads } = self;
        parameters.check().map_err(Failure::usage)?;
        let parameters = parameters.resolve(&Place::Command);
        let make = MakeField { files: Some(files), parameters, style: style.style() };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("field", &[&make], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
