//! `fimbria field`: from phase to a local field that `fimbria qsm` maps.

use std::f64::consts::{PI, TAU};

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::qsm::without_orientation;
use crate::util::Folder;

const SIDE: usize = 32;
const TIMES: [f64; 3] = [0.005, 0.012, 0.020];

fn grid() -> Grid {
    Grid { dims: [SIDE; 3], ras_from_vox: Affine::from_spacing([1.0, 1.0, 1.0]) }
}

fn write(folder: &Folder, name: &str, volumes: usize, value: impl Fn(usize, [f64; 3]) -> f64) {
    let mut image = Image::zeros(grid(), volumes);
    for volume in 0..volumes {
        for voxel in 0..grid().len() {
            let at = grid().voxel(voxel).map(|i| i as f64 - (SIDE / 2) as f64);
            image.volume_mut(volume)[voxel] = value(volume, at) as f32;
        }
    }
    write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
}

fn length(p: [f64; 3]) -> f64 {
    p.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A sphere of 0.4 ppm in a field of 3 T, phase counted as scanners do, 0 to 4095.
fn with_echoes() -> Folder {
    let folder = Folder::new();
    let phase = |echo: usize, p: [f64; 3]| {
        let (r, radius) = (length(p), 4.0);
        let along = if r > 0.0 { p[2] / r } else { 0.0 };
        let delta = if r > radius {
            0.4 / 3.0 * (radius / r).powi(3) * (3.0 * along * along - 1.0)
        } else {
            0.0
        };
        // A background that varies over the volume.
        let delta = delta + 0.02 * p[0];
        let phase = TAU * 42.577_478_518 * 3.0 * delta * TIMES[echo];
        ((phase + PI).rem_euclid(TAU) / TAU * 4095.0).round()
    };
    write(&folder, "phase.nii", 3, phase);
    write(&folder, "mag.nii", 3, |echo, p| {
        if length(p) < 14.0 { 1000.0 * (-30.0 * TIMES[echo]).exp() } else { 1.0 }
    });
    write(&folder, "mask.nii", 1, |_, p| f64::from(u8::from(length(p) < 14.0)));
    folder
}

#[test]
fn a_sphere_is_mapped_from_its_phase() {
    let folder = with_echoes();
    // The largest of V-SHARP's balls has to fit well into this small mask.
    let bounds = [("vsharp --radius 5", 0.2), ("pdf", 0.2), ("lbv", 0.2)];
    for (options, least) in bounds {
        let background = options.split(' ').next().unwrap();
        folder.done(&format!(
            "field phase.nii --magnitude mag.nii --mask mask.nii --te 5 12 20 --b0 3 \
             --background {options} -o {background}"
        ));
        folder.done(&format!(
            "qsm {background}/local_field.nii.gz --mask {background}/mask.nii.gz \
             --iterations 60 -o {background}-qsm"
        ));
        let chi = folder.image(&format!("{background}-qsm/chi.nii.gz"));
        let at = |x: usize| chi.data[grid().index([x, SIDE / 2, SIDE / 2])];
        // In the middle against half way out.
        let contrast = at(SIDE / 2) - 0.5 * (at(SIDE / 2 - 8) + at(SIDE / 2 + 8));
        assert!(contrast > least && contrast < 0.48, "{background} {contrast}");
    }
    let total = folder.image("pdf/total_field.nii.gz");
    let slope = total.data[grid().index([26, 16, 16])] - total.data[grid().index([6, 16, 16])];
    // 20 voxels of background, in 4096 steps of phase.
    assert!((slope - 0.4).abs() < 0.01, "{slope}");
    let rate = folder.image("pdf/r2star.nii.gz").data[grid().index([16, 16, 16])];
    assert!((rate - 30.0).abs() < 0.01, "{rate}");
}

#[test]
fn echo_times_and_b0_come_from_sidecars() {
    let folder = with_echoes();
    let sidecar = r#"{"EchoTime": [0.005, 0.012, 0.020], "MagneticFieldStrength": 3}"#;
    std::fs::write(folder.join("phase.json"), sidecar).unwrap();
    folder.done("field phase.nii --mask mask.nii --background lbv -o sidecar");
    folder.done("field phase.nii --mask mask.nii --te 5 12 20 --b0 3 --background lbv -o given");
    let read = |name: &str| folder.image(&format!("{name}/local_field.nii.gz")).data;
    assert_eq!(read("sidecar"), read("given"));
}

#[test]
fn what_is_no_phase_is_one_clear_error() {
    let folder = with_echoes();
    write(&folder, "flat.nii", 1, |_, _| 3.0);
    write(&folder, "unwrapped.nii", 1, |_, p| 0.31 * p[0] + 0.27 * p[1]);
    without_orientation(&folder, "phase.nii", "unplaced.nii");
    for (line, words) in [
        ("field phase.nii --mask mask.nii --te 5 12 20", "strength of B0"),
        ("field phase.nii --mask mask.nii --b0 3", "echo times"),
        ("field phase.nii --mask mask.nii --b0 3 --te 5 12", "2 echo times for 3"),
        ("field phase.nii --mask mask.nii --b0 3 --te 5 12 12", "an echo time of 12"),
        ("field phase.nii --te 5 12 20 --b0 3", "a mask is needed"),
        ("field flat.nii --mask mask.nii --te 5 --b0 3", "is no phase"),
        ("field mag.nii --mask mask.nii --te 5 12 20 --b0 3", "looks like a magnitude"),
        ("field phase.nii --magnitude mask.nii --te 5 12 20 --b0 3", "1 echoes of magnitude"),
        ("field phase.nii --mask mask.nii --te 5 12 20 --b0 0", "B0 of 0"),
        ("field phase.nii --mask mask.nii --te 5 12 20 --b0 123.2", "B0 of 123.2"),
        ("field phase.nii --mask mask.nii --te 0.005 0.012 0.020 --b0 3", "in milliseconds"),
        ("field unwrapped.nii --mask mask.nii --te 5 --b0 3", "its ends are no turn apart"),
        ("field unplaced.nii --mask mask.nii --te 5 12 20 --b0 3", "B0 in voxel axes"),
    ] {
        let said = folder.failed(&format!("{line} -o out")).replace("\n  │", "");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "`{line}`: {said}");
        assert!(!folder.join("out").exists(), "`{line}` left an output");
    }
}
