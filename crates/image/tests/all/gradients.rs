//! Gradient tables from text: what is read, what is repaired and said, what is refused.

use std::fs;

use fimbria_image::frames::turned;
use fimbria_image::gradients::{
    BScaling, GradientFiles, GradientTable, GradientsRead, Repair, TableOptions, find_beside,
};
use fimbria_image::{Affine, BvecFrame};
use proptest::prelude::*;

const OBLIQUE: Affine =
    Affine([[-1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

/// The same place with the array's x axis the other way round: det(affine) changes sign.
fn x_reversed(affine: &Affine) -> Affine {
    Affine(affine.0.map(|[x, y, z, t]| [-x, y, z, t]))
}

/// FSL texts in scanner axes, so that what is read can be compared with what is written.
fn fsl(bvals: &str, bvecs: &str) -> Result<GradientsRead, String> {
    let options = TableOptions::default();
    GradientTable::from_fsl(bvals, bvecs, BvecFrame::Scanner, &OBLIQUE, &options)
        .map_err(|e| e.to_string())
}

fn mrtrix(table: &str) -> Result<GradientsRead, String> {
    GradientTable::from_mrtrix(table, &TableOptions::default()).map_err(|e| e.to_string())
}

fn bmatrix(text: &str) -> Result<GradientsRead, String> {
    let options = TableOptions::default();
    GradientTable::from_bmatrix(text, BvecFrame::Scanner, &OBLIQUE, &options)
        .map_err(|e| e.to_string())
}

#[track_caller]
fn close(a: &GradientTable, b: &GradientTable, tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for v in 0..a.len() {
        let (x, y) = (a.b_s_per_mm2[v], b.b_s_per_mm2[v]);
        assert!((x - y).abs() <= tolerance * x.max(1.0), "volume {v}: b {x} and {y}");
        let (g, h) = (a.dirs_ras[v], b.dirs_ras[v]);
        let apart = (0..3).map(|i| (g[i] - h[i]).abs()).fold(0.0, f64::max);
        assert!(apart <= tolerance, "volume {v}: {g:?} and {h:?}");
    }
}

#[test]
fn bvals_and_bvecs_are_read_in_rows_and_in_columns() {
    let rows = fsl("0 1000 2000 2000\n", "0 1 0 0\n0 0 1 0\n0 0 0 1\n").unwrap();
    let columns = fsl("0\n1e3\n2e3\n2000.0", "0,0,0\n1,0,0\n0\t1 0\r\n0 0 1").unwrap();
    assert_eq!(rows.repairs, []);
    assert_eq!(rows, columns);
    assert_eq!(rows.table.dirs_ras[1], [1.0, 0.0, 0.0]);
}

#[test]
fn three_by_three_bvecs_follow_fsl_unless_only_rows_are_unit() {
    // A permutation is unit both ways: columns, as FSL writes them.
    let read = fsl("1000 1000 1000", "0 1 0\n0 0 1\n1 0 0").unwrap();
    assert_eq!(read.repairs, [Repair::ThreeByThreeBvecs { by_rows: false }]);
    assert_eq!(read.table.dirs_ras[0], [0.0, 0.0, 1.0]);
    let read = fsl("1000 1000 1000", "1 0 0\n0.6 0.8 0\n0.8 0 0.6").unwrap();
    assert_eq!(read.repairs, [Repair::ThreeByThreeBvecs { by_rows: true }]);
    assert_eq!(read.table.dirs_ras[1], [0.6, 0.8, 0.0]);
}

#[test]
fn nan_directions_are_none_only_without_weighting() {
    let read = fsl("0 1000", "nan 1\nNaN 0\nnan 0").unwrap();
    assert_eq!(read.table.dirs_ras, [[0.0; 3], [1.0, 0.0, 0.0]]);
    assert_eq!(read.repairs, [Repair::NanDirections { volumes: 1 }]);
    let error = fsl("0 1000", "0 nan\n0 0\n0 1").unwrap_err();
    assert!(error.starts_with("volume 1: b = 1000 s/mm² (above the b0 threshold, 50)"), "{error}");
}

#[test]
fn nan_b_is_none_only_without_a_direction() {
    let read = fsl("nan 1000", "0 1\n0 0\n0 0").unwrap();
    assert_eq!(read.table.b_s_per_mm2, [0.0, 1000.0]);
    assert_eq!(read.repairs, [Repair::NanB { volumes: 1 }]);
    let error = fsl("nan 1000", "0 1\n1 0\n0 0").unwrap_err();
    assert!(error.starts_with("volume 0: b = NaN s/mm²"), "{error}");
}

#[test]
fn a_weighted_volume_without_direction_is_refused() {
    let error = fsl("0 40 1000", "0 0 0\n0 0 0\n0 0 0").unwrap_err();
    assert!(error.starts_with("volume 2: b = 1000"), "{error}");
}

#[test]
fn nearly_unit_directions_are_normalised_and_said() {
    let read = fsl("0 1000 1000 0", "0 0.98 0 0\n0 0 1 0\n0 0 0 0").unwrap();
    let stated = Repair::Normalised { volumes: 1, shortest: 0.98, longest: 1.0 };
    assert_eq!(read.repairs, [stated]);
    assert_eq!(read.table.dirs_ras[1], [1.0, 0.0, 0.0]);
    assert_eq!(read.table.b_s_per_mm2[1], 1000.0);
    assert_eq!(fsl("0 1000", "0 0.9999\n0 0\n0 0").unwrap().repairs, []);
}

#[test]
fn lengths_that_must_mean_something_are_refused_until_told_what() {
    let (bvals, bvecs) = ("0 1000 1000 1000", "0 0.5 0 0\n0 0 1 0\n0 0 0 0");
    assert!(fsl("0 1000", "0 0.5\n0 0\n0 0").unwrap_err().contains("length 0.5000"));
    let read = |b_scaling| {
        let options = TableOptions { b_scaling, ..TableOptions::default() };
        GradientTable::from_fsl(bvals, bvecs, BvecFrame::Scanner, &OBLIQUE, &options)
    };
    assert!(read(BScaling::No).unwrap_err().to_string().starts_with("volume 3:"));
    // Under scaling a zero direction is b = 0.
    let scaled = read(BScaling::Yes).unwrap();
    assert_eq!(scaled.table.b_s_per_mm2, [0.0, 250.0, 1000.0, 0.0]);
    assert_eq!(scaled.repairs, [Repair::BScaled { volumes: 2, smallest: 0.0, largest: 1.0 }]);
}

#[test]
fn scaling_asked_for_takes_rounded_lengths_at_their_word() {
    let read = |b_scaling| {
        let options = TableOptions { b_scaling, ..TableOptions::default() };
        let (bvals, bvecs) = ("0 2000", "0 0.3347\n0 0.933\n0 0.1322");
        GradientTable::from_fsl(bvals, bvecs, BvecFrame::Scanner, &OBLIQUE, &options).unwrap()
    };
    let scaled = read(BScaling::Yes);
    // What `mrinfo -bvalue_scaling yes -dwgrad` prints (MRtrix3 3.0.3): b times the squared length.
    let expected = 2000.0 * (0.3347_f64.powi(2) + 0.933_f64.powi(2) + 0.1322_f64.powi(2));
    assert!((scaled.table.b_s_per_mm2[1] - expected).abs() < 1e-9);
    assert!((expected - 1999.97986).abs() < 1e-5);
    assert_eq!(scaled.repairs, []);
    assert_eq!(read(BScaling::Auto).table.b_s_per_mm2, [0.0, 2000.0]);
    assert_eq!(read(BScaling::No).table.b_s_per_mm2, [0.0, 2000.0]);
}

#[test]
fn mrtrix_tables_scale_b_once_that_exceeds_one_percent() {
    let read = mrtrix("# scheme\n0 0 0 0\n0.7071067811865476 0 0 2000\n0 0 1 2000\n").unwrap();
    assert!((read.table.b_s_per_mm2[1] - 1000.0).abs() < 1e-9);
    assert_eq!(read.table.dirs_ras[1], [1.0, 0.0, 0.0]);
    assert!(read.repairs[0].to_string().contains("squared length (0.5000 to 1.0000)"));
    // 0.998² = 0.996: below MRtrix's 1 %, so b stays.
    let read = mrtrix("0.998 0 0 2000").unwrap();
    assert_eq!(read.table.b_s_per_mm2, [2000.0]);
    assert!(matches!(read.repairs[0], Repair::Normalised { volumes: 1, .. }));
}

#[test]
fn mismatches_name_their_numbers() {
    let cases = [
        (fsl("0 1000", "1 0 0 0\n0 1 0 0\n0 0 1 1"), "2 b-values but 4 directions"),
        (fsl("0 1 2 3", "1 0 0 0\n0 1 0 0"), "bvecs: 2 rows of 4 values"),
        (fsl("0 1000", "1 0 0\n0 1\n0 0"), "bvecs, line 2: 2 values where 3 (as in line 1)"),
        (fsl("", "1 0 0"), "bvals: no numbers found"),
        (fsl("0 x", "1 0\n0 1\n0 0"), "bvals, line 1, column 3: `x` is not a number"),
        (fsl("-5", "1 0 0"), "volume 0: b = -5 s/mm²"),
        (fsl("nan", "1 0 0"), "volume 0: b = NaN s/mm²"),
        (fsl("1e9", "1 0 0"), "volume 0: b = 1e9 s/mm² is larger than any scanner makes"),
        (mrtrix("1 0 0\n"), "gradient table, line 1: 3 values where 4 (x y z b)"),
        (bmatrix("1 2 3 4\n"), "b-matrices, line 1: 4 values"),
        (bmatrix("1 0 0\n0 1 0\n"), "b-matrices: 2 rows of 3 values"),
        (bmatrix("1000 500 0 0 0 0 0 0 0"), "volume 0: the b-matrix is not symmetric (500"),
        (bmatrix("500 0 0 500 0 0"), "volume 0: the b-matrix has eigenvalues [500.0, 500.0"),
        (bmatrix("-1000 0 0 0 0 0"), "volume 0: the b-matrix has eigenvalues [0.0, 0.0, -1000.0]"),
        (bmatrix("nan 0 0 0 0 0"), "volume 0: b = NaN s/mm² is not a b-value"),
    ];
    for (read, expected) in cases {
        let error = read.unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_table_of_another_length_than_the_image_is_refused() {
    let options = TableOptions { n_volumes: Some(3), ..TableOptions::default() };
    let error = GradientTable::from_mrtrix("0 0 0 0\n1 0 0 1000", &options).unwrap_err();
    assert_eq!(error.to_string(), "the gradient table has 2 entries, the image 3 volumes");
}

#[test]
fn bmatrices_give_their_largest_eigenpair() {
    // b g g' of g = (0.6, 0, 0.8), b = 1000, in all three arrangements.
    let six = bmatrix("0 0 0 0 0 0\n360 0 480 0 0 640\n").unwrap();
    let nine = bmatrix("0 0 0 0 0 0 0 0 0\n360 0 480 0 0 0 480 0 640").unwrap();
    let three = bmatrix("0 0 0\n0 0 0\n0 0 0\n360 0 480\n0 0 0\n480 0 640").unwrap();
    for read in [six, nine, three] {
        assert_eq!(read.repairs, []);
        assert!((read.table.b_s_per_mm2[1] - 1000.0).abs() < 1e-9);
        let g = read.table.dirs_ras[1];
        assert!((g[0] - 0.6).abs() < 1e-12 && (g[2] - 0.8).abs() < 1e-12, "{g:?}");
    }
    // Cross-terms of 3 % are dropped, and said.
    let read = bmatrix("1000 0 0 30 0 0").unwrap();
    assert_eq!(read.repairs, [Repair::RankOne { volumes: 1, largest_residual: 0.03 }]);
}

#[test]
fn shells_are_runs_of_b_without_a_gap() {
    let table = GradientTable {
        b_s_per_mm2: vec![1990.0, 0.0, 1005.0, 5.0, 990.0, 2045.0, 150.0, 45.0],
        dirs_ras: vec![[0.0; 3]; 8],
        b0_threshold: 50.0,
    };
    let shells = table.shells();
    let volumes: Vec<_> = shells.iter().map(|s| s.volumes.clone()).collect();
    assert_eq!(volumes, [vec![1, 3, 7], vec![6], vec![2, 4], vec![0, 5]]);
    assert_eq!(shells[3].range_s_per_mm2, [1990.0, 2045.0]);
    assert_eq!(shells[1].to_string(), "b=150 (1 volume)");
    assert_eq!(shells[3].to_string(), "b=2018 (2 volumes, 1990 to 2045)");
}

#[test]
fn gradient_files_are_found_by_name_before_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let dwi = file("sub-01_dwi.nii.gz");
    let error = find_beside(&dwi).unwrap_err().to_string();
    assert!(error.contains("sub-01_dwi.bval,") && error.contains("grad.b"), "{error}");
    fs::write(file("grad.b"), "0 0 0 0").unwrap();
    assert_eq!(find_beside(&dwi).unwrap(), GradientFiles::Mrtrix(file("grad.b")));
    fs::write(file("bvals"), "0").unwrap();
    let error = find_beside(&dwi).unwrap_err().to_string();
    assert!(error.ends_with("bvecs is missing"), "{error}");
    fs::write(file("bvecs"), "0\n0\n0").unwrap();
    let pair = |b: &str, g: &str| GradientFiles::Fsl { bvals: file(b), bvecs: file(g) };
    assert_eq!(find_beside(&dwi).unwrap(), pair("bvals", "bvecs"));
    fs::write(file("sub-01_dwi.bval"), "0 oops").unwrap();
    fs::write(file("sub-01_dwi.bvec"), "0\n0\n0").unwrap();
    let found = find_beside(&dwi).unwrap();
    assert_eq!(found, pair("sub-01_dwi.bval", "sub-01_dwi.bvec"));
    let read = found.read(BvecFrame::Fsl, &OBLIQUE, &TableOptions::default());
    let error = read.unwrap_err().to_string();
    assert!(error.contains("sub-01_dwi.bval") && error.contains("`oops`"), "{error}");
}

prop_compose! {
    fn affine()(m in prop::array::uniform3(prop::array::uniform3(-1.0..1.0f64)),
                scale in prop::array::uniform3(0.5..4.0f64)) -> Affine {
        // Diagonally dominant, so never singular; both signs of the determinant occur.
        Affine(std::array::from_fn(|i| {
            let diagonal = |j| if i == j { if m[0][0] > 0.0 { 2.5 } else { -2.5 } } else { 0.0 };
            let row: [f64; 3] = std::array::from_fn(|j| (m[i][j] + diagonal(j)) * scale[j]);
            [row[0], row[1], row[2], 7.0]
        }))
    }
}

prop_compose! {
    fn table()(entries in prop::collection::vec(
        (prop::array::uniform3(-1.0..1.0f64), 60.0..9000.0f64), 1..20)) -> GradientTable {
        let unit = |g: [f64; 3]| {
            let norm = g[0].hypot(g[1]).hypot(g[2]).max(1e-3);
            if norm < 0.1 { [1.0, 0.0, 0.0] } else { g.map(|c| c / norm) }
        };
        GradientTable {
            b_s_per_mm2: entries.iter().map(|e| e.1).collect(),
            dirs_ras: entries.iter().map(|e| unit(e.0)).collect(),
            b0_threshold: 50.0,
        }
    }
}

proptest! {
    /// Twelve decimals in the files: 1e-11 leaves room for the turns.
    #[test]
    fn every_format_and_frame_is_undone_by_reading(table in table(), affine in affine()) {
        let options = TableOptions { n_volumes: Some(table.len()), ..TableOptions::default() };
        for frame in [BvecFrame::Fsl, BvecFrame::Voxel, BvecFrame::Scanner] {
            let text = table.to_fsl(frame, &affine);
            let read = GradientTable::from_fsl(&text.bvals, &text.bvecs, frame, &affine, &options);
            close(&read.unwrap().table, &table, 1e-11);
        }
        let read = GradientTable::from_mrtrix(&table.to_mrtrix(), &options).unwrap();
        close(&read.table, &table, 1e-11);
        let read = GradientTable::from_dw_scheme(&table.to_dw_scheme(), &options).unwrap();
        close(&read.table, &table, 1e-15);
    }

    /// FSL's rule: the same bvecs belong to the mirrored array, and mean the same in the scanner.
    #[test]
    fn fsl_bvecs_do_not_depend_on_which_way_x_is_stored(table in table(), affine in affine()) {
        let mirrored = x_reversed(&affine);
        let (a, b) = (table.to_fsl(BvecFrame::Fsl, &affine), table.to_fsl(BvecFrame::Fsl, &mirrored));
        let options = TableOptions::default();
        let read = |t: &str, on| GradientTable::from_fsl(&a.bvals, t, BvecFrame::Fsl, on, &options);
        close(&read(&a.bvecs, &mirrored).unwrap().table, &table, 1e-11);
        close(&read(&b.bvecs, &affine).unwrap().table, &table, 1e-11);
    }

    /// A b-matrix in any frame is turned like its direction (up to its sign).
    #[test]
    fn bmatrices_turn_like_directions(table in table(), affine in affine()) {
        let frame = BvecFrame::Fsl;
        let frame_from_ras = frame.frame_from_ras(&affine);
        let mut text = String::new();
        for (g, b) in table.dirs_ras.iter().zip(&table.b_s_per_mm2) {
            let [x, y, z] = turned(&frame_from_ras, *g);
            for entry in [x * x, x * y, x * z, y * y, y * z, z * z] {
                text += &format!("{} ", b * entry);
            }
            text += "\n";
        }
        let read = GradientTable::from_bmatrix(&text, frame, &affine, &TableOptions::default());
        let mut read = read.unwrap().table;
        for (g, h) in read.dirs_ras.iter_mut().zip(&table.dirs_ras) {
            if (0..3).map(|i| g[i] * h[i]).sum::<f64>() < 0.0 {
                *g = g.map(|c| -c);
            }
        }
        // Jacobi on entries near 1e4: rounding far below 1e-9.
        close(&read, &table, 1e-9);
    }

    #[test]
    fn no_text_panics(text in "[-0-9.e#naif, \n]{0,80}") {
        let _ = (fsl(&text, &text), mrtrix(&text), bmatrix(&text));
    }
}
