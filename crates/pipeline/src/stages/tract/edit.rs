//! The stage that keeps some streamlines and makes their points anew.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::counted;
use fimbria_streamlines::edit::{Chosen, Joined, Met, Regions, Reshape, Rules};
use fimbria_streamlines::{Format, ReadStreamlines as _, Streamlines, arc_length_mm};
use fimbria_workflow::with_sidecar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::TractError;
use super::assignments::{ConnectedText, connected};
use super::regions::RegionReader;
use super::rules::RuleOptions;
use super::source::{
    Kept, grid_of, open_all, pass, warn_of_doubts, warn_of_losses, weights_beside,
};
use super::space::SpaceOptions;
use crate::options::{Described as _, OptionError, Takes, above, at_least, within};
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{FileKind, Input, Logbook, OutputFolder, Page, Products, Stage, StageError, Written};

/// What `fimbria tract edit` writes.
pub const EDIT_WRITES: &[Written] = &[
    Written::file("OUT", FileKind::Tractogram, "the streamlines kept: .tck, .trk, .trx"),
    Written::file("OUT.weights.txt", FileKind::Table, "their weights, a line each")
        .only("where --weights is a file"),
    Written::RECORD_BESIDE,
];

/// What is read, kept, and made of it.
#[derive(Clone, Debug, Args, Serialize)]
pub struct EditOptions {
    /// Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
    #[arg(required = true, value_name = "TRACTOGRAM")]
    #[arg(takes = Takes::TRACTOGRAM)]
    pub inputs: Vec<PathBuf>,

    /// Which streamlines.
    #[command(flatten)]
    #[serde(flatten)]
    pub rules: RuleOptions,

    /// Weight of each streamline: a text file of numbers, or the name of the tractograms' own data
    #[arg(long, value_name = "FILE|NAME", help_heading = "Which streamlines")]
    pub weights: Option<String>,

    /// Keep what weighs so much at least
    #[arg(long, value_name = "W", number = at_least(0.0, ""), requires = "weights")]
    #[arg(help_heading = "Which streamlines")]
    pub min_weight: Option<f64>,

    /// Keep what weighs so much at most
    #[arg(long, value_name = "W", number = at_least(0.0, ""), requires = "weights")]
    #[arg(help_heading = "Which streamlines")]
    pub max_weight: Option<f64>,

    /// Labels of each streamline, a line each, of `connectome --assignments` or tck2connectome, for --connects
    #[arg(long, value_name = "FILE", requires = "connects", help_heading = "Which streamlines")]
    #[arg(takes = Takes::TABLE)]
    pub assignments: Option<PathBuf>,

    /// Keep what has this label, or connects these two; once for each, one of them is enough; 0 is no label
    #[arg(long, value_name = "LABEL[,LABEL]", requires = "assignments")]
    #[arg(help_heading = "Which streamlines")]
    pub connects: Vec<ConnectedText>,

    /// Keep what would be left out by all of these together, and leave out the rest
    #[arg(long, help_heading = "Which streamlines")]
    pub inverse: bool,

    /// Of those, leave out so many at the beginning
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Which streamlines")]
    #[arg(number = at_least(0_u64, ""))]
    pub skip: u64,

    /// Of those, keep so many, drawn at random; their order stays
    #[arg(long, value_name = "N", number = at_least(1_u64, ""), usually = "all")]
    #[arg(help_heading = "Which streamlines")]
    pub number: Option<u64>,

    /// Seed of the random numbers
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Which streamlines")]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,

    /// Give each streamline so many points, evenly spaced
    #[arg(long, value_name = "N", number = within(2_usize, 100_000, ""))]
    #[arg(conflicts_with_all = ["step", "compress"], help_heading = "Points")]
    pub points: Option<usize>,

    /// Space points evenly, as near to this as equal steps from end to end come
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), conflicts_with = "compress")]
    #[arg(help_heading = "Points")]
    pub step: Option<f64>,

    /// Leave out points as long as none is farther than this from what is left (pieces of 10 mm at most)
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), help_heading = "Points")]
    pub compress: Option<f64>,

    /// Where the regions lie.
    #[command(flatten)]
    #[serde(flatten)]
    pub space: SpaceOptions,

    /// Image whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Output")]
    #[arg(usually = "the one that the input names")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,
}

impl EditOptions {
    /// Refuses options that contradict each other.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self) -> Result<(), OptionError> {
        self.rules.check()?;
        match (self.min_weight, self.max_weight) {
            (Some(least), Some(most)) if least > most => Err(OptionError::Unusable(format!(
                "no weight is {least} at least and {most} at most"
            ))),
            _ => Ok(()),
        }
    }

    fn reshape(&self) -> Option<Reshape> {
        let points = self.points.map(Reshape::Points);
        let step = self.step.map(Reshape::StepMm);
        points.or(step).or(self.compress.map(Reshape::ToleranceMm))
    }
}

/// Keeps streamlines and makes their points anew.
pub struct EditTracts {
    /// Which, and how.
    pub options: EditOptions,
    /// In which format.
    pub format: Format,
    /// Where.
    pub to: PathBuf,
}

/// The name of a file without its folder.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether each streamline of a chunk is kept by rules.
struct Judge<'a> {
    regions: Regions,
    rules: Rules,
    weights: &'a Weights,
    connected: Option<Connected>,
}

/// For each streamline, whether it connects what is asked for.
struct Connected {
    path: PathBuf,
    all: Vec<bool>,
}

fn other_number(path: &Path, lines: usize) -> TractError {
    let why = format!("labels of {lines} streamlines, and there is another number of them");
    TractError::Assignments { path: path.to_owned(), why }
}

impl Judge<'_> {
    fn keep(
        &self,
        first: usize,
        chunk: &Streamlines,
        log: &Logbook<'_>,
    ) -> Result<Vec<bool>, StageError> {
        let weights = self.weights.of_chunk(first, chunk)?;
        let connected = match &self.connected {
            None => None,
            Some(Connected { path, all }) => {
                let of_chunk = all.get(first..first + chunk.len());
                Some(of_chunk.ok_or_else(|| other_number(path, all.len()))?)
            }
        };
        let of = |met: &mut Met, index: usize| {
            let points = chunk.points(index);
            self.regions.meet(points, met);
            let keep = self.rules.keep(met, arc_length_mm(points), weights[index]);
            match connected {
                Some(all) if !all[index] => self.rules.inverse,
                _ => keep,
            }
        };
        let all = 0..chunk.len();
        let judged = || all.into_par_iter().map_init(Met::default, of).collect();
        Ok(log.session().on.workers.install(judged))
    }
}

impl EditTracts {
    fn edit(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let options = &self.options;
        let bring = options.space.bring(log)?;
        let mut reader = RegionReader::new(bring, options.space.lut.as_deref(), log)?;
        let rules = Rules {
            weight: [options.min_weight, options.max_weight],
            inverse: options.inverse,
            ..options.rules.rules(&mut reader)?
        };
        let (regions, _) = reader.done();
        let grid = grid_of(options.reference.as_deref())?;
        let mut lines = open_all(&options.inputs)?;
        warn_of_different_data(&lines, log);
        let weights = Weights::find(options.weights.as_deref(), lines.header())?;
        let connected = match &options.assignments {
            None => None,
            Some(path) => {
                let (path, all) = (path.clone(), connected(path, &options.connects)?);
                Some(Connected { path, all })
            }
        };
        let judge = Judge { regions, rules, weights: &weights, connected };

        let mut header = lines.header().clone();
        let needs_all = lines.has_groups() || options.number.is_some() || options.skip > 0;
        let mut chosen = None;
        if needs_all {
            let mut some = Chosen::default();
            pass(&mut lines, "choosing streamlines", log, |first, chunk| {
                judge.keep(first, chunk, log)?.into_iter().for_each(|keep| some.push(keep));
                Ok(())
            })?;
            some.skip(options.skip);
            if let Some(n) = options.number {
                if some.count() < n {
                    let warning = format!(
                        "{} to choose {n} from",
                        counted(some.count() as usize, "streamline")
                    );
                    log.warn(Page::Tracts, &warning);
                }
                some.sample(n, options.rng_seed);
            }
            header.groups = some.groups(&lines.groups());
            chosen = Some(some);
            lines = open_all(&options.inputs)?;
        }
        let reshape = options.reshape();
        if reshape.is_some() {
            // What MRtrix3 takes for the distance of points is no longer it.
            header.keyvals.retain(|(key, _)| key != "step_size" && key != "output_step_size");
        }
        warn_of_losses(self.format, &header, log);
        let name = name_of(&self.to);
        let mut kept = Kept::create(out, &name, self.format, &header, grid, weights.is_listed())?;
        let workers = log.session().on.workers;
        let mut written = 0;
        let read = pass(&mut lines, "writing streamlines", log, |first, chunk| {
            let keep: Vec<bool> = match &chosen {
                Some(chosen) => {
                    (first..first + chunk.len()).map(|i| chosen.contains(i as u64)).collect()
                }
                None => judge.keep(first, chunk, log)?,
            };
            let listed = weights.of_chunk(first, chunk)?;
            let is_kept = |index: usize| keep[index];
            match reshape {
                Some(reshape) => {
                    let to = &mut written;
                    kept.write_reshaped(chunk, &listed, is_kept, reshape, to, workers)
                }
                None => kept.write(chunk, &listed, is_kept),
            }
        })?;
        weights.check_number(read)?;
        if let Some(Connected { path, all }) = judge.connected.filter(|one| one.all.len() > read) {
            return Err(other_number(&path, all.len()).into());
        }
        warn_of_doubts(&lines, log);
        let counts = kept.finish()?;
        if counts.streamlines == 0 && read > 0 {
            log.warn(
                Page::Tracts,
                "no streamline is kept: do the regions lie in the space of the streamlines?",
            );
        }
        log.note(&format!("{} of {} kept", counts.streamlines, counted(read, "streamline")));
        log.count("read", read as u64);
        log.count("streamlines", counts.streamlines);
        log.count("points", counts.points);
        Ok(())
    }
}

/// Warns of data that some tractograms have and others not.
pub(super) fn warn_of_different_data(lines: &Joined, log: &Logbook<'_>) {
    let gone = lines.left_out();
    if !gone.is_empty() {
        let warning =
            format!("data that not all tractograms have are left out: {}", gone.join(", "));
        log.warn(Page::Tracts, &warning);
    }
}

impl Stage for EditTracts {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn inputs(&self) -> Vec<Input> {
        let EditOptions { inputs, rules, weights, space, reference, .. } = &self.options;
        let mut all: Vec<Input> =
            inputs.iter().map(|path| ("tractogram".to_owned(), path.clone())).collect();
        all.extend(rules.inputs());
        let assignments = &self.options.assignments;
        all.extend(assignments.iter().map(|path| ("assignments".to_owned(), path.clone())));
        all.extend(space.inputs());
        let weights = weights_file(weights.as_deref(), inputs);
        all.extend(weights.map(|path| ("weights".to_owned(), path.to_owned())));
        all.extend(reference.iter().flat_map(|path| with_sidecar("reference", path)));
        all
    }

    fn parameters(&self) -> Value {
        let EditOptions { inputs, rules, weights, min_weight, max_weight, inverse, .. } =
            &self.options;
        let EditOptions { skip, number, rng_seed, points, step, compress, .. } = &self.options;
        let mut values = rules.in_record();
        let others = json!({
            "weights": in_record(weights.as_deref(), inputs),
            "min_weight": min_weight,
            "max_weight": max_weight,
            "connects": self.options.connects,
            "inverse": inverse,
            "skip": skip,
            "number": number,
            "rng_seed": rng_seed,
            "points": points,
            "step": step,
            "compress": compress,
            "transform": self.options.space.in_record(),
            "format": self.format.to_string(),
        });
        extend(&mut values, others);
        values
    }

    fn outputs(&self) -> Vec<String> {
        let name = name_of(&self.to);
        let EditOptions { weights, inputs, .. } = &self.options;
        let listed = weights_file(weights.as_deref(), inputs).map(|_| weights_beside(&name));
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
        self.edit(out.ok_or("one process edits")?, log)
    }
}

/// Adds the entries of one object to another.
pub(super) fn extend(values: &mut Value, others: Value) {
    if let (Value::Object(values), Value::Object(others)) = (values, others) {
        values.extend(others);
    }
}
