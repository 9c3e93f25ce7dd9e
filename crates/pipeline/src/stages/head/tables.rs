//! The tables of a head, and its streamlines by bundle.

use fimbria_phantoms::head::{Dropped, Faulty, Head, HeadBundle, Pose};
use fimbria_streamlines::{Group, Header, Streamlines, Tractogram};

/// A row for each volume.
pub(super) fn poses(faults: &Faulty) -> String {
    let rows: String = faults.poses.iter().map(|pose| format!("{}\n", pose_row(pose))).collect();
    format!("{POSE_COLUMNS}\n{rows}")
}

/// As fMRIPrep and QSIPrep name them.
pub(crate) const POSE_COLUMNS: &str = "trans_x\ttrans_y\ttrans_z\trot_x\trot_y\trot_z";

/// Along the scanner's axes in mm, about them in radians.
pub(crate) fn pose_numbers(pose: &Pose) -> [f64; 6] {
    let Pose { moved_mm: [x, y, z], turned_deg } = *pose;
    let [a, b, c] = turned_deg.map(f64::to_radians);
    [x, y, z, a, b, c]
}

/// The numbers under [`POSE_COLUMNS`].
pub(crate) fn pose_row(pose: &Pose) -> String {
    pose_numbers(pose).map(|number| format!("{number:.6}")).join("\t")
}

/// What is in a `.bshape`.
pub(crate) fn shapes_line(shapes: &[f64]) -> String {
    let words: Vec<_> = shapes.iter().map(f64::to_string).collect();
    format!("{}\n", words.join(" "))
}

pub(super) fn dropped(faults: &Faulty) -> String {
    let line = |d: &Dropped| format!("{}\t{}\t{:.4}\n", d.volume, d.slice, d.left);
    let lines: String = faults.dropped.iter().map(line).collect();
    format!("volume\tslice\tleft\n{lines}")
}

/// The numbers of the bundles, their names and how many streamlines each has.
pub(super) fn numbered(bundles: &[HeadBundle]) -> String {
    let line =
        |(i, b): (usize, &HeadBundle)| format!("{} {} {}\n", i + 1, b.name, b.streamlines.len());
    let mut text: String = bundles.iter().enumerate().map(line).collect();
    text += &format!("{} none 0\n", bundles.len() + 1);
    text
}

/// All streamlines, each bundle a group.
pub(super) fn grouped(made: &Head) -> Tractogram {
    let mut header = Header::on(made.labels.grid);
    let mut lines = Streamlines::default();
    for bundle in &made.bundles {
        let first = lines.len() as u32;
        bundle.streamlines.iter().for_each(|line| lines.push(line));
        let members = (first..lines.len() as u32).collect();
        header.groups.push(Group { name: bundle.name.clone(), members, data: Vec::new() });
    }
    Tractogram::new(header, lines)
}
