//! `fimbria fit dki`: what it computes and how it writes it.

use fimbria_image::{BvecFrame, Image, KurtosisOrder, TensorOrder, frames};

use crate::util::{AXIS, Folder, Subject, grid, subject};

/// `fit dki` of the subject below with everything named.
const FIT: &str = "fit dki dwi.nii --mask mask.nii --bvec-frame scanner";

/// The subject with a second shell: half of the signal decays by the tensor, half by 0.6e-3 mm²/s
/// in every direction.
fn two_shells() -> Subject {
    let one = subject();
    let n = one.dwi.n_volumes;
    let weighted = n - 2;
    let mut dwi = Image::zeros(one.dwi.grid, n + weighted);
    for volume in 0..n + weighted {
        let (from, b) = match volume {
            0 | 1 => (volume, 0.0),
            _ if volume < n => (volume, 1.0),
            _ => (volume - weighted, 2.0),
        };
        for voxel in 0..dwi.grid.len() {
            let s0 = one.dwi.volume(0)[voxel];
            let decay = one.dwi.volume(from)[voxel] / s0;
            let shell = if b == 2.0 { decay * decay } else { decay };
            dwi.volume_mut(volume)[voxel] = 0.5 * s0 * (shell + (-0.6 * b as f32).exp());
        }
    }
    let table = |text: &str, per_volume: usize| -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let second = &words[2 * per_volume..];
        let all = words.iter().chain(second).copied().collect::<Vec<_>>();
        all.chunks(per_volume).map(|line| line.join(" ") + "\n").collect()
    };
    let bvals = (0..n + weighted)
        .map(|v| ["0 ", "1000 ", "2000 "][usize::from(v > 1) + usize::from(v >= n)]);
    Subject { dwi, bvals: bvals.collect(), bvecs: table(&one.bvecs, 3), mask: one.mask }
}

pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    two_shells().write(folder.path());
    folder
}

/// The volumes of a voxel inside the mask.
fn inside(image: &Image) -> Vec<f64> {
    let voxel = image.grid.index([3, 3, 2]);
    (0..image.n_volumes).map(|volume| f64::from(image.volume(volume)[voxel])).collect()
}

#[test]
fn every_map_is_written_and_means_what_its_name_says() {
    let folder = folder();
    folder.done(&format!("{FIT} -o out"));
    let one = |name: &str| inside(&folder.image(&format!("out/{name}.nii.gz")))[0];
    let (ak, rk, mk) = (one("AK"), one("RK"), one("MK"));
    // Along the axis 1.7 and 0.6 are mixed, across it 0.2 to 0.4 and 0.6; K = 3 var / mean² at
    // small b, less a term of third order that the two shells see.
    assert!(ak > rk && ak > 0.3 && mk > 0.1 && mk < ak, "{ak} {rk} {mk}");
    let (kmin, kmax) = (one("Kmin"), one("Kmax"));
    assert!(kmin <= rk && rk <= kmax && ak <= kmax && mk <= kmax, "{kmin} {kmax}");
    let v1 = inside(&folder.image("out/V1.nii.gz"));
    assert!((0..3).map(|i| v1[i] * AXIS[i]).sum::<f64>().abs() > 0.999, "{v1:?}");
    let w = inside(&folder.image("out/kurtosis.nii.gz"));
    let mkt = (w[0] + w[10] + w[14] + 2.0 * (w[3] + w[5] + w[12])) / 5.0;
    // Rounding of f32.
    assert!((mkt - one("MKT")).abs() < 1e-5, "{mkt}");
    // Where both pools diffuse alike K is 0, and the term of third order would take it below.
    assert_eq!(one("status"), 2.0);
}

#[test]
fn mrtrix_layout_has_its_order_of_both_tensors() {
    let folder = folder();
    folder.done(&format!("{FIT} -o plain"));
    folder.done(&format!("{FIT} -o out --layout mrtrix"));
    let w = KurtosisOrder::MRTRIX.to_fimbria(&folder.image("out/dkt.mif"));
    assert_eq!(inside(&w), inside(&folder.image("plain/kurtosis.nii.gz")));
    let d = TensorOrder::MRTRIX.to_fimbria(&folder.image("out/dt.mif"));
    assert_eq!(inside(&d), inside(&folder.image("plain/tensor.nii.gz")));
}

#[test]
fn fsl_layout_turns_the_kurtosis_tensor_into_the_axes_of_bvecs() {
    let folder = folder();
    folder.done(&format!("{FIT} -o plain"));
    folder.done(&format!("{FIT} -o out --layout fsl"));
    let mut w = folder.image("out/dki_kurtosis.nii.gz");
    let turn = BvecFrame::Fsl.ras_from_frame(&grid().ras_from_vox);
    frames::turn_quartics(&mut w, &turn);
    for (a, b) in inside(&w).iter().zip(inside(&folder.image("plain/kurtosis.nii.gz"))) {
        // Turned twice in f32.
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn kurtosis_is_clipped_to_the_range_asked_for() {
    let folder = folder();
    folder.done(&format!("{FIT} -o out --clip -0.1,0.2 --maps MK,AK"));
    assert_eq!(inside(&folder.image("out/AK.nii.gz")), [f64::from(0.2f32)]);
}

#[test]
fn one_shell_is_refused_with_what_is_there() {
    let folder = Folder::with_subject();
    let error = folder.failed(&format!("{FIT} -o out"));
    assert!(error.contains("two shells") && error.contains("1000"), "{error}");
}
