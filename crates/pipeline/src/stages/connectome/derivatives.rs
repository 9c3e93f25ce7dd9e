//! Matrices among derivatives of BIDS.

use std::path::Path;

use fimbria_streamlines::connectome::{NamesError, RegionNames};
use serde_json::{Value, json};

use crate::derivatives::alphanumeric;
use crate::{DerivativeNames, Derivatives, Derived, Source};

pub(super) const DERIVATIVES: Derivatives = Derivatives {
    sources: &[Source::Series, Source::Mask, Source::Labels, Source::Tissues],
    by_labels: true,
    place,
    describe: |file| file.file.ends_with(".csv").then(|| matrix(file)),
    ..Derivatives::FROM_SERIES
};

/// What edges count is said by the name, not by the folder.
fn measure<'a>(file: &'a Derived<'_>) -> &'a str {
    match file.stem() {
        "weights" if file.parameters["weights"] == "sift2" => "sift2",
        "weights" | "counts" => "count",
        "lengths" => "length",
        other => other,
    }
}

fn place(file: &Derived<'_>, names: &DerivativeNames) -> String {
    if file.stem() == "assignments" {
        return names.beside_labels("desc-labels_assignments", file.extension());
    }
    if file.stem() == "labels" {
        return names.beside_labels("meas-count_relmat.nodes", file.extension());
    }
    let measure = alphanumeric(measure(file));
    let extension = if file.extension() == "csv" { "tsv" } else { file.extension() };
    names.beside_labels(&format!("meas-{measure}_relmat"), extension)
}

fn matrix(file: &Derived<'_>) -> Value {
    let labels = std::fs::read_to_string(file.folder.join("labels.txt")).unwrap_or_default();
    let nodes: Vec<u32> = labels.lines().filter_map(|line| line.parse().ok()).collect();
    let of_edge = match file.parameters["of_edge"].as_str() {
        Some("sum") => "(weighted) sum of",
        Some("min") => "least of",
        Some("max") => "largest of",
        _ => "(weighted) mean of",
    };
    let (what, units) = match measure(file) {
        "count" => ("number of streamlines".to_owned(), "arbitrary"),
        "sift2" => ("sum of SIFT2's weights of the streamlines".to_owned(), "arbitrary"),
        "length" => (format!("{of_edge} the lengths of the streamlines"), "mm"),
        _ => (format!("{of_edge} the means of a map along the streamlines"), "arbitrary"),
    };
    json!({
        "Description": format!(
            "{what} between two labels: a row and a column for each of Nodes, no heading"
        ),
        "Units": units,
        "Nodes": nodes,
        "NodeNames": file.label_names.and_then(|table| names_in(table, &nodes)),
        "Parameters": file.parameters,
    })
}

/// What a table calls these labels, in their order, `n/a` where it does not say; `None` where it is no such
/// table.
fn names_in(table: &Path, labels: &[u32]) -> Option<Vec<String>> {
    let names = match RegionNames::read(table) {
        Ok(names) => names,
        Err(NamesError::Empty(_)) => RegionNames::default(),
        Err(_) => return None,
    };
    Some(labels.iter().map(|&label| names.name(label).unwrap_or("n/a").to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_called_what_a_table_says_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dseg.tsv");
        let names_in = |table: &str, labels: &[u32]| {
            std::fs::write(&path, table).unwrap();
            names_in(&path, labels)
        };
        let table = "index\tname\tcolor\n3\tright, half\t#fff\n1\tleft half\t#000\n";
        assert_eq!(names_in(table, &[1, 2, 3]).unwrap(), ["left half", "n/a", "right, half"]);
        let of_qsirecon = "index\tlabel\tnetwork\r\n1\tLH_Vis_1\tVis\r\n";
        assert_eq!(names_in(of_qsirecon, &[1]).unwrap(), ["LH_Vis_1"]);
        assert_eq!(names_in("name\tindex\n", &[1]).unwrap(), ["n/a"]);
        assert_eq!(names_in("a\tb\n1\tx\n", &[1]), None);
    }
}
