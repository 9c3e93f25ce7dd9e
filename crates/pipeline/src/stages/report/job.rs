//! The page of what a single command left, by its files.
//!
//! A folder of `run` or `fit dti` is drawn by its stages, which know their maps; of any other finished folder
//! every file is shown as what it is: maps in slices, streamlines on three planes with their lengths, why
//! they ended, matrices, weights, tables, and what the record says.

use std::path::{Path, PathBuf};

use fimbria_image::{Image, Mask, read_image};
use fimbria_report::figure::{Scalar, Status, Tracts, mosaic_scalar, mosaic_status, tracts};
use fimbria_report::plot::{Axes, Axis, Cells, Marks, Sample, Series, histogram, matrix, xy};
use fimbria_report::{Layout, Page, Scene, SceneLines, Section, Table, Window, colour};
use fimbria_streamlines::{Column, Format, Tractogram};
use serde_json::{Value, json};

use super::scene::MOST_STICKS;
use super::sections;
use super::{ReportPage, methods_of_any};
use crate::stages::connectome::CONNECTOME_WRITES;
use crate::stages::field::FIELD_WRITES;
use crate::stages::life::LIFE_WRITES;
use crate::stages::peaks::PEAKS_WRITES;
use crate::stages::qsm::QSM_WRITES;
use crate::stages::sift2::SIFT2_WRITES;
use crate::stages::sticks::STICKS_WRITES;
use crate::stages::track::TRACK_WRITES;
use crate::{
    Input, Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, Taken, Written,
};

/// Draws the page of a finished folder, file by file.
pub struct JobPage {
    /// The folder.
    pub folder: PathBuf,
    /// Its record.
    pub record: RunRecord,
    /// Heading of the page.
    pub title: String,
    /// Its name.
    pub file_name: String,
}

/// Maps on a page.
const MOST_MAPS: usize = 16;
/// Rows of a table.
const MOST_ROWS: usize = 30;
/// Streamlines in the scene.
const MOST_LINES: usize = 6000;

impl Stage for JobPage {
    fn name(&self) -> &'static str {
        "report"
    }

    fn takes(&self) -> Vec<Taken> {
        Vec::new()
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<ReportPage>()]
    }

    fn inputs(&self) -> Vec<Input> {
        vec![("record".to_owned(), self.folder.join(OutputFolder::RECORD))]
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.title })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let page = log.session().on.workers.install(|| self.page())?;
        products.put(ReportPage(page.to_html()));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(&self.file_name, products.get::<ReportPage>()?.0.as_bytes())?)
    }
}

/// A map of the folder.
struct Map {
    name: String,
    unit: &'static str,
    /// What it holds.
    holds: &'static str,
    image: Image,
    mask: Mask,
}

impl JobPage {
    fn page(&self) -> Result<Page, StageError> {
        let names: Vec<&str> =
            self.record.outputs.iter().map(|output| output.file.as_str()).collect();
        let mut page = Page::new(&self.title)
            .subtitle(format!("what fimbria {} wrote", self.record.task))
            .footer(format!("fimbria {}", env!("CARGO_PKG_VERSION")));
        for warning in &self.record.warnings {
            page = page.warning(warning.clone());
        }
        for (name, value) in &self.record.results {
            if let Some(text) = number_of(value) {
                page = page.fact(name.replace('_', " "), text);
            }
        }
        let mut maps = Vec::new();
        let mut not_drawn = Vec::new();
        for name in names.iter().filter(|name| is_image(name)) {
            match self.map(name)? {
                Some(map) if maps.len() < MOST_MAPS => maps.push(map),
                _ => not_drawn.push((*name).to_owned()),
            }
        }
        maps.extend(background(&maps));
        let mut scene = Scene::default();
        for name in &names {
            let path = self.folder.join(name);
            if Format::of_name(&path).is_ok() {
                page = page.section(self.streamlines(name, &path, &maps, &mut scene)?);
            }
        }
        if !maps.is_empty() {
            let mut section = Section::new("Maps");
            for map in &maps {
                section = section.figure(drawn(map)?, sentence(map.holds));
                scene.map(&map.name, map.unit, &map.image, &map.mask, window_of(&map.name))?;
            }
            if !not_drawn.is_empty() {
                section = section.text(format!("Not drawn in slices: {}.", not_drawn.join(", ")));
            }
            page = page.section(section);
        }
        if let Some(name) = not_drawn.iter().find(|name| stem(name) == "peaks") {
            let peaks = read_image(self.folder.join(name))?;
            let everywhere = Mask::full(peaks.grid);
            scene.sticks("Fibre directions", &peaks, &everywhere, MOST_STICKS)?;
        }
        for section in self.tables(&names)? {
            page = page.section(section);
        }
        let methods = methods_of_any(std::slice::from_ref(&self.record));
        if !methods.is_empty() {
            page = page.section(sections::Methods::section(methods));
        }
        page = page.section(sections::record::record(std::slice::from_ref(&self.record)));
        Ok(page.scene(scene))
    }

    /// A map with one volume, where it has values; `None` of what slices do not show.
    fn map(&self, name: &str) -> Result<Option<Map>, StageError> {
        let image = read_image(self.folder.join(name))?;
        if image.n_volumes != 1 {
            return Ok(None);
        }
        let is_there = |value: &&f32| value.is_finite() && **value != 0.0;
        let there = image.data.iter().enumerate().filter(|(_, value)| is_there(value));
        let voxels: Vec<u32> = there.map(|(voxel, _)| voxel as u32).collect();
        if voxels.is_empty() {
            return Ok(None);
        }
        let stem = stem(name).to_owned();
        let mask = Mask { grid: image.grid, voxels };
        let written = writes_of(&self.record.task).iter().find(|written| written.file == stem);
        let (unit, holds) = written.map_or(("", ""), |written| (written.unit, written.holds));
        Ok(Some(Map { name: stem, unit, holds, image, mask }))
    }

    fn streamlines(
        &self,
        name: &str,
        path: &Path,
        maps: &[Map],
        scene: &mut Scene,
    ) -> Result<Section, StageError> {
        let tractogram = Tractogram::read(path)?;
        let values = values_of(&tractogram);
        let lines = &tractogram.streamlines;
        let mut section = Section::new(format!("Streamlines: {name}"));
        let points = || (0..lines.len()).map(|line| lines.points(line));
        let behind = maps.iter().find(|map| map.name == "visits").or_else(|| maps.first());
        match behind {
            Some(map) => {
                let heading = format!("Streamlines over {}", map.name);
                let figure = tracts(points(), &map.image, &map.mask, &Tracts::new(&heading))?;
                let caption = format!(
                    "Within half a voxel of the middle slices, each piece in the colour of its direction; {} \
                     streamlines in all.",
                    lines.len()
                );
                section = section.figure(figure, caption);
                let shown = SceneLines {
                    grid: map.image.grid,
                    lines: points().collect(),
                    values: values.iter().map(|(name, values)| (*name, &values[..])).collect(),
                };
                scene.lines(name, &shown, MOST_LINES);
            }
            None => section = section.text("There is no map to draw them over."),
        }
        let lengths: Vec<f64> = points().map(length_mm).collect();
        if !lengths.is_empty() {
            let axes = Axes {
                heading: "Lengths",
                x: Axis::new("length", "mm"),
                y: Axis::new("share of streamlines", "%"),
                ..Axes::default()
            };
            let sample = [Sample { name: "streamlines", values: &lengths }];
            section = section.figure(histogram(&sample, 50, &axes), "");
        }
        let counts = self.record.stages.iter().flat_map(|stage| &stage.counts);
        let ends: Vec<(&str, u64)> = counts
            .filter_map(|(what, count)| Some((what.strip_prefix("ends: ")?, *count)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let all: u64 = ends.iter().map(|(_, count)| count).sum();
        if all == 0 {
            return Ok(section);
        }
        Ok(section.table(Table {
            caption: "Why they ended: halves of all that were started.".to_owned(),
            columns: ["", "halves", "%"].map(str::to_owned).to_vec(),
            rows: ends
                .iter()
                .map(|(why, count)| {
                    let share = format!("{:.1}", 100.0 * *count as f64 / all as f64);
                    vec![(*why).to_owned(), count.to_string(), share]
                })
                .collect(),
        }))
    }

    fn tables(&self, names: &[&str]) -> Result<Vec<Section>, StageError> {
        let read = |name: &str| fimbria_image::read_regular_text(self.folder.join(name));
        let mut sections = Vec::new();
        for name in names {
            if name.ends_with(".csv") {
                sections.push(connections(name, &read(name)?));
            } else if name.ends_with("weights.txt") {
                let weights: Vec<f64> =
                    read(name)?.lines().filter_map(|line| line.trim().parse().ok()).collect();
                sections.push(weights_of(name, &weights));
            } else if *name == "iterations.tsv" {
                sections.push(convergence(&read(name)?));
            } else if *name == "profile.tsv" {
                sections.push(profile(&read(name)?));
            } else if name.ends_with(".tsv") {
                sections.push(Section::new(table_heading(name)).table(table(&read(name)?)));
            }
        }
        Ok(sections)
    }
}

/// What a command says of its files.
fn writes_of(task: &str) -> &'static [Written] {
    match task {
        "connectome" => CONNECTOME_WRITES,
        "field" => FIELD_WRITES,
        "life" => LIFE_WRITES,
        "peaks" => PEAKS_WRITES,
        "qsm" => QSM_WRITES,
        "sift2" => SIFT2_WRITES,
        "sticks" => STICKS_WRITES,
        "track" => TRACK_WRITES,
        _ => &[],
    }
}

/// The field that was taken away, where a folder has the field with it and without.
fn background(maps: &[Map]) -> Option<Map> {
    let of = |name: &str| maps.iter().find(|map| map.name == name);
    let (total, local) = (of("total_field")?, of("local_field")?);
    let mut image = Image::zeros(local.image.grid, 1);
    for &voxel in &local.mask.voxels {
        let voxel = voxel as usize;
        image.data[voxel] = total.image.data.get(voxel)? - local.image.data[voxel];
    }
    Some(Map {
        name: "background_field".to_owned(),
        unit: local.unit,
        holds: "total_field less local_field: smooth, and largest near air, where it was removed well",
        image,
        mask: local.mask.clone(),
    })
}

/// The name without its extensions.
fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// What colours streamlines, as far as their file has it: their weight, and the number of their group from 1.
fn values_of(tractogram: &Tractogram) -> Vec<(&'static str, Vec<f32>)> {
    let mut values = Vec::new();
    let columns = tractogram.streamlines.per_streamline();
    let is_weight =
        |column: &&Column| column.kind.width == 1 && column.kind.name.contains("weight");
    if let Some(weights) = columns.iter().find(is_weight) {
        values.push(("weight", weights.values().map(|weight| weight as f32).collect()));
    }
    if !tractogram.header.groups.is_empty() {
        let mut bundles = vec![0.0; tractogram.streamlines.len()];
        for (number, group) in tractogram.header.groups.iter().enumerate() {
            for &member in &group.members {
                if let Some(bundle) = bundles.get_mut(member as usize) {
                    *bundle = (number + 1) as f32;
                }
            }
        }
        values.push(("bundle", bundles));
    }
    values
}

/// The words with a capital and a full stop; nothing of nothing.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// What a table is called on the page.
fn table_heading(name: &str) -> String {
    match name {
        "evidence.tsv" => "Errors without and with streamlines".to_owned(),
        _ => name.to_owned(),
    }
}

fn is_image(name: &str) -> bool {
    [".nii.gz", ".nii", ".mif", ".mif.gz"].iter().any(|end| name.ends_with(end))
}

/// A number or a word of a record.
fn number_of(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Bool(is) => Some(if *is { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

fn window_of(name: &str) -> Window {
    match name {
        "FA" | "KFA" => Window::Fixed([0.0, 1.0]),
        "MK" | "AK" | "RK" | "MSK" => Window::Fixed([0.0, 2.0]),
        "chi" | "local_field" | "total_field" | "background_field" | "z" | "msa" => {
            Window::Symmetric
        }
        _ => Window::Robust,
    }
}

fn drawn(map: &Map) -> Result<fimbria_report::Figure, StageError> {
    let Map { name, unit, image, mask, .. } = map;
    if name.ends_with("status") {
        let categories = &sections::STATUS;
        let style = Status { heading: name, categories, layout: Layout::default() };
        return Ok(mosaic_status(image, mask, &style)?);
    }
    let window = window_of(name);
    let scale = match (name.as_str(), window) {
        ("z", _) => colour::Scale::Difference,
        (_, Window::Symmetric) => colour::Scale::Grey,
        _ if name.contains("rmse") || name == "residual" || name == "visits" => {
            colour::Scale::Ember
        }
        _ => colour::Scale::Grey,
    };
    Ok(mosaic_scalar(image, mask, &Scalar { scale, window, ..Scalar::new(name, unit) })?)
}

fn length_mm(line: &[[f32; 3]]) -> f64 {
    let steps = line.windows(2);
    let step = |pair: &[[f32; 3]]| {
        let square: f32 = (0..3).map(|axis| (pair[1][axis] - pair[0][axis]).powi(2)).sum();
        f64::from(square.sqrt())
    };
    steps.map(step).sum()
}

fn connections(name: &str, text: &str) -> Section {
    let row = |line: &str| line.split(',').map(|cell| cell.trim().parse().ok()).collect();
    let rows: Vec<Vec<Option<f64>>> = text.lines().map(row).collect();
    let counted = name.contains("weights") || name.contains("count");
    // Of counts a few are so large that no others would be seen.
    let shown: Vec<Vec<Option<f64>>> = match counted {
        true => rows.iter().map(|row| row.iter().map(|x| x.map(|x| x.ln_1p())).collect()).collect(),
        false => rows,
    };
    let largest = shown.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let cells = Cells {
        rows: &shown,
        label: if counted { "ln(1 + value)" } else { "value" },
        unit: "",
        scale: colour::Scale::Lagoon,
        range: [0.0, largest.max(1e-9)],
        aspect: 1.0,
    };
    let axes = Axes {
        heading: name,
        x: Axis::new("label, by its row in labels.txt from 0", ""),
        y: Axis::new("label", ""),
        ..Axes::default()
    };
    Section::new(format!("Matrix: {name}")).figure(matrix(&cells, &axes), "")
}

fn weights_of(name: &str, weights: &[f64]) -> Section {
    let positive: Vec<f64> = weights.iter().filter(|w| **w > 0.0).map(|w| w.log10()).collect();
    let axes = Axes {
        heading: "Weights of streamlines",
        x: Axis::new("log₁₀ weight", ""),
        y: Axis::new("share", "%"),
        ..Axes::default()
    };
    let sample = [Sample { name: "streamlines", values: &positive }];
    let caption =
        format!("{} of {} streamlines have a weight above zero.", positive.len(), weights.len());
    Section::new(format!("Weights: {name}")).figure(histogram(&sample, 40, &axes), caption)
}

/// How an iteration went, by its columns.
fn convergence(text: &str) -> Section {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split('\t').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect())
        .collect();
    let curve = |column: usize| -> Vec<[f64; 2]> {
        let point = |row: &Vec<f64>| [row[0], row.get(column).copied().unwrap_or(f64::NAN).log10()];
        rows.iter().filter(|row| !row.is_empty()).map(point).collect()
    };
    let mut figures = Vec::new();
    for (column, head) in heads.iter().enumerate().skip(1) {
        let points = curve(column);
        let heading = head.replace('_', " ");
        let label = format!("log₁₀ {heading}");
        let axes = Axes {
            heading: &heading,
            x: Axis::new("iteration", ""),
            y: Axis::new(&label, ""),
            ..Axes::default()
        };
        let series = [Series { name: &heading, points: &points, marks: Marks::Line }];
        figures.push((xy(&series, &axes), String::new()));
    }
    Section::new("Convergence").figures(figures)
}

/// Maps along a bundle, by the columns NAME_mean and NAME_sd.
fn profile(text: &str) -> Section {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split('\t').map(number).collect()).collect();
    let column = |name: &str| heads.iter().position(|head| *head == name);
    let mut section = Section::new("Along the bundle");
    for name in heads.iter().filter_map(|head| head.strip_suffix("_mean")) {
        let (mean, sd) = (column(&format!("{name}_mean")), column(&format!("{name}_sd")));
        let (Some(mean), Some(sd)) = (mean, sd) else { continue };
        let curve = |by: f64| -> Vec<[f64; 2]> {
            let complete = rows.iter().filter(|row| row.len() == heads.len());
            complete.map(|row| [row[0], row[mean] + by * row[sd]]).collect()
        };
        let (middle, above, below) = (curve(0.0), curve(1.0), curve(-1.0));
        let line = |name, points| Series { name, points, marks: Marks::Line };
        let series = [
            line("mean", &middle[..]),
            line("mean + 1 sd", &above[..]),
            line("mean − 1 sd", &below[..]),
        ];
        let axes = Axes {
            heading: name,
            x: Axis::new("point along the bundle", ""),
            y: Axis::new(name, ""),
            ..Axes::default()
        };
        let caption = "Streamlines near the core count for more; sd is that of streamlines.";
        section = section.figure(xy(&series, &axes), caption);
    }
    section
}

fn table(text: &str) -> Table {
    let mut lines = text.lines();
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let columns = cells(lines.next().unwrap_or_default());
    let all: Vec<_> = lines.map(cells).collect();
    let caption = match all.len() {
        n if n > MOST_ROWS => format!("The first {MOST_ROWS} of {n} rows."),
        _ => String::new(),
    };
    Table { caption, columns, rows: all.into_iter().take(MOST_ROWS).collect() }
}

#[cfg(test)]
mod tests {
    use fimbria_streamlines::{Group, Streamlines};

    use super::*;

    #[test]
    fn streamlines_are_coloured_by_the_weights_and_groups_of_their_file() {
        let mut lines = Streamlines::default();
        for x in [0.0, 1.0, 2.0] {
            lines.push(&[[x, 0.0, 0.0], [x, 5.0, 0.0]]);
        }
        assert!(
            values_of(&Tractogram { streamlines: lines.clone(), ..Tractogram::default() })
                .is_empty()
        );
        lines.add_per_streamline(Column::from_f32("life_weight", 1, &[0.5, 0.0, 2.0]));
        let mut tractogram = Tractogram::new(Default::default(), lines);
        let group = |name: &str, members| Group { name: name.into(), members, data: Vec::new() };
        tractogram.header.groups = vec![group("left", vec![2]), group("right", vec![0])];
        let expected = vec![("weight", vec![0.5, 0.0, 2.0]), ("bundle", vec![2.0, 0.0, 1.0])];
        assert_eq!(values_of(&tractogram), expected);
    }
}
