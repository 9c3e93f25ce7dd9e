//! `fimbria connectome`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use fimbria_compute::{Backend, Progress as _};
use fimbria_image::read_image;
use fimbria_pipeline::stages::contents::check_labels;
use fimbria_pipeline::{Hashing, Logbook};
use fimbria_streamlines::connectome::{Assignment, Connectome, Nodes};
use fimbria_streamlines::{CHUNK_POINTS, Streamlines, open};
use serde_json::json;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{command_line, report, session};
use crate::console::Console;
use crate::failure::Failure;

/// Count the streamlines between the regions of a label image
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct ConnectomeCommand {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    tractogram: PathBuf,

    /// Image of labels: whole numbers, 0 is background
    labels: PathBuf,

    /// How far the nearest labelled voxel may be from an end, mm
    #[arg(long, value_name = "MM", default_value_t = 4.0, conflicts_with = "exact_label")]
    radius: f64,

    /// Take the label of the voxel that holds the end, and no other
    #[arg(long)]
    exact_label: bool,

    /// Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
    #[arg(long, value_name = "FILE|NAME")]
    weights: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs (comma-separated values, symmetric, one row and column per label):
  weights.csv    number of streamlines, or with --weights the sum of their weights
  lengths.csv    their (weighted) mean length, 0 where there are none
  labels.txt     the label of each row, ascending
  run.json       inputs with hashes, parameters, machine, times, how many were assigned

Units:
  Millimetres.

Order and frame:
  Ends and voxels are compared in scanner RAS millimetres. A streamline counts where both ends have a
  label; from a region to itself on the diagonal. The defaults are those of MRtrix3's
  tck2connectome with -symmetric.";

impl ConnectomeCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { tractogram, labels, radius, exact_label, weights, output, threads } = self;
        let planned = ["weights.csv", "lengths.csv", "labels.txt"].map(str::to_owned);
        let mut out = output.folder(&planned, console)?;
        let workers = threads.start()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));
        let mut inputs = vec![("tractogram".to_owned(), tractogram.clone())];
        inputs.push(("labels".to_owned(), labels.clone()));
        let hashing = Hashing::start(inputs);

        let assignment = match exact_label {
            true => Assignment::ExactLabel,
            false => Assignment::RadialSearch { radius_mm: radius },
        };
        check_labels(&labels)?;
        let nodes = Nodes::new(&workers.install(|| read_image(&labels))?, assignment)?;
        let mut reader = open(&tractogram)?;
        let mut matrix = Connectome::new(&nodes);
        log.stage("count", || {
            let column = weights.as_deref().filter(|name| {
                reader.header().per_streamline.iter().any(|kind| kind.name == *name)
            });
            let listed = match (&weights, column) {
                (Some(path), None) => Some(read_weights(path)?),
                _ => None,
            };
            log.start("counting connections", reader.header().n_streamlines.unwrap_or(0));
            let (mut chunk, mut done) = (Streamlines::default(), 0);
            while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
                log.check()?;
                let own = column.and_then(|name| chunk.streamline_column(name));
                let own: Option<Vec<f64>> = own.map(|c| c.values().step_by(c.kind.width).collect());
                let part = match &listed {
                    Some(all) => Some(all.get(done..done + chunk.len()).ok_or_else(|| {
                        Failure::usage(format!(
                            "there are {} weights and more streamlines",
                            all.len()
                        ))
                    })?),
                    None => own.as_deref(),
                };
                matrix.add(&nodes, &chunk, part, &workers);
                done += chunk.len();
                log.advance(chunk.len() as u64);
            }
            for doubt in reader.doubts() {
                log.warn(&doubt);
            }
            let (assigned, total) = matrix.assigned_of_total();
            log.count("streamlines", total);
            log.count("assigned", assigned);
            Ok::<(), Failure>(())
        })?;
        out.write("weights.csv", table(&matrix.weights(), nodes.len()).as_bytes())?;
        out.write("lengths.csv", table(&matrix.mean_lengths_mm(), nodes.len()).as_bytes())?;
        let labels: String = nodes.labels().iter().map(|label| format!("{label}\n")).collect();
        out.write("labels.txt", labels.as_bytes())?;
        let parameters = json!({
            "radius_mm": (!exact_label).then_some(radius), "weights": weights,
        });
        let record = out.commit(log.record("connectome", hashing.finish()?, parameters))?;
        report(&record, output.path(), console);
        Ok(())
    }
}

fn read_weights(path: &str) -> Result<Vec<f64>, Failure> {
    let text = fimbria_image::read_regular_text(path)
        .map_err(|why| Failure::usage(format!("weights {path}: {why}")))?;
    let number = |word: &str| {
        word.parse().map_err(|_| Failure::usage(format!("weights {path}: `{word}` is no number")))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).map(number).collect()
}

fn table(values: &[f64], n: usize) -> String {
    let mut text = String::new();
    for row in values.chunks_exact(n) {
        for (i, value) in row.iter().enumerate() {
            let _ = write!(text, "{}{value}", if i == 0 { "" } else { "," });
        }
        text.push('\n');
    }
    text
}
