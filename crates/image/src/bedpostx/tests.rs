use std::path::{Path, PathBuf};

use super::*;
use crate::sticks::{PackedStick, StickSamples};
use crate::{Affine, Grid, Image, ImageError, Mask, OpenOptions, WriteOptions, write_image};

/// Oblique, det > 0: FSL counts x the other way.
const NEUROLOGICAL: Affine =
    Affine([[1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

fn field() -> StickSamples {
    let grid = Grid { dims: [4, 3, 2], ras_from_vox: NEUROLOGICAL };
    let mask = Mask { grid, voxels: vec![1, 5, 6, 20] };
    let mut field = StickSamples::empty(mask, 2, 5).expect("memory");
    for (i, stick) in field.sticks.iter_mut().enumerate() {
        let t = i as f64;
        let v = [(0.7 * t).sin(), (1.3 * t).cos(), (0.9 * t + 0.4).sin()];
        *stick = PackedStick::new(v, (i % 16) as f64 / 32.0);
    }
    field
}

fn written(field: &StickSamples, folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    write_bedpostx(field, Merged::Images, |name, image: &Image, options: &WriteOptions| {
        names.push(name.to_owned());
        write_image(folder.join(format!("{name}.nii.gz")), image, options)
    })
    .expect("written");
    names
}

fn read(folder: &Path) -> Result<StickSamples, BedpostxError> {
    read_bedpostx(folder, None, &OpenOptions::default())
}

fn replace(folder: &Path, name: &str, change: impl Fn(&mut Image)) -> PathBuf {
    let path = folder.join(format!("{name}.nii.gz"));
    let mut image = crate::read_image(&path).expect("image");
    change(&mut image);
    std::fs::remove_file(&path).expect("removed");
    write_image(&path, &image, &WriteOptions::default()).expect("written");
    path
}

#[test]
fn samples_come_back_from_a_written_folder() {
    let folder = tempfile::tempdir().expect("folder");
    let field = field();
    let mut names = written(&field, folder.path());
    let mut planned = bedpostx_files(2, Merged::Images);
    names.sort();
    planned.sort();
    assert_eq!(names, planned);
    let back = read(folder.path()).expect("read");
    assert_eq!((&back.mask.voxels, back.n_fibres, back.n_samples), (&field.mask.voxels, 2, 5));
    for (a, b) in back.sticks.iter().zip(&field.sticks) {
        assert_eq!(a.fraction(), b.fraction());
        let (a, b) = (a.dir_ras().map(f64::from), b.dir_ras().map(f64::from));
        let cross =
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        // Angles in f32 up to 2 pi round by 2.4e-7, the packing by 2e-7.
        assert!(cross.iter().all(|c| c.abs() < 1e-6), "{a:?} {b:?}");
    }
}

#[test]
fn angles_refer_to_fsl_axes() {
    let grid = Grid { dims: [1, 1, 1], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let mut field = StickSamples::empty(Mask::full(grid), 1, 1).expect("memory");
    field.sticks[0] = PackedStick::new([0.6, 0.8, 0.0], 0.5);
    let folder = tempfile::tempdir().expect("folder");
    written(&field, folder.path());
    let dyads = crate::read_image(folder.path().join("dyads1.nii.gz")).expect("dyads");
    // det > 0: the x component changes sign; the sign of the whole vector is free.
    let sign = dyads.data[1].signum();
    for (found, expected) in dyads.data.iter().zip([-0.6, 0.8, 0.0]) {
        assert!((sign * found - expected).abs() < 1e-6, "{:?}", dyads.data);
    }
}

#[test]
fn a_direction_along_an_axis_is_written_with_angles_other_than_zero() {
    let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let mut field = StickSamples::empty(Mask::full(grid), 1, 1).expect("memory");
    for (slot, v) in [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]].into_iter().enumerate() {
        field.sticks[slot] = PackedStick::new(v, 0.5);
    }
    let folder = tempfile::tempdir().expect("folder");
    written(&field, folder.path());
    for name in ["merged_th1samples", "merged_ph1samples"] {
        let image = crate::read_image(folder.path().join(format!("{name}.nii.gz"))).expect("image");
        assert!(image.data.iter().all(|angle| *angle != 0.0), "{name}: {:?}", image.data);
    }
}

#[test]
fn the_dispersion_of_one_direction_is_zero_and_of_three_axes_two_thirds() {
    let grid = Grid { dims: [2, 1, 1], ras_from_vox: NEUROLOGICAL };
    let mut field = StickSamples::empty(Mask::full(grid), 1, 3).expect("memory");
    for k in 0..3 {
        let mut axis = [0.0; 3];
        axis[k] = 1.0;
        field.sticks[k] =
            PackedStick::new([0.3, 0.5, 0.2].map(|c| if k == 1 { -c } else { c }), 0.5);
        field.sticks[3 + k] = PackedStick::new(axis, 0.5);
    }
    let folder = tempfile::tempdir().expect("folder");
    written(&field, folder.path());
    let image = crate::read_image(folder.path().join("dyads1_dispersion.nii.gz")).expect("image");
    assert!(image.data[0].abs() < 1e-6, "{:?}", image.data);
    assert!((image.data[1] - 2.0 / 3.0).abs() < 1e-6, "{:?}", image.data);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    written(&field(), folder.path());
    std::fs::remove_file(folder.path().join("merged_ph2samples.nii.gz")).expect("removed");
    let error = read(folder.path()).expect_err("an error");
    assert!(error.to_string().contains("merged_ph2samples"), "{error}");
}

#[test]
fn a_file_of_another_length_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    written(&field(), folder.path());
    replace(folder.path(), "merged_f2samples", |image| {
        image.n_volumes = 3;
        image.data.truncate(3 * image.grid.len());
    });
    let error = read(folder.path()).expect_err("an error");
    assert!(matches!(error, BedpostxError::Samples { found: 3, expected: 5, .. }), "{error}");
}

#[test]
fn a_file_on_another_grid_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    written(&field(), folder.path());
    replace(folder.path(), "merged_f1samples", |image| image.grid.ras_from_vox.0[0][3] += 4.0);
    let error = read(folder.path()).expect_err("an error");
    assert!(matches!(error, BedpostxError::Image(ImageError::Grid(_))), "{error}");
}

#[test]
fn an_angle_that_is_no_number_is_found_inside_the_mask_only() {
    let folder = tempfile::tempdir().expect("folder");
    written(&field(), folder.path());
    replace(folder.path(), "merged_th2samples", |image| image.data[0] = f32::NAN);
    assert!(read(folder.path()).is_ok());
    replace(folder.path(), "merged_th2samples", |image| image.data[24 * 3 + 5] = f32::NAN);
    let error = read(folder.path()).expect_err("an error");
    let BedpostxError::NotFinite { voxel, sample, .. } = error else { panic!("{error}") };
    assert_eq!((voxel, sample), ([1, 1, 0], 3));
}

#[test]
fn an_empty_mask_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    written(&field(), folder.path());
    replace(folder.path(), "nodif_brain_mask", |image| image.data.fill(0.0));
    assert!(matches!(read(folder.path()), Err(BedpostxError::EmptyMask(_))));
}

#[test]
fn dyads_in_scanner_axes_are_those_of_the_files() {
    let folder = tempfile::tempdir().expect("folder");
    let field = field();
    written(&field, folder.path());
    let dyads = Dyads::from_samples(&field, 0.0);
    let image = |name: &str| {
        crate::read_image(folder.path().join(format!("{name}.nii.gz"))).expect("image")
    };
    let (stored, fraction) = (image("dyads2"), image("mean_f2samples"));
    let ras_from_fsl = crate::BvecFrame::Fsl.ras_from_frame(&NEUROLOGICAL);
    for &voxel in &field.mask.voxels {
        let at = |image: &Image, k: usize| f64::from(image.volume(k)[voxel as usize]);
        let v = crate::frames::turned(&ras_from_fsl, [0, 1, 2].map(|k| at(&stored, k)));
        let found = [3, 4, 5].map(|k| at(&dyads.peaks_ras, k));
        let dot: f64 = (0..3).map(|k| v[k] * found[k]).sum();
        // Both are rounded to f32.
        assert!((dot.abs() - at(&fraction, 0)).abs() < 1e-6, "{v:?} {found:?}");
        assert!((at(&dyads.dispersion, 1) - at(&image("dyads2_dispersion"), 0)).abs() < 1e-6);
    }
    assert!(dyads.peaks_ras.volume(0)[0].is_nan());
    assert!(Dyads::from_samples(&field, 1.0).peaks_ras.data.iter().all(|c| c.is_nan()));
}

fn write_halves(field: &StickSamples, folder: &Path) -> PathBuf {
    let path = half_file(&folder.join("merged"));
    let mut bytes = Vec::new();
    write_half(field, &mut bytes).expect("written");
    std::fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn samples_in_half_precision_come_back_to_within_its_rounding() {
    let folder = tempfile::tempdir().expect("folder");
    let mut field = field();
    field.sticks[3] = PackedStick::NONE;
    let path = write_halves(&field, folder.path());
    assert_eq!(std::fs::metadata(&path).expect("file").len(), 152 + 4 * 4 + 4 * 10 * 6);
    let back = read(folder.path()).expect("read");
    assert_eq!((&back.mask, back.n_fibres, back.n_samples), (&field.mask, 2, 5));
    assert!(!back.sticks[3].has_direction());
    for (a, b) in back.sticks.iter().zip(&field.sticks).filter(|(a, _)| a.has_direction()) {
        // Coordinates up to 1 have steps of 2^-11; the octahedron stretches them by √3 at most.
        assert!((a.fraction() - b.fraction()).abs() <= 2.5e-4);
        let cos: f64 = (0..3).map(|k| f64::from(a.dir_ras()[k]) * f64::from(b.dir_ras()[k])).sum();
        assert!(cos.min(1.0).acos().to_degrees() < 0.05, "{a:?} {b:?}");
    }
}

#[test]
fn a_mask_chooses_among_samples_of_half_precision() {
    let folder = tempfile::tempdir().expect("folder");
    let field = field();
    write_halves(&field, folder.path());
    let mut image = Image::zeros(field.mask.grid, 1);
    (image.data[5], image.data[7]) = (1.0, 1.0);
    let mask = folder.path().join("mask.nii");
    write_image(&mask, &image, &WriteOptions::default()).expect("written");
    let base = folder.path().join("merged");
    let some = read_bedpostx(&base, Some(&mask), &OpenOptions::default()).expect("read");
    assert_eq!(some.mask.voxels, [5, 7]);
    let all = read(folder.path()).expect("read");
    assert_eq!(some.voxel(0), all.voxel(1));
    assert!(some.voxel(1).iter().all(|stick| !stick.has_direction()));
}

#[test]
fn a_broken_file_of_half_precision_is_one_error() {
    let folder = tempfile::tempdir().expect("folder");
    let path = write_halves(&field(), folder.path());
    let whole = std::fs::read(&path).expect("file");
    let with = |at: usize, bytes: &[u8]| {
        let mut broken = whole.clone();
        broken[at..at + bytes.len()].copy_from_slice(bytes);
        broken
    };
    for (broken, part) in [
        (whole[..whole.len() - 1].to_vec(), "do not fill its"),
        (whole[..20].to_vec(), "no file of samples"),
        (with(0, b"x"), "no file of samples"),
        (with(8, &[2]), "version 2"),
        (with(24, &[255; 8]), "do not fill its"),
        // Products of these exceed 128 bits.
        (with(12, &[255; 20]), "do not fill its"),
        (with(32, &[255; 8]), "a grid of"),
        (with(152, &[9]), "ascending"),
        (with(152 + 12, &[255; 4]), "ascending"),
    ] {
        std::fs::write(&path, broken).expect("written");
        let error = read(folder.path()).expect_err("an error").to_string();
        assert!(error.contains(part) && error.contains("merged_samples.f16"), "{error}");
    }
}
