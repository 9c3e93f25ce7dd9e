//! Files of nibabel and MRtrix3 are read the same as they read them, and ours by them.
//!
//! The other side is peers.py. Skipped, with a message, where python3 with nibabel is absent; the
//! MRtrix3 part likewise without mrconvert.

use std::path::{Path, PathBuf};

use fimbria_image::{
    Affine, ByteOrder, Datatype, Grid, Image, Intent, NiftiVersion, OpenOptions, StoredImage,
    WriteOptions, read_image, write_image,
};
use serde::{Deserialize, Serialize};

/// An image as plain numbers.
#[derive(Deserialize, Serialize)]
struct Description {
    dims: [usize; 3],
    n_volumes: usize,
    affine: [[f64; 4]; 3],
    data: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dw_scheme: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    keyvals: Vec<(String, String)>,
}

fn peers(action: &str, folder: &Path) -> Option<String> {
    let mut python = fimbria_testing::python("nibabel")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers.py");
    let output = python.arg(script).arg(action).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn described(folder: &Path) -> impl Iterator<Item = (PathBuf, Description)> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json")).map(|json| {
        let description = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        (json.with_extension(""), description)
    })
}

/// Asserts that every voxel of `ours` has the values that `theirs` has at its place in the scanner,
/// whatever the order of the axes.
fn assert_same_in_scanner(ours: &Image, theirs: &Description, name: &str) {
    assert_eq!(ours.n_volumes, theirs.n_volumes, "{name}");
    let grid = Grid { dims: theirs.dims, ras_from_vox: Affine(theirs.affine) };
    assert_eq!(ours.grid.len(), grid.len(), "{name}");
    let vox_from_ras = grid.ras_from_vox.inverse().unwrap();
    for index in 0..grid.len() {
        let vox = ours.grid.voxel(index).map(|i| i as f64);
        let at = vox_from_ras.apply(ours.grid.ras_from_vox.apply(vox));
        let nearest = at.map(f64::round);
        for axis in 0..3 {
            // Single precision headers place a voxel to about 1e-5 mm.
            assert!((at[axis] - nearest[axis]).abs() < 1e-3, "{name}: {vox:?} at {at:?}");
        }
        let there = grid.index(nearest.map(|i| i as usize));
        for volume in 0..ours.n_volumes {
            let expected = theirs.data[volume * grid.len() + there] as f32;
            assert_eq!(ours.volume(volume)[index], expected, "{name}: {vox:?}, volume {volume}");
        }
    }
}

#[test]
fn files_of_peers_are_read_as_they_read_them() {
    let folder = tempfile::tempdir().unwrap();
    if peers("make", folder.path()).is_none() {
        return;
    }
    let mut read = 0;
    for (path, expected) in described(folder.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ours = read_image(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        if name.starts_with("nib") {
            // NIfTI keeps the axes: dimensions and affine are the same, not only the places.
            assert_eq!(ours.grid.dims, expected.dims, "{name}");
            let (a, b) = (ours.grid.ras_from_vox.0, expected.affine);
            for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
                // nibabel computes qforms in f64 from the same f32 fields.
                assert!((a - b).abs() < 1e-6, "{name}: {a} {b}");
            }
        }
        assert_same_in_scanner(&ours, &expected, &name);
        if let Some(scheme) = expected.dw_scheme {
            let stored = StoredImage::open(&path, &OpenOptions::default()).unwrap();
            let ours = stored.dw_scheme().unwrap();
            assert_eq!(ours.len(), scheme.len(), "{name}");
            for (a, b) in ours.iter().flatten().zip(scheme.iter().flatten()) {
                // mrinfo prints about seven digits.
                assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{name}: {a} {b}");
            }
        }
        read += 1;
    }
    assert!(read > 90, "{read} files");
}

fn rotated(flip: f64) -> Affine {
    let (s, c) = 0.4f64.sin_cos();
    let (t, d) = (-0.7f64).sin_cos();
    Affine([
        [flip * 2.0 * c, -1.5 * s * d, 3.0 * s * t, 10.5],
        [flip * 2.0 * s, 1.5 * c * d, -3.0 * c * t, -20.25],
        [0.0, 1.5 * t, 3.0 * d, 30.0],
    ])
}

fn write_described(folder: &Path, name: &str, image: &Image, options: &WriteOptions) {
    let path = folder.join(name);
    write_image(&path, image, options).unwrap();
    let description = Description {
        dims: image.grid.dims,
        n_volumes: image.n_volumes,
        affine: image.grid.ras_from_vox.0,
        data: image.data.iter().map(|v| f64::from(*v)).collect(),
        dw_scheme: options.dw_scheme.clone().filter(|_| name.contains(".mif")),
        keyvals: if name.contains(".mif") { options.keyvals.clone() } else { Vec::new() },
    };
    let json = serde_json::to_vec(&description).unwrap();
    std::fs::write(folder.join(format!("{name}.json")), json).unwrap();
}

#[test]
fn peers_read_our_files_as_we_mean_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let image = |ras_from_vox, n_volumes, modulus| {
        let mut image = Image::zeros(Grid { dims: [6, 5, 4], ras_from_vox }, n_volumes);
        for (i, value) in image.data.iter_mut().enumerate() {
            *value = ((i * i + i / 7) % modulus) as f32;
        }
        image
    };
    let mut written = 0;
    let mut write = |name: &str, image: &Image, options: &WriteOptions| {
        write_described(folder, name, image, options);
        written += 1;
    };

    for datatype in Datatype::ALL {
        let modulus = if datatype == Datatype::Bit { 2 } else { 101 };
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            let plain = WriteOptions { datatype, byte_order, ..WriteOptions::default() };
            let series = image(rotated(1.0), 3, modulus);
            if datatype != Datatype::Float16 {
                // MRtrix3 3.0.3 has no Float16.
                write(&format!("{datatype}_{byte_order:?}.mif"), &series, &plain);
            }
            if !matches!(datatype, Datatype::Bit | Datatype::Float16) {
                write(&format!("{datatype}_{byte_order:?}.nii.gz"), &series, &plain);
                let two = WriteOptions { nifti_version: NiftiVersion::Two, ..plain };
                write(&format!("{datatype}_{byte_order:?}_two.nii"), &series, &two);
            }
        }
    }
    let sheared =
        Affine([[-1.9, 0.3, -0.1, 80.5], [-0.35, 1.8, 0.6, -100.25], [0.05, -0.4, 2.4, -60.0]]);
    let affines = [("pos", rotated(1.0)), ("neg", rotated(-1.0)), ("sheared", sheared)];
    for (name, ras_from_vox) in affines {
        let series = image(ras_from_vox, 2, 101);
        let options = WriteOptions {
            dw_scheme: Some(vec![vec![0.0; 4], vec![0.6, 0.0, -0.8, 1000.0]]),
            keyvals: vec![("PhaseEncodingDirection".into(), "j-".into())],
            description: "who made it".into(),
            ..WriteOptions::default()
        };
        write(&format!("{name}.nii"), &series, &options);
        write(&format!("{name}.hdr"), &series, &options);
        write(&format!("{name}_gz.img.gz"), &series, &options);
        for layout in ["+0,+1,+2,+3", "+1,+2,+3,+0", "-0,+1,-2,+3", "-2,+3,-1,+0"] {
            let options = WriteOptions { mif_layout: layout.parse().unwrap(), ..options.clone() };
            write(&format!("{name}{layout}.mif"), &series, &options);
            write(&format!("{name}{layout}.mif.gz"), &series, &options);
        }
        write(&format!("{name}_3d.nii"), &image(ras_from_vox, 1, 101), &WriteOptions::default());
        write(&format!("{name}_3d.mif"), &image(ras_from_vox, 1, 101), &WriteOptions::default());
    }
    let intent = Intent { code: 1005, parameters: [3.0, 0.0, 0.0], name: String::new() };
    let tensor = WriteOptions { intent, ..WriteOptions::default() };
    write("tensor.nii.gz", &image(rotated(1.0), 6, 101), &tensor);
    // Large enough for several blocks of compression, at every level.
    let mut large = Image::zeros(Grid { dims: [64, 64, 40], ras_from_vox: rotated(1.0) }, 2);
    for (i, value) in large.data.iter_mut().enumerate() {
        *value = (i * 31 % 1013) as f32;
    }
    for gzip_level in [0, 1, 6, 9] {
        let options = WriteOptions { gzip_level, ..WriteOptions::default() };
        write(&format!("large_{gzip_level}.nii.gz"), &large, &options);
    }

    if let Some(checked) = peers("check", folder) {
        // "48 MRtrix3 and nibabel"
        let checked: usize = checked.split_whitespace().next().unwrap().parse().unwrap();
        assert!(checked > 0, "none of {written} files was checked");
    }
}
