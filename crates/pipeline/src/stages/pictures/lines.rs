//! What is said of any streamlines: how long they are, why they ended, what colours them.

use fimbria_report::plot::{Axes, Axis, Sample, histogram};
use fimbria_report::{Figure, Table};
use fimbria_streamlines::{Column, Streamlines, Tractogram};

use crate::RunRecord;

/// How many streamlines there are of each length; `None` of none.
pub(in crate::stages) fn lengths(lines: &Streamlines) -> Option<Figure> {
    let lengths: Vec<f64> = (0..lines.len()).map(|line| length_mm(lines.points(line))).collect();
    let axes = Axes {
        heading: "Lengths",
        x: Axis::new("length", "mm"),
        y: Axis::new("share of streamlines", "%"),
        ..Axes::default()
    };
    let sample = [Sample { name: "streamlines", values: &lengths }];
    (!lengths.is_empty()).then(|| histogram(&sample, 50, &axes))
}

fn length_mm(line: &[[f32; 3]]) -> f64 {
    let steps = line.windows(2);
    let step = |pair: &[[f32; 3]]| {
        let square: f32 = (0..3).map(|axis| (pair[1][axis] - pair[0][axis]).powi(2)).sum();
        f64::from(square.sqrt())
    };
    steps.map(step).sum()
}

/// Why streamlines ended, by what tracking counted; `None` where nothing was tracked.
pub(in crate::stages) fn ends(records: &[RunRecord]) -> Option<Table> {
    let counts = records.iter().flat_map(|r| &r.stages).flat_map(|stage| &stage.counts);
    let ends: Vec<(&str, u64)> = counts
        .filter_map(|(what, count)| Some((what.strip_prefix("ends: ")?, *count)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let all: u64 = ends.iter().map(|(_, count)| count).sum();
    let row = |(why, count): &(&str, u64)| {
        let share = format!("{:.1}", 100.0 * *count as f64 / all as f64);
        vec![(*why).to_owned(), count.to_string(), share]
    };
    (all > 0).then(|| Table {
        caption: "Why they ended: halves of all that were started.".to_owned(),
        columns: ["", "halves", "%"].map(str::to_owned).to_vec(),
        rows: ends.iter().map(row).collect(),
    })
}

/// What colours streamlines, as far as they have it: their weight, and the number of their group from 1.
pub(in crate::stages) fn values_of(tractogram: &Tractogram) -> Vec<(&'static str, Vec<f32>)> {
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

#[cfg(test)]
mod tests {
    use fimbria_streamlines::Group;

    use super::*;

    #[test]
    fn streamlines_are_coloured_by_the_weights_and_groups_of_their_file() {
        let mut lines = Streamlines::default();
        for x in [0.0, 1.0, 2.0] {
            lines.push(&[[x, 0.0, 0.0], [x, 5.0, 0.0]]);
        }
        let plain = Tractogram { streamlines: lines.clone(), ..Tractogram::default() };
        assert!(values_of(&plain).is_empty());
        lines.add_per_streamline(Column::from_f32("life_weight", 1, &[0.5, 0.0, 2.0]));
        let mut tractogram = Tractogram::new(Default::default(), lines);
        let group = |name: &str, members| Group { name: name.into(), members, data: Vec::new() };
        tractogram.header.groups = vec![group("left", vec![2]), group("right", vec![0])];
        let expected = vec![("weight", vec![0.5, 0.0, 2.0]), ("bundle", vec![2.0, 0.0, 1.0])];
        assert_eq!(values_of(&tractogram), expected);
    }

    #[test]
    fn a_line_is_as_long_as_its_steps() {
        assert_eq!(length_mm(&[[0.0; 3], [3.0, 4.0, 0.0], [3.0, 4.0, 12.0]]), 17.0);
    }
}
