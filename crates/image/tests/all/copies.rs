//! Copies hold what their source does, to the bit, and say what they cannot hold.
//!
//! The other side of the comparison with nibabel and MRtrix3 is copies.py; it is skipped, with a
//! message, where python3 with nibabel is absent.

use std::path::Path;
use std::process::Command;

use fimbria_image::{
    Affine, ByteOrder, Datatype, Grid, Image, MifLayout, OpenOptions, StoredImage, WriteOptions,
    copy_image, write_image,
};
use fimbria_testing::missing;

fn peers(action: &str, folder: &Path) -> Option<String> {
    let mut python = fimbria_testing::python("nibabel")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/copies.py");
    let output = python.arg(script).arg(action).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn open(path: &Path) -> StoredImage {
    StoredImage::open(path, &OpenOptions::default()).unwrap()
}

fn copy(from: &Path, to: &Path, options: &WriteOptions) {
    let stored = open(from);
    let options = WriteOptions { intent: stored.intent().clone(), ..options.clone() };
    let copied = copy_image(to, &stored, None, &options).unwrap();
    assert_eq!((copied.clipped, copied.rounded), (0, 0), "{}", from.display());
}

#[test]
fn every_type_order_and_shape_survives_nifti_and_mif() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: String| folder.path().join(name);
    if peers("make", folder.path()).is_none() {
        return;
    }
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.contains("reference") && name != "small.nii")
        .collect();
    files.sort();
    let plain = WriteOptions::default();
    for name in &files {
        let source = at(name.clone());
        copy(&source, &at(format!("{name}.copy.nii")), &plain);
        if name.ends_with(".mif") || open(&source).volume_dims().len() < 2 {
            // Through a .mif of another order of samples and bytes, and back. 2-D becomes 3-D there.
            let other = WriteOptions {
                byte_order: ByteOrder::Big,
                mif_layout: MifLayout::VOLUMES_FIRST,
                ..plain.clone()
            };
            let through = at(format!("{name}.through.mif"));
            copy(&source, &through, &other);
            if !name.starts_with("7x4") {
                copy(&through, &at(format!("{name}.copy.nii.gz")), &plain);
            }
        } else {
            let through = at(format!("{name}.through.mif"));
            copy(&source, &through, &plain);
            copy(&through, &at(format!("{name}.copy.nii.gz")), &plain);
        }
    }
    let checked: usize = peers("check", folder.path()).unwrap().trim().parse().unwrap();
    assert_eq!(checked, 2 * files.len() - 2, "two copies of each but the 2-D ones' second");
    assert!(files.len() >= 32);
}

/// A label image of 3 x 2 x 1 voxels of a type.
fn labels(folder: &Path, datatype: Datatype, values: &[f32]) -> StoredImage {
    let grid = Grid { dims: [values.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
    let path = folder.join("labels.mif");
    let image = Image { grid, n_volumes: 1, data: values.to_vec() };
    write_image(&path, &image, &WriteOptions { datatype, ..WriteOptions::default() }).unwrap();
    open(&path)
}

#[test]
fn what_a_type_cannot_hold_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a.nii");
    let counted = |values: &[f32], from, to_type| {
        let stored = labels(folder.path(), from, values);
        let copied = copy_image(&to, &stored, Some(to_type), &WriteOptions::default()).unwrap();
        (copied.clipped, copied.rounded, open(&to).to_image().unwrap().data)
    };
    let values = [-1.0, 300.0, 2.5];
    assert_eq!(counted(&values, Datatype::Float32, Datatype::UInt8), (2, 1, vec![0., 255., 2.]));
    let values = [f32::NAN, 1.0, 0.0];
    assert_eq!(counted(&values, Datatype::Float32, Datatype::Int16), (1, 0, vec![0., 1., 0.]));
    let values = [16_777_216.0, 33_554_432.0, 7.0];
    assert_eq!(counted(&values, Datatype::UInt32, Datatype::Float32).1, 0);
    let stored = labels(folder.path(), Datatype::Float32, &[0.1, 0.5, 1e6]);
    let half = folder.path().join("half.mif");
    let copied = copy_image(&half, &stored, Some(Datatype::Float16), &WriteOptions::default());
    let copied = copied.unwrap();
    assert_eq!((copied.clipped, copied.rounded), (1, 1));
}

#[test]
fn bits_and_half_precision_become_what_nifti_has() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a.nii.gz");
    for (datatype, kept) in
        [(Datatype::Bit, Datatype::UInt8), (Datatype::Float16, Datatype::Float32)]
    {
        let stored = labels(folder.path(), datatype, &[0.0, 1.0, 1.0]);
        let copied = copy_image(&to, &stored, None, &WriteOptions::default()).unwrap();
        assert_eq!(copied.datatype, kept);
        assert_eq!(open(&to).to_image().unwrap().data, [0.0, 1.0, 1.0]);
    }
}

#[test]
fn a_scaling_that_nifti_1_would_round_is_applied() {
    let folder = tempfile::tempdir().unwrap();
    let header = "mrtrix image\ndim: 2,1,1\nvox: 1,1,1\nlayout: +0,+1,+2\ndatatype: UInt8\n\
                  transform: 1,0,0,0\ntransform: 0,1,0,0\ntransform: 0,0,1,0\n\
                  scaling: 0,0.1\nfile: . 192\nEND\n";
    let mut bytes = header.as_bytes().to_vec();
    bytes.resize(192, 0);
    bytes.extend([3, 7]);
    let path = folder.path().join("a.mif");
    std::fs::write(&path, bytes).unwrap();
    let to = folder.path().join("a.nii");
    let copied = copy_image(&to, &open(&path), None, &WriteOptions::default()).unwrap();
    assert_eq!((copied.datatype, copied.clipped), (Datatype::Float64, 0));
    let stored = open(&to);
    let values: Vec<f64> = stored
        .stored_bytes()
        .chunks(8)
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(values, [3.0 * 0.1, 7.0 * 0.1]);
    // In a .mif it is kept.
    let copied =
        copy_image(folder.path().join("b.mif"), &open(&path), None, &WriteOptions::default());
    assert_eq!(copied.unwrap().datatype, Datatype::UInt8);
    assert_eq!(open(&folder.path().join("b.mif")).scaling(), open(&path).scaling());
}

#[test]
fn mrtrix3_reads_the_values_of_scaled_fractions_and_bits_in_a_mif() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mif");
    for (datatype, samples) in
        [("Float32LE", [3.0_f32, 7.0].map(f32::to_le_bytes).concat()), ("Bit", vec![0b0100_0000])]
    {
        let header = format!(
            "mrtrix image\ndim: 2,1,1\nvox: 1,1,1\nlayout: +0,+1,+2\ndatatype: {datatype}\n\
             transform: 1,0,0,0\ntransform: 0,1,0,0\ntransform: 0,0,1,0\n\
             scaling: 5,2\nfile: . 192\nEND\n"
        );
        let mut bytes = header.into_bytes();
        bytes.resize(192, 0);
        bytes.extend(samples);
        std::fs::write(&path, bytes).unwrap();
        let to = folder.path().join("b.mif");
        let copied = copy_image(&to, &open(&path), None, &WriteOptions::default()).unwrap();
        assert!(copied.scaling.is_none(), "MRtrix3 reads no scaling of {datatype}");
        let values = open(&to).to_image().unwrap().data;
        assert_eq!(values, open(&path).to_image().unwrap().data);
        let Ok(output) = Command::new("mrstats").args(["-output", "mean"]).arg(&to).output() else {
            missing("mrstats (MRtrix3)");
            return;
        };
        let mean: f32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert_eq!(mean, (values[0] + values[1]) / 2.0, "{datatype}");
    }
}
