//! `fimbria tract map`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{MAP_WRITES, MapOptions, MapTracts};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Make an image of streamlines: density, ends, directions, lengths, or a map along them
#[derive(Debug, Args)]
#[command(add = Writes(MAP_WRITES), after_long_help = HELP)]
pub(crate) struct MapCommand {
    #[command(flatten)]
    options: MapOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

A streamline passes each voxel that one of its straight pieces crosses, with the length that lies in
it. Density, number and ends are sums of the streamlines' weights times that; of lengths and maps a
voxel has sum(w l v) / sum(w l), where w is the weight of a streamline, l its length in the voxel
and v its own number; 0 where none passes. Tractograms larger than memory pass through, and the
result does not depend on --threads.

Units:
  Millimetres; those of the map.

Order and frame:
  Volumes of directions are x, y and z of the scanner (RAS). The map lies where its grid lies.

References:
  Calamante F, Tournier JD, Jackson GD, Connelly A. NeuroImage 53, 1233 (2010)    density
  Calamante F, Tournier JD, Smith RE, Connelly A. NeuroImage 59, 2494 (2012)      a map along them";

impl MapCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        options.check().map_err(Failure::usage)?;
        let map = MapTracts { options, to: output.path().clone() };
        let folder = |planned: &[String]| output.file(planned, console);
        let record = run_on_threads("tract map", &[&map], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
