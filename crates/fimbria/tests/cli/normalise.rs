//! `fimbria normalise`.

use std::process::{Command, Stdio};

use fimbria_image::{Image, WriteOptions, read_image, write_image};

use crate::util::{Folder, grid};

/// Densities of degree 4 in wm.nii, gm.nii and csf.nii: l = 0, in proportions that differ from voxel to voxel, times a
/// gain that no polynomial is; and all.nii, every voxel.
pub(crate) fn with_tissues() -> Folder {
    let folder = Folder::new();
    let put = |name: &str, image: &Image| {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    };
    let of_one = (0.25 / std::f32::consts::PI).sqrt();
    let mut images = [15, 1, 1].map(|volumes| Image::zeros(grid(), volumes));
    let mut all = Image::zeros(grid(), 1);
    for voxel in 0..grid().len() {
        let [x, y, z] = grid().voxel(voxel).map(|i| i as f32);
        let gain = 1.3 / (1.0 + 0.02 * (x - 9.0).powi(2)) + 0.02 * (2.0 * y + z).sin();
        let at = |step: f32| ((voxel + 1) as f32 * step).fract();
        let parts = [at(0.618), at(0.755) * 0.8, at(0.57) * 0.3];
        let sum: f32 = parts.iter().sum();
        for (image, part) in images.iter_mut().zip(parts) {
            image.data[voxel] = of_one * gain * part / sum;
        }
        images[0].volume_mut(3)[voxel] = 0.3 * images[0].data[voxel];
        all.data[voxel] = 1.0;
    }
    // Tissues that fill a voxel to different amounts.
    images[1].data.iter_mut().for_each(|amount| *amount *= 0.9);
    for (name, image) in ["wm.nii", "gm.nii", "csf.nii"].into_iter().zip(&images) {
        put(name, image);
    }
    put("all.nii", &all);
    all.data[..5].fill(0.0);
    put("fewer.nii", &all);
    folder
}

#[test]
fn the_gain_is_that_of_mtnormalise() {
    let folder = with_tissues();
    let mut peer = Command::new("mtnormalise");
    let words = "-quiet wm.nii wm_norm.nii gm.nii gm_norm.nii csf.nii csf_norm.nii -mask all.nii -check_norm norm.nii";
    peer.args(words.split(' ')).current_dir(folder.path()).stderr(Stdio::null());
    let Ok(status) = peer.status() else {
        return fimbria_testing::missing("mtnormalise (MRtrix3)");
    };
    assert!(status.success());
    folder.done("normalise wm.nii gm.nii csf.nii --mask all.nii -o out");
    let images = [("out/gain.nii.gz", "norm.nii"), ("out/fod_normalised.nii.gz", "wm_norm.nii")];
    for (ours, theirs) in images {
        let [ours, theirs] = [ours, theirs].map(|name| read_image(folder.join(name)).unwrap());
        for (a, b) in ours.data.iter().zip(&theirs.data) {
            // Quartiles of so few voxels are not the same in both, so that an outlier may be none there.
            assert!((a - b).abs() <= 2e-3 * b.abs(), "{a} {b}");
        }
    }
}

#[test]
fn two_scans_of_one_head_agree_once_their_gains_are_taken_out() {
    let folder = Folder::new();
    let head = "phantom head --size 27,30,22 --voxel 6 --shells 1000:20,2500:30 --snr 40";
    folder.done(&format!("{head} -o one"));
    folder.done(&format!("{head} --rng-seed 7 -o two"));
    // Coils on either side, and a receiver of another gain.
    for (name, side, scale) in [("one", -1.0, 0.7), ("two", 1.0, 1.5)] {
        let path = folder.join(&format!("{name}/dwi.nii.gz"));
        let mut series = read_image(&path).unwrap();
        let grid = series.grid;
        for (voxel, sample) in (0..grid.len()).cycle().zip(series.data.iter_mut()) {
            let [x, y, z] = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
            let mm = [x - side * 150.0, y, z].map(|d| d / 200.0);
            let far: f64 = mm.iter().map(|d| d * d).sum();
            *sample *= (scale * 1.5 / (1.0 + far)) as f32;
        }
        write_image(&path, &series, &WriteOptions::default()).unwrap();
    }
    folder.done("fit fod one/dwi.nii.gz --mask one/mask.nii.gz --order 6 -o fod_one");
    let responses = "--response fod_one/response.txt --response-gm fod_one/response_gm.txt --response-csf \
                     fod_one/response_csf.txt";
    folder.done(&format!(
        "fit fod two/dwi.nii.gz --mask one/mask.nii.gz --order 6 {responses} -o fod_two"
    ));
    for name in ["one", "two"] {
        folder.done(&format!("normalise fod_{name} --mask one/mask.nii.gz -o norm_{name}"));
    }
    let used = folder.image("norm_one/used.nii.gz");
    let apart = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|name| folder.image(name));
        let ratio = |voxel: usize| {
            let sum = |image: &Image| (0..3).map(|t| image.volume(t)[voxel]).sum::<f32>();
            f64::from((sum(&a) / sum(&b)).ln().abs())
        };
        let mut all: Vec<f64> =
            (0..used.data.len()).filter(|&v| used.data[v] == 1.0).map(ratio).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let before = apart("fod_one/tissues.nii.gz", "fod_two/tissues.nii.gz");
    let after = apart("norm_one/tissues_normalised.nii.gz", "norm_two/tissues_normalised.nii.gz");
    // Gains are 0.7 and 1.5 of each other and fall off by two; 1 % is the noise of single voxels and what a polynomial
    // of order 3 misses of a coil.
    assert!(before > 0.5 && after < 0.01, "{before} {after}");
}

#[test]
fn one_tissue_is_refused_and_an_image_of_other_volumes_too() {
    let folder = with_tissues();
    let error = folder.failed("normalise wm.nii --mask all.nii -o out");
    assert!(error.contains("takes 2 or more"), "{error}");
    let error = folder.failed("normalise wm.nii wm.nii --mask all.nii -o out");
    assert!(error.contains("wm.nii has 15 volumes"), "{error}");
    let error = folder.failed("normalise . --mask all.nii -o out");
    assert!(error.contains("no fod of `fit fod`"), "{error}");
    assert!(!folder.join("out").exists());
}
