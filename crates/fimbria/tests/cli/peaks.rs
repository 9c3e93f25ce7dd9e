//! `fimbria peaks`: what it finds, how it writes it, and what it refuses.

use fimbria_image::{Affine, Grid, Image, MifLayout, WriteOptions, write_image};
use fimbria_tensors::layout::Layout;
use fimbria_tensors::sh::{ShBasis, evaluate};

use crate::util::{AXIS, Folder, grid};

/// A second direction, 75° from [`AXIS`] in scanner axes.
const ACROSS: [f64; 3] = [0.691_905_061_767, -0.580_321_796_218, 0.429_527_645_602];

/// Unique entries of `0.7 AXIS^m + 0.3 ACROSS^m`.
fn entries(order: usize) -> Vec<f64> {
    let power = |class: &[usize], v: [f64; 3]| class.iter().map(|&i| v[i]).product::<f64>();
    let classes = Layout::new(order, 3).unwrap();
    let entry = |class: Vec<usize>| 0.7 * power(&class, AXIS) + 0.3 * power(&class, ACROSS);
    classes.index_classes().map(entry).collect()
}

/// An image with the same coefficients in every voxel but the first, which is zero.
fn image(grid: Grid, coefficients: &[f64]) -> Image {
    let mut image = Image::zeros(grid, coefficients.len());
    for (volume, &value) in coefficients.iter().enumerate() {
        image.volume_mut(volume)[1..].fill(value as f32);
    }
    image
}

fn write(folder: &Folder, name: &str, image: &Image, description: &str) {
    let options = WriteOptions { description: description.to_owned(), ..WriteOptions::default() };
    write_image(folder.join(name), image, &options).unwrap();
}

/// A folder with `hot.nii`, unique entries of order 6.
pub(crate) fn with_hot() -> Folder {
    let folder = Folder::new();
    write(&folder, "hot.nii", &image(grid(), &entries(6)), "");
    folder
}

/// Unit vector and length of a peak of a voxel, by its place.
fn peak(image: &Image, voxel: usize, place: usize) -> ([f64; 3], f64) {
    let v = [0, 1, 2].map(|i| f64::from(image.volume(3 * place + i)[voxel]));
    let length = v.iter().map(|c| c * c).sum::<f64>().sqrt();
    (v.map(|c| c / length), length)
}

fn cosine(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum::<f64>().abs()
}

const VOXEL: usize = 100;

#[test]
fn maxima_of_unique_entries_are_written_largest_first_with_nan_for_none() {
    let folder = with_hot();
    folder.done("peaks hot.nii -o out");
    let peaks = folder.image("out/peaks.nii.gz");
    assert_eq!(peaks.n_volumes, 9);
    // At 75° and order 6 the maxima lie within 2° of the two directions.
    let near = 2f64.to_radians().cos();
    let ((first, value), (second, smaller)) = (peak(&peaks, VOXEL, 0), peak(&peaks, VOXEL, 1));
    assert!(cosine(first, AXIS) > near && cosine(second, ACROSS) > near, "{first:?} {second:?}");
    assert!((value - 0.7).abs() < 0.02 && (smaller - 0.3).abs() < 0.02, "{value} {smaller}");
    assert!(peaks.volume(6)[VOXEL].is_nan());
    let values = folder.image("out/values.nii.gz");
    assert!((f64::from(values.volume(0)[VOXEL]) - value).abs() < 1e-6);
    assert_eq!(folder.image("out/count.nii.gz").data[..2], [0.0, 2.0]);
    // The voxel of zeros is flat, the others have peaks.
    assert_eq!(folder.image("out/status.nii.gz").data[..2], [5.0, 1.0]);
    let record = folder.json("out/run.json");
    assert_eq!(record["parameters"]["peaks"]["peaks"]["method"], "maxima");
    let counts = &record["stages"][1]["counts"];
    assert!(counts["voxels_per_second"].as_u64().unwrap() > 0, "{counts}");
}

#[test]
fn rank_one_terms_are_the_directions_themselves() {
    let folder = with_hot();
    folder.done("peaks hot.nii -o out --method low-rank -n 2");
    let peaks = folder.image("out/peaks.nii.gz");
    for (place, (axis, weight)) in [(AXIS, 0.7), (ACROSS, 0.3)].into_iter().enumerate() {
        let (found, value) = peak(&peaks, VOXEL, place);
        // f32 forms: 0.1° and a thousandth are far above their rounding.
        assert!(cosine(found, axis) > 0.1f64.to_radians().cos(), "{found:?}");
        assert!((value - weight).abs() < 1e-3, "{value}");
    }
}

/// Harmonics of a delta function along `dir`.
fn delta(basis: ShBasis, dir: [f64; 3]) -> Vec<f64> {
    evaluate(basis, 8, dir)
}

#[test]
fn every_basis_gives_the_same_direction() {
    let folder = Folder::new();
    for basis in ShBasis::ALL {
        let name = basis.name();
        write(&folder, &format!("{name}.nii"), &image(grid(), &delta(basis, AXIS)), "");
        for method in ["maxima", "low-rank"] {
            folder.done(&format!(
                "peaks {name}.nii -o out --force --sh-basis {name} --frame scanner --method {method}"
            ));
            let (found, _) = peak(&folder.image("out/peaks.nii.gz"), VOXEL, 0);
            assert!(cosine(found, AXIS) > 1.0 - 1e-6, "{name} {method}: {found:?}");
        }
    }
}

#[test]
fn harmonics_of_dipy_are_in_voxel_axes_unless_said_otherwise() {
    let folder = Folder::new();
    write(&folder, "sh.nii", &image(grid(), &delta(ShBasis::Dipy, AXIS)), "");
    folder.done("peaks sh.nii --sh-basis dipy -o out");
    let (found, _) = peak(&folder.image("out/peaks.nii.gz"), VOXEL, 0);
    // The grid is turned by 30° about z.
    let (s, c) = 30f64.to_radians().sin_cos();
    let expected = [c * AXIS[0] - s * AXIS[1], s * AXIS[0] + c * AXIS[1], AXIS[2]];
    assert!(cosine(found, expected) > 1.0 - 1e-6, "{found:?} {expected:?}");
}

#[test]
fn all_formats_hold_the_same_peaks() {
    let folder = Folder::new();
    let form = image(grid(), &entries(4));
    let mut bits: Vec<Vec<u32>> = Vec::new();
    for format in ["nii", "nii.gz", "mif"] {
        let options = WriteOptions {
            mif_layout: "+1,+2,+3,+0".parse::<MifLayout>().unwrap(),
            ..WriteOptions::default()
        };
        write_image(folder.join(&format!("hot.{format}")), &form, &options).unwrap();
        folder.done(&format!("peaks hot.{format} -o {format} --format {format}"));
        let peaks = folder.image(&format!("{format}/peaks.{format}"));
        bits.push(peaks.data.iter().map(|v| v.to_bits()).collect());
    }
    assert!(bits[0] == bits[1] && bits[1] == bits[2]);
}

#[test]
fn options_choose_among_the_maxima() {
    let folder = with_hot();
    for (option, expected) in [
        ("-n 1", 1.0),
        ("--threshold 0.6", 1.0),
        ("--absolute-threshold 0.5", 1.0),
        ("--separation 80", 1.0),
        ("--separation 60", 2.0),
    ] {
        folder.done(&format!("peaks hot.nii -o out --force {option}"));
        assert_eq!(folder.image("out/count.nii.gz").data[VOXEL], expected, "{option}");
    }
}

#[test]
fn outside_the_mask_is_nan_and_status_zero() {
    let folder = with_hot();
    let mut mask = Image::zeros(grid(), 1);
    mask.data[VOXEL] = 1.0;
    write(&folder, "mask.nii", &mask, "");
    folder.done("peaks hot.nii --mask mask.nii -o out");
    let (peaks, status) = (folder.image("out/peaks.nii.gz"), folder.image("out/status.nii.gz"));
    assert!(peaks.volume(0)[VOXEL - 1].is_nan() && peaks.volume(0)[VOXEL].is_finite());
    assert_eq!(status.data[VOXEL - 1..=VOXEL], [0.0, 1.0]);
}

#[test]
fn a_voxel_with_nan_is_marked_and_counted() {
    let folder = Folder::new();
    let mut form = image(grid(), &entries(4));
    form.volume_mut(7)[VOXEL] = f32::NAN;
    write(&folder, "hot.nii", &form, "");
    for method in ["maxima", "low-rank"] {
        let ran = folder.done(&format!("peaks hot.nii -o {method} --method {method}"));
        assert!(ran.stderr.contains("warning: 1 voxel: a coefficient"), "{}", ran.stderr);
        let status = folder.image(&format!("{method}/status.nii.gz"));
        assert_eq!(status.data[VOXEL..VOXEL + 2], [4.0, 1.0], "{method}");
    }
}

#[test]
fn another_order_than_the_volumes_is_refused_with_both_numbers() {
    let folder = Folder::new();
    write(&folder, "hot.nii", &image(grid(), &entries(4)), "");
    let error = folder.failed("peaks hot.nii --order 6 -o out");
    assert!(error.contains("15 volumes") && error.contains("order 6 has 28"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn a_number_of_volumes_that_no_order_has_is_refused() {
    let folder = Folder::new();
    for volumes in [1, 6, 16, 67] {
        write(&folder, "hot.nii", &image(grid(), &vec![1.0; volumes]), "");
        let error = folder.failed("peaks hot.nii -o out");
        assert!(error.contains(&format!("hot.nii has {volumes} volume")), "{error}");
        assert!(error.contains("order 12 are 91"), "{error}");
    }
}

#[test]
fn harmonics_that_say_so_are_not_read_as_unique_entries() {
    let folder = Folder::new();
    let form = image(grid(), &delta(ShBasis::Mrtrix, AXIS));
    write(&folder, "fod.nii", &form, "FOD as spherical harmonics, MRtrix basis");
    // What the image says of itself counts.
    folder.done("peaks fod.nii -o out");
    let error = folder.failed("peaks fod.nii --sh-basis dipy -o out");
    assert!(
        error.contains("it was to be read as spherical harmonics in the basis dipy"),
        "{error}"
    );
    folder.done("peaks fod.nii --sh-basis mrtrix -o out -f");
    write(&folder, "sh.nii", &form, "signal as spherical harmonics");
    let error = folder.failed("peaks sh.nii -o none");
    assert!(error.contains("does not say of which basis") && error.contains("--sh-basis mrtrix"));
}

#[test]
fn the_command_history_of_mrtrix_says_what_an_image_is() {
    let folder = Folder::new();
    let form = image(grid(), &delta(ShBasis::Mrtrix, AXIS));
    let history = "/usr/bin/dwi2fod csd dwi.mif response.txt fod.mif  (version=3.0.3)";
    let keyvals = vec![("command_history".to_owned(), history.to_owned())];
    let options = WriteOptions { keyvals, ..WriteOptions::default() };
    write_image(folder.join("fod.mif"), &form, &options).unwrap();
    folder.done("peaks fod.mif -o out");
    let error = folder.failed("peaks fod.mif --sh-basis dipy -o none");
    assert!(error.contains("says its command history"), "{error}");
}

#[test]
fn a_sidecar_says_what_an_image_is() {
    let folder = with_hot();
    let sidecar = r#"{"OrientationEncoding": {"Type": "tensor", "TensorRank": 6}}"#;
    std::fs::write(folder.join("hot.json"), sidecar).unwrap();
    let error = folder.failed("peaks hot.nii --sh-basis mrtrix -o out");
    assert!(error.contains("unique entries of a symmetric tensor, says its sidecar"), "{error}");
    assert!(error.contains("leave --sh-basis away"), "{error}");
    folder.done("peaks hot.nii -o out");
}

#[test]
fn a_mask_on_another_grid_or_without_voxels_is_refused() {
    let folder = with_hot();
    let moved = Grid { ras_from_vox: Affine::IDENTITY, ..grid() };
    write(&folder, "moved.nii", &image(moved, &[1.0]), "");
    let error = folder.failed("peaks hot.nii --mask moved.nii -o out");
    assert!(error.contains("moved.nii"), "{error}");
    write(&folder, "empty.nii", &Image::zeros(grid(), 1), "");
    let error = folder.failed("peaks hot.nii --mask empty.nii -o out");
    assert!(error.contains("empty.nii has no voxel above zero"), "{error}");
}

#[test]
fn options_out_of_range_are_refused_with_the_range() {
    let folder = with_hot();
    for (option, says) in [
        ("-n 0", "1 to 32"),
        ("--threshold 1.5", "0 to 1"),
        ("--separation 91", "0 to 90, in degrees"),
        ("--starts 3", "16 to 4096"),
    ] {
        let ran = folder.run(&format!("peaks hot.nii -o out {option}"));
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{option}: {}", ran.stderr);
        assert!(!folder.join("out").exists(), "{option}");
    }
    let error = folder.failed("peaks hot.nii -o out -n 7 --method low-rank");
    assert!(error.contains("from 1 to 6"), "{error}");
    let ran = folder.run("peaks hot.nii -o out --fibre delta");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
