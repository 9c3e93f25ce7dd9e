//! The same scanner directions as MRtrix3, from real files and from oblique ones of both
//! handednesses. Skipped, with a word, where `mrinfo` or the reference data is not there.

use std::path::{Path, PathBuf};
use std::process::Command;

use fimbria_image::gradients::{GradientTable, TableOptions, find_beside, of_image};
use fimbria_image::{
    Affine, BvecFrame, Grid, Image, OpenOptions, StoredImage, WriteOptions, write_image,
};
use fimbria_testing::{missing, refdata};

/// What `mrinfo` with these arguments prints; `None`, said aloud, where it is not installed.
fn mrinfo(arguments: &[&Path]) -> Option<String> {
    let Ok(output) = Command::new("mrinfo").args(arguments).output() else {
        missing("mrinfo (MRtrix3)");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// MRtrix3's scanner directions of an image with FSL files, against ours.
fn agrees(dwi: &Path, bvals: &Path, bvecs: &Path, ours: &GradientTable) {
    let path = Path::new;
    let arguments = [path("-fslgrad"), bvecs, bvals, path("-dwgrad"), dwi];
    let Some(text) = mrinfo(&arguments) else { return };
    let theirs = GradientTable::from_mrtrix(&text, &TableOptions::default()).unwrap().table;
    assert_eq!(theirs.len(), ours.len());
    for v in 0..ours.len() {
        let (b, b_mrtrix) = (ours.b_s_per_mm2[v], theirs.b_s_per_mm2[v]);
        // MRtrix3 scales b by the squared length of the bvec when it exceeds 1 % only; both keep b
        // here. It prints ten digits.
        assert!((b - b_mrtrix).abs() < 1e-6 * b.max(1.0), "volume {v}: b {b} and {b_mrtrix}");
        for axis in 0..3 {
            let (g, h) = (ours.dirs_ras[v][axis], theirs.dirs_ras[v][axis]);
            // NIfTI holds the affine in f32: its rotation is known to 1e-7 at best.
            assert!(
                (g - h).abs() < 1e-6,
                "volume {v}: {:?} {:?}",
                ours.dirs_ras[v],
                theirs.dirs_ras[v]
            );
        }
    }
}

#[test]
fn real_series_of_both_handednesses_have_mrtrix_directions() {
    let Some(real) = refdata("dwi_real") else { return };
    let mut tables = Vec::new();
    for name in ["human_b1k_b2k", "human_b1k_b2k_detpos"] {
        let folder = real.join(name);
        let [dwi, bvals, bvecs] = ["dwi.nii.gz", "dwi.bval", "dwi.bvec"].map(|f| folder.join(f));
        let stored = StoredImage::open(&dwi, &OpenOptions::default()).unwrap();
        let read = of_image(&stored, BvecFrame::Fsl, &TableOptions::default()).unwrap();
        assert_eq!(read.repairs, []);
        agrees(&dwi, &bvals, &bvecs, &read.table);
        let shells: Vec<_> = read.table.shells().iter().map(|s| s.volumes.len()).collect();
        assert_eq!(shells, [13, 30, 60], "{name}");
        tables.push(read.table);
    }
    assert_eq!(tables[0].b_s_per_mm2, tables[1].b_s_per_mm2);
    for (g, h) in tables[0].dirs_ras.iter().zip(&tables[1].dirs_ras) {
        assert!((0..3).all(|i| (g[i] - h[i]).abs() < 1e-7), "{g:?} {h:?}");
    }
}

/// A DWI of seven volumes with FSL files beside it, on a rotated grid of uneven voxels.
fn oblique_series(folder: &Path, reverse_x: bool) -> (PathBuf, GradientTable) {
    let (sin, cos) = 0.4f64.sin_cos();
    let (sin2, cos2) = (-0.7f64).sin_cos();
    let x = if reverse_x { -1.5 } else { 1.5 };
    // Columns: a turn about z then about x, times the voxel size.
    let ras_from_vox = Affine([
        [cos * x, -sin * 2.0, 0.0, -30.0],
        [cos2 * sin * x, cos2 * cos * 2.0, -sin2 * 3.0, 12.0],
        [sin2 * sin * x, sin2 * cos * 2.0, cos2 * 3.0, 4.5],
    ]);
    let mut dirs_ras = vec![[0.0; 3]];
    dirs_ras.extend((0..6).map(|i| {
        let (z, turn) = (1.0 - f64::from(i) / 5.5, 2.4 * f64::from(i));
        let r = (1.0 - z * z).sqrt();
        [r * turn.cos(), r * turn.sin(), z]
    }));
    let table = GradientTable {
        b_s_per_mm2: vec![0.0, 1000.0, 1000.0, 2000.0, 2000.0, 3000.0, 3000.0],
        dirs_ras,
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    let image = Image::zeros(Grid { dims: [2, 3, 2], ras_from_vox }, table.len());
    let dwi = folder.join(if reverse_x { "left.nii" } else { "right.nii" });
    write_image(&dwi, &image, &WriteOptions::default()).unwrap();
    let text = table.to_fsl(BvecFrame::Fsl, &ras_from_vox);
    std::fs::write(dwi.with_extension("bval"), text.bvals).unwrap();
    std::fs::write(dwi.with_extension("bvec"), text.bvecs).unwrap();
    (dwi, table)
}

#[test]
fn written_bvecs_of_oblique_grids_mean_the_same_to_mrtrix() {
    let folder = tempfile::tempdir().unwrap();
    for reverse_x in [false, true] {
        let (dwi, table) = oblique_series(folder.path(), reverse_x);
        find_beside(&dwi).unwrap();
        agrees(&dwi, &dwi.with_extension("bval"), &dwi.with_extension("bvec"), &table);
    }
}

#[test]
fn a_table_in_a_mif_header_means_the_same_to_mrtrix() {
    let folder = tempfile::tempdir().unwrap();
    let (dwi, table) = oblique_series(folder.path(), true);
    let image = fimbria_image::read_image(&dwi).unwrap();
    let mif = folder.path().join("dwi.mif");
    let options = WriteOptions { dw_scheme: Some(table.to_dw_scheme()), ..WriteOptions::default() };
    write_image(&mif, &image, &options).unwrap();
    let stored = StoredImage::open(&mif, &OpenOptions::default()).unwrap();
    let ours = of_image(&stored, BvecFrame::Fsl, &TableOptions::default()).unwrap().table;
    let Some(text) = mrinfo(&[Path::new("-dwgrad"), &mif]) else { return };
    let theirs = GradientTable::from_mrtrix(&text, &TableOptions::default()).unwrap().table;
    for (tables, tolerance) in [((&ours, &table), 1e-11), ((&ours, &theirs), 1e-6)] {
        for (g, h) in tables.0.dirs_ras.iter().zip(&tables.1.dirs_ras) {
            assert!((0..3).all(|i| (g[i] - h[i]).abs() < tolerance), "{g:?} {h:?}");
        }
    }
}
