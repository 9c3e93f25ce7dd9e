use std::fs;

use super::*;
use crate::arrays::{ArrayWriter, ColumnKind};
use crate::{Affine, Datatype, SignalSource as _};

/// A grid of which no two sides are alike, seen from the right.
fn grid() -> Grid {
    let rows = [[-2.0, 0.0, 0.0, 5.0], [0.0, 2.0, 0.1, -3.0], [0.0, 0.0, 2.5, 1.0]];
    Grid { dims: [3, 4, 2], ras_from_vox: Affine(rows) }
}

/// Four fixels in three voxels, the second of which has none.
fn odx() -> Odx {
    let mask = Mask { grid: grid(), voxels: vec![1, 9, 17] };
    let dirs = vec![[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 0.6]];
    let fixels = Fixels::new(grid(), &[1, 9, 17], &[0, 1, 1, 4], dirs).unwrap();
    let rows: Vec<f32> = (0..3 * 15).map(|i| i as f32).collect();
    Odx::from_densities(&mask, 15, &rows, &fixels, &[("afd", &[1.0, 2.0, 3.0, 4.0])])
}

#[test]
fn an_archive_comes_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.odx");
    let mut written = odx();
    written.per_voxel.push(Column::from_f32("colour", 3, &[0.5; 9]));
    written.write(&path).unwrap();
    assert!(Odx::is_named(&path));
    assert_eq!(Odx::read(&path).unwrap(), written);
    let afd = ColumnKind::new("afd", Datatype::Float32);
    let listing = Listing { has_densities: true, per_fixel: vec![afd] };
    assert_eq!(Odx::listing(&path).unwrap(), listing);
}

#[test]
fn rows_follow_each_other_along_z_and_keep_their_voxels() {
    let mut odx = odx();
    // Of 1 = (1, 0, 0), 9 = (0, 3, 0) and 17 = (2, 1, 1).
    assert_eq!(odx.voxels, [9, 1, 17]);
    assert_eq!(odx.first, [0, 0, 1, 4]);
    let fixels = odx.fixels().unwrap();
    assert_eq!((fixels.of_voxel[1], fixels.of_voxel[17]), ([0, 1], [1, 3]));
    assert_eq!(odx.mask().voxels, [1, 9, 17]);
    let rows = MaskedRows::from_harmonics(&mut odx).unwrap();
    let mut gathered = vec![-1.0; 15 * 2];
    rows.gather(&[17, 2], 2, &mut gathered);
    assert_eq!(gathered[..4], [30.0, 0.0, 31.0, 0.0]);
}

#[test]
fn numbers_kept_in_few_bits_are_scaled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.odx");
    let mut zip = ArrayWriter::create_folder(&path).unwrap();
    let header = r#"{"VOXEL_TO_RASMM": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]],
        "DIMENSIONS": [2, 1, 1], "NB_VOXELS": 1, "NB_PEAKS": 0, "SH_BASIS": "descoteaux07",
        "ARRAY_QUANTIZATION": {"sh/coefficients": {"slope": 0.5, "intercept": -1.0, "stored_dtype": "uint8"}}}"#;
    zip.add("header.json", &mut header.as_bytes()).unwrap();
    zip.add("mask.uint8", &mut &[0_u8, 1][..]).unwrap();
    zip.add("sh/coefficients.6.uint8", &mut &[0_u8, 2, 4, 6, 8, 255][..]).unwrap();
    zip.close().unwrap();
    let read = Odx::read(&path).unwrap();
    let harmonics = read.harmonics.unwrap();
    assert_eq!((&*harmonics.basis, harmonics.legacy), (DESCOTEAUX, None));
    assert_eq!(harmonics.rows, [-1.0, 0.0, 1.0, 2.0, 3.0, 126.5]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.odx");
    let refused = |wrong: Odx| {
        wrong.write(&path).unwrap();
        Odx::read(&path).unwrap_err().to_string()
    };
    let error = refused(Odx { first: vec![0, 2, 1, 4], ..odx() });
    assert!(error.contains("offsets do not rise"), "{error}");
    let error = refused(Odx { voxels: vec![9, 1, 1], ..odx() });
    assert!(error.contains("the mask has 2 voxels, not 3"), "{error}");
    let short = Column::from_bytes(ColumnKind::new("afd", Datatype::Float32), vec![0; 8]);
    let error = refused(Odx { per_fixel: vec![short], ..odx() });
    assert!(error.contains("dpf/afd.float32 has 8 bytes"), "{error}");
    fs::write(&path, "no archive").unwrap();
    assert!(Odx::read(&path).is_err());
}
