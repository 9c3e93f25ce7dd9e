//! What is written comes back: every format, type, byte order and layout.

use std::path::{Path, PathBuf};

use fimbria_image::{
    Affine, ByteOrder, Datatype, Grid, Image, ImageError, Intent, Mask, NiftiVersion, OpenOptions,
    Orientation, SignalSource, StoredImage, UnwritableError, WriteOptions, read_image, read_mask,
    write_image,
};

/// Oblique and left-handed, every number exact in `f32`.
const OBLIQUE: Affine =
    Affine([[-1.875, 0.25, -0.125, 10.0], [-0.375, 1.75, 0.625, -20.5], [0.0, -0.5, 2.5, 5.25]]);

/// Small whole numbers of no symmetry, so that every type holds them (of bits, 0 and 1).
fn image(dims: [usize; 3], n_volumes: usize, datatype: Datatype) -> Image {
    let mut image = Image::zeros(Grid { dims, ras_from_vox: OBLIQUE }, n_volumes);
    let modulus = if datatype == Datatype::Bit { 2 } else { 101 };
    for (i, value) in image.data.iter_mut().enumerate() {
        *value = ((i * i + i / 7) % modulus) as f32;
    }
    image
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn round_trip(path: &Path, image: &Image, options: &WriteOptions) -> StoredImage {
    write_image(path, image, options).unwrap();
    let stored = StoredImage::open(path, &OpenOptions::default()).unwrap();
    let name = path.display();
    assert_eq!(stored.datatype(), options.datatype, "{name}");
    assert_eq!(stored.byte_order(), options.byte_order, "{name}");
    assert_eq!(stored.grid().dims, image.grid.dims, "{name}");
    let corner = image.grid.dims.map(|d| d as f64);
    let (a, b) = (stored.grid().ras_from_vox.apply(corner), image.grid.ras_from_vox.apply(corner));
    for axis in 0..3 {
        assert!((a[axis] - b[axis]).abs() < 1e-12, "{name}: {a:?} {b:?}");
    }
    let same_place = Image { grid: *stored.grid(), ..image.clone() };
    assert_eq!(stored.to_image().unwrap(), same_place, "{name} {options:?}");
    assert_eq!(read_image(path).unwrap(), same_place, "{name} {options:?}");
    assert_eq!(gathered(&stored), image.data, "{name} {options:?}");
    stored
}

/// All samples by way of `gather`: tiles of voxels in order, then every third voxel backwards.
fn gathered(stored: &StoredImage) -> Vec<f32> {
    let n = stored.grid().len();
    let nv = stored.n_volumes();
    let mut data = vec![f32::NAN; n * nv];
    let in_order: Vec<u32> = (0..n as u32).collect();
    let scattered: Vec<u32> = (0..n as u32).rev().filter(|v| v % 3 == 1).collect();
    for voxels in in_order.chunks(37).chain(scattered.chunks(5)) {
        let stride = voxels.len() + 2;
        let mut tile = vec![-1.0; nv * stride];
        stored.gather(voxels, stride, &mut tile);
        for v in 0..nv {
            for (lane, voxel) in voxels.iter().enumerate() {
                let sample = &mut data[v * n + *voxel as usize];
                assert!(sample.is_nan() || *sample == tile[v * stride + lane]);
                *sample = tile[v * stride + lane];
            }
            assert_eq!(tile[v * stride + voxels.len()..(v + 1) * stride], [-1.0, -1.0]);
        }
    }
    data
}

#[test]
fn nifti_of_every_type_byte_order_version_and_container() {
    let folder = Folder::new();
    for datatype in Datatype::ALL {
        if matches!(datatype, Datatype::Bit | Datatype::Float16) {
            continue; // NIfTI has none
        }
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            for nifti_version in [NiftiVersion::One, NiftiVersion::Two] {
                for name in ["a.nii", "a.nii.gz", "a.hdr", "b.img", "c.hdr.gz", "d.img.gz"] {
                    let options = WriteOptions {
                        datatype,
                        byte_order,
                        nifti_version,
                        ..WriteOptions::default()
                    };
                    let image = image([5, 4, 3], 7, datatype);
                    let stored = round_trip(&folder.path(name), &image, &options);
                    assert_eq!(stored.orientation(), Orientation::Sform);
                }
            }
        }
    }
}

#[test]
fn mif_of_every_type_byte_order_and_container() {
    let folder = Folder::new();
    for datatype in Datatype::ALL {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            if datatype.bits() <= 8 && byte_order != ByteOrder::NATIVE {
                continue; // single bytes have no order, and the header names none
            }
            for name in ["a.mif", "a.mif.gz"] {
                let options = WriteOptions { datatype, byte_order, ..WriteOptions::default() };
                round_trip(&folder.path(name), &image([5, 4, 3], 7, datatype), &options);
            }
        }
    }
}

#[test]
fn mif_of_every_layout() {
    let folder = Folder::new();
    let mut layouts = 0;
    for ranks in 0..256usize {
        let ranks: [usize; 4] = std::array::from_fn(|axis| ranks >> (2 * axis) & 3);
        if (0..4).any(|r| !ranks.contains(&r)) {
            continue;
        }
        for signs in 0..16 {
            let text: Vec<String> = (0..4)
                .map(|a| format!("{}{}", if signs >> a & 1 == 1 { '-' } else { '+' }, ranks[a]))
                .collect();
            for datatype in [Datatype::Int16, Datatype::Bit] {
                let options = WriteOptions {
                    datatype,
                    mif_layout: text.join(",").parse().unwrap(),
                    ..WriteOptions::default()
                };
                round_trip(&folder.path("a.mif"), &image([5, 4, 3], 18, datatype), &options);
            }
            layouts += 1;
        }
    }
    assert_eq!(layouts, 24 * 16);
}

#[test]
fn single_volumes_and_axes_of_one_voxel() {
    let folder = Folder::new();
    for (dims, n_volumes) in [([5, 4, 3], 1), ([1, 1, 1], 1), ([1, 4, 1], 3), ([5, 1, 1], 2)] {
        for name in ["a.nii", "a.nii.gz", "a.mif"] {
            let image = image(dims, n_volumes, Datatype::Int16);
            for layout in ["+0,+1,+2,+3", "-1,+2,-3,+0", "+3,-2,+1,+0"] {
                let options = WriteOptions {
                    datatype: Datatype::Int16,
                    mif_layout: layout.parse().unwrap(),
                    ..WriteOptions::default()
                };
                round_trip(&folder.path(name), &image, &options);
            }
        }
    }
}

#[test]
fn images_of_several_blocks_are_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    let image = image([64, 50, 41], 5, Datatype::Int16);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for name in ["a.nii.gz", "a.mif", "a.mif.gz"] {
            let options = WriteOptions {
                datatype: Datatype::Int16,
                mif_layout: "-2,+3,+1,+0".parse().unwrap(),
                ..WriteOptions::default()
            };
            let path = folder.path(name);
            pool.install(|| round_trip(&path, &image, &options));
            let bytes = std::fs::read(&path).unwrap();
            match files.iter().find(|(n, _)| n == name) {
                Some((_, first)) => assert!(*first == bytes, "{name} differs by threads"),
                None => files.push((name.into(), bytes)),
            }
        }
    }
}

#[test]
fn what_exceeds_the_memory_limit_is_read_from_scratch() {
    let folder = Folder::new();
    let path = folder.path("a.nii.gz");
    let image = image([40, 30, 20], 4, Datatype::Int16);
    let options = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
    write_image(&path, &image, &options).unwrap();
    let scratch = Folder::new();
    let limited =
        OpenOptions { memory_limit: Some(50_000), scratch_dir: Some(scratch.0.path().to_owned()) };
    let stored = StoredImage::open(&path, &limited).unwrap();
    assert_eq!(stored.to_image().unwrap().data, image.data);
    assert_eq!(gathered(&stored), image.data);
    let missing = OpenOptions { scratch_dir: Some(folder.path("missing")), ..limited };
    assert!(matches!(StoredImage::open(&path, &missing), Err(ImageError::Io { .. })));
}

#[test]
fn the_notes_of_a_mif_are_kept() {
    let folder = Folder::new();
    let scheme = vec![vec![0.0, 0.0, 0.0, 0.0], vec![0.6, 0.0, -0.8, 1000.5]];
    let keyvals = vec![
        ("comments".to_owned(), "more".to_owned()),
        ("PhaseEncodingDirection".to_owned(), "j-".to_owned()),
        ("command_history".to_owned(), "one: two\nthree".to_owned()),
    ];
    let options = WriteOptions {
        dw_scheme: Some(scheme.clone()),
        keyvals,
        description: "what it is".into(),
        ..WriteOptions::default()
    };
    let image = image([5, 4, 3], 2, Datatype::Int16);
    let stored = round_trip(&folder.path("a.mif"), &image, &options);
    assert_eq!(stored.dw_scheme(), Some(&scheme[..]));
    assert_eq!(stored.description(), "what it is");
    let expected = [
        ("comments", "what it is"),
        ("comments", "more"),
        ("PhaseEncodingDirection", "j-"),
        ("command_history", "one: two"),
        ("command_history", "three"),
    ];
    assert_eq!(stored.keyvals(), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
}

#[test]
fn the_notes_of_a_nifti_are_kept_and_components_go_along_dimension_5() {
    let folder = Folder::new();
    for nifti_version in [NiftiVersion::One, NiftiVersion::Two] {
        let intent = Intent { code: 1005, parameters: [3.0, 0.0, 0.0], name: "tensor".into() };
        let options = WriteOptions {
            nifti_version,
            intent: intent.clone(),
            description: "mm²/s".into(),
            ..WriteOptions::default()
        };
        let image = image([5, 4, 3], 6, Datatype::Int16);
        let stored = round_trip(&folder.path("a.nii"), &image, &options);
        assert_eq!(stored.intent(), &intent);
        assert_eq!(stored.description(), "mm²/s");
        assert_eq!(stored.volume_dims(), [1, 6]);
    }
}

#[test]
fn long_dimensions_take_nifti_2() {
    let folder = Folder::new();
    let path = folder.path("a.nii");
    let image = image([40_000, 1, 1], 1, Datatype::Int16);
    round_trip(&path, &image, &WriteOptions::default());
    let one = WriteOptions { nifti_version: NiftiVersion::One, ..WriteOptions::default() };
    let error = write_image(&path, &image, &one).unwrap_err();
    let expected = UnwritableError::Nifti1Dimensions { dims: vec![40_000, 1, 1] };
    assert!(matches!(error, ImageError::Unwritable { source, .. } if source == expected));
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_a_file_is_touched() {
    let folder = Folder::new();
    let path = folder.path("a.nii");
    let good = image([5, 4, 3], 2, Datatype::Int16);
    let refused = |path: &Path, image: &Image, options: &WriteOptions| {
        let error = write_image(path, image, options).unwrap_err();
        assert!(!path.exists());
        error
    };
    let bit = WriteOptions { datatype: Datatype::Bit, ..WriteOptions::default() };
    let level = WriteOptions { gzip_level: 10, ..WriteOptions::default() };
    let mut singular = good.clone();
    singular.grid.ras_from_vox.0[2] = [0.0; 4];
    let short = Image { n_volumes: 3, ..good.clone() };
    let plain = WriteOptions::default();
    for (image, options) in [(&good, &bit), (&good, &level), (&singular, &plain), (&short, &plain)]
    {
        let error = refused(&path, image, options);
        assert!(matches!(error, ImageError::Unwritable { .. }), "{error}");
    }
    let line_break =
        WriteOptions { keyvals: vec![("a\nb".into(), String::new())], ..WriteOptions::default() };
    let error = refused(&folder.path("a.mif"), &good, &line_break);
    assert!(matches!(error, ImageError::Unwritable { .. }), "{error}");
    let error = refused(&folder.path("a.png"), &good, &plain);
    assert!(matches!(error, ImageError::Extension { .. }), "{error}");
}

#[test]
fn masks_must_lie_on_the_grid_and_have_one_volume() {
    let folder = Folder::new();
    let path = folder.path("mask.mif.gz");
    let image = image([5, 4, 3], 1, Datatype::Bit);
    let options = WriteOptions { datatype: Datatype::Bit, ..WriteOptions::default() };
    write_image(&path, &image, &options).unwrap();
    let mask = read_mask(&path, &image.grid).unwrap();
    assert_eq!(mask.voxels, Mask::from_image(&image).voxels);
    let mut moved = image.grid;
    moved.ras_from_vox.0[0][3] += 1.0;
    assert!(matches!(read_mask(&path, &moved), Err(ImageError::Grid(_))));
    let series = Image { n_volumes: 2, data: image.data.repeat(2), ..image };
    write_image(&path, &series, &options).unwrap();
    let error = read_mask(&path, &series.grid);
    assert!(matches!(error, Err(ImageError::MaskVolumes { n_volumes: 2, .. })));
}
