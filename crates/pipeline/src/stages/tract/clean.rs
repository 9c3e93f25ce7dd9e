//! The stage that takes streamlines that stray out of a bundle.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::{Progress as _, Workers};
use fimbria_image::counted;
use fimbria_streamlines::bundle::{CoreSums, Course, CourseSums, Nodes, OneSpread, nodes};
use fimbria_streamlines::edit::Chosen;
use fimbria_streamlines::{Format, ReadStreamlines, Streamlines, arc_length_mm, open};
use fimbria_workflow::with_sidecar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::TractError;
use super::edit::name_of;
use super::profile::warn_of_those_left_out;
use super::source::{Kept, blocks, grid_of, pass, warn_of_doubts, warn_of_losses, weights_beside};
use crate::options::{Described as _, Takes, above, within};
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{FileKind, Input, Logbook, OutputFolder, Products, Stage, StageError, Written};

/// What `fimbria tract clean` writes.
pub const CLEAN_WRITES: &[Written] = &[
    Written::file("OUT", FileKind::Tractogram, "the bundle without outliers: .tck, .trk, .trx"),
    Written::file("OUT.weights.txt", FileKind::Table, "the weights of those kept, a line each")
        .only("where --weights is a file"),
    Written::RECORD_BESIDE,
];

/// The bundle, and what strays from it.
#[derive(Clone, Debug, Args, Serialize)]
pub struct CleanOptions {
    /// Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    pub bundle: PathBuf,

    /// Leave out what is farther than this from the core at any point
    #[arg(long, value_name = "SD", number = above(0.0, "standard deviations"))]
    #[arg(default_value_t = 5.0)]
    pub distance: f64,

    /// Leave out what is longer than the mean by more than this
    #[arg(long, value_name = "SD", number = above(0.0, "standard deviations"))]
    #[arg(default_value_t = 4.0)]
    pub length: f64,

    /// Points along each streamline at which it is judged
    #[arg(long, value_name = "N", number = within(2_usize, 10_000, ""), default_value_t = 100)]
    pub points: usize,

    /// Weight of each streamline, by which core and spread are found: a text file of numbers, or the name of the
    /// tractogram's own data
    #[arg(long, value_name = "FILE|NAME", usually = "1 each")]
    pub weights: Option<String>,

    /// Image whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Output")]
    #[arg(usually = "the one that the input names")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,
}

/// Takes outliers out of a bundle.
pub struct CleanBundle {
    /// Which, and how.
    pub options: CleanOptions,
    /// In which format.
    pub format: Format,
    /// Where.
    pub to: PathBuf,
}

/// The way of a bundle, and how many streamlines it has.
pub(super) fn course(
    lines: &mut dyn ReadStreamlines,
    path: &Path,
    points: usize,
    start: Option<[f64; 3]>,
    weights: &Weights,
    log: &Logbook<'_>,
) -> Result<(Course, usize), StageError> {
    let workers = log.session().on.workers;
    let mut sums = CourseSums::default();
    let read = pass(lines, "finding the way of the bundle", log, |first, chunk| {
        let weights = weights.of_chunk(first, chunk)?;
        let of = |index: usize| nodes(chunk.points(index), points);
        for block in blocks(chunk, points) {
            log.check()?;
            let all: Vec<Option<Nodes>> =
                workers.install(|| block.clone().into_par_iter().map(of).collect());
            for (nodes, index) in all.into_iter().zip(block) {
                if let Some(nodes) = nodes {
                    sums.add(nodes, weights[index]);
                }
            }
        }
        Ok(())
    })?;
    let course = sums.course(start);
    Ok((course.ok_or_else(|| TractError::NoStreamlines(path.to_owned()))?, read))
}

/// The nodes of some streamlines of a chunk, all counted in one direction.
pub(super) fn oriented(
    course: &Course,
    chunk: &Streamlines,
    block: Range<usize>,
    workers: &Workers,
) -> Vec<Option<Nodes>> {
    let of = |index: usize| course.nodes(chunk.points(index));
    workers.install(|| block.into_par_iter().map(of).collect())
}

/// What streamlines of one round are judged by in the next.
struct Round {
    core: CoreSums,
    lengths: OneSpread,
}

impl Round {
    fn new(course: &Course) -> Self {
        Self { core: CoreSums::around(course.mean()), lengths: OneSpread::default() }
    }

    fn add(&mut self, nodes: &[[f64; 3]], length_mm: f64, weight: f64) {
        self.core.add(nodes, weight);
        self.lengths.add(length_mm, weight);
    }
}

/// What became of the streamlines.
struct Judged {
    kept: Chosen,
    rounds: u64,
    far: u64,
    long: u64,
    /// Of no length or not finite.
    none: usize,
}

impl CleanBundle {
    fn judge(&self, weights: &Weights, log: &Logbook<'_>) -> Result<Judged, StageError> {
        let CleanOptions { bundle, distance, length, points, .. } = &self.options;
        let workers = log.session().on.workers;
        let (course, read) = course(&mut *open(bundle)?, bundle, *points, None, weights, log)?;
        weights.check_number(read)?;
        let mut round = Round::new(&course);
        let mut kept = Chosen::default();
        pass(&mut *open(bundle)?, "finding the core", log, |first, chunk| {
            let weights = weights.of_chunk(first, chunk)?;
            for block in blocks(chunk, *points) {
                log.check()?;
                let all = oriented(&course, chunk, block.clone(), workers);
                for (nodes, index) in all.into_iter().zip(block) {
                    kept.push(nodes.is_some());
                    if let Some(nodes) = nodes {
                        round.add(&nodes, arc_length_mm(chunk.points(index)), weights[index]);
                    }
                }
            }
            Ok(())
        })?;
        let none = read - kept.count() as usize;
        let mut judged = Judged { kept, rounds: 0, far: 0, long: 0, none };
        loop {
            let (core, lengths) = (round.core.core(), round.lengths);
            let longest = lengths.mean() + length * lengths.standard_deviation();
            // Lengths that are all the same differ by rounding.
            let longest = longest * (1.0 + 1e-6);
            let mut next = Round::new(&course);
            let before = judged.kept.count();
            pass(&mut *open(bundle)?, "looking for outliers", log, |first, chunk| {
                let weights = weights.of_chunk(first, chunk)?;
                let is_left = |index: usize| judged.kept.contains((first + index) as u64);
                let left: Vec<bool> = (0..chunk.len()).map(is_left).collect();
                let of = |index: usize| {
                    let is_kept = left[index];
                    let nodes = is_kept.then(|| course.nodes(chunk.points(index)))??;
                    let is_far = core.farthest(&nodes) > *distance;
                    Some((nodes, is_far, arc_length_mm(chunk.points(index))))
                };
                for block in blocks(chunk, *points) {
                    log.check()?;
                    let all: Vec<_> =
                        workers.install(|| block.clone().into_par_iter().map(of).collect());
                    for (of_one, index) in all.into_iter().zip(block) {
                        let Some((nodes, is_far, length_mm)) = of_one else { continue };
                        let is_long = length_mm > longest;
                        if is_far || is_long {
                            judged.kept.leave_out((first + index) as u64);
                            judged.far += u64::from(is_far);
                            judged.long += u64::from(is_long && !is_far);
                        } else {
                            next.add(&nodes, length_mm, weights[index]);
                        }
                    }
                }
                Ok(())
            })?;
            if judged.kept.count() == before {
                return Ok(judged);
            }
            judged.rounds += 1;
            if judged.kept.count() == 0 {
                return Ok(judged);
            }
            round = next;
        }
    }

    fn clean(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let CleanOptions { bundle, weights, reference, .. } = &self.options;
        let grid = grid_of(reference.as_deref())?;
        let mut lines = open(bundle)?;
        let mut header = lines.header().clone();
        let weights = Weights::find(weights.as_deref(), &header)?;
        let judged = self.judge(&weights, log)?;
        header.groups = judged.kept.groups(&header.groups);
        warn_of_losses(self.format, &header, log);
        let name = name_of(&self.to);
        let mut kept = Kept::create(out, &name, self.format, &header, grid, weights.is_listed())?;
        let read = pass(&mut *lines, "writing streamlines", log, |first, chunk| {
            let listed = weights.of_chunk(first, chunk)?;
            let keep = |index: usize| judged.kept.contains((first + index) as u64);
            kept.write(chunk, &listed, keep)
        })?;
        warn_of_doubts(&*lines, log);
        warn_of_those_left_out(judged.none, log);
        let streamlines = kept.finish()?.streamlines;
        log.note(&format!(
            "{streamlines} of {} kept: {} too far from the core, {} too long",
            counted(read, "streamline"),
            judged.far,
            judged.long
        ));
        log.count("read", read as u64);
        log.count("streamlines", streamlines);
        log.count("too far from the core", judged.far);
        log.count("too long", judged.long);
        log.count("rounds", judged.rounds);
        Ok(())
    }
}

impl Stage for CleanBundle {
    fn name(&self) -> &'static str {
        "clean"
    }

    fn inputs(&self) -> Vec<Input> {
        let CleanOptions { bundle, weights, reference, .. } = &self.options;
        let mut all = vec![("bundle".to_owned(), bundle.clone())];
        let weights = weights_file(weights.as_deref(), std::slice::from_ref(bundle));
        all.extend(weights.map(|path| ("weights".to_owned(), path.to_owned())));
        all.extend(reference.iter().flat_map(|path| with_sidecar("reference", path)));
        all
    }

    fn parameters(&self) -> Value {
        let CleanOptions { bundle, distance, length, points, weights, reference: _ } =
            &self.options;
        json!({
            "distance": distance,
            "length": length,
            "points": points,
            "weights": in_record(weights.as_deref(), std::slice::from_ref(bundle)),
            "format": self.format.to_string(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let name = name_of(&self.to);
        let CleanOptions { weights, bundle, .. } = &self.options;
        let listed = weights_file(weights.as_deref(), std::slice::from_ref(bundle));
        let listed = listed.map(|_| weights_beside(&name));
        std::iter::once(name).chain(listed).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// Streamlines may be larger than memory: they are written as they are read.
    fn compute_into(
        &self,
        _products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.clean(out.ok_or("one process cleans")?, log)
    }
}
