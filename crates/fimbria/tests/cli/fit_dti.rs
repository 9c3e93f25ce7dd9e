//! `fimbria fit dti`: what it computes and how it writes it.

use fimbria_image::{BvecFrame, Image, StoredImage, TensorOrder, frames};

use crate::util::{AXIS, FIT, Folder, grid};

/// The volumes of a voxel inside the mask.
fn inside(image: &Image) -> Vec<f64> {
    let voxel = image.grid.index([3, 3, 2]);
    (0..image.n_volumes).map(|volume| f64::from(image.volume(volume)[voxel])).collect()
}

fn cosine(a: &[f64], b: [f64; 3]) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum::<f64>().abs()
}

/// f32 samples carry the tensor to about 1e-6 of its size; a hundred times that is still far
/// from any mistake of frame, order or unit.
const CLOSE: f64 = 1e-4;

#[test]
fn maps_are_those_of_the_tensor_in_scanner_axes_and_mm2_per_s() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out"));
    let eigenvalues =
        ["L1", "L2", "L3"].map(|l| inside(&folder.image(&format!("out/{l}.nii.gz")))[0]);
    for (found, true_value) in eigenvalues.iter().zip([1.7e-3, 0.4e-3, 0.2e-3]) {
        assert!((found / true_value - 1.0).abs() < CLOSE, "{found} {true_value}");
    }
    let v1 = inside(&folder.image("out/V1.nii.gz"));
    assert!(cosine(&v1, AXIS) > 1.0 - CLOSE, "{v1:?}");
    let tensor = inside(&folder.image("out/tensor.nii.gz"));
    let t = [
        [tensor[0], tensor[1], tensor[2]],
        [tensor[1], tensor[3], tensor[4]],
        [tensor[2], tensor[4], tensor[5]],
    ];
    for (row, axis) in t.iter().zip(AXIS) {
        let along = (0..3).map(|j| row[j] * AXIS[j]).sum::<f64>();
        assert!((along - 1.7e-3 * axis).abs() < CLOSE * 1.7e-3, "{tensor:?}");
    }
}

#[test]
fn outside_the_mask_every_map_is_zero() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out"));
    for name in folder.names("out").iter().filter(|name| name.ends_with(".nii.gz")) {
        let image = folder.image(&format!("out/{name}"));
        assert_eq!(image.data[image.grid.index([0, 3, 2])], 0.0, "{name}");
    }
    assert_eq!(inside(&folder.image("out/status.nii.gz")), [1.0]);
}

#[test]
fn fsl_layout_turns_vectors_and_tensors_into_the_axes_of_bvecs() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --layout fsl"));
    let fsl_from_ras = BvecFrame::Fsl.frame_from_ras(&grid().ras_from_vox);
    let v1 = inside(&folder.image("out/dti_V1.nii.gz"));
    let expected = frames::turned(&fsl_from_ras, AXIS);
    assert!(cosine(&v1, expected) > 1.0 - CLOSE, "{v1:?} {expected:?}");
    let stored = folder.image("out/dti_tensor.nii.gz");
    let tensor = inside(&TensorOrder::FSL.to_fimbria(&stored));
    assert!((tensor[1] - inside(&fit_tensor(&folder))[1]).abs() < 1e-9, "{tensor:?}");
}

/// The tensor map in fimbria's own layout.
fn fit_tensor(folder: &Folder) -> Image {
    folder.done(&format!("{FIT} -o plain --maps tensor"));
    folder.image("plain/tensor.nii.gz")
}

#[test]
fn mrtrix_layout_writes_mif_in_mrtrix_order_with_command_history() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --layout mrtrix"));
    let stored = folder.image("out/dt.mif");
    let (found, expected) = (inside(&TensorOrder::MRTRIX.to_fimbria(&stored)), fit_tensor(&folder));
    assert_eq!(found, inside(&expected));
    let fa = StoredImage::open(folder.join("out/fa.mif"), &Default::default()).unwrap();
    let history = fa.keyvals().iter().find(|(key, _)| key == "command_history").unwrap();
    assert!(history.1.contains("fit dti dwi.nii"), "{history:?}");
}

#[test]
fn bids_layout_names_maps_by_the_series_and_adds_sidecars() {
    let folder = Folder::with_subject();
    for extension in ["nii", "bval", "bvec"] {
        let to = folder.join(&format!("sub-01_ses-2_dwi.{extension}"));
        std::fs::rename(folder.join(&format!("dwi.{extension}")), to).unwrap();
    }
    folder.done(
        "fit dti sub-01_ses-2_dwi.nii --mask mask.nii --bvec-frame scanner -o out --layout bids \
         --maps FA,tensor",
    );
    let stem = "sub-01_ses-2_model-tensor_param";
    let expected: Vec<_> = ["diffusivity", "fa", "status"]
        .iter()
        .flat_map(|p| ["json", "nii.gz"].map(|e| format!("{stem}-{p}_dwimap.{e}")))
        .collect();
    let names = folder.names("out");
    assert_eq!(names[1..], expected, "{}", names[0]);
    let sidecar = folder.json(&format!("out/{stem}-diffusivity_dwimap.json"));
    assert_eq!(sidecar["Units"], "mm^2/s");
    assert_eq!(sidecar["OrientationEncoding"]["Reference"], "xyz");
    assert_eq!(sidecar["Model"]["Parameters"]["FitMethod"], "wls");
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    let folder = Folder::new();
    // Some ten thousand voxels in the mask: several blocks for the threads to share.
    folder.done("phantom crossing --size 30,36,28 --voxel 5 --shells 1000:12 -o p");
    let fit = "fit dti p/dwi.nii.gz --mask p/mask.nii.gz --device cpu";
    folder.done(&format!("{fit} -o one --threads 1"));
    folder.done(&format!("{fit} -o two -nthreads 2"));
    for name in folder.names("one").iter().filter(|name| *name != "run.json") {
        let bytes = |out: &str| std::fs::read(folder.join(&format!("{out}/{name}"))).unwrap();
        assert!(bytes("one") == bytes("two"), "{name} differs");
    }
}

#[test]
fn without_a_mask_a_simple_one_is_made_and_said() {
    let folder = Folder::with_subject();
    let ran = folder.done("fit dti dwi.nii --bvec-frame scanner -o out --maps FA");
    assert!(ran.stderr.contains("warning: no mask given"), "{}", ran.stderr);
    let status = folder.image("out/status.nii.gz");
    assert_eq!(inside(&status), [1.0]);
    let warnings = folder.json("out/run.json")["warnings"].to_string();
    assert!(warnings.contains("no mask given"), "{warnings}");
}

#[test]
fn shells_and_threshold_are_said_on_standard_error_only() {
    let folder = Folder::with_subject();
    let ran = folder.done(&format!("{FIT} -o out"));
    assert!(ran.stderr.contains("b=0 (2 volumes), b=1000 (20 volumes)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("b0 threshold 50"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn quiet_says_nothing() {
    let folder = Folder::with_subject();
    let ran = folder.done(&format!("{FIT} -o out -q"));
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_mask_on_another_grid_is_refused() {
    let folder = Folder::with_subject();
    let mut mask = folder.image("mask.nii");
    mask.grid.ras_from_vox.0[0][3] += 3.0;
    fimbria_image::write_image(folder.join("moved.nii"), &mask, &Default::default()).unwrap();
    let error = folder.failed("fit dti dwi.nii --bvec-frame scanner --mask moved.nii -o out");
    assert!(error.contains("moved.nii") && error.contains("3.000 mm"), "{error}");
}

#[test]
fn a_table_of_another_length_is_refused_with_both_numbers() {
    let folder = Folder::with_subject();
    std::fs::write(folder.join("short.b"), "0 0 1 0\n1 0 0 1000\n").unwrap();
    let error = folder.failed("fit dti dwi.nii --grad short.b -o out");
    assert!(error.contains("2 entries") && error.contains("22 volumes"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn a_missing_bvec_is_named_with_help() {
    let folder = Folder::with_subject();
    std::fs::remove_file(folder.join("dwi.bvec")).unwrap();
    let error = folder.failed("fit dti dwi.nii -o out");
    assert!(error.contains("dwi.bvec is missing") && error.contains("--bvec FILE"), "{error}");
}
