//! The stage that measures maps along a bundle.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{read_image, split_image_name};
use fimbria_streamlines::bundle::{CoreSums, Nodes, Profile};
use fimbria_streamlines::{MapAlong, open};
use fimbria_workflow::with_sidecar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::TractError;
use super::clean::{course, oriented};
use super::region_text::{RegionText, StartText};
use super::regions::RegionReader;
use super::source::{blocks, pass, warn_of_doubts};
use crate::options::{Described as _, Takes, within};
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{
    FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Written,
};

/// What `fimbria tract profile` writes.
pub const PROFILE_WRITES: &[Written] = &[
    Written::file(
        "profile.tsv",
        FileKind::Table,
        "a line for each point: its number from 1, the core there (x, y, z in mm), and of each map the weighted mean, \
         the weighted standard deviation, and the number of streamlines with a value",
    ),
    Written::RECORD,
];

/// The bundle, the maps, and how it is measured.
#[derive(Clone, Debug, Args, Serialize)]
pub struct ProfileOptions {
    /// Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    pub bundle: PathBuf,

    /// Maps to measure, of one volume, on any grid in the same scanner space: FA, MD, ...
    #[arg(long = "map", value_name = "IMAGE", required = true, num_args = 1..)]
    #[arg(takes = Takes::IMAGE)]
    pub map: Vec<PathBuf>,

    /// Points of the profile
    #[arg(long, value_name = "N", number = within(2_usize, 10_000, ""), default_value_t = 100)]
    pub points: usize,

    /// Where the bundle begins: X,Y,Z in mm, or a region, as those of `tract edit`; its nearer end is the first point
    #[arg(long, value_name = "X,Y,Z|REGION", allow_hyphen_values = true)]
    #[arg(
        usually = "the left end, or of bundles that run mostly the other ways the back or the lower one"
    )]
    pub start: Option<StartText>,

    /// Names of labels for --start: a text file with a number and a name in each line
    #[arg(long, value_name = "FILE", requires = "start")]
    #[arg(takes = Takes::TABLE)]
    pub lut: Option<PathBuf>,

    /// Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
    #[arg(long, value_name = "FILE|NAME", usually = "1 each")]
    pub weights: Option<String>,
}

/// Measures maps along a bundle.
pub struct ProfileBundle(pub ProfileOptions);

/// What was measured.
pub(crate) struct Measured {
    core: Vec<[f64; 3]>,
    profiles: Vec<(String, Profile)>,
}

/// The name of an image file without its extension.
pub(in crate::stages) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    split_image_name(&name).map_or(&*name, |(stem, _)| stem).to_owned()
}

/// What a column is called.
pub(super) fn map_name(path: &Path) -> String {
    stem(path).replace(['\t', '\n', ' '], "_")
}

/// A map that goes along streamlines.
pub(super) fn map_along(path: &Path, log: &Logbook<'_>) -> Result<MapAlong, StageError> {
    let image = log.session().on.workers.install(|| read_image(path))?;
    crate::stages::doubts::warn_of_place_of(path, log);
    let map = MapAlong::new(image);
    Ok(map.map_err(|source| TractError::Map { path: path.to_owned(), source })?)
}

/// Maps that go along streamlines, each with its name.
pub(super) fn maps_along(
    paths: &[PathBuf],
    log: &Logbook<'_>,
) -> Result<Vec<(String, MapAlong)>, StageError> {
    let mut maps: Vec<(String, MapAlong)> = Vec::new();
    for path in paths {
        let name = map_name(path);
        if maps.iter().any(|(other, _)| *other == name) {
            return Err(TractError::MapName(name).into());
        }
        maps.push((name, map_along(path, log)?));
    }
    Ok(maps)
}

impl ProfileBundle {
    fn measure(&self, log: &Logbook<'_>) -> Result<Measured, StageError> {
        let ProfileOptions { bundle, map, points, start, lut, weights } = &self.0;
        let workers = log.session().on.workers;
        let maps = maps_along(map, log)?;
        let start = match start {
            Some(start) => Some(RegionReader::new(None, lut.as_deref(), log)?.middle(start)?),
            None => None,
        };
        let mut lines = open(bundle)?;
        let weights = Weights::find(weights.as_deref(), lines.header())?;
        let (course, read) = course(&mut *lines, bundle, *points, start, &weights, log)?;
        weights.check_number(read)?;

        let mut sums = CoreSums::around(course.mean());
        let mut left_out = 0;
        pass(&mut *open(bundle)?, "finding the core", log, |first, chunk| {
            let weights = weights.of_chunk(first, chunk)?;
            for block in blocks(chunk, *points) {
                log.check()?;
                let all = oriented(&course, chunk, block.clone(), workers);
                for (nodes, index) in all.into_iter().zip(block) {
                    match nodes {
                        Some(nodes) => sums.add(&nodes, weights[index]),
                        None => left_out += 1,
                    }
                }
            }
            Ok(())
        })?;
        let core = sums.core();

        let mut profiles = vec![Profile::new(*points); maps.len()];
        let mut lines = open(bundle)?;
        pass(&mut *lines, "measuring along the bundle", log, |first, chunk| {
            let weights = weights.of_chunk(first, chunk)?;
            let of = |nodes: Option<Nodes>| {
                let nodes = nodes?;
                let distances: Vec<f64> =
                    nodes.iter().enumerate().map(|(k, node)| core.distance(k, *node)).collect();
                let values = |(_, map): &(String, MapAlong)| -> Vec<f64> {
                    nodes.iter().map(|node| map.at(*node).unwrap_or(f64::NAN)).collect()
                };
                Some((distances, maps.iter().map(values).collect::<Vec<_>>()))
            };
            for block in blocks(chunk, *points) {
                log.check()?;
                let all = oriented(&course, chunk, block.clone(), workers);
                let all: Vec<_> = workers.install(|| all.into_par_iter().map(of).collect());
                for (measured, index) in all.into_iter().zip(block) {
                    let Some((distances, values)) = measured else { continue };
                    for (profile, values) in profiles.iter_mut().zip(values) {
                        for (k, value) in values.into_iter().enumerate() {
                            profile.add(k, value, distances[k], weights[index]);
                        }
                    }
                }
            }
            Ok(())
        })?;
        warn_of_doubts(&*lines, log);
        warn_of_those_left_out(left_out, log);
        log.count("streamlines", read as u64);
        let names = maps.into_iter().map(|(name, _)| name);
        let profiles: Vec<_> = names.zip(profiles).collect();
        for (name, profile) in &profiles {
            if profile.points().all(|point| point.n == 0) {
                let warning =
                    format!("{name} has no value along the bundle: do they lie in the same space?");
                log.warn(Page::Tracts, &warning);
            }
        }
        Ok(Measured { core: (0..*points).map(|k| core.mean(k)).collect(), profiles })
    }
}

/// Warns of streamlines that cannot be divided into pieces.
pub(super) fn warn_of_those_left_out(n: usize, log: &Logbook<'_>) {
    if n > 0 {
        let what = fimbria_image::counted(n, "streamline");
        log.warn(Page::Tracts, &format!("{what} without points, or not finite: left out"));
    }
}

impl Measured {
    fn table(&self) -> String {
        let mut text = "point\tx_mm\ty_mm\tz_mm".to_owned();
        for (name, _) in &self.profiles {
            let _ = write!(text, "\t{name}_mean\t{name}_sd\t{name}_n");
        }
        text.push('\n');
        let number = |x: f64| if x.is_finite() { format!("{x:.8e}") } else { "n/a".to_owned() };
        let mut columns: Vec<_> =
            self.profiles.iter().map(|(_, profile)| profile.points()).collect();
        for (k, [x, y, z]) in self.core.iter().enumerate() {
            let _ = write!(text, "{}\t{x:.4}\t{y:.4}\t{z:.4}", k + 1);
            for point in columns.iter_mut().filter_map(Iterator::next) {
                let _ = write!(text, "\t{}\t{}\t{}", number(point.mean), number(point.sd), point.n);
            }
            text.push('\n');
        }
        text
    }
}

impl Stage for ProfileBundle {
    fn name(&self) -> &'static str {
        "profile"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Measured>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let ProfileOptions { bundle, map, points: _, start, lut, weights } = &self.0;
        let mut all = vec![("bundle".to_owned(), bundle.clone())];
        all.extend(map.iter().flat_map(|path| with_sidecar("map", path)));
        if let Some(StartText::Region(region)) = start {
            all.extend(region.image().into_iter().flat_map(|path| with_sidecar("start", path)));
        }
        all.extend(lut.iter().map(|path| ("lut".to_owned(), path.clone())));
        let weights = weights_file(weights.as_deref(), std::slice::from_ref(bundle));
        all.extend(weights.map(|path| ("weights".to_owned(), path.to_owned())));
        all
    }

    fn parameters(&self) -> Value {
        let ProfileOptions { bundle, map, points, start, lut: _, weights } = &self.0;
        let start = start.as_ref().map(|start| match start {
            StartText::Point(point) => json!(point),
            StartText::Region(region) => json!(RegionText::in_record(region)),
        });
        json!({
            "maps": map.iter().map(|path| map_name(path)).collect::<Vec<_>>(),
            "points": points,
            "start": start,
            "weights": in_record(weights.as_deref(), std::slice::from_ref(bundle)),
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec!["profile.tsv".to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.measure(log)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write("profile.tsv", products.get::<Measured>()?.table().as_bytes())?)
    }
}
