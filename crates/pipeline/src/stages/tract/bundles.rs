//! The stage that finds named bundles.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::Grid;
use fimbria_streamlines::edit::{Chosen, Met, Regions, Rules};
use fimbria_streamlines::{Format, Header, ReadStreamlines as _, Streamlines, arc_length_mm};
use fimbria_workflow::with_sidecar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::TractError;
use super::edit::extend;
use super::regions::RegionReader;
use super::rules::RuleOptions;
use super::source::{
    Kept, grid_of, open_all, pass, warn_of_doubts, warn_of_losses, weights_beside,
};
use super::space::SpaceOptions;
use super::visited::Visited;
use crate::options::{Choice, Described as _, Named, Takes, choice, from_values, in_words};
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{FileKind, Input, Logbook, OutputFolder, Page, Products, Stage, StageError, Written};

/// What `fimbria tract bundles` writes.
pub const BUNDLES_WRITES: &[Written] = &[
    Written::file(
        "NAME.*",
        FileKind::Tractogram,
        "the streamlines of the bundle NAME: .tck, .trk, .trx",
    ),
    Written::file("NAME.*.weights.txt", FileKind::Table, "their weights, a line each")
        .only("where --weights is a file"),
    Written::file(
        "bundles.tsv",
        FileKind::Table,
        "name, streamlines, sum of weights, (weighted) mean length in mm, and volume in mm³ of each",
    ),
    Written::RECORD,
];

/// The table of all bundles.
const TABLE: &str = "bundles.tsv";

/// The format of bundles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TractFormat(pub Format);

impl Choice for TractFormat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &{
        let (first, name, meaning) = Format::OF_FILES[0];
        let mut all = [(Self(first), name, meaning); Format::OF_FILES.len()];
        let mut i = 1;
        while i < Format::OF_FILES.len() {
            let (format, name, meaning) = Format::OF_FILES[i];
            all[i] = (Self(format), name, meaning);
            i += 1;
        }
        all
    };
}

/// What is read, and which bundles are looked for.
#[derive(Clone, Debug, Args, Serialize)]
pub struct BundleOptions {
    /// Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
    #[arg(required = true, value_name = "TRACTOGRAM")]
    #[arg(takes = Takes::TRACTOGRAM)]
    pub inputs: Vec<PathBuf>,

    /// Bundles by name: a TOML file with a table for each, whose keys are include, include_any, exclude, ends_in,
    /// ends_only, min_length and max_length, as the options of `tract edit`; images are beside the file
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::CONFIGURATION)]
    pub bundles: PathBuf,

    /// Weight of each streamline: a text file of numbers, or the name of the tractograms' own data
    #[arg(long, value_name = "FILE|NAME")]
    pub weights: Option<String>,

    /// Where the regions lie.
    #[command(flatten)]
    #[serde(flatten)]
    pub space: SpaceOptions,

    /// Format of the bundles
    #[arg(long, value_name = "FORMAT", value_parser = choice::<TractFormat>())]
    #[arg(usually = "that of the first tractogram", help_heading = "Output")]
    pub tracks: Option<Named<TractFormat>>,

    /// Image whose voxels volumes are counted in, and whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Output")]
    #[arg(usually = "the one that the input names, else that of the first region")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,
}

/// Finds bundles.
pub struct FindBundles {
    options: BundleOptions,
    format: Format,
    bundles: Vec<(String, RuleOptions)>,
}

/// The bundles of a file, by name.
fn read(path: &Path) -> Result<Vec<(String, RuleOptions)>, TractError> {
    let text = fimbria_image::read_regular_text(path)
        .map_err(|source| TractError::Read { path: path.to_owned(), source })?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|source| TractError::Toml { path: path.to_owned(), source: Box::new(source) })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut bundles = Vec::new();
    for (name, mut value) in table {
        in_words(&mut value);
        let path = path.to_owned();
        let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
            return Err(TractError::BundleName { path, name });
        }
        let Ok(Value::Object(values)) = serde_json::to_value(&value) else {
            return Err(TractError::NoBundles(path));
        };
        let options = from_values::<RuleOptions>(&values);
        let options = options.and_then(|options| options.check().map(|()| options));
        let mut options = match options {
            Ok(options) => options,
            Err(source) => {
                let source = Box::new(source);
                return Err(TractError::Bundle { path, name, source });
            }
        };
        let RuleOptions { include, include_any, exclude, ends_in, .. } = &mut options;
        for list in [include, include_any, exclude, ends_in] {
            *list = std::mem::take(list).into_iter().map(|region| region.beside(folder)).collect();
        }
        bundles.push((name, options));
    }
    match bundles.is_empty() {
        true => Err(TractError::NoBundles(path.to_owned())),
        false => Ok(bundles),
    }
}

/// The format that is asked for, or that of a tractogram.
pub(super) fn format_of(
    named: Option<&Named<TractFormat>>,
    first: Option<&PathBuf>,
) -> Result<Format, StageError> {
    Ok(match (named, first) {
        (Some(Named(TractFormat(format))), _) => *format,
        (None, Some(first)) => match Format::from_content(first)? {
            folder if folder == Format::TRX_FOLDER => Format::DEFAULT,
            format => format,
        },
        (None, None) => Format::DEFAULT,
    })
}

impl FindBundles {
    /// Of the bundles in the file that the options name.
    ///
    /// # Errors
    /// Where it is no such file, or the format of the first tractogram cannot be told.
    pub fn new(options: BundleOptions) -> Result<Self, StageError> {
        let bundles = read(&options.bundles)?;
        let format = format_of(options.tracks.as_ref(), options.inputs.first())?;
        Ok(Self { options, format, bundles })
    }

    fn file(&self, bundle: &str) -> String {
        format!("{bundle}.{}", self.format.extension())
    }

    fn find(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let options = &self.options;
        let bring = options.space.bring(log)?;
        let is_brought = bring.is_some();
        let mut reader = RegionReader::new(bring, options.space.lut.as_deref(), log)?;
        let rules: Vec<Rules> = self
            .bundles
            .iter()
            .map(|(_, bundle)| bundle.rules(&mut reader))
            .collect::<Result<_, _>>()?;
        let (regions, grid_of_regions) = reader.done();
        let judge = Judge { regions, rules };
        let given = grid_of(options.reference.as_deref())?;
        let mut lines = open_all(&options.inputs)?;
        super::edit::warn_of_different_data(&lines, log);
        let weights = Weights::find(options.weights.as_deref(), lines.header())?;
        let header = lines.header().clone();
        warn_of_losses(self.format, &header, log);
        let mut headers = vec![header.clone(); self.bundles.len()];
        if lines.has_groups() {
            let mut chosen = vec![Chosen::default(); self.bundles.len()];
            pass(&mut lines, "choosing streamlines", log, |_, chunk| {
                for kept in judge.keep(chunk, log) {
                    chosen.iter_mut().zip(kept).for_each(|(chosen, keep)| chosen.push(keep));
                }
                Ok(())
            })?;
            let groups = lines.groups();
            for (header, chosen) in headers.iter_mut().zip(&chosen) {
                header.groups = chosen.groups(&groups);
            }
            lines = open_all(&options.inputs)?;
        }
        let grid = given.or(header.grid);
        let counted_on = grid.or(grid_of_regions.filter(|_| !is_brought));
        let mut found = Vec::new();
        for ((name, _), header) in self.bundles.iter().zip(&headers) {
            found.push(self.start(out, name, header, given, counted_on, weights.is_listed())?);
        }
        let read = pass(&mut lines, "finding bundles", log, |first, chunk| {
            let kept = judge.keep(chunk, log);
            let weights = weights.of_chunk(first, chunk)?;
            for (bundle, found) in found.iter_mut().enumerate() {
                found.add(chunk, &weights, |index| kept[index][bundle])?;
            }
            Ok(())
        })?;
        weights.check_number(read)?;
        warn_of_doubts(&lines, log);
        log.count("read", read as u64);
        self.finish(found, out, log)
    }

    fn start(
        &self,
        out: &mut OutputFolder,
        bundle: &str,
        header: &Header,
        given: Option<Grid>,
        counted_on: Option<Grid>,
        listed: bool,
    ) -> Result<Found, StageError> {
        let kept = Kept::create(out, &self.file(bundle), self.format, header, given, listed)?;
        let visited = counted_on.and_then(Visited::on);
        Ok(Found { kept, visited, weight: 0.0, weighted_length_mm: 0.0 })
    }

    fn finish(
        &self,
        found: Vec<Found>,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let mut text = "bundle\tstreamlines\tweight\tmean_length_mm\tvolume_mm3\n".to_owned();
        let (mut empty, mut filled) = (Vec::new(), Vec::new());
        for ((name, _), found) in self.bundles.iter().zip(found) {
            let Found { kept, visited, weight, weighted_length_mm } = found;
            let n = kept.finish()?.streamlines;
            let or_none =
                |number: Option<f64>| number.map_or("n/a".to_owned(), |n| format!("{n:.3}"));
            let length = or_none((weight > 0.0).then(|| weighted_length_mm / weight));
            let volume = or_none(visited.map(|visited| visited.volume_mm3()));
            text += &format!("{name}\t{n}\t{weight}\t{length}\t{volume}\n");
            log.count(name, n);
            match n {
                0 => empty.push(name.as_str()),
                n => filled.push(format!("{name} {n}")),
            }
        }
        if !filled.is_empty() {
            log.note(&format!("streamlines by bundle: {}", filled.join(", ")));
        }
        if !empty.is_empty() {
            log.warn(
                Page::Tracts,
                &format!("no streamline is of these bundles: {}", empty.join(", ")),
            );
        }
        out.write(TABLE, text.as_bytes())?;
        Ok(())
    }
}

/// Which bundles each streamline of a chunk is of.
struct Judge {
    regions: Regions,
    rules: Vec<Rules>,
}

impl Judge {
    fn keep(&self, chunk: &Streamlines, log: &Logbook<'_>) -> Vec<Vec<bool>> {
        let of = |met: &mut Met, index: usize| {
            let points = chunk.points(index);
            self.regions.meet(points, met);
            let length_mm = arc_length_mm(points);
            self.rules.iter().map(|rules| rules.keep(met, length_mm, 1.0)).collect()
        };
        let all = 0..chunk.len();
        let judged = || all.into_par_iter().map_init(Met::default, of).collect();
        log.session().on.workers.install(judged)
    }
}

/// A bundle as it is found.
struct Found {
    kept: Kept,
    visited: Option<Visited>,
    weight: f64,
    weighted_length_mm: f64,
}

impl Found {
    fn add(
        &mut self,
        chunk: &Streamlines,
        weights: &[f64],
        keep: impl Fn(usize) -> bool,
    ) -> Result<(), StageError> {
        for index in (0..chunk.len()).filter(|index| keep(*index)) {
            let points = chunk.points(index);
            self.weight += weights[index];
            self.weighted_length_mm += weights[index] * arc_length_mm(points);
            if let Some(visited) = &mut self.visited {
                visited.add(points);
            }
        }
        self.kept.write(chunk, weights, keep)
    }
}

impl Stage for FindBundles {
    fn name(&self) -> &'static str {
        "bundles"
    }

    fn inputs(&self) -> Vec<Input> {
        let BundleOptions { inputs, bundles, weights, space, reference, .. } = &self.options;
        let mut all: Vec<Input> =
            inputs.iter().map(|path| ("tractogram".to_owned(), path.clone())).collect();
        all.push(("bundles".to_owned(), bundles.clone()));
        for (_, bundle) in &self.bundles {
            for input in bundle.inputs() {
                // An image is often a region of several.
                if !all.iter().any(|(_, path)| *path == input.1) {
                    all.push(input);
                }
            }
        }
        all.extend(space.inputs());
        let weights = weights_file(weights.as_deref(), inputs);
        all.extend(weights.map(|path| ("weights".to_owned(), path.to_owned())));
        all.extend(reference.iter().flat_map(|path| with_sidecar("reference", path)));
        all
    }

    fn parameters(&self) -> Value {
        let BundleOptions { inputs, weights, space, .. } = &self.options;
        let mut bundles = json!({});
        for (name, rules) in &self.bundles {
            extend(&mut bundles, json!({ name.as_str(): rules.in_record() }));
        }
        json!({
            "bundles": bundles,
            "weights": in_record(weights.as_deref(), inputs),
            "transform": space.in_record(),
            "format": self.format.to_string(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let BundleOptions { weights, inputs, .. } = &self.options;
        let is_listed = weights_file(weights.as_deref(), inputs).is_some();
        let files = self.bundles.iter().flat_map(|(name, _)| {
            let file = self.file(name);
            let listed = is_listed.then(|| weights_beside(&file));
            std::iter::once(file).chain(listed)
        });
        files.chain([TABLE.to_owned()]).collect()
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
        self.find(out.ok_or("one process finds bundles")?, log)
    }
}
