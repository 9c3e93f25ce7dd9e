//! `fimbria tract map`.

use fimbria_image::Image;

use super::others::{has, ran};
use super::with_tracts;
use crate::util::Folder;

/// The differences of two maps, as a part of all that is in them.
fn apart(ours: &Image, theirs: &Image) -> f32 {
    ours.grid.check_same(&theirs.grid, "theirs").unwrap();
    let all = theirs.data.iter().map(|x| x.abs()).sum::<f32>();
    let differences = ours.data.iter().zip(&theirs.data).map(|(a, b)| (a - b).abs());
    differences.sum::<f32>() / all
}

fn mapped(folder: &Folder, options: &str) -> Image {
    folder.done(&format!("tract map a.tck {options} -o ours.nii -f -q"));
    folder.image("ours.nii")
}

#[test]
fn maps_are_those_of_tckmap() {
    if !has("tckmap") {
        return;
    }
    let folder = with_tracts(400);
    let theirs = "tckmap a.tck theirs.nii -precise -upsample 1";
    for (ours, options, tolerance) in [
        ("--template a.nii", "-template a.nii", 0.05),
        ("--template fine.nii --weights w.txt", "-template fine.nii -tck_weights_in w.txt", 0.05),
        ("--template a.nii --of directions", "-template a.nii -dec", 0.1),
    ] {
        ran(&folder, &format!("{theirs} {options}"));
        let off = apart(&mapped(&folder, ours), &folder.image("theirs.nii"));
        // Theirs find where a piece crosses a face by halving, and give a voxel one colour of each streamline.
        assert!(off < tolerance, "{ours}: {off}");
    }
    ran(&folder, "tckmap a.tck theirs.nii -ends_only -template a.nii");
    let ends = mapped(&folder, "--template a.nii --of ends");
    assert_eq!(apart(&ends, &folder.image("theirs.nii")), 0.0);
}

#[test]
fn the_least_value_along_is_no_more_than_the_mean_and_the_largest_no_less() {
    let folder = with_tracts(40);
    let along =
        |what| mapped(&folder, &format!("--template a.nii --of map --map a.nii --along {what}"));
    let [least, mean, largest] = ["min", "mean", "max"].map(along);
    let mut is_between = 0;
    for voxel in 0..mean.data.len() {
        let (low, at, high) = (least.data[voxel], mean.data[voxel], largest.data[voxel]);
        assert!(low <= at + 1e-6 && at <= high + 1e-6, "{low} {at} {high}");
        is_between += usize::from(low < at && at < high);
    }
    assert!(is_between > 100, "{is_between}");
}

#[test]
fn what_cannot_be_mapped_is_one_error() {
    let folder = with_tracts(4);
    for (line, why) in [
        ("a.tck", "names no grid"),
        ("a.trx --of map", "`of map` needs `map`"),
        ("a.trx --map a.nii", "`map` has no use without `of map`"),
    ] {
        let refused = folder.run(&format!("tract map {line} -o x.nii"));
        assert!(refused.stderr.contains(why), "{line}: {}", refused.stderr);
    }
}

#[test]
fn a_grid_beside_the_streamlines_is_told() {
    let folder = with_tracts(4);
    let far = fimbria_image::Grid {
        dims: [4, 4, 4],
        ras_from_vox: fimbria_image::Affine([
            [1., 0., 0., 900.],
            [0., 1., 0., 0.],
            [0., 0., 1., 0.],
        ]),
    };
    super::voxels(&folder, "far.nii", far, |_| 0.0);
    let done = folder.done("tract map a.trx --template far.nii -o x.nii");
    assert!(done.stderr.contains("no streamline passes the grid of the map"), "{}", done.stderr);
}
