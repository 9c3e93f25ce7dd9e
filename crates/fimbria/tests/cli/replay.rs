//! Solvers on a card that does nothing but gives back what PoCL gave (`null_gpu.c` and `failing_opencl.c` in
//! `crates/compute/tests/stand_in`): they take the same course to the same bytes, and what the host and the
//! card exchange on the way is counted.

use fimbria_testing::{Call, calls};

use crate::util::{Folder, Ran};

/// What the card was asked by `line`, whose `file` has the same bytes from both devices.
fn replayed(folder: &Folder, line: &str, file: &str) -> Option<Vec<Call>> {
    let (_opencl, opencl_path) = fimbria_testing::failing_opencl()?;
    let (_card, card_path) = fimbria_testing::null_gpu()?;
    let (reads, log) = (folder.join("reads"), folder.join("calls"));
    for stale in ["kept", "again", "calls"] {
        drop(std::fs::remove_dir_all(folder.join(stale)));
    }
    drop(std::fs::remove_file(&reads));
    std::fs::create_dir(&log).unwrap();
    let mut command = folder.command(&format!("{line} --device opencl:0 -o kept"));
    command.env("LD_LIBRARY_PATH", opencl_path).env("FAILING_OPENCL_READS", &reads);
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.stderr);
    let mut command = folder.command(&format!("{line} --device gpu:0 -o again"));
    command
        .env("LD_LIBRARY_PATH", card_path)
        .env("NULL_GPU_READS", &reads)
        .env("NULL_GPU_LOG", &log)
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/null-gpu"));
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.stderr);
    assert!(!ran.stderr.contains("the threads do"), "`{line}`: {}", ran.stderr);
    let of = |name: &str| std::fs::read(folder.join(&format!("{name}/{file}"))).unwrap();
    assert!(of("kept") == of("again"), "`{line}`: {file} differs");
    Some(calls(&log))
}

/// Bytes that came down, and launches.
fn exchanged(calls: &[Call]) -> (usize, usize) {
    let down = calls.iter().filter(|call| call.what == "download");
    let bytes = down.map(|call| call.of.parse::<usize>().unwrap()).sum();
    (bytes, calls.iter().filter(|call| call.what == "launch").count())
}

/// Elements of the padded volume of the head below.
const PADDED: usize = 21 * 27 * 21;

/// Voxels of a mask.
fn counted(folder: &Folder, mask: &str) -> usize {
    folder.image(mask).data.iter().filter(|value| **value > 0.0).count()
}

#[test]
fn life_takes_its_course_and_reads_a_gradient_a_product() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 34,34,30 --voxel 8 --shells 2000:30 --format nii -o s");
    let line = "life s/truth/tracts.trx --dwi s/dwi.nii --mask s/mask.nii --max-iterations 8";
    let Some(calls) = replayed(&folder, line, "weights.txt") else { return };
    let counts = &folder.json("again/run.json")["stages"][1]["counts"];
    let [products, streamlines, voxels] = ["products_adjoint", "streamlines", "voxels_passed"]
        .map(|count| counts[count].as_u64().unwrap() as usize);
    let (down, launches) = exchanged(&calls);
    // The gradient in f64, and parts of the objective, of many voxels each.
    assert!(down <= products * (8 * streamlines + voxels), "{down} {products}");
    assert!(launches >= 3 * products, "{launches} {products}");
}

#[test]
fn susceptibility_takes_its_course_and_reads_numbers_not_maps() {
    let folder = Folder::new();
    folder.done("phantom gre --size 16,18,14 --voxel 10 --format nii -o gre");
    let field = "qsm gre/truth/local_field.nii --mask gre/mask.nii --iterations 12";
    for method in ["dtv", "tv", "ilsqr"] {
        let line = format!("{field} --method {method}");
        let Some(calls) = replayed(&folder, &line, "chi.nii.gz") else { return };
        let (down, launches) = exchanged(&calls);
        // The map and its field, of ilsqr two maps of the padded volume; then numbers, a few bytes a launch.
        let inside = counted(&folder, "gre/mask.nii");
        let volumes = if method == "ilsqr" { 2 * PADDED } else { 2 * inside };
        assert!(down <= 4 * volumes + 8 * launches, "{method}: {down} of {volumes}");
        assert!(launches > 12 * 4, "{method}: {launches}");
    }
}
