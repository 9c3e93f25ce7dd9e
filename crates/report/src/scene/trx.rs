//! Streamlines as a TRX file in memory, which NiiVue reads: coordinates of 16 bits, on a tenth of a
//! millimetre within 200 mm.

use std::io::{Cursor, Write as _};

use fimbria_image::Grid;
use half::f16;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Streamlines to show.
#[derive(Clone, Debug)]
pub struct SceneLines<'a> {
    /// The grid that they belong to.
    pub grid: Grid,
    /// Points of each, scanner mm.
    pub lines: Vec<&'a [[f32; 3]]>,
    /// Values of every streamline to colour them by.
    pub values: Vec<(&'static str, &'a [f32])>,
}

/// Two points of a streamline that are shown are this far apart or more.
const APART_MM: f32 = 2.0;

/// The file, and how many streamlines it has.
pub(super) fn file(lines: &SceneLines<'_>, most: usize) -> (Vec<u8>, usize) {
    let stride = lines.lines.len().div_ceil(most.max(1)).max(1);
    let shown: Vec<usize> = (0..lines.lines.len())
        .step_by(stride)
        .filter(|line| lines.lines[*line].len() > 1)
        .collect();
    let (mut positions, mut offsets) = (Vec::new(), vec![0_u32]);
    for &line in &shown {
        thinned(lines.lines[line], |point| {
            positions.extend(point.map(f16::from_f32).into_iter().flat_map(f16::to_le_bytes));
        });
        offsets.push((positions.len() / 6) as u32);
    }
    let rows: Vec<String> = (lines.grid.ras_from_vox.0.iter())
        .map(|row| format!("[{}]", row.map(|x| x.to_string()).join(",")))
        .collect();
    let header = format!(
        "{{\"DIMENSIONS\":[{}],\"VOXEL_TO_RASMM\":[{},[0,0,0,1]],\"NB_VERTICES\":{},\"NB_STREAMLINES\":{}}}",
        lines.grid.dims.map(|n| n.to_string()).join(","),
        rows.join(","),
        positions.len() / 6,
        shown.len()
    );
    let offsets: Vec<u8> = offsets.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut parts = vec![
        ("header.json".to_owned(), header.into_bytes()),
        ("positions.3.float16".to_owned(), positions),
        ("offsets.uint32".to_owned(), offsets),
    ];
    for (name, values) in &lines.values {
        let of = shown.iter().map(|line| values.get(*line).copied().unwrap_or(0.0));
        parts.push((format!("dps/{name}.float32"), of.flat_map(f32::to_le_bytes).collect()));
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        let written = archive.start_file(name, options).map(|()| archive.write_all(&bytes));
        written.expect("names are new").expect("memory takes any bytes");
    }
    let archive = archive.finish().expect("memory takes any bytes");
    (archive.into_inner(), shown.len())
}

/// The first and last point, and of those between what is far enough from the one before.
fn thinned(line: &[[f32; 3]], mut each: impl FnMut([f32; 3])) {
    let Some((&last, before)) = line.split_last() else { return };
    let mut from: Option<[f32; 3]> = None;
    for &point in before {
        let far = |from: [f32; 3]| {
            (0..3).map(|a| (point[a] - from[a]).powi(2)).sum::<f32>() >= APART_MM * APART_MM
        };
        if from.is_none_or(far) {
            each(point);
            from = Some(point);
        }
    }
    each(last);
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    #[test]
    fn ends_stay_and_points_between_are_thinned() {
        let line: Vec<[f32; 3]> = (0..=50).map(|i| [0.5 * i as f32, 10.0, -3.0]).collect();
        let mut kept = Vec::new();
        thinned(&line, |point| kept.push(point));
        assert_eq!((kept[0], *kept.last().unwrap()), (line[0], line[50]));
        assert_eq!(kept.len(), 14);
    }

    #[test]
    fn the_archive_holds_what_trx_asks_for() {
        let grid = Grid { dims: [9, 9, 9], ras_from_vox: Affine::IDENTITY };
        let (a, b) = ([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]], [[1.0, 1.0, 1.0], [1.0, 9.0, 1.0]]);
        let weights = [0.5, 2.0];
        let lines = SceneLines { grid, lines: vec![&a, &b], values: vec![("weight", &weights)] };
        let (file, shown) = file(&lines, 10);
        assert_eq!(shown, 2);
        let mut archive = zip::ZipArchive::new(Cursor::new(file)).unwrap();
        let mut size = |name: &str| archive.by_name(name).unwrap().size();
        assert_eq!(size("positions.3.float16"), 4 * 6);
        assert_eq!(size("offsets.uint32"), 3 * 4);
        assert_eq!(size("dps/weight.float32"), 2 * 4);
        assert!(size("header.json") > 40);
    }
}
