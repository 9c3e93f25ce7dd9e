//! `fimbria regions`.

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::Folder;

fn write(folder: &Folder, name: &str, grid: Grid, value: impl Fn([usize; 3]) -> f32) {
    let data = (0..grid.len()).map(|voxel| value(grid.voxel(voxel))).collect();
    let image = Image { grid, n_volumes: 1, data };
    write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
}

fn grid(side: usize, mm: f64) -> Grid {
    Grid { dims: [side; 3], ras_from_vox: Affine::from_spacing([mm; 3]) }
}

/// Left half 10, right half 20; FA is the number along x, of 4.
fn with_maps() -> Folder {
    let folder = Folder::new();
    write(&folder, "dseg.nii", grid(4, 2.0), |[x, ..]| if x < 2 { 10.0 } else { 20.0 });
    write(&folder, "FA.nii", grid(4, 2.0), |[x, ..]| x as f32);
    folder
}

/// The cells of a region and map.
fn row(folder: &Folder, label: &str, map: &str) -> Vec<String> {
    let table = std::fs::read_to_string(folder.join("out/regions.tsv")).unwrap();
    let mut rows =
        table.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    rows.find(|row| row[0] == label && row[2] == map).unwrap_or_else(|| panic!("{table}"))
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

#[test]
fn a_region_has_its_mean_median_spread_and_volume() {
    let folder = with_maps();
    folder.done("regions dseg.nii --map FA.nii -o out");
    let row = row(&folder, "20", "FA");
    assert_eq!(row[..6], ["20", "20", "FA", "32", "0.256", "32"].map(str::to_owned));
    let numbers: Vec<f64> = row[6..].iter().map(|cell| number(cell)).collect();
    // Sixteen 2 and sixteen 3: n - 1 of 8 by 31.
    let expected = [2.5, (8.0_f64 / 31.0).sqrt(), 2.5, 2.0, 2.0, 3.0, 3.0];
    for (number, expected) in numbers.iter().zip(expected) {
        // Seven digits are written.
        assert!((number - expected).abs() < 1e-6, "{numbers:?}");
    }
}

#[test]
fn what_a_mask_leaves_out_has_no_value() {
    let folder = with_maps();
    // Without the last slice along x, on a grid of its own.
    write(&folder, "inside.nii", grid(8, 1.0), |[x, ..]| f32::from(x < 6));
    folder.done("regions dseg.nii --map FA.nii --mask inside.nii -o out");
    assert_eq!(row(&folder, "20", "FA")[3..7], ["32", "0.256", "16", "2.000000e0"]);
    // What a stage wrote beside its maps.
    std::fs::create_dir(folder.join("field")).unwrap();
    write(&folder, "field/r2star.nii", grid(4, 2.0), |[x, ..]| if x < 3 { 30.0 } else { 0.0 });
    write(&folder, "field/mask.nii", grid(4, 2.0), |[x, ..]| f32::from(x < 3));
    folder.done("regions dseg.nii --map field/r2star.nii -o out -f");
    assert_eq!(row(&folder, "20", "r2star")[3..7], ["32", "0.256", "16", "3.000000e1"]);
}

#[test]
fn names_come_from_the_table_beside_the_segmentation() {
    let folder = with_maps();
    std::fs::write(folder.join("dseg.tsv"), "index\tname\n10\tLeft-Thing\n20\tRight-Thing\n")
        .unwrap();
    folder.done("regions dseg.nii --map FA.nii -o out");
    assert_eq!(row(&folder, "10", "FA")[1], "Left-Thing");
}

#[test]
fn a_map_of_larger_voxels_keeps_its_grid() {
    let folder = with_maps();
    // Its voxels' centres are at 0 and 4 mm: in the left and in the right half.
    write(&folder, "MD.nii", grid(2, 4.0), |[x, ..]| 1.0 + x as f32);
    folder.done("regions dseg.nii --map FA.nii MD.nii -o out");
    let row = row(&folder, "20", "MD");
    assert_eq!((row[3].as_str(), number(&row[6])), ("4", 2.0));
}

#[test]
fn voxels_that_were_not_fitted_are_not_averaged() {
    let folder = with_maps();
    // 3 in the right half's outer voxels was not fitted (4, bad signal); 2 was.
    write(&folder, "status.nii", grid(4, 2.0), |[x, ..]| if x == 3 { 4.0 } else { 1.0 });
    folder.done("regions dseg.nii --map FA.nii -o out");
    let row = row(&folder, "20", "FA");
    assert_eq!((row[3].as_str(), row[5].as_str(), number(&row[6])), ("32", "16", 2.0));
}

#[test]
fn maps_of_one_name_are_told_apart_by_their_folders() {
    let folder = with_maps();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        write(&folder, &format!("{name}/FA.nii"), grid(4, 2.0), |_| {
            if name == "a" { 1.0 } else { 2.0 }
        });
    }
    folder.done("regions dseg.nii --map a/FA.nii b/FA.nii -o out");
    assert_eq!(number(&row(&folder, "10", "b/FA")[6]), 2.0);
}

#[test]
fn a_map_that_lies_elsewhere_is_one_error() {
    let folder = with_maps();
    let mut far = grid(4, 2.0);
    far.ras_from_vox.0[0][3] = 500.0;
    write(&folder, "far.nii", far, |_| 1.0);
    let error = folder.failed("regions dseg.nii --map far.nii -o out");
    assert!(error.contains("no region of the segmentation lies within far"), "{error}");
}

#[test]
fn a_series_is_no_map() {
    let folder = Folder::with_subject();
    let error = folder.failed("regions mask.nii --map dwi.nii -o out");
    assert!(error.contains("maps of one volume"), "{error}");
}
