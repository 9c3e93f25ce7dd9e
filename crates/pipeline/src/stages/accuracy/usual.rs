//! What the programs that people use make of the demo's head.

use std::collections::BTreeMap;

use fimbria_phantoms::closeness::Closeness;

/// Made by `benches/rivals/demo.py`: quantity, unit, program, number, median, 95th percentile.
const TABLE: &str = include_str!("usual.tsv");

/// The quantity whose number of voxels tells the head of the demo's defaults from others.
const TELLTALE: &str = "FA, white matter";

/// The errors of one of these programs.
pub(super) struct Usual {
    pub(super) program: &'static str,
    pub(super) median: f64,
    pub(super) percentile_95: f64,
}

/// By quantity; empty where `rows` are not of the head that the table is of.
pub(super) fn beside(rows: &[Closeness]) -> BTreeMap<&'static str, Usual> {
    let mut usual = BTreeMap::new();
    for line in TABLE.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [quantity, _, program, number, median, percentile_95] = cells[..] else { continue };
        let is_other =
            |row: &Closeness| row.quantity == TELLTALE && row.voxels.to_string() != number;
        if quantity == TELLTALE && rows.iter().any(is_other) {
            return BTreeMap::new();
        }
        if let (Ok(median), Ok(percentile_95)) = (median.parse(), percentile_95.parse()) {
            usual.insert(quantity, Usual { program, median, percentile_95 });
        }
    }
    usual
}
