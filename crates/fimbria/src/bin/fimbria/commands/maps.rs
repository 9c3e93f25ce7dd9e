//! `fimbria maps`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::{FileKind, Named, Study, Writes, Written};

use crate::args::{RunArgs, choice};
use crate::commands::run_in_folders;
use crate::console::Console;
use crate::failure::Failure;

/// Fit several models to a series in one pass: `fit dti,dki,noddi DWI`
#[derive(Debug, Args)]
#[command(add = Writes(WRITES), after_long_help = HELP)]
pub(crate) struct MapsCommand {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI", takes = Takes::IMAGE)]
    dwi: PathBuf,

    /// The models, each in a folder of its name: those of `fimbria fit`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "preset")]
    models: Vec<String>,

    /// The models of a study, with its limits of b; --models adds others
    #[arg(long, value_name = "STUDY", value_parser = choice::<Study>())]
    preset: Option<Named<Study>>,

    /// Set one option of a model, such as dti.method=nlls; may be repeated
    #[arg(long = "set", value_name = "MODEL.KEY=VALUE")]
    settings: Vec<String>,

    #[command(flatten)]
    run: RunArgs,
}

const WRITES: &[Written] = &[
    Written::folder("*/", "of each model: its maps, as `fimbria fit` writes them, and its record"),
    Written::folder("load/", "mask and mean_b0, as a run writes them")
        .only("where no mask is given"),
    Written::folder("plan/", "plan.json: what of a study the gradient table does not carry")
        .only("where there is such"),
    Written::file("run.json", FileKind::Json, "what was done, written last"),
];

const HELP: &str = "\
Outputs:
{outputs}
  The maps have the bytes that single commands write. The series is read, masked and, where it is
  compressed, inflated once. With --layout bids the names are those that QSIRecon has.

Models:
  `fimbria fit dti,dki,noddi DWI -o OUT` is short for `fimbria maps DWI --models dti,dki,noddi -o
  OUT`. Every model has the options of its command: --set noddi.tissue=grey, with _ for -. What the
  gradient table does not carry is refused where it is named, and left out of a study with a
  warning.

Studies:
  Their models under the names of their maps: what their programs make otherwise (TORTOISE, AMICO,
  DIPY) differs from ours in numbers, as each model's page says. GQI is in both, and is not made
  here. What a study sets cannot be set otherwise.

Units:
  b in s/mm², diffusivities in mm²/s.

Order and frame:
  Those of each model: scanner RAS axes unless --layout says otherwise.

Resuming:
  With --resume a model is skipped where its folder is complete, of the same inputs and options.";

impl MapsCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { dwi, models, preset, settings, run } = self;
        let (config, folder) = run.on(dwi);
        let stages = config.maps(preset.map(|preset| preset.0), &models, &settings)?;
        run_in_folders("maps", &stages, folder, console).map(drop)
    }
}
