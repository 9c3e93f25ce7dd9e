//! `fimbria sticks`: what it writes and how it is taken up again.

use std::time::Duration;

use fimbria_image::bedpostx::read_bedpostx;
use fimbria_image::{ImageHeader, OpenOptions, SpaceCodes, WriteOptions, write_image};

use crate::util::{AXIS, Folder, Ran};

/// A short sampling of the subject.
const SHORT: &str = "sticks dwi.nii --mask mask.nii --bvec-frame scanner --fibres 2 --model 1 \
                     --burn-in 200 --jumps 100 --sample-every 10";

#[test]
fn samples_point_along_the_axis_in_the_scanner() {
    let folder = Folder::with_subject();
    folder.done(&format!("{SHORT} -o out"));
    let field = read_bedpostx(&folder.join("out"), None, &OpenOptions::default()).unwrap();
    assert_eq!((field.n_fibres, field.n_samples, field.mask.len()), (2, 10, 180));
    for slot in [0, 90, 179] {
        for stick in field.fibre(slot, 0) {
            let along: f64 = (0..3).map(|k| AXIS[k] * f64::from(stick.dir_ras[k])).sum();
            // Two sticks may share the width of the tensor, one on either side of its axis.
            assert!(along.abs() > 0.85, "{stick:?}");
        }
    }
    let d = folder.image("out/mean_dsamples.nii.gz");
    let inside = d.data[d.grid.index([3, 3, 2])];
    assert!((5e-4..3e-3).contains(&inside), "{inside} mm²/s");
}

#[test]
fn the_folder_has_what_fsl_looks_for() {
    let folder = Folder::with_subject();
    folder.done(&format!("{SHORT} -o out"));
    let names = folder.names("out");
    for name in [
        "merged_th1samples.nii.gz",
        "merged_ph2samples.nii.gz",
        "mean_f2samples.nii.gz",
        "mean_fsumsamples.nii.gz",
        "dyads1.nii.gz",
        "dyads1_dispersion.nii.gz",
        "dyads2_thr0.05.nii.gz",
        "dyads2_thr0.05_modf2.nii.gz",
        "nodif_brain.nii.gz",
        "nodif_brain_mask.nii.gz",
        "bvals",
        "bvecs",
        "xfms",
        "run.json",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
    assert_eq!(folder.json("out/run.json")["parameters"]["sticks"]["sticks"]["fibres"], 2);
}

#[test]
fn images_keep_the_space_of_the_series_and_dyads_are_vectors_to_viewers() {
    let folder = Folder::with_subject();
    let codes = SpaceCodes { qform: 2, sform: 4 };
    let options = WriteOptions { space_codes: Some(codes), ..WriteOptions::default() };
    write_image(folder.join("dwi.nii"), &folder.image("dwi.nii"), &options).unwrap();
    folder.done(&format!("{SHORT} -o out"));
    let header =
        |name: &str| ImageHeader::read(folder.join(&format!("out/{name}.nii.gz"))).unwrap();
    for name in ["merged_ph1samples", "dyads2_thr0.05_modf2", "status", "nodif_brain_mask"] {
        assert_eq!(header(name).space_codes(), Some(codes), "{name}");
    }
    // NIfTI's code for vectors shown as colours.
    let vectors = ["dyads1", "dyads2", "dyads2_thr0.05", "dyads2_thr0.05_modf2"];
    assert_eq!(vectors.map(|name| header(name).intent().code), [2003; 4]);
    assert_eq!(header("merged_th1samples").intent().code, 0);
    let fit = "fit dti dwi.nii --mask mask.nii --bvec-frame scanner -o fit";
    folder.done(fit);
    let fa = ImageHeader::read(folder.join("fit/FA.nii.gz")).unwrap();
    assert_eq!(fa.space_codes(), Some(codes));
}

#[test]
fn the_same_seed_gives_the_same_samples_for_any_number_of_threads() {
    let folder = Folder::with_subject();
    for (out, more) in [("a", "--threads 1"), ("b", "--threads 3"), ("c", "--rng-seed 1")] {
        folder.done(&format!("{SHORT} {more} -o {out}"));
    }
    let theta = |out: &str| folder.image(&format!("{out}/merged_th1samples.nii.gz"));
    assert_eq!(theta("a"), theta("b"));
    assert_ne!(theta("a"), theta("c"));
}

#[test]
fn finished_chunks_of_another_sampling_are_refused_and_stay_until_it_is_begun_anew() {
    let folder = Folder::with_subject();
    let chunks = folder.join("out/.resume/sticks");
    // What an interrupted run leaves, with a fingerprint that no run has.
    std::fs::create_dir_all(&chunks).unwrap();
    std::fs::write(chunks.join("sampling"), b"fbkept\0\x02another sampling").unwrap();
    std::fs::write(chunks.join("chunk-0"), b"fbkept\0\x02a chunk").unwrap();
    let said = folder.failed(&format!("{SHORT} --resume -o out"));
    assert!(said.contains("was left by work on other inputs"), "{said}");
    assert!(chunks.join("chunk-0").exists());
    folder.done(&format!("{SHORT} -o out"));
    folder.done(&format!("{SHORT} -o fresh"));
    let theta = |out: &str| folder.image(&format!("{out}/merged_th1samples.nii.gz"));
    assert_eq!(theta("out"), theta("fresh"));
    assert!(!chunks.exists());
}

#[test]
fn more_fibres_than_data_are_one_error() {
    let folder = Folder::with_subject();
    let ran = folder.run(&SHORT.replace("--fibres 2", "--fibres 7 -o out"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 to 4"), "{}", ran.stderr);
}

#[test]
fn a_series_without_any_usable_signal_is_refused() {
    let folder = Folder::with_subject();
    let mut series = folder.image("dwi.nii");
    series.data.fill(0.0);
    write_image(folder.join("dwi.nii"), &series, &WriteOptions::default()).unwrap();
    let said = folder.failed(&format!("{SHORT} -o out"));
    assert!(said.contains("voxels has a usable signal"), "{said}");
    // Its chunks stayed, though there is nothing in them to go on from.
    assert!(!folder.join("out").exists());
}

#[cfg(unix)]
#[test]
fn sampling_that_was_stopped_or_killed_goes_on_to_the_same_samples() {
    let folder = Folder::new();
    // Some 7500 voxels: two chunks.
    folder.done("phantom crossing --voxel 6 --size 25,30,23 --shells 1000:20 --b0s 2 -o p");
    let line = "sticks p/dwi.nii.gz --mask p/mask.nii.gz --fibres 1 --model 1 --burn-in 40 --jumps 60 \
                --sample-every 10 --device cpu";
    folder.done(&format!("{line} -o whole"));
    for (out, signal) in [("killed", libc::SIGKILL), ("stopped", libc::SIGINT)] {
        let (line, chunk) = (format!("{line} -o {out}"), format!("{out}/.resume/sticks/chunk-0"));
        let child = folder.started(&line, &chunk, Duration::from_secs(60));
        // SAFETY: a signal to a child that has not been waited for yet.
        unsafe { libc::kill(i32::try_from(child.id()).unwrap(), signal) };
        let ended = child.wait_with_output().unwrap();
        assert!(!folder.join(&format!("{out}/run.json")).exists(), "it was to end before its end");
        if signal == libc::SIGINT {
            let ran = Ran::of(&ended);
            assert_eq!(ran.code, Some(130), "{}", ran.stderr);
            let left = "interrupted: --resume goes on from stopped/.resume";
            assert!(ran.stderr.contains(left), "{}", ran.stderr);
            // One sample of one voxel.
            let mut other = folder.image("p/dwi.nii.gz");
            let mask = folder.image("p/mask.nii.gz");
            let inside = mask.data.iter().rposition(|m| *m > 0.0).unwrap();
            other.data[inside] *= 2.0;
            write_image(folder.join("other.nii"), &other, &WriteOptions::default()).unwrap();
            for extension in ["bval", "bvec"] {
                let from = folder.join(&format!("p/dwi.{extension}"));
                std::fs::copy(from, folder.join(&format!("other.{extension}"))).unwrap();
            }
            let line = line.replace("p/dwi.nii.gz", "other.nii");
            let said = folder.failed(&format!("{line} --resume"));
            assert!(said.contains("was left by work on other inputs"), "{said}");
        }
        folder.done(&format!("{line} --resume --threads 1"));
        for name in folder.names("whole").iter().filter(|name| name.ends_with(".nii.gz")) {
            let image = |out: &str| folder.image(&format!("{out}/{name}"));
            assert_eq!(image(out), image("whole"), "{name}");
        }
        assert!(!folder.join(&format!("{out}/.resume")).exists());
    }
}

#[test]
fn samples_in_half_precision_are_tracked_and_take_the_place_of_images() {
    let folder = Folder::with_subject();
    folder.done(&format!("{SHORT} -o full"));
    folder.done(&format!("{SHORT} --half -o half"));
    let names = folder.names("half");
    assert!(names.iter().any(|name| name == "merged_samples.f16"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("merged_th")), "{names:?}");
    let read = |out: &str| read_bedpostx(&folder.join(out), None, &OpenOptions::default()).unwrap();
    let (full, half) = (read("full"), read("half"));
    assert_eq!(full.mask, half.mask);
    for (a, b) in full.sticks.iter().zip(&half.sticks) {
        let (a, b) = (a.unpack(), b.unpack());
        let cos: f32 = (0..3).map(|k| a.dir_ras[k] * b.dir_ras[k]).sum();
        // A twentieth of a degree, of either sense: FSL's angles choose one.
        assert!(cos.abs() > 1.0 - 1e-6 && (a.fraction - b.fraction).abs() < 1e-3, "{a:?} {b:?}");
    }
    folder.done("track half --seeds mask.nii -n 2 -o tracks");
    assert!(folder.image("tracks/visits.nii.gz").data.iter().any(|n| *n > 0.0));
    let line = "probtrackx2 -s half/merged -m mask.nii -x mask.nii --opd -P 2 --forcedir --dir=ptx";
    folder.done(line);
    assert!(folder.join("ptx/fdt_paths.nii.gz").exists());
}
