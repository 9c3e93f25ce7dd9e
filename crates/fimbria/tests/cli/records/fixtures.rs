//! Small inputs of every kind.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_tensors::layout::Layout;

use crate::util::{AXIS, Folder, grid, subject};

pub(super) fn put(folder: &Folder, name: &str, image: &Image) {
    write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
}

/// The same values in every voxel.
pub(super) fn even(values: &[f32]) -> Image {
    let mut image = Image::zeros(grid(), values.len());
    for (volume, &value) in values.iter().enumerate() {
        image.volume_mut(volume).fill(value);
    }
    image
}

/// What goes with dwi.nii and its table: others of the same kind, under names that nothing finds by
/// itself.
pub(super) fn add_tables(folder: &Folder) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let bvals: Vec<f64> = read("dwi.bval").split_whitespace().map(|b| b.parse().unwrap()).collect();
    let numbers: Vec<f64> =
        read("dwi.bvec").split_whitespace().map(|x| x.parse().unwrap()).collect();
    let dirs: Vec<[f64; 3]> = if read("dwi.bvec").lines().count() == 3 {
        let n = bvals.len();
        (0..n).map(|i| [numbers[i], numbers[n + i], numbers[2 * n + i]]).collect()
    } else {
        numbers.as_chunks().0.to_vec()
    };
    let other: Vec<String> = bvals.iter().map(|b| (1.01 * b).to_string()).collect();
    fs::write(folder.join("other.bval"), other.join(" ")).unwrap();
    let rows = |row: fn(&[f64; 3], f64) -> String| -> String {
        dirs.iter().zip(&bvals).map(|(g, &b)| row(g, b) + "\n").collect()
    };
    fs::write(folder.join("other.bvec"), rows(|[x, y, z], _| format!("{y} {x} {z}"))).unwrap();
    fs::write(folder.join("table.b"), rows(|[x, y, z], b| format!("{x} {y} {z} {b}"))).unwrap();
    let matrix = rows(|[x, y, z], b| {
        [x * x, x * y, x * z, y * y, y * z, z * z].map(|g| (b * g).to_string()).join(" ")
    });
    fs::write(folder.join("matrix.txt"), matrix).unwrap();
}

/// A smaller mask and gradient deviations on the grid of the subject.
pub(super) fn add_maps(folder: &Folder) {
    let mut mask = subject().mask;
    mask.data[grid().index([3, 3, 2])] = 0.0;
    put(folder, "other_mask.nii", &mask);
    put(folder, "dev.nii", &even(&[0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
}

/// The subject, with other tables, masks and deviations.
pub(super) fn with_series() -> Folder {
    let folder = Folder::with_subject();
    add_tables(&folder);
    add_maps(&folder);
    folder
}

/// hot.nii, unique entries of order 6, which as numbers are harmonics, too.
pub(super) fn with_coefficients() -> Folder {
    let folder = crate::peaks::with_hot();
    put(&folder, "mask.nii", &subject().mask);
    folder
}

/// Samples, peaks (three of a direction, twice), coefficients and regions.
pub(super) fn with_directions() -> Folder {
    let folder = crate::track::with_samples();
    let v = AXIS.map(|x| x as f32);
    put(&folder, "peaks.nii", &even(&[v[0], v[1], v[2], v[1], v[2], v[0]]));
    let classes = Layout::new(4, 3).unwrap();
    let entry = |class: Vec<usize>| class.iter().map(|&i| AXIS[i]).product::<f64>() as f32;
    put(&folder, "hot.nii", &even(&classes.index_classes().map(entry).collect::<Vec<_>>()));
    put(&folder, "two.nii.gz", &crate::track::voxels(&[[3, 2, 2], [3, 4, 2]]));
    put(&folder, "5tt.nii", &crate::track::tissues(0));
    put(&folder, "edge.nii.gz", &crate::track::voxels(&[[1, 2, 2], [3, 2, 2]]));
    folder
}
