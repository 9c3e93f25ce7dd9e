//! Tractograms of nibabel are read as nibabel reads them, and ours by it.
//!
//! The other side is nibabel.py. Skipped, with a message, where python3 with nibabel is absent.

use std::path::Path;

use fimbria_image::{Affine, Datatype, Grid};
use fimbria_streamlines::{Header, Streamlines, Tractogram, WriteOptions, open};

fn nibabel(action: &str, folder: &Path) -> Option<String> {
    let mut python = fimbria_testing::python("nibabel")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nibabel.py");
    let output = python.arg(script).arg(action).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Lines of a file's name, whether its axes are permuted, and its points.
fn expected(text: &str) -> impl Iterator<Item = (&str, bool, Vec<f64>)> {
    text.lines().map(|line| {
        let mut words = line.split(' ');
        let (name, permuted) = (words.next().unwrap(), words.next().unwrap() == "True");
        (name, permuted, words.map(|word| word.parse().unwrap()).collect())
    })
}

/// Largest distance along an axis between the points of a file and those expected, in mm.
fn farthest(path: &Path, points: &[f64]) -> f64 {
    let read = Tractogram::read(path).unwrap();
    let ours = read.streamlines.positions().as_flattened();
    assert_eq!(ours.len(), points.len());
    ours.iter().zip(points).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

#[test]
fn every_voxel_order_puts_points_where_nibabel_puts_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(text) = nibabel("make", folder.path()) else { return };
    let (mut files, mut doubted) = (0, 0);
    for (name, permuted, points) in expected(&text) {
        let path = folder.path().join(name);
        // Coordinates of up to 300 mm in f32, through three maps in f64: 1e-4 is a few ulp.
        assert!(farthest(&path, &points) < 1e-4, "{name}");
        let is_doubted = !open(&path).unwrap().doubts().is_empty();
        assert!(permuted || !is_doubted, "{name}: only reversed, and doubted");
        doubted += usize::from(is_doubted);
        files += 1;
    }
    assert_eq!(files, 5 * 48);
    // Of 48 orders 8 permute nothing, and some swaps of two axes mean the same either way.
    assert!((5 * 30..=5 * 40).contains(&doubted), "{doubted}");
}

#[test]
fn files_of_trackvis_and_nibabel_are_read_as_nibabel_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    // Its own test files: standard.LPS.trk was written by TrackVis, the others by nibabel.
    let Some(text) = nibabel("own", folder.path()) else { return };
    let mut files = 0;
    for (path, _, points) in expected(&text) {
        assert!(farthest(Path::new(path), &points) < 1e-4, "{path}");
        files += 1;
    }
    assert!(files >= 4, "nibabel comes with test files");
}

#[test]
fn nibabel_reads_a_tck_of_double_precision_made_plain() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid { dims: [4, 5, 6], ras_from_vox: Affine::IDENTITY };
    let lines = Streamlines::from_parts(vec![0, 2], vec![[1.5, -2.25, 3.0], [2.5, 0.0, -1.0]]);
    let wide = WriteOptions { position_type: Some(Datatype::Float64), ..WriteOptions::default() };
    let trx = folder.path().join("wide.trx");
    Tractogram::new(Header::on(grid), lines).write(&trx, &wide).unwrap();
    let read = Tractogram::read(&trx).unwrap();
    read.write(folder.path().join("a.tck"), &WriteOptions::default()).unwrap();
    let Some(text) = nibabel("read", folder.path()) else { return };
    let (_, _, points) = expected(&text).next().unwrap();
    assert_eq!(points, [1.5, -2.25, 3.0, 2.5, 0.0, -1.0]);
}
