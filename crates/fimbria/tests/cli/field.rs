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
            "qsm {background}/local_field.nii.gz --method dqsm --mask {background}/mask.nii.gz \
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
fn voxels_weigh_as_surely_as_their_field_is_known() {
    let folder = with_echoes();
    // Half the magnitude to one side, eight times to the other, on all echoes alike.
    write(&folder, "uneven.nii", 3, |_, p| match p[0] {
        x if x < -8.0 => 50.0,
        x if x > 8.0 => 800.0,
        _ => 100.0,
    });
    let line = "field phase.nii --mask mask.nii --te 5,12,20 --b0 3 --background pdf";
    folder.done(&format!("{line} --magnitude uneven.nii -o weighed"));
    let weights = folder.image("weighed/weights.nii.gz");
    let at = |x: usize| weights.data[grid().index([x, SIDE / 2, SIDE / 2])];
    // As parts of the median, at most 2; nothing outside the mask.
    assert_eq!([at(0), at(5), at(16), at(27)], [0.0, 0.5, 1.0, 2.0]);
    folder.done(&format!("{line} -o unweighed"));
    assert!(!folder.join("unweighed/weights.nii.gz").exists());
}

#[test]
fn echo_times_and_b0_come_from_sidecars() {
    let folder = with_echoes();
    let sidecar = r#"{"EchoTime": [0.005, 0.012, 0.020], "MagneticFieldStrength": 3}"#;
    std::fs::write(folder.join("phase.json"), sidecar).unwrap();
    folder.done("field phase.nii --mask mask.nii --background lbv -o sidecar");
    folder.done("field phase.nii --mask mask.nii --te 5,12,20 --b0 3 --background lbv -o given");
    let read = |name: &str| folder.image(&format!("{name}/local_field.nii.gz")).data;
    assert_eq!(read("sidecar"), read("given"));
}

/// Else the echo times would be said to be missing where they stand in a file that is cut short.
#[test]
fn a_sidecar_that_cannot_be_read_is_named() {
    let folder = with_echoes();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(made.unwrap().success());
    std::fs::write(folder.join("cut"), r#"{"EchoTime": [0.005, 0.0"#).unwrap();
    for kind in ["cut", "pipe"] {
        std::fs::rename(folder.join(kind), folder.join("phase.json")).unwrap();
        let said = folder.failed("field phase.nii --mask mask.nii -o out");
        assert!(said.contains("could not read the sidecar phase.json"), "{kind}: {said}");
        folder.done("field phase.nii --mask mask.nii --te 5,12,20 --b0 3 -o given -f");
    }
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
        ("field mag.nii --mask mask.nii --te 5 12 20 --b0 3", "it is no phase"),
        ("field phase.nii --magnitude mask.nii --te 5 12 20 --b0 3", "1 echoes of magnitude"),
        ("field phase.nii --mask mask.nii --te 0.005 0.012 0.020 --b0 3", "in milliseconds"),
        ("field unwrapped.nii --mask mask.nii --te 5 --b0 3", "may be a magnitude, a field"),
        ("field unplaced.nii --mask mask.nii --te 5 12 20 --b0 3", "B0 in voxel axes"),
    ] {
        let said = folder.failed(&format!("{line} -o out")).replace("\n  │", "");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "`{line}`: {said}");
        assert!(!folder.join("out").exists(), "`{line}` left an output");
    }
    for b0 in ["0", "123.2"] {
        let ran = folder.run(&format!("field phase.nii --mask mask.nii --b0 {b0} -o out"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("up to 30, in tesla"), "{}", ran.stderr);
    }
}

/// Tissue in a ball, darker to one side.
fn tissue(p: [f64; 3]) -> f64 {
    if length(p) < 14.0 { 0.6 + 0.02 * p[0] } else { 0.01 + 0.001 * (p[1] * 7.3).sin() }
}

#[test]
fn magnitudes_and_maps_are_no_phase_in_any_scaling() {
    let folder = with_echoes();
    for (name, high) in [("unit", 1.0), ("thousand", 1000.0), ("3000", 3000.0), ("bits", 4095.0)] {
        let scaled = |p| if high > 1.0 { (high * tissue(p)).round() } else { tissue(p) };
        write(&folder, &format!("{name}.nii"), 1, |_, p| scaled(p));
    }
    // Nuclei and veins in a map of susceptibility, and its field.
    let map = |p: [f64; 3]| {
        let nucleus = if length([p[0] - 5.0, p[1], p[2]]) < 3.0 { 0.15 } else { 0.0 };
        let vein = if p[1] == 2.0 && p[2] == 1.0 { 0.6 } else { 0.0 };
        nucleus + vein + 0.01 * (p[0] * 0.7).sin() - 0.02
    };
    write(&folder, "chi.nii", 1, |_, p| map(p));
    write(&folder, "local.nii", 1, |_, p| 0.03 * (p[0] * 0.3).sin() * (p[2] * 0.2).cos());
    for name in ["unit", "thousand", "3000", "bits", "chi", "local"] {
        let said = folder.failed(&format!("field {name}.nii --mask mask.nii --te 5 --b0 3 -o out"));
        assert!(said.contains("may be a magnitude"), "{name}: {said}");
        assert!(said.contains("--phase-range LOW HIGH"), "{name}: {said}");
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn a_phase_that_does_not_show_its_turn_is_taken_by_its_range() {
    let folder = with_echoes();
    // Shimmed well, and stripped of what lies around: once in radians, once as 0 to 1.
    let phase = |p: [f64; 3]| if length(p) < 14.0 { 0.03 * p[0] } else { 0.0 };
    write(&folder, "radians.nii", 1, |_, p| phase(p));
    write(&folder, "unit.nii", 1, |_, p| phase(p) / TAU + 0.5);
    let line = "--mask mask.nii --te 5 --b0 3 --background lbv";
    folder
        .done(&format!("field radians.nii {line} -o radians --phase-range -3.14159265 3.14159265"));
    folder.failed(&format!("field unit.nii {line} -o unit"));
    folder.done(&format!("field unit.nii {line} --phase-range 0 1 -o unit"));
    let total = |out: &str| folder.image(&format!("{out}/total_field.nii.gz")).data;
    let pairs = total("radians").into_iter().zip(total("unit"));
    // f32 phases near 0.5.
    assert!(pairs.fold(0.0_f32, |m, (a, b)| m.max((a - b).abs())) < 1e-5);
    let said = folder.failed(&format!("field radians.nii {line} --phase-range 0 1 -o no"));
    assert!(said.contains("not the ends of its range"), "{said}");
    // A range that the numbers hardly fill.
    let wide = folder.done(&format!("field radians.nii {line} --phase-range -4096 4095 -o wide"));
    assert!(wide.stderr.contains("is the range that of this file?"), "{}", wide.stderr);
}

#[test]
fn echoes_that_grow_are_pointed_out() {
    let folder = with_echoes();
    let mut magnitude = folder.image("mag.nii");
    let voxels = magnitude.grid.len();
    magnitude.data = magnitude.data.rchunks(voxels).flatten().copied().collect();
    write_image(folder.join("turned.nii"), &magnitude, &WriteOptions::default()).unwrap();
    let line = "field phase.nii --mask mask.nii --te 5 12 20 --b0 3 --background lbv";
    let said = |magnitude: &str| {
        folder.done(&format!("{line} --magnitude {magnitude}.nii -o {magnitude}")).stderr
    };
    assert!(said("turned").contains("the last echo is brighter"));
    assert!(!said("mag").contains("the last echo is brighter"));
}

#[test]
fn voxels_without_magnitude_leave_the_mask_and_are_counted() {
    let folder = with_echoes();
    let hole = |p: [f64; 3]| length([p[0] - 6.0, p[1], p[2]]) < 1.5;
    let whole = folder.image("mag.nii");
    let outside = |name: &str| {
        let line = "--mask mask.nii --te 5 12 20 --b0 3 --background pdf";
        let ran = folder.done(&format!("field phase.nii --magnitude {name}.nii {line} -o {name}"));
        let mask = folder.image(&format!("{name}/mask.nii.gz")).data;
        let record = folder.json(&format!("{name}/run.json"));
        let counted = record["stages"][0]["counts"]["voxels_without_signal"].as_u64().unwrap();
        (ran.stderr, mask, counted)
    };
    for (name, value) in [("zero", 0.0), ("nan", f32::NAN), ("negative", -5.0)] {
        let mut image = whole.clone();
        let mut holes = Vec::new();
        for voxel in 0..grid().len() {
            if hole(grid().voxel(voxel).map(|i| i as f64 - (SIDE / 2) as f64)) {
                holes.push(voxel);
                (0..3).for_each(|echo| image.volume_mut(echo)[voxel] = value);
            }
        }
        write_image(folder.join(&format!("{name}.nii")), &image, &WriteOptions::default()).unwrap();
        let (said, mask, counted) = outside(name);
        assert_eq!(counted, holes.len() as u64, "{name}");
        assert!(said.contains("left out of the mask"), "{name}: {said}");
        assert!(holes.iter().all(|&v| mask[v] == 0.0), "{name}");
    }
    let (said, _, counted) = outside("mag");
    assert!(counted == 0 && !said.contains("left out"), "{said}");
    write(&folder, "dark.nii", 3, |_, _| 0.0);
    let said = folder
        .failed("field phase.nii --magnitude dark.nii --mask mask.nii --te 5 12 20 --b0 3 -o dark");
    assert!(said.contains("no voxel of the mask has a magnitude"), "{said}");
}

#[test]
fn the_laplacian_comes_near_to_growing_regions() {
    let folder = with_echoes();
    let line = "field phase.nii --magnitude mag.nii --mask mask.nii --te 5 12 20 --b0 3 \
                --background lbv";
    for unwrap in ["region", "laplacian"] {
        folder.done(&format!("{line} --unwrap {unwrap} -o {unwrap}"));
        let record = folder.json(&format!("{unwrap}/run.json"));
        assert_eq!(record["parameters"]["field"]["field"]["unwrap"], unwrap);
    }
    let local = |out: &str| folder.image(&format!("{out}/local_field.nii.gz")).data;
    let (region, laplacian) = (local("region"), local("laplacian"));
    let square = |x: f32| f64::from(x).powi(2);
    let size: f64 = region.iter().map(|x| square(*x)).sum();
    let error: f64 = region.iter().zip(&laplacian).map(|(a, b)| square(a - b)).sum();
    let share = (error / size).sqrt();
    assert!(share > 0.01 && share < 0.6, "{share}");
}

#[test]
fn absurd_radii_and_grids_in_metres_end_with_the_grid() {
    let folder = with_echoes();
    for radius in ["1e308", "9e15", "1e5"] {
        folder.done(&format!(
            "field phase.nii --mask mask.nii --te 5,12,20 --b0 3 --radius {radius} -o r{radius}"
        ));
    }
    let mut phase = folder.image("phase.nii");
    let mut mask = folder.image("mask.nii");
    for image in [&mut phase, &mut mask] {
        for row in &mut image.grid.ras_from_vox.0 {
            row.iter_mut().for_each(|x| *x *= 1e-3);
        }
    }
    write_image(folder.join("metres.nii"), &phase, &WriteOptions::default()).unwrap();
    write_image(folder.join("metres_mask.nii"), &mask, &WriteOptions::default()).unwrap();
    let ran = folder.run("field metres.nii --mask metres_mask.nii --te 5,12,20 --b0 3 -o m");
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
}
