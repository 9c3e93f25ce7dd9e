//! `fimbria field` of what scanners' field maps are: two echoes with a phase at time 0, a difference of
//! phases, a field in hertz, files in any order.

use std::f64::consts::{PI, TAU};

use fimbria_image::{WriteOptions, write_image};
use serde_json::json;

use crate::field::{grid, length, total, worst, write};
use crate::util::Folder;

const TIMES: [f64; 2] = [0.00519, 0.00765];
/// Radians a second of a ppm at 3 T.
const RATE: f64 = TAU * 42.577_478_518 * 3.0;

/// A smooth field, ppm, of a few turns within the mask.
fn ppm(p: [f64; 3]) -> f64 {
    0.05 * p[0] + 0.3 * (p[1] / 6.0).sin()
}

fn wrapped(phase: f64) -> f64 {
    phase - TAU * (phase / TAU).round()
}

/// Two echoes at these times whose phase at time 0 is `start`, in radians, with sidecars.
fn with_echoes(times: [f64; 2], start: impl Fn([f64; 3]) -> f64) -> Folder {
    let folder = Folder::new();
    for (echo, time) in times.into_iter().enumerate() {
        let phase = |_: usize, p: [f64; 3]| wrapped(start(p) + RATE * time * ppm(p));
        let name = format!("phase{}", echo + 1);
        write(&folder, &format!("{name}.nii"), 1, phase);
        say(&folder, &name, &json!({ "EchoTime": time }));
        let magnitude = |_: usize, p: [f64; 3]| {
            if length(p) < 14.0 { 1000.0 * (-30.0 * time).exp() } else { 1.0 }
        };
        write(&folder, &format!("magnitude{}.nii", echo + 1), 1, magnitude);
    }
    write(&folder, "mask.nii", 1, |_, p| f64::from(u8::from(length(p) < 14.0)));
    folder
}

/// The same with a phase of zero at time 0, and their difference.
fn with_field_map() -> Folder {
    let folder = with_echoes(TIMES, |_| 0.0);
    write(&folder, "phasediff.nii", 1, |_, p| wrapped(RATE * (TIMES[1] - TIMES[0]) * ppm(p)));
    let times = json!({ "EchoTime1": TIMES[0], "EchoTime2": TIMES[1], "EchoTime": TIMES[1] });
    say(&folder, "phasediff", &times);
    folder
}

fn say(folder: &Folder, name: &str, what: &serde_json::Value) {
    let mut what = what.clone();
    what["MagneticFieldStrength"] = json!(3.0);
    std::fs::write(folder.join(&format!("{name}.json")), what.to_string()).unwrap();
}

/// The field in the mask, less a constant: whole turns of a volume are not known.
fn is_the_field(folder: &Folder, out: &str, tolerance: f64) {
    let total = total(folder, out);
    let mask = folder.image("mask.nii").data;
    let middle = (grid().dims[0] / 2) as f64;
    let off: Vec<f64> = (0..grid().len())
        .filter(|&v| mask[v] > 0.0)
        .map(|v| f64::from(total[v]) - ppm(grid().voxel(v).map(|i| i as f64 - middle)))
        .collect();
    assert!(off.iter().all(|o| (o - off[0]).abs() < tolerance), "{out}: {off:?}");
}

#[test]
fn two_echoes_with_a_phase_at_time_zero_are_warned_of_and_name_the_option_that_mends_it() {
    // Half a turn of what the second echo misses is crossed within the mask.
    let folder = with_echoes([0.0046, 0.0092], |p| PI + 0.1 * p[2]);
    let line = "field phase1.nii phase2.nii --mask mask.nii";
    let said = folder.done(&format!("{line} --offset false -o plain")).stderr;
    assert!(said.contains("phase at echo time 0") && said.contains("--offset smooth"), "{said}");
    let record = folder.json("plain/run.json");
    assert!(record["warnings"].to_string().contains("--offset smooth"), "{record}");
    assert!(record["stages"][0]["counts"]["phase_steps"].as_u64().unwrap() > 100, "{record}");
    folder.done("report plain --title it -o page.html");
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("--offset smooth"));
    let said = folder.done(&format!("{line} --offset true -o fitted")).stderr;
    assert!(!said.contains("phase at echo time 0"), "{said}");
    is_the_field(&folder, "fitted", 2e-3);
    let said = folder.done(&format!("{line} -o smoothed")).stderr;
    assert!(!said.contains("phase at echo time 0"), "{said}");
    // Without one nothing is said.
    let folder = with_field_map();
    let said = folder.done(&format!("{line} -o plain")).stderr;
    assert!(!said.contains("phase at echo time 0"), "{said}");
    is_the_field(&folder, "plain", 2e-3);
}

#[test]
fn a_phase_difference_of_bids_has_the_time_between_its_echoes() {
    let folder = with_field_map();
    let line = "field phasediff.nii --mask mask.nii";
    // With both magnitudes, as BIDS keeps them, or one or none.
    for (out, magnitude) in [
        ("both", "--magnitude magnitude1.nii magnitude2.nii"),
        ("one", "--magnitude magnitude1.nii"),
        ("none", ""),
    ] {
        folder.done(&format!("{line} {magnitude} -o {out}"));
        is_the_field(&folder, out, 1e-3);
        let sidecar = folder.json(&format!("{out}/local_field.json"));
        let time = sidecar["EchoTime"].as_f64().unwrap();
        assert!((time - 0.00246).abs() < 1e-9, "{sidecar}");
    }
    // What is told is believed.
    folder.done(&format!("{line} --te 4.92 -o told"));
    let (half, whole) = (total(&folder, "told"), total(&folder, "none"));
    assert!(half.iter().zip(&whole).all(|(half, whole)| (2.0 * half - whole).abs() < 1e-4));
    say(&folder, "phasediff", &json!({ "EchoTime1": 5.19, "EchoTime2": 7.65 }));
    let said = folder.failed(&format!("{line} -o no"));
    assert!(said.contains("2460"), "{said}");
}

#[test]
fn a_field_map_of_bids_is_taken_in_its_unit_and_not_unwrapped() {
    let folder = with_field_map();
    let hertz = 42.577_478_518 * 3.0;
    for (unit, each) in [("Hz", hertz), ("rad/s", RATE), ("T", 3e-6)] {
        write(&folder, "fieldmap.nii", 1, |_, p| each * ppm(p));
        say(&folder, "fieldmap", &json!({ "Units": unit }));
        let line = "field fieldmap.nii --mask mask.nii";
        folder.done(&format!("{line} --magnitude magnitude1.nii -o out -f"));
        is_the_field(&folder, "out", 1e-4);
        let said = folder.failed(&format!("{line} --te 5 -o no"));
        assert!(said.contains(&format!("Units {unit}")), "{said}");
    }
}

#[test]
fn images_of_echoes_are_put_in_the_order_that_their_sidecars_tell() {
    let folder = with_field_map();
    let options = "--mask mask.nii";
    let magnitudes = "--magnitude magnitude1.nii magnitude2.nii";
    folder.done(&format!("field phase1.nii phase2.nii {magnitudes} {options} -o in_order"));
    let reversed = "--magnitude magnitude2.nii magnitude1.nii";
    let ran = folder.done(&format!("field phase2.nii phase1.nii {reversed} {options} -o turned"));
    assert!(!ran.stderr.contains("brighter"), "{}", ran.stderr);
    assert_eq!(worst(&total(&folder, "in_order"), &total(&folder, "turned")), 0.0);
    let decay = |out: &str| folder.image(&format!("{out}/r2star.nii.gz")).data;
    assert_eq!(decay("in_order"), decay("turned"));
    // Magnitudes that say their own times follow these, whatever the order of the phases.
    (0..2)
        .for_each(|e| say(&folder, &format!("magnitude{}", e + 1), &json!({"EchoTime": TIMES[e]})));
    folder.done(&format!("field phase1.nii phase2.nii {reversed} {options} -o mixed"));
    assert_eq!(decay("in_order"), decay("mixed"));
}

#[test]
fn holes_of_a_mask_are_counted_and_told_with_what_they_cost() {
    let folder = with_field_map();
    let mut image = folder.image("mask.nii");
    let inner = |v: usize| length(grid().voxel(v).map(|i| i as f64 - 16.0)) < 11.0;
    let holes: Vec<usize> = (0..grid().len()).filter(|v| v % 97 == 0 && inner(*v)).collect();
    holes.iter().for_each(|&v| image.data[v] = 0.0);
    write_image(folder.join("holes.nii"), &image, &WriteOptions::default()).unwrap();
    for (mask, expected) in [("holes", holes.len()), ("mask", 0)] {
        let said = folder
            .done(&format!("field phasediff.nii --mask {mask}.nii --mask-quality 0 -o {mask}"))
            .stderr;
        let record = folder.json(&format!("{mask}/run.json"));
        assert_eq!(record["stages"][0]["counts"]["voxels_of_holes"], expected);
        assert_eq!(said.contains("the mask encloses"), expected > 0, "{said}");
    }
}

/// Siemens' field map of a head, as dcm2niix leaves it, and Philips' two echoes: what each is, and what is
/// said of it.
#[test]
fn field_maps_as_scanners_leave_them_are_taken_for_what_they_are() {
    let Some(data) = fimbria_testing::refdata("scanners") else { return };
    let folder = Folder::new();
    let of = |name: &str| data.join(name).display().to_string();
    let gre = of("siemens_prisma_fieldmap/gre");
    folder.done(&format!(
        "field {gre}_phasediff.nii.gz --magnitude {gre}_e1.nii.gz {gre}_e2.nii.gz -o siemens"
    ));
    let found = folder.json("siemens/local_field.json");
    assert!((found["EchoTime"].as_f64().unwrap() - 0.00246).abs() < 1e-9, "{found}");
    let gre = of("philips_elition/gre");
    let files = format!(
        "{gre}_e1_ph.nii.gz {gre}_e2_ph.nii.gz --magnitude {gre}_e1.nii.gz {gre}_e2.nii.gz"
    );
    let said = folder.done(&format!("field {files} --offset false -o plain")).stderr;
    assert!(said.contains("--offset smooth"), "{said}");
    let said = folder.done(&format!("field {files} -o smooth")).stderr;
    assert!(!said.contains("phase at echo time 0"), "{said}");
    folder.done(&format!("field {files} --offset true -o difference"));
    // Off the difference of the echoes, taken directly, by more than 0.5 ppm, a third of a turn.
    let far = |out: &str| {
        let [total, difference, found] = ["plain", "difference", out]
            .map(|out| folder.image(&format!("{out}/total_field.nii.gz")).data);
        let inside = || (0..total.len()).filter(|&v| total[v] != 0.0 && difference[v] != 0.0);
        let far = inside().filter(|&v| (found[v] - difference[v]).abs() > 0.5).count();
        far as f64 / inside().count() as f64
    };
    assert!(far("plain") > 0.5 && far("smooth") < 0.05, "{} {}", far("plain"), far("smooth"));
}

#[test]
fn a_single_voxel_beyond_any_field_is_an_error_that_counts_it() {
    let folder = Folder::new();
    write(&folder, "field.nii", 1, |_, p| 0.02 * (p[0] / 3.0).sin());
    write(&folder, "mask.nii", 1, |_, p| f64::from(u8::from(length(p) < 10.0)));
    let mut field = folder.image("field.nii");
    field.data[grid().index([16, 16, 16])] = 1e38;
    write_image(folder.join("field.nii"), &field, &WriteOptions::default()).unwrap();
    for unit in ["ppm", "relative"] {
        let line = format!("qsm field.nii --mask mask.nii --method tkd --field-unit {unit}");
        let said = folder.failed(&format!("{line} -o no"));
        assert!(said.contains("1 voxel of the mask") && said.contains("1e38"), "{said}");
    }
    // Nor a weight whose square is no number.
    write(&folder, "good.nii", 1, |_, p| 0.02 * (p[0] / 3.0).sin());
    field.data.iter_mut().for_each(|weight| *weight = if *weight > 1.0 { 1e38 } else { 1.0 });
    write_image(folder.join("weights.nii"), &field, &WriteOptions::default()).unwrap();
    let line = "qsm good.nii --mask mask.nii --method tv --weights weights.nii -o no";
    assert!(folder.failed(line).contains("1 of the weights"));
}
