//! `fimbria tract profile`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{PROFILE_WRITES, ProfileBundle, ProfileOptions};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Measure maps along a bundle
#[derive(Debug, Args)]
#[command(add = Writes(PROFILE_WRITES), after_long_help = HELP)]
pub(crate) struct ProfileCommand {
    #[command(flatten)]
    options: ProfileOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  `fimbria report OUT -o page.html` draws the curves.

Each streamline has the same number of points, evenly spaced and counted in one direction. At
point k of all streamlines, m is the mean place and C the covariance (over n); a streamline at the
distance d = sqrt((x - m)' C^-1 (x - m)) from this core has the weight s / max(d, 0.01) there,
where s is its own weight, if it has one. The mean is sum(w v) / sum(w), the standard deviation
sqrt(sum(w (v - mean)^2) / sum(w)). A streamline of weight s counts as s streamlines in m and C too.

Units:
  Those of the maps. Places are in millimetres.

Order and frame:
  Points from the start of the bundle to its end; places in scanner RAS axes. Maps are interpolated
  linearly, each by its own header; where a map ends, or is NaN, a streamline has no value.

References:
  Yeatman JD, Dougherty RF, Myall NJ, Wandell BA, Feldman HM. PLoS ONE 7, e49790 (2012)";

impl ProfileCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let profile = ProfileBundle(options);
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("tract profile", &[&profile], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
