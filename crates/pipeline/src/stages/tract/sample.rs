//! The stage that samples maps along streamlines.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;
use fimbria_streamlines::{
    Column, Format, Header, LookUp, MapAlong, Statistic, Streamlines, WriteOptions,
    WriteStreamlines, create, open,
};
use fimbria_workflow::with_sidecar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::TractError;
use super::edit::name_of;
use super::profile::{map_name, maps_along};
use super::source::{grid_of, pass, warn_of_doubts, warn_of_losses};
use crate::options::{Choice, Described as _, Named, Takes, choice};
use crate::{FileKind, Input, Logbook, OutputFolder, Page, Products, Stage, StageError, Written};

/// What `fimbria tract sample` writes.
pub const SAMPLE_WRITES: &[Written] = &[
    Written::file(
        "OUT",
        FileKind::Tractogram,
        ".trx or .trk: the streamlines with the values as data of each map's name; .tsv: a heading and a line for \
         each streamline; .txt: the same numbers alone, as tcksample's",
    ),
    Written::RECORD_BESIDE,
];

/// What there is of a map for each streamline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// One number.
    One(Statistic),
    /// Those at both ends.
    Ends,
    /// Those at all points.
    Points,
}

impl Default for Sampled {
    fn default() -> Self {
        Self::One(Statistic::Mean)
    }
}

impl Choice for Sampled {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::One(Statistic::Mean), "mean", "by length"),
        (Self::One(Statistic::Median), "median", "of the values at its points"),
        (Self::One(Statistic::Least), "min", "the least"),
        (Self::One(Statistic::Largest), "max", "the largest"),
        (Self::Ends, "ends", "the values at its first and its last point"),
        (Self::Points, "points", "the value at each point"),
    ];
}

impl Choice for LookUp {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Linear, "linear", "at points, between the centres of voxels"),
        (Self::Nearest, "nearest", "at points, the voxel around each"),
        (Self::Voxels, "voxels", "in the voxels that it crosses, by the length in each"),
    ];
}

/// The streamlines, the maps, and what is sampled.
#[derive(Clone, Debug, Args, Serialize)]
pub struct SampleOptions {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    pub tractogram: PathBuf,

    /// Maps to sample, of one volume, on any grid in the same scanner space: FA, MD, ...
    #[arg(long = "map", value_name = "IMAGE", required = true, num_args = 1..)]
    #[arg(takes = Takes::IMAGE)]
    pub map: Vec<PathBuf>,

    /// What stands for a streamline; points without a value do not count
    #[arg(long, value_name = "STATISTIC", value_parser = choice::<Sampled>())]
    #[arg(default_value = "mean")]
    pub along: Named<Sampled>,

    /// Where maps are looked up
    #[arg(long, value_name = "WHERE", value_parser = choice::<LookUp>(), default_value = "linear")]
    pub look_up: Named<LookUp>,

    /// Image whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Output")]
    #[arg(usually = "the one that the input names")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,
}

/// What values are written as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampledForm {
    /// A table with a heading; what is missing is n/a.
    Table,
    /// Numbers; what is missing is nan.
    Numbers,
    /// With the streamlines.
    Tractogram(Format),
}

/// Samples maps along streamlines.
pub struct SampleTracts {
    options: SampleOptions,
    form: SampledForm,
    to: PathBuf,
}

impl SampleTracts {
    /// What is written is known by the name of the file.
    ///
    /// # Errors
    /// Where it is no such name, or values have no place there.
    pub fn new(options: SampleOptions, to: PathBuf) -> Result<Self, StageError> {
        let form = match to.extension().and_then(|extension| extension.to_str()) {
            Some("tsv") => SampledForm::Table,
            Some("txt") => SampledForm::Numbers,
            _ => SampledForm::Tractogram(Format::from_name(&to)?),
        };
        let is_points = options.along.0 == Sampled::Points;
        match form {
            SampledForm::Tractogram(format) if !format.holds_columns() => Err(format!(
                "{format} has no place for values: name the output .trx, .trk, .tsv or .txt"
            )
            .into()),
            SampledForm::Table if is_points => {
                Err("a table has no place for values of points: name the output .txt or .trx"
                    .into())
            }
            SampledForm::Numbers if is_points && options.map.len() > 1 => {
                Err("values of points of several maps: name the output .trx".into())
            }
            _ => Ok(Self { options, form, to }),
        }
    }

    /// The values of a streamline, of each map.
    fn values(&self, maps: &[(String, MapAlong)], points: &[[f32; 3]]) -> Vec<Vec<f32>> {
        let look_up = self.options.look_up.0;
        let number = |value: Option<f64>| value.map_or(f32::NAN, |value| value as f32);
        let of = |(_, map): &(String, MapAlong)| match self.options.along.0 {
            Sampled::One(statistic) => vec![number(map.statistic(points, look_up, statistic))],
            Sampled::Ends => {
                let end = |point: Option<&[f32; 3]>| {
                    number(point.and_then(|point| map.at_point(point, look_up)))
                };
                vec![end(points.first()), end(points.last())]
            }
            Sampled::Points => {
                points.iter().map(|point| number(map.at_point(point, look_up))).collect()
            }
        };
        maps.iter().map(of).collect()
    }

    /// Starts the file.
    fn start(
        &self,
        out: &mut OutputFolder,
        header: &Header,
        maps: &[(String, MapAlong)],
        log: &Logbook<'_>,
    ) -> Result<To, StageError> {
        let path = out.stage(&name_of(&self.to))?;
        let SampledForm::Tractogram(format) = self.form else {
            let mut file = BufWriter::new(File::create(&path)?);
            if self.form == SampledForm::Table {
                let names = maps.iter().flat_map(|(name, _)| match self.options.along.0 {
                    Sampled::Ends => vec![format!("{name}_first"), format!("{name}_last")],
                    _ => vec![name.clone()],
                });
                writeln!(file, "{}", names.collect::<Vec<_>>().join("\t"))?;
            }
            return Ok(To::Text(file));
        };
        let mut header = header.clone();
        for (name, _) in maps {
            let columns = match self.options.along.0 {
                Sampled::Points => &mut header.per_point,
                _ => &mut header.per_streamline,
            };
            if columns.iter().any(|kind| kind.name == *name) {
                return Err(TractError::DataName(name.clone()).into());
            }
            columns.push(self.column(name, &[]).kind);
        }
        warn_of_losses(format, &header, log);
        let grid = grid_of(self.options.reference.as_deref())?;
        let options = WriteOptions { grid, ..WriteOptions::default() };
        Ok(To::Lines(create(&path, format, &header, &options)?))
    }

    fn sample(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let workers = log.session().on.workers;
        let maps = maps_along(&self.options.map, log)?;
        let mut lines = open(&self.options.tractogram)?;
        let mut to = self.start(out, lines.header(), &maps, log)?;
        let mut without = 0;
        let read = pass(&mut *lines, "sampling maps along streamlines", log, |_, chunk| {
            let of = |index: usize| self.values(&maps, chunk.points(index));
            let all: Vec<_> =
                workers.install(|| (0..chunk.len()).into_par_iter().map(of).collect());
            without += all.iter().filter(|of| of.iter().flatten().any(|x| x.is_nan())).count();
            match &mut to {
                To::Text(file) => file.write_all(self.rows(&all).as_bytes())?,
                To::Lines(writer) => writer.write(&self.with_columns(chunk, &maps, &all))?,
            }
            Ok(())
        })?;
        match to {
            To::Text(mut file) => file.flush()?,
            To::Lines(writer) => drop(writer.finish()?),
        }
        warn_of_doubts(&*lines, log);
        if without > 0 {
            let what = fimbria_image::counted(without, "streamline");
            let warning =
                format!("{what} without a value of a map: do they lie in the same space?");
            log.warn(Page::Tracts, &warning);
        }
        log.count("streamlines", read as u64);
        log.count("without a value", without as u64);
        Ok(())
    }

    fn column(&self, name: &str, values: &[f32]) -> Column {
        let width = if self.options.along.0 == Sampled::Ends { 2 } else { 1 };
        Column::from_f32(name, width, values)
    }

    /// The same streamlines with a column for each map.
    fn with_columns(
        &self,
        chunk: &Streamlines,
        maps: &[(String, MapAlong)],
        all: &[Vec<Vec<f32>>],
    ) -> Streamlines {
        let mut chunk = chunk.clone();
        for (at, (name, _)) in maps.iter().enumerate() {
            let values: Vec<f32> = all.iter().flat_map(|of| of[at].iter().copied()).collect();
            let column = self.column(name, &values);
            match self.options.along.0 {
                Sampled::Points => chunk.add_per_point(column),
                _ => chunk.add_per_streamline(column),
            }
        }
        chunk
    }

    fn rows(&self, all: &[Vec<Vec<f32>>]) -> String {
        let (between, none) = match self.form {
            SampledForm::Table => ("\t", "n/a"),
            _ => (" ", "nan"),
        };
        let number = |x: &f32| if x.is_nan() { none.to_owned() } else { x.to_string() };
        let row = |of: &Vec<Vec<f32>>| {
            of.iter().flatten().map(number).collect::<Vec<_>>().join(between) + "\n"
        };
        all.iter().map(row).collect()
    }
}

/// Where samples go.
enum To {
    Text(BufWriter<File>),
    Lines(Box<dyn WriteStreamlines>),
}

impl Stage for SampleTracts {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn inputs(&self) -> Vec<Input> {
        let SampleOptions { tractogram, map, reference, .. } = &self.options;
        let mut all = vec![("tractogram".to_owned(), tractogram.clone())];
        all.extend(map.iter().flat_map(|path| with_sidecar("map", path)));
        all.extend(reference.iter().flat_map(|path| with_sidecar("reference", path)));
        all
    }

    fn parameters(&self) -> Value {
        let SampleOptions { map, along, look_up, .. } = &self.options;
        json!({
            "maps": map.iter().map(|path| map_name(path)).collect::<Vec<_>>(),
            "along": along,
            "look_up": look_up,
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec![name_of(&self.to)]
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
        self.sample(out.ok_or("one process samples")?, log)
    }
}
