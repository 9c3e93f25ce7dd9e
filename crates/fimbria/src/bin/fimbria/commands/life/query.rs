use std::path::PathBuf;

use clap::Args;
use fimbria_compute::{Backend, Progress};
use fimbria_image::{ImageHeader, read_mask};
use fimbria_life::{Atoms, EncodeOptions, Query};
use fimbria_pipeline::options::{Described as _, Takes, within};
use fimbria_pipeline::stages::life::encode_file;
use fimbria_pipeline::{Logbook, Page};

use crate::args::ThreadArgs;
use crate::commands::{command_line, session};
use crate::console::Console;
use crate::failure::Failure;

/// Find the streamlines that pass a ball or a mask, or run along a direction
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct QueryCommand {
    /// Streamlines: TCK, TRK or TRX
    #[arg(value_name = "TRACTOGRAM")]
    #[arg(takes = Takes::TRACTOGRAM)]
    tractogram: PathBuf,

    /// The image on whose voxels streamlines are looked at
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE)]
    dwi: PathBuf,

    /// Pass a voxel whose centre is in this ball: x,y,z,radius in mm, scanner axes; may be
    /// repeated, then one of them is enough
    #[arg(long, value_name = "X,Y,Z,R", value_parser = ball, allow_hyphen_values = true)]
    ball: Vec<Ball>,

    /// Pass a voxel of this mask
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::MASK)]
    mask: Option<PathBuf>,

    /// Run along this direction there, x,y,z in scanner axes, or against it
    #[arg(long, value_name = "X,Y,Z", value_parser = direction, allow_hyphen_values = true)]
    direction: Option<Direction>,

    /// Up to this angle from it
    #[arg(long, value_name = "DEG", default_value_t = 10.0, requires = "direction")]
    #[arg(allow_hyphen_values = true)]
    #[arg(number = within(0.0, 90.0, "degrees"))]
    within: f64,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs, on standard output:
  a line for each streamline found, in the order of the tractogram: its number (from 0) and the
  number of voxels in which it does what is asked for, separated by a tab

Everything asked for must hold in the same voxel. Lines of numbers make sets for
`fimbria life --sets`.";

/// A centre in scanner mm, and a radius in mm.
#[derive(Clone, Copy, Debug)]
struct Ball([f64; 3], f64);

/// A direction in scanner axes.
#[derive(Clone, Copy, Debug)]
struct Direction([f64; 3]);

impl QueryCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { tractogram, dwi, ball, mask, direction, within, threads } = self;
        if ball.is_empty() && mask.is_none() && direction.is_none() {
            return Err(Failure::usage("ask for a --ball, a --mask or a --direction"));
        }
        let grid = *ImageHeader::read(&dwi)?.grid();
        let workers = threads.start()?;
        let mask = mask.map(|path| workers.install(|| read_mask(path, &grid))).transpose()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));
        // Angles are those of the streamlines, not of a grid's directions.
        let options = EncodeOptions { atoms: Atoms::Exact, ..EncodeOptions::default() };
        let (encoding, _) =
            encode_file(&tractogram, grid, None, &options, &log).map_err(Failure::Work)?;
        let query = Query {
            balls: ball.into_iter().map(|Ball(centre, radius)| (centre, radius)).collect(),
            mask,
            direction: direction.map(|Direction(dir)| (dir, within)),
        };
        let mut text = String::new();
        for (streamline, voxels) in query.answer(&encoding) {
            text.push_str(&format!("{streamline}\t{voxels}\n"));
        }
        if text.is_empty() {
            console.warn(&Page::Connectomes.behind("no streamline does all of this in one voxel"));
        }
        Ok(console.print(&text)?)
    }
}

/// So many finite numbers between commas.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let parsed: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    parsed
        .filter(|numbers| numbers.iter().all(|n| n.is_finite()))
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| format!("it must be {N} numbers separated by commas"))
}

fn ball(text: &str) -> Result<Ball, String> {
    let [x, y, z, radius] = numbers(text)?;
    if radius > 0.0 {
        Ok(Ball([x, y, z], radius))
    } else {
        Err("its radius is not positive".into())
    }
}

fn direction(text: &str) -> Result<Direction, String> {
    let dir = numbers(text)?;
    if dir == [0.0; 3] { Err("it has no direction".into()) } else { Ok(Direction(dir)) }
}
