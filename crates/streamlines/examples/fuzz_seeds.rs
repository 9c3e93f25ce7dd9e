//! Small valid files to start each fuzz target of fuzz/ from: `fuzz_seeds FOLDER` writes FOLDER/TARGET/NAME.

use std::fs;
use std::path::Path;

use fimbria_image::fixels::Fixels;
use fimbria_image::gifti::Surface;
use fimbria_image::odx::Odx;
use fimbria_image::{
    Affine, Datatype, Grid, Image, Mask, MifLayout, NiftiVersion, WriteOptions, write_image,
};
use fimbria_streamlines::{Column, Header, Streamlines, Tractogram};

fn main() {
    let root = std::env::args().nth(1).expect("fuzz_seeds FOLDER");
    let root = Path::new(&root);
    for target in [
        "nifti",
        "mif",
        "gzip",
        "gradients",
        "expression",
        "tck",
        "trk",
        "trx",
        "odx",
        "gifti",
        "half",
        "checkpoint",
        "chunk",
        "response",
        "dqsm",
        "bedpostx",
        "record",
        "settings",
        "sidecar",
        "numbers",
        "tensors",
    ] {
        fs::create_dir_all(root.join(target)).expect("a folder for seeds");
    }
    images(root);
    tractograms(root);
    densities(root);
    texts(root);
}

fn grid() -> Grid {
    let rows = [[-1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]];
    Grid { dims: [3, 2, 2], ras_from_vox: Affine(rows) }
}

fn images(root: &Path) {
    let data = (0..24).map(|i| (i * 7 % 11) as f32).collect();
    let image = Image { grid: grid(), n_volumes: 2, data };
    for datatype in Datatype::ALL {
        let options = WriteOptions {
            datatype,
            mif_layout: MifLayout::VOLUMES_FIRST,
            dw_scheme: Some(vec![vec![0.0, 0.0, 0.0, 0.0], vec![1.0, 0.0, 0.0, 1000.0]]),
            description: "a seed".into(),
            ..WriteOptions::default()
        };
        let mif = root.join("mif").join(format!("{datatype}.mif"));
        write_image(&mif, &image, &options).expect("a small file");
        // The target puts the first line before what it is given.
        let bytes = fs::read(&mif).expect("what was written");
        fs::write(&mif, &bytes["mrtrix image\n".len()..]).expect("a small file");
        for nifti_version in [NiftiVersion::One, NiftiVersion::Two] {
            let name = format!("{datatype}-{nifti_version:?}.nii");
            // NIfTI has neither bits nor half precision.
            let _ = write_image(
                root.join("nifti").join(name),
                &image,
                &WriteOptions { nifti_version, ..options.clone() },
            );
        }
    }
}

fn tractograms(root: &Path) {
    let points = vec![[0.5, -3.25, 7.0], [1.5, -3.0, 7.125], [2.0, 0.0, 8.0], [-4.0, 5.0, 6.0]];
    let mut lines = Streamlines::from_parts(vec![0, 3, 3, 4], points);
    lines.add_per_point(Column::from_f32("fa", 1, &[0.25, 0.5, 0.75, 1.0]));
    lines.add_per_streamline(Column::from_f32("weight", 1, &[1.5, 2.5, 3.5]));
    let tractogram = Tractogram::new(Header::on(grid()), lines);
    for format in ["tck", "trk", "trx"] {
        let path = root.join(format).join(format!("seed.{format}"));
        tractogram.write(path, &Default::default()).expect("a small file");
    }
}

fn densities(root: &Path) {
    let fixels = Fixels::new(grid(), &[1, 4], &[0, 2, 3], vec![[0.0, 0.6, 0.8]; 3]);
    let fixels = fixels.expect("three fixels");
    let mask = Mask { grid: grid(), voxels: vec![1, 4, 5] };
    let rows: Vec<f32> = (0..18).map(|i| i as f32).collect();
    let odx = Odx::from_densities(&mask, 6, &rows, &fixels, &[("afd", &[0.5, 0.25, 1.0])]);
    odx.write(&root.join("odx/seed.odx")).expect("a small file");
}

fn texts(root: &Path) {
    let surface = Surface {
        vertices: vec![[0.0; 3], [1.5, 0.0, 0.0], [0.0, -2.0, 0.0]],
        triangles: vec![[0, 1, 2]],
        values: Some(vec![0.0, 1.0, 2.5]),
    };
    fs::write(root.join("gifti/seed"), surface.to_xml()).expect("a small file");
    for (i, text) in
        ["S0*exp(-b*D)", "sigma + max(S0, 0)^2/gx", "S0*erf(sqrt(b*D))"].iter().enumerate()
    {
        fs::write(root.join(format!("expression/{i}")), text).expect("a small file");
    }
    let response = "# Shells: 0,1000,2000\n900 0 0\n420 -180 35\n230 -150.5 60\n";
    fs::write(root.join("response/seed"), response).expect("a small file");
    // Step, how many numbers and vectors; a number, its step, no iterations; a vector of one value.
    let mut checkpoint: Vec<u8> =
        [0u64, 1, 1, 0, 0, 0, 1].iter().flat_map(|number| number.to_le_bytes()).collect();
    checkpoint.extend(1.5f32.to_le_bytes());
    fs::write(root.join("checkpoint/seed"), checkpoint).expect("a small file");
    let sidecars = [
        r#"{"OrientationEncoding": {"Type": "tensor", "TensorRank": 4, "Reference": "ijk"}}"#,
        r#"{"OrientationEncoding": {"Type": "sh", "SphericalHarmonicBasis": "MRtrix3"}}"#,
        r#"{"Description": "fibre directions, scanner RAS axes"}"#,
    ];
    for (i, text) in sidecars.iter().enumerate() {
        fs::write(root.join(format!("sidecar/{i}")), text).expect("a small file");
    }
    let settings =
        "[input]\ndwi = \"dwi.nii\"\n\n[run]\nfits = [\"dti\"]\n\n[dti]\nmethod = \"ols\"\n";
    fs::write(root.join("settings/seed"), settings).expect("a small file");
    fs::write(root.join("record/seed"), RECORD).expect("a small file");
    // A field map of dQSM: how many values, dimensions, tesla, B0, voxel; then a number a voxel.
    let header = [12.0f64, 2.0, 3.0, 2.0, 7.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let numbers = header.iter().chain(&[0.5; 12]).flat_map(|x| x.to_le_bytes());
    let start = [0x1234_5678_u32, 1].into_iter().flat_map(u32::to_le_bytes);
    let dqsm: Vec<u8> = start.chain(numbers).collect();
    fs::write(root.join("dqsm/seed"), dqsm).expect("a small file");
    fs::write(root.join("numbers/seed"), "# of each\n1 0.5, 2\n-3e2\n").expect("a small file");
    let tensors = r#"{"order": 2, "dimension": 2, "tensors": [[1, 0, 2], {"a": [3, 1, 1], "b": [1, 0, 1]}],
        "b": [[1, 0, 1], null]}"#;
    fs::write(root.join("tensors/seed"), tensors).expect("a small file");
    let tables = ["0 1000 1000\n0 1 0\n0 0 1\n0 0 0\n", "0 0 0 0\n1 0 0 1000\n0 1 0 nan\n"];
    for (i, text) in tables.iter().enumerate() {
        fs::write(root.join(format!("gradients/{i}")), text).expect("a small file");
    }
}

/// Of a fit.
const RECORD: &str = r#"{"program": "fimbria", "version": "0.1.0", "command_line": ["fimbria", "fit", "dti", "dwi.nii"],
"task": "fit dti", "inputs": [{"role": "dwi", "path": "dwi.nii", "bytes": 10, "xxh3_128": "0a"}],
"parameters": {"dti": {"fit": {"method": "wls"}}}, "fingerprint": "0b", "machine": {"system": "linux", "processes": 1,
"threads": 2, "simd": "Avx512", "devices": []}, "volumes_used": "all", "stages": [{"name": "load", "seconds": 0.5,
"counts": {"volumes": 103}}], "warnings": ["none"], "outputs": [{"file": "MD.nii.gz", "bytes": 293, "xxh3_128": "0c"}],
"started": "2026-01-01T00:00:00.5Z", "finished": "2026-01-01T00:00:01Z"}"#;
