//! `fimbria field`: from phase to a local field that `fimbria qsm` maps.

use std::f64::consts::{PI, TAU};

use fimbria_image::{Affine, Datatype, Grid, Image, WriteOptions, write_image};

use crate::qsm::without_orientation;
use crate::util::Folder;

const SIDE: usize = 32;
const TIMES: [f64; 3] = [0.005, 0.012, 0.020];

pub(crate) fn grid() -> Grid {
    Grid { dims: [SIDE; 3], ras_from_vox: Affine::from_spacing([1.0, 1.0, 1.0]) }
}

pub(crate) fn write(
    folder: &Folder,
    name: &str,
    volumes: usize,
    value: impl Fn(usize, [f64; 3]) -> f64,
) {
    let mut image = Image::zeros(grid(), volumes);
    for volume in 0..volumes {
        for voxel in 0..grid().len() {
            let at = grid().voxel(voxel).map(|i| i as f64 - (SIDE / 2) as f64);
            image.volume_mut(volume)[voxel] = value(volume, at) as f32;
        }
    }
    write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
}

pub(crate) fn length(p: [f64; 3]) -> f64 {
    p.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A sphere of 0.4 ppm in a field of 3 T, phase counted as scanners do, 0 to 4095.
pub(crate) fn with_echoes() -> Folder {
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
    let bounds =
        [("vsharp --radius 5", 0.2), ("resharp --radius 3", 0.2), ("pdf", 0.2), ("lbv", 0.2)];
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
    // The steps of the magnitude are no reason to leave voxels out.
    folder.done(&format!("{line} --mask-quality 0 --magnitude uneven.nii -o weighed"));
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
    assert!(counted == 0 && !said.contains("left out of the mask"), "{said}");
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
            "field phase.nii --mask mask.nii --te 5,12,20 --b0 3 --background vsharp --radius {radius} \
             -o r{radius}"
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
    let ran = folder.run(
        "field metres.nii --mask metres_mask.nii --te 5,12,20 --b0 3 --background vsharp -o m",
    );
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
}

/// The field of [`with_echoes`] in ppm, without its sphere's.
pub(crate) fn total(folder: &Folder, out: &str) -> Vec<f32> {
    folder.image(&format!("{out}/total_field.nii.gz")).data
}

/// The largest difference of two fields inside the mask.
pub(crate) fn worst(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

const LINE: &str = "--mask mask.nii --background pdf";

/// Six files of a scanner's folder: a phase and its sidecar in BIDS, the field and what is common said
/// once above it.
#[test]
fn phases_of_a_bids_folder_inherit_what_is_said_above_them() {
    let folder = with_echoes();
    folder.done(&format!("field phase.nii {LINE} --te 5,12,20 --b0 3 -o given"));
    let whole = folder.image("phase.nii");
    for suffix in ["MEGRE", "T2starw"] {
        let data = format!("bids-{suffix}/sub-1/anat");
        std::fs::create_dir_all(folder.join(&data)).unwrap();
        let top = format!("bids-{suffix}/dataset_description.json");
        std::fs::write(folder.join(&top), "{}").unwrap();
        let common = format!("bids-{suffix}/{suffix}.json");
        std::fs::write(folder.join(&common), r#"{"MagneticFieldStrength": 3}"#).unwrap();
        let mut names = Vec::new();
        for (echo, time) in TIMES.iter().enumerate() {
            let stem = format!("{data}/sub-1_echo-{}_part-phase_{suffix}", echo + 1);
            let image = Image { grid: grid(), n_volumes: 1, data: whole.volume(echo).to_vec() };
            let options = WriteOptions::default();
            write_image(folder.join(&format!("{stem}.nii")), &image, &options).unwrap();
            // Of both parts of this echo.
            let beside = format!("{data}/sub-1_echo-{}_{suffix}.json", echo + 1);
            std::fs::write(folder.join(&beside), format!(r#"{{"EchoTime": {time}}}"#)).unwrap();
            names.push(format!("{stem}.nii"));
        }
        folder.done(&format!("field {} {LINE} -o {suffix}", names.join(" ")));
        assert_eq!(total(&folder, "given"), total(&folder, suffix), "{suffix}");
        // All of them are inputs.
        let record = folder.json(&format!("{suffix}/run.json"));
        let inputs = record["inputs"].as_array().unwrap();
        let count = |role: &str| inputs.iter().filter(|input| input["role"] == role).count();
        assert_eq!((count("phase"), count("phase sidecar")), (3, 4 + 2), "{inputs:?}");
    }
}

/// Integers of 16 bits in both byte orders, as each maker stores them.
#[test]
fn what_makers_store_is_the_same_phase() {
    let folder = with_echoes();
    folder.done(&format!("field phase.nii {LINE} --te 5,12,20 --b0 3 -o given"));
    let expected = total(&folder, "given");
    let whole = folder.image("phase.nii");
    let radians = |v: f32| f64::from(v) / 4095.0 * TAU - PI;
    for (name, maker, scaled) in [
        ("siemens", "SIEMENS", 4096.0 / PI),
        ("philips", "Philips Medical Systems", 1000.0),
        ("ge", "GE MEDICAL SYSTEMS", 1000.0),
    ] {
        let mut image = whole.clone();
        image.data.iter_mut().for_each(|v| {
            *v = (radians(*v) * scaled).round().clamp(-4096.0, 4095.0) as f32;
        });
        let options = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
        let little = format!("{name}.nii");
        write_image(folder.join(&little), &image, &options).unwrap();
        let bytes = std::fs::read(folder.join(&little)).unwrap();
        std::fs::write(folder.join(&format!("{name}-big.nii")), swapped(&bytes)).unwrap();
        for file in [name.to_owned(), format!("{name}-big")] {
            let said = format!(
                r#"{{"EchoTime": [0.005, 0.012, 0.02], "MagneticFieldStrength": 3, "Units": "arbitrary",
                     "Manufacturer": "{maker}", "ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]}}"#
            );
            std::fs::write(folder.join(&format!("{file}.json")), said).unwrap();
            folder.done(&format!("field {file}.nii {LINE} -o {file}"));
            // A step of a thousandth of a radian in 20 ms.
            let off = worst(&expected, &total(&folder, &file));
            assert!(off < 2e-4, "{file}: {off}");
        }
    }
}

/// The bytes of a NIfTI-1 file of 16 bits in the other order.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    let mut other = bytes.to_vec();
    let mut turn = |from: usize, size: usize, count: usize| {
        other[from..from + size * count].chunks_mut(size).for_each(<[u8]>::reverse);
    };
    // sizeof_hdr, dim, intent_p1..3, then codes, pixdim, vox_offset, slopes.
    turn(0, 4, 1);
    turn(40, 2, 8);
    turn(56, 4, 3);
    turn(68, 2, 4);
    turn(76, 4, 8);
    turn(108, 4, 3);
    turn(120, 2, 1);
    turn(124, 4, 6);
    turn(252, 2, 2);
    turn(256, 4, 18);
    let data = bytes.len() - 352;
    turn(352, 2, data / 2);
    other
}

#[test]
fn a_phase_that_shows_no_turn_is_read_as_its_maker_stores_it() {
    let folder = with_echoes();
    // Shimmed well and stripped: 200 thousandths of a radian.
    let number = |p: [f64; 3]| if length(p) < 14.0 { (12.0 * p[0]).round() } else { 0.0 };
    write(&folder, "still.nii", 1, |_, p| number(p));
    folder.failed(&format!("field still.nii {LINE} --te 5 --b0 3 -o out"));
    let said = |text: &str| std::fs::write(folder.join("still.json"), text).unwrap();
    said(r#"{"Manufacturer": "Philips", "ImageType": ["ORIGINAL", "PRIMARY", "PHASE MAP"]}"#);
    folder.done(&format!("field still.nii {LINE} --te 5 --b0 3 -o out"));
    let found = total(&folder, "out");
    let slope = found[grid().index([26, 16, 16])] - found[grid().index([6, 16, 16])];
    let expected = 20.0 * 0.012 / (TAU * 42.577_478_518 * 3.0 * 0.005);
    assert!((f64::from(slope) - expected).abs() < 1e-4, "{slope} {expected}");
    // Without the word that it is a phase its numbers may be anything.
    said(r#"{"Manufacturer": "Philips"}"#);
    folder.failed(&format!("field still.nii {LINE} --te 5 --b0 3 -o no"));
    said(r#"{"Units": "rad"}"#);
    let ran = folder.failed(&format!("field still.nii {LINE} --te 5 --b0 3 -o no"));
    assert!(ran.contains("says Units rad, but its numbers reach 1"), "{ran}");
    said(r#"{"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND"]}"#);
    let ran = folder.failed(&format!("field still.nii {LINE} --te 5 --b0 3 -o no"));
    assert!(ran.contains("says ImageType M"), "{ran}");
    // Radians that show no wraps are told by their unit.
    write(&folder, "radians.nii", 1, |_, p| 1e-3 * number(p));
    folder.failed(&format!("field radians.nii {LINE} --te 5 --b0 3 -o no"));
    std::fs::write(folder.join("radians.json"), r#"{"Units": "rad"}"#).unwrap();
    folder.done(&format!("field radians.nii {LINE} --te 5 --b0 3 -o radians"));
    assert!(worst(&found, &total(&folder, "radians")) < 1e-6);
}

/// As GE stores complex images: parts, every second slice turned by half a turn.
#[test]
fn real_and_imaginary_parts_are_phase_and_magnitude() {
    let folder = with_echoes();
    folder
        .done(&format!("field phase.nii --magnitude mag.nii {LINE} --te 5,12,20 --b0 3 -o given"));
    let (phase, magnitude) = (folder.image("phase.nii"), folder.image("mag.nii"));
    let part = |name: &str, with: fn(f64) -> f64, turns: bool| {
        let mut image = magnitude.clone();
        for (i, m) in image.data.iter_mut().enumerate() {
            let slice = i / (SIDE * SIDE) % SIDE;
            let sign = if turns && slice % 2 == 1 { -1.0 } else { 1.0 };
            let radians = f64::from(phase.data[i]) / 4095.0 * TAU - PI;
            *m = (sign * f64::from(*m) * with(radians)) as f32;
        }
        write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
    };
    for turns in [false, true] {
        part("re.nii", f64::cos, turns);
        part("im.nii", f64::sin, turns);
        let line =
            format!("field re.nii --imaginary im.nii {LINE} --te 5,12,20 --b0 3 -o parts -f");
        let ran = folder.done(&line);
        assert_eq!(ran.stderr.contains("from slice to slice"), turns, "{}", ran.stderr);
        for map in ["total_field", "weights", "r2star"] {
            let read = |out: &str| folder.image(&format!("{out}/{map}.nii.gz")).data;
            let most = read("given").iter().fold(0.0_f32, |m, v| m.max(v.abs()));
            // Parts in f32 of a phase of 12 bits.
            assert!(worst(&read("given"), &read("parts")) < 2e-3 * most, "{map} {turns}");
        }
    }
    let line = format!("field re.nii --imaginary mask.nii {LINE} --te 5,12,20 --b0 3 -o no");
    assert!(folder.failed(&line).contains("1 volumes of imaginary parts for 3"));
}

#[test]
fn readouts_forth_and_back_are_told_and_corrected() {
    let folder = with_echoes();
    let line = format!("{LINE} --te 5,12,20 --b0 3");
    folder.done(&format!("field phase.nii {line} -o plain"));
    let mut phase = folder.image("phase.nii");
    for echo in 0..3 {
        let sign = if echo % 2 == 0 { 0.5 } else { -0.5 };
        for (v, number) in phase.volume_mut(echo).iter_mut().enumerate() {
            let ramp = 0.08 * (grid().voxel(v)[0] as f64 - 15.5);
            *number = (f64::from(*number) + sign * ramp / TAU * 4095.0).rem_euclid(4095.0) as f32;
        }
    }
    write_image(folder.join("bipolar.nii"), &phase, &WriteOptions::default()).unwrap();
    let expected = total(&folder, "plain");
    folder.done(&format!("field bipolar.nii {line} -o told"));
    folder.done(&format!("field bipolar.nii {line} --bipolar false -o left"));
    let record = folder.json("told/run.json");
    let slope = record["bipolar_slope"][0].as_f64().unwrap();
    assert!((slope - 0.08).abs() < 2e-3, "{slope}");
    // The sphere's steep field makes the second echo's wraps ambiguous in few voxels beside it.
    let (told, left) = (total(&folder, "told"), total(&folder, "left"));
    let median = |a: &[f32]| {
        let mut off: Vec<f32> =
            a.iter().zip(&expected).filter(|(_, e)| **e != 0.0).map(|(a, e)| a - e).collect();
        let middle = off.len() / 2;
        off.sort_unstable_by(f32::total_cmp);
        // A constant field is background.
        let centre = off[middle];
        let mut off: Vec<f32> = off.into_iter().map(|o| (o - centre).abs()).collect();
        off.sort_unstable_by(f32::total_cmp);
        off[middle]
    };
    assert!(
        median(&told) < 1e-3 && median(&left) > 3.0 * median(&told),
        "{} {}",
        median(&told),
        median(&left)
    );
    let plain = folder.json("plain/run.json");
    assert!(plain["bipolar_slope"].is_null());
    let said = folder
        .failed(&format!("field phase.nii phase.nii {LINE} --bipolar true --te 5 --b0 3 -o no"));
    assert!(said.contains("echo times"), "{said}");
}

#[test]
fn several_coils_are_combined_and_wrong_numbers_of_them_refused() {
    let folder = with_echoes();
    let line = format!("{LINE} --te 5,12,20 --b0 3");
    let (phase, magnitude) = (folder.image("phase.nii"), folder.image("mag.nii"));
    // Each coil has a constant phase of its own, which together nearly cancel.
    let mut both = Image::zeros(grid(), 6);
    let mut strengths = Image::zeros(grid(), 6);
    for coil in 0..2 {
        for echo in 0..3 {
            let turned = phase.volume(echo).iter().map(|v| (v + 1900.0 * coil as f32) % 4095.0);
            both.volume_mut(3 * coil + echo).iter_mut().zip(turned).for_each(|(to, v)| *to = v);
            strengths.volume_mut(3 * coil + echo).copy_from_slice(magnitude.volume(echo));
        }
    }
    write_image(folder.join("coils.nii"), &both, &WriteOptions::default()).unwrap();
    write_image(folder.join("strengths.nii"), &strengths, &WriteOptions::default()).unwrap();
    folder.done(&format!("field phase.nii --magnitude mag.nii {line} --offset smooth -o one"));
    let given = "--magnitude strengths.nii --coils 2";
    folder.done(&format!("field coils.nii {given} {line} -o two"));
    let (one, two) = (total(&folder, "one"), total(&folder, "two"));
    let off = |v: usize| (one[v] - two[v]).abs();
    let far = (0..grid().len()).filter(|&v| off(v) > 1e-3).count();
    // A constant of a coil is nothing to the field.
    assert_eq!(far, 0);
    for (options, words) in [
        ("coils.nii --coils 2", "weighed by their magnitudes"),
        ("coils.nii --magnitude strengths.nii --coils 4", "6 volumes of phase are no echoes of 4"),
    ] {
        let said = folder.failed(&format!("field {options} {line} -o no"));
        assert!(said.contains(words), "{said}");
    }
    let said =
        folder.failed(&format!("field phase.nii {LINE} --te 5 --b0 3 --offset smooth -o no"));
    assert!(said.contains("echo times for"), "{said}");
}

#[test]
fn voxels_of_low_quality_leave_the_mask() {
    let folder = with_echoes();
    let line = format!("field phase.nii --magnitude mag.nii {LINE} --te 5,12,20 --b0 3");
    folder.done(&format!("{line} --mask-quality 0 -o all"));
    let quality = folder.image("all/quality.nii.gz").data;
    let mask = folder.image("mask.nii").data;
    assert_eq!(folder.image("all/mask.nii.gz").data, mask);
    // So much that the voxels of the rim have less.
    let mut inside: Vec<f32> =
        (0..grid().len()).filter(|v| mask[*v] > 0.0).map(|v| quality[v]).collect();
    inside.sort_by(f32::total_cmp);
    let least = inside[inside.len() / 4];
    folder.done(&format!("{line} --mask-quality {least} -o some"));
    let kept = folder.image("some/mask.nii.gz").data;
    // What is enclosed stays.
    assert!((0..grid().len()).all(|v| kept[v] == 0.0 || mask[v] > 0.0));
    assert!((0..grid().len()).any(|v| kept[v] == 0.0 && mask[v] > 0.0 && quality[v] < least));
    let count = kept.iter().filter(|m| **m > 0.0).count();
    assert!(count > 1000 && count < mask.iter().filter(|m| **m > 0.0).count(), "{count}");
    let said = folder.failed(&format!("{line} --mask-quality 1 -o none"));
    assert!(said.contains("--mask-quality"), "{said}");
}

/// The field is the phase but for its background, and a map of it the susceptibility but for a factor.
/// The root mean square of a local field.
fn rms_of_local(folder: &Folder, out: &str) -> f64 {
    let field = folder.image(&format!("{out}/local_field.nii.gz")).data;
    let squares: Vec<f64> =
        field.iter().filter(|b| **b != 0.0).map(|b| f64::from(*b).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn tears_of_a_fringe_line_that_ends_leave_the_mask_and_are_warned_of() {
    let folder = with_echoes();
    // The phase winds once around a line beside the middle: harmonic but there, so that nothing of it is local.
    write(&folder, "winding.nii", 1, |_, p| {
        let phase = 0.1 * p[0] + (p[1] - 4.5).atan2(p[0] - 3.5);
        ((phase + PI).rem_euclid(TAU) / TAU * 4095.0).round()
    });
    let line =
        "field winding.nii --mask mask.nii --te 5 --b0 3 --background lbv --phase-range 0 4095";
    for (options, words) in [("", "leave the mask"), ("--mask-quality 0", "stay in the mask")] {
        let ran = folder.done(&format!("{line} {options} -o out{}", options.len()));
        assert!(ran.stderr.contains("fringe lines end inside the mask"), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        let record = folder.json(&format!("out{}/run.json", options.len()));
        let count = record["stages"][0]["counts"]["voxels_of_open_fringes"].as_u64().unwrap();
        assert!((200..1500).contains(&count), "{count}");
    }
    let (without, with) = (rms_of_local(&folder, "out0"), rms_of_local(&folder, "out16"));
    assert!(without < 0.3 * with, "{without}, with the tears {with}");
}

#[test]
fn a_phase_of_unknown_echo_time_has_a_relative_field_and_map() {
    let folder = with_echoes();
    let whole = folder.image("phase.nii");
    let image = Image { grid: grid(), n_volumes: 1, data: whole.volume(2).to_vec() };
    write_image(folder.join("one.nii"), &image, &WriteOptions::default()).unwrap();
    let said = folder.failed(&format!("field one.nii {LINE} --b0 3 -o no"));
    assert!(said.contains("--relative"), "{said}");
    folder.done(&format!("field one.nii {LINE} --te 20 --b0 3 -o ppm"));
    folder.done(&format!("field one.nii {LINE} --relative -o rad"));
    // 2π times 127.7 Hz a ppm times 20 ms.
    let factor = (TAU * 42.577_478_518 * 3.0 * 0.020) as f32;
    let (ppm, rad) = (total(&folder, "ppm"), total(&folder, "rad"));
    assert!(ppm.iter().zip(&rad).all(|(p, r)| (p * factor - r).abs() < 1e-4));
    let line =
        |out: &str| format!("qsm {out}/local_field.nii.gz --mask {out}/mask.nii.gz --method tv");
    let said = folder.failed(&format!("{} -o no", line("rad")));
    assert!(said.contains("--field-unit relative"), "{said}");
    folder.done(&format!("{} -o chi-ppm", line("ppm")));
    folder.done(&format!("{} --field-unit relative -o chi-rad", line("rad")));
    let chi = |out: &str| folder.image(&format!("{out}/chi.nii.gz")).data;
    let (ppm, rad) = (chi("chi-ppm"), chi("chi-rad"));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let alike = dot(&ppm, &rad) / (dot(&ppm, &ppm) * dot(&rad, &rad)).sqrt();
    // λ is that of another strength of the field.
    assert!(alike > 0.95, "{alike}");
    let scale = dot(&ppm, &rad) / dot(&ppm, &ppm);
    assert!((scale / f64::from(factor) - 1.0).abs() < 0.25, "{scale} {factor}");
    for (out, unit) in [("chi-ppm", "ppm"), ("chi-rad", "relative field")] {
        let header =
            fimbria_image::ImageHeader::read(folder.join(&format!("{out}/chi.nii.gz"))).unwrap();
        assert!(header.description().contains(unit), "{out}");
    }
    // Pages and tables do not speak of ppm either.
    for (out, is_ppm) in [("chi-ppm", true), ("chi-rad", false), ("ppm", true), ("rad", false)] {
        folder.done(&format!("report {out} --title it -o {out}.html"));
        let page = std::fs::read_to_string(folder.join(&format!("{out}.html"))).unwrap();
        let page = page.split("<h2>What was done").next().unwrap();
        assert_eq!(page.contains("ppm"), is_ppm, "{out}");
    }
    let rms = |out: &str| {
        let text = std::fs::read_to_string(folder.join(&format!("{out}/iterations.tsv"))).unwrap();
        let last: Vec<&str> = text.lines().last().unwrap().split('\t').collect();
        (text.split('\t').nth(1).unwrap().to_owned(), last[1].parse::<f64>().unwrap())
    };
    let [(in_ppm, ppm), (in_radians, radians)] = ["chi-ppm", "chi-rad"].map(rms);
    assert_eq!((&*in_ppm, &*in_radians), ("rms_x_ppm", "rms_x"));
    assert!((radians / ppm / f64::from(factor) - 1.0).abs() < 0.25, "{radians} {ppm}");
    let ran = folder.done(&format!("field phase.nii {LINE} --relative -o first"));
    assert!(ran.stderr.contains("the first of 3 volumes alone"), "{}", ran.stderr);
}

/// A crop of a real head of 7 T, whose phase is in a scaling of its own and without echo times: it is
/// unwrapped and mapped, and what is smooth in the tissue is not streaked.
#[test]
fn a_real_phase_without_echo_times_is_mapped() {
    let Some(data) = fimbria_testing::refdata("qsm/gre_real/small") else { return };
    let folder = Folder::new();
    let file = |name: &str| data.join(name).display().to_string();
    folder.done(&format!(
        "field {} --magnitude {} --relative -o field",
        file("Phase.nii"),
        file("Mag.nii")
    ));
    let total = folder.image("field/total_field.nii.gz");
    let mask = folder.image("field/mask.nii.gz");
    // No wrap is left between neighbours of the mask.
    let grid = mask.grid;
    let jumps = (0..grid.len() - 1)
        .filter(|&v| grid.voxel(v)[0] + 1 < grid.dims[0])
        .filter(|&v| mask.data[v] > 0.0 && mask.data[v + 1] > 0.0)
        .filter(|&v| (total.data[v] - total.data[v + 1]).abs() > std::f32::consts::PI)
        .count();
    let inside = mask.data.iter().filter(|m| **m > 0.0).count();
    assert!(inside > 10_000 && jumps * 1000 < inside, "{jumps} of {inside}");
    folder.done(
        "qsm field/local_field.nii.gz --mask field/mask.nii.gz --weights field/weights.nii.gz \
         --field-unit relative -o qsm",
    );
    let chi = folder.image("qsm/chi.nii.gz");
    assert!(chi.data.iter().all(|x| x.is_finite()));
    let spread: f64 = chi.data.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    assert!(spread > 0.0);
}
