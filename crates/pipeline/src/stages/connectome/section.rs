//! What joins which regions.

use std::path::Path;

use fimbria_image::{Image, read_image};
use fimbria_report::plot::{Axes, Axis, Cells, matrix};
use fimbria_report::{Figure, Section, colour};
use fimbria_streamlines::Streamlines;
use fimbria_workflow::unchanged;

use super::Connections;
use crate::{RunRecord, StageError};

/// Numbers by label and label; cells of a file that are no numbers are `None`.
pub(in crate::stages) type Rows = Vec<Vec<Option<f64>>>;

/// The matrices of a run, by their files.
pub(in crate::stages) struct Matrices {
    /// Streamlines with a label at both ends, and all.
    assigned_of_total: [u64; 2],
    /// The name of each, and the matrix.
    matrices: Vec<(String, Rows)>,
    /// What the labels are called, where that is known.
    names: Vec<String>,
    /// Where the labels are, as far as that is known.
    pub(in crate::stages) regions: Option<Image>,
}

impl Matrices {
    /// Those of streamlines that were just counted.
    pub(in crate::stages) fn from_connections(found: &Connections) -> Self {
        let Connections { connectome, labels, regions, names, .. } = found;
        let (assigned, total) = connectome.assigned_of_total();
        let n = labels.len().max(1);
        let rows = |values: Vec<f64>| -> Rows {
            values.chunks(n).map(|row| row.iter().copied().map(Some).collect()).collect()
        };
        Self {
            assigned_of_total: [assigned, total],
            matrices: vec![
                ("weights.csv".to_owned(), rows(connectome.weights())),
                ("lengths.csv".to_owned(), rows(connectome.lengths_mm())),
            ],
            names: names.clone().unwrap_or_default(),
            regions: Some(regions.clone()),
        }
    }

    /// Those of a folder.
    pub(in crate::stages) fn read(folder: &Path, record: &RunRecord) -> Result<Self, StageError> {
        let count = |what: &str| {
            let counts = record.stages.iter().filter_map(|stage| stage.counts.get(what));
            counts.sum()
        };
        let files = record.outputs.iter().map(|output| &output.file);
        let mut matrices = Vec::new();
        for name in files.filter(|name| name.ends_with(".csv")) {
            let text = fimbria_image::read_regular_text(folder.join(name))?;
            matrices.push((name.clone(), rows_of(&text)));
        }
        let file = |name: &str| record.outputs.iter().any(|output| output.file == name);
        let names = match file("labels.tsv") {
            true => named_regions(&fimbria_image::read_regular_text(folder.join("labels.tsv"))?),
            false => Vec::new(),
        };
        let regions = unchanged(record, "labels").and_then(|path| read_image(path).ok());
        let assigned_of_total = [count("assigned"), count("streamlines")];
        Ok(Self { assigned_of_total, matrices, names, regions })
    }

    pub(in crate::stages) fn section(&self) -> Section {
        let [assigned, total] = self.assigned_of_total;
        let mut section = Section::new("Connectome").text(format!(
            "{assigned} of {total} streamlines have a label at both ends. A row and a column for each label, \
             in the order of labels.txt, from 0."
        ));
        for (name, rows) in &self.matrices {
            section = section.figure(of_rows(name, rows, &self.names), meaning(name, rows)).fold();
        }
        section
    }
}

/// A matrix of a file.
pub(in crate::stages) fn rows_of(text: &str) -> Rows {
    let row = |line: &str| line.split(',').map(|cell| cell.trim().parse().ok()).collect();
    text.lines().map(row).collect()
}

/// The second column of a table with a heading.
pub(in crate::stages) fn named_regions(text: &str) -> Vec<String> {
    let name = |line: &str| line.split('\t').nth(1).unwrap_or_default().to_owned();
    text.lines().skip(1).map(name).collect()
}

/// What stands below a matrix.
pub(in crate::stages) fn meaning(name: &str, rows: &Rows) -> String {
    let above = rows.iter().enumerate().flat_map(|(at, row)| row.iter().skip(at));
    let joined = above.flatten().filter(|value| **value > 0.0).count();
    let what = match name {
        "weights.csv" => "Number of streamlines, or the sum of their weights.",
        "counts.csv" => "Number of streamlines.",
        "matrix_weights.csv" => "Sum of the weights of streamlines.",
        "matrix_count.csv" => "Number of streamlines with weight.",
        "matrix_mean.csv" => "Mean weight of streamlines.",
        _ if name.contains("lengths") => "Length of streamlines, mm; 0 where there are none.",
        _ => "",
    };
    format!("{what} {joined} pairs have a value above zero.").trim_start().to_owned()
}

/// For each streamline which pair of labels it joins: pairs are counted from 1, the most frequent first; 0
/// where an end has none.
pub(in crate::stages) fn pairs(found: &Connections, lines: &Streamlines) -> Vec<f32> {
    let pair = |line: usize| {
        let (mut first, of) = (None, found.nodes.assigned(lines.points(line)));
        of.pairs(|a, b| first = first.or(Some((a, b))));
        first
    };
    let of_line: Vec<_> = (0..lines.len()).map(pair).collect();
    let mut counts = std::collections::BTreeMap::new();
    of_line.iter().flatten().for_each(|pair| *counts.entry(*pair).or_insert(0_usize) += 1);
    let mut order: Vec<_> = counts.into_iter().collect();
    order.sort_by_key(|(pair, count)| (std::cmp::Reverse(*count), *pair));
    let place: std::collections::BTreeMap<_, _> =
        order.into_iter().zip(1_u32..).map(|((pair, _), place)| (pair, place as f32)).collect();
    let number = |pair: &Option<_>| pair.and_then(|pair| place.get(&pair).copied()).unwrap_or(0.0);
    of_line.iter().map(number).collect()
}

/// A square matrix of labels. Of counts a few are so large that no others would be seen: these are shown by
/// their logarithm.
pub(in crate::stages) fn of_rows(name: &str, rows: &Rows, regions: &[String]) -> Figure {
    let is_counted = name.contains("weights") || name.contains("count");
    let unit = if name.contains("lengths") { "mm" } else { "" };
    let shown = |x: &Option<f64>| x.map(|x| if is_counted { x.ln_1p() } else { x });
    let shown: Rows = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let largest = shown.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let cells = Cells {
        rows: &shown,
        label: if is_counted { "ln(1 + value)" } else { "value" },
        unit,
        scale: colour::Scale::Lagoon,
        range: [0.0, largest.max(1e-9)],
        aspect: 1.0,
        names: regions,
    };
    let axes = Axes {
        heading: name,
        x: Axis::new("label, by its row in labels.txt from 0", ""),
        y: Axis::new("label", ""),
        ..Axes::default()
    };
    matrix(&cells, &axes)
}
