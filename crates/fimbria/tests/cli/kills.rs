//! Commands that are killed, stopped, or run twice at once.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_pipeline::RunRecord;
use fimbria_streamlines::{Header, Streamlines, Tractogram};

use crate::util::{FIT, Folder, Ran};

/// Moments at which each command is killed: `FIMBRIA_KILLS`, which the soak sets to 100.
fn moments() -> u32 {
    std::env::var("FIMBRIA_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: a signal to a child that has not been waited for yet.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), signal) };
}

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Every file of a run in `folder` but its records, by name; `None` where no run is whole there.
fn whole(folder: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let record = RunRecord::read(&folder.join("run.json")).ok()?;
    assert!(record.is_complete_in(folder), "{} is not what its record says", folder.display());
    let names = record.outputs.iter().map(|output| output.file.clone());
    // These say when they were made, and where.
    let names = names.filter(|name| !name.ends_with("html") && !name.ends_with("commands.txt"));
    Some(names.map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap())).collect())
}

/// Kills `line`, which writes to `out`, at moments spread over the time that it takes, and each time
/// goes on with `--resume`, to the same bytes.
fn goes_on_after_kills(folder: &Folder, line: &str) {
    let begun = Instant::now();
    folder.done(&format!("{line} -o whole"));
    let takes = begun.elapsed();
    let expected = whole(&folder.join("whole")).unwrap();
    for moment in 0..moments() {
        let mut child = start(folder, &format!("{line} -o out"));
        std::thread::sleep(takes * moment / moments());
        send(&child, libc::SIGKILL);
        child.wait().unwrap();
        // What was finished in time stays.
        folder.done(&format!("{line} -o out --resume"));
        assert!(whole(&folder.join("out")) == Some(expected.clone()), "moment {moment}");
        let hidden = |name: &String| name.contains(".unfinished") || name == ".resume";
        let left = [folder.names("."), folder.names("out")].concat();
        assert!(!left.iter().any(hidden), "moment {moment}: {left:?}");
        std::fs::remove_dir_all(folder.join("out")).unwrap();
    }
}

#[test]
fn a_run_killed_at_any_moment_goes_on_to_the_same_maps() {
    let line = "run dwi.nii --mask mask.nii --bvec-frame scanner --set run.fits=[]";
    goes_on_after_kills(&Folder::with_subject(), line);
}

#[test]
fn sampling_killed_at_any_moment_goes_on_to_the_same_samples() {
    let line = "sticks dwi.nii --mask mask.nii --bvec-frame scanner --fibres 1 --burn-in 50 \
                --jumps 100 --sample-every 10 --device cpu";
    goes_on_after_kills(&Folder::with_subject(), line);
}

#[test]
fn a_susceptibility_map_killed_at_any_moment_goes_on_to_the_same_map() {
    let line = "qsm field.nii --method dqsm --mask mask.nii --v1 v1.nii --fa fa.nii --iterations 20 \
                --tolerance 0 --gradient-tolerance 0 --threads 1 --checkpoint 0";
    goes_on_after_kills(&crate::qsm::with_sphere(), line);
}

/// Its solver begins its steps anew: the weights come as near to the optimum, by other steps.
#[test]
fn weighing_killed_at_any_moment_goes_on_to_weights_as_good() {
    let folder = crate::life::with_many_streamlines();
    let line = format!("{} --max-iterations 40", crate::life::LONG);
    let begun = Instant::now();
    folder.done(&format!("{line} -o whole"));
    let takes = begun.elapsed();
    let objective = |name: &str| folder.json(&format!("{name}/run.json"))["objective"].as_f64();
    let expected = objective("whole").unwrap();
    for moment in 0..moments() {
        let mut child = start(&folder, &format!("{line} -o out"));
        std::thread::sleep(takes * moment / moments());
        send(&child, libc::SIGKILL);
        child.wait().unwrap();
        let force = if whole(&folder.join("out")).is_some() { "--force" } else { "--resume" };
        folder.done(&format!("{line} -o out {force}"));
        assert!(whole(&folder.join("out")).is_some(), "moment {moment}");
        // The same number of iterations, or more.
        let found = objective("out").unwrap();
        assert!(found <= expected * (1.0 + 1e-9), "moment {moment}: {found} after {expected}");
        let left = [folder.names("."), folder.names("out")].concat();
        let hidden = |name: &String| name.contains(".unfinished") || name == ".resume";
        assert!(!left.iter().any(hidden), "moment {moment}: {left:?}");
        std::fs::remove_dir_all(folder.join("out")).unwrap();
    }
}

/// What is larger than a third of `--memory` is mapped, and ended the program with SIGBUS.
#[cfg(target_os = "linux")]
#[test]
fn a_mapped_series_that_is_cut_off_is_one_error_with_its_name() {
    // Both of two threads read what is no more there.
    for threads in [1, 2] {
        cut_off_on(threads);
    }
}

fn cut_off_on(threads: usize) {
    let folder = Folder::new();
    folder.done(
        "phantom crossing --voxel 3 --size 50,60,46 --shells 1000:70 --b0s 2 --format nii -o p",
    );
    let options = format!("--threads {threads} --memory 96M");
    let line = &format!("fit fod p/dwi.nii --mask p/mask.nii --order 8 {options} -o out");
    let child = start(&folder, line);
    let begun = Instant::now();
    while !folder.names(".").contains(&"out".to_owned()) {
        assert!(begun.elapsed() < Duration::from_secs(30), "`{line}` never began");
        std::thread::sleep(Duration::from_millis(1));
    }
    // Its work takes half a minute and reads the series to its end.
    std::thread::sleep(Duration::from_millis(200));
    let file = std::fs::OpenOptions::new().write(true).open(folder.join("p/dwi.nii")).unwrap();
    file.set_len(1000).unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let errors: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("p/dwi.nii"), "{}", ran.stderr);
    assert_eq!(folder.names("."), ["p"]);
}

#[test]
fn a_fit_killed_at_any_moment_leaves_the_earlier_run_or_the_new_one() {
    let folder = Folder::with_subject();
    let begun = Instant::now();
    folder.done(&format!("{FIT} --method ols --format nii -o ols"));
    let takes = begun.elapsed();
    folder.done(&format!("{FIT} --method iwls --format nii -o iwls"));
    let [ols, iwls] = ["ols", "iwls"].map(|name| whole(&folder.join(name)).unwrap());
    assert!(ols != iwls);
    folder.done(&format!("{FIT} --method ols --format nii -o out"));
    for moment in 0..moments() {
        let method = if moment % 2 == 0 { "iwls" } else { "ols" };
        let mut child = start(&folder, &format!("{FIT} --method {method} --format nii -o out -f"));
        std::thread::sleep(takes * moment / moments());
        send(&child, libc::SIGKILL);
        child.wait().unwrap();
        let found = whole(&folder.join("out")).expect("a run is whole");
        assert!(found == ols || found == iwls, "moment {moment}: maps of two runs");
    }
    folder.done(&format!("{FIT} --method ols --format nii -o out -f"));
    let left = [folder.names("."), folder.names("out")].concat();
    assert!(!left.iter().any(|name| name.contains(".unfinished")), "{left:?}");
}

#[test]
fn of_runs_at_once_one_writes_and_its_maps_are_not_mixed() {
    let folder = Folder::with_subject();
    for _ in 0..5 {
        let children = ["ols", "iwls"]
            .map(|method| (method, start(&folder, &format!("{FIT} --method {method} -o out -f"))));
        for (method, child) in children {
            let ran = Ran::of(&child.wait_with_output().unwrap());
            let is_refused = ran.code == Some(1) && ran.stderr.contains("another run is writing");
            assert!(ran.code == Some(0) || is_refused, "{method}: {}", ran.stderr);
        }
        assert!(whole(&folder.join("out")).is_some());
    }
}

#[test]
fn a_device_is_not_replaced_by_force() {
    let folder = Folder::with_subject();
    // A link, so that a program that does not look takes away no more than that.
    std::os::unix::fs::symlink("/dev/null", folder.join("null.nii")).unwrap();
    let error = folder.failed("convert dwi.nii -o null.nii -f");
    assert!(error.contains("null.nii is no regular file"), "{error}");
    assert!(folder.join("null.nii").symlink_metadata().unwrap().is_symlink());
}

/// Stops a command with Ctrl-C while it works: it ends with 130 and leaves nothing.
fn stops(folder: &Folder, line: &str, out: &str) {
    let before = folder.names(".");
    let child = start(folder, line);
    let begun = Instant::now();
    while folder.names(".") == before {
        assert!(begun.elapsed() < Duration::from_secs(30), "`{line}` never began");
        std::thread::sleep(Duration::from_millis(1));
    }
    send(&child, libc::SIGINT);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "`{line}`: {}", ran.stderr);
    assert!(!folder.join(out).exists(), "`{line}`: {:?}", folder.names("."));
    assert_eq!(folder.names("."), before, "`{line}`");
}

/// A tractogram of millions of points far from the only label, which is searched for in vain.
fn many_streamlines(folder: &Folder) {
    let grid = crate::util::grid();
    let mut labels = Image::zeros(grid, 1);
    labels.data[0] = 1.0;
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    let mut lines = Streamlines::default();
    for n in 0..400_000 {
        let at = |k: f32| [k, (n % 100) as f32 * 0.1, (n / 100) as f32 * 0.01];
        lines.push(&[1.0, 2.0, 3.0, 4.0, 5.0].map(at));
    }
    let tractogram = Tractogram::new(Header::default(), lines);
    tractogram.write(folder.join("many.tck"), &Default::default()).unwrap();
}

#[test]
fn every_command_stops_when_it_is_told_to() {
    let folder = Folder::new();
    folder.done("phantom crossing --voxel 3 --size 50,60,46 --shells 1000:20 --b0s 2 -o p");
    folder.done("phantom gre --size 60,72,56 --voxel 2.5 -o gre");
    folder.done("fit dti p/dwi.nii.gz --mask p/mask.nii.gz -o dti");
    folder.done("fit fod p/dwi.nii.gz --mask p/mask.nii.gz --order 4 -o fod");
    many_streamlines(&folder);
    let tensors = format!("[{}[1, 2, 3]]", "[0.5, -1.25, 2.0], ".repeat(20_000));
    let tensors = format!(r#"{{"order": 2, "dimension": 2, "tensors": {tensors}}}"#);
    std::fs::write(folder.join("tensors.json"), tensors).unwrap();
    let tracks = "--seeds p/mask.nii.gz -n 20";
    for (line, out) in [
        ("convert p/dwi.nii.gz -o out.mif.gz", "out.mif.gz"),
        ("fit dti p/dwi.nii.gz --mask p/mask.nii.gz --method nlls -o out", "out"),
        ("fit fod p/dwi.nii.gz --mask p/mask.nii.gz -o out", "out"),
        (&format!("track dti/V1.nii.gz {tracks} -o out"), "out"),
        (
            "field gre/phase.nii.gz --magnitude gre/magnitude.nii.gz --mask gre/mask.nii.gz \
             --background vsharp -o out",
            "out",
        ),
        ("phantom crossing --voxel 2 -o out", "out"),
        ("phantom gre --size 120,144,112 --voxel 1.25 -o out", "out"),
        ("connectome many.tck labels.nii --radius 30 -o out", "out"),
        ("convert many.tck --reference labels.nii -o out.trx", "out.trx"),
        ("tract edit many.tck --include labels.nii --number 9 --step 0.1 -o out.tck", "out.tck"),
        ("tract clean many.tck --points 1000 -o out.tck", "out.tck"),
        ("tract profile many.tck --map labels.nii --points 1000 -o out", "out"),
        ("peaks fod/fod.nii.gz --mask p/mask.nii.gz -o out", "out"),
        ("sift2 many.tck fod/fod.nii.gz -o out", "out"),
        ("sticks p/dwi.nii.gz --mask p/mask.nii.gz -o out/in", "out/in"),
        ("eigen tensors.json --starts 100000 -o out.json", "out.json"),
    ] {
        stops(&folder, line, out);
    }
}
