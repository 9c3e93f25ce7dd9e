use std::fs;

use fimbria_streamlines::{Header, Streamlines, Tractogram, WriteOptions};

use super::mpirun;
use crate::util::{AXIS, Folder, grid};

/// A subject and enough short streamlines for several blocks of entries.
fn subject() -> Folder {
    let folder = Folder::with_subject();
    let mut lines = Streamlines::default();
    for f in 0..15_000_u32 {
        let at = |i: u32| f64::from(f.wrapping_mul(2_654_435_761 + 2 * i) >> 20) / 2048.0 - 1.0;
        let centre = grid().ras_from_vox.apply([3.0 + 2.0 * at(0), 2.5 + at(1), 2.0 + at(2)]);
        let dir = [AXIS[0] + 0.5 * at(3), AXIS[1] + 0.5 * at(4), AXIS[2] + 0.5 * at(5)];
        let point = |step: i32| -> [f32; 3] {
            std::array::from_fn(|i| (centre[i] + f64::from(step) * dir[i]) as f32)
        };
        lines.push(&(-4..=4).map(point).collect::<Vec<_>>());
    }
    let tractogram = Tractogram::new(Header::default(), lines);
    tractogram.write(folder.join("lines.tck"), &WriteOptions::default()).unwrap();
    folder
}

const LIFE: &str = "life lines.tck --dwi dwi.nii --bvec-frame scanner --threads 1 --solver sbb \
                    --max-iterations 8 --force";

fn weights(folder: &Folder, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn life_finds_the_same_on_any_number_of_processes() {
    let folder = subject();
    folder.done(&format!("{LIFE} -o single"));
    let expected = weights(&folder, "single/weights.txt");
    let largest = expected.iter().fold(0.0_f64, |m, w| m.max(*w));
    let objective = |name: &str| folder.json(name)["objective"].as_f64().unwrap();
    let exchanges = ["scatter", "blocking", "pipelined", "auto"];
    let ways = [1, 2, 4].into_iter().flat_map(|n| exchanges.map(|exchange| (n, exchange)));
    for (processes, exchange) in ways {
        let line = format!("{LIFE} --exchange {exchange} -o several");
        let Some(ran) = mpirun(&folder, &[(processes, line)]) else { return };
        assert_eq!(ran.code, Some(0), "{processes} processes: {}", ran.stderr);
        let found = weights(&folder, "several/weights.txt");
        let apart = found.iter().zip(&expected).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        // Sums over processes are rounded to f32 when they are complete.
        assert!(apart < 1e-6 * largest, "{processes} processes, {exchange}: {apart} of {largest}");
        let ratio = objective("several/run.json") / objective("single/run.json");
        assert!((ratio - 1.0).abs() < 1e-6, "{processes} processes: {ratio}");
    }
}

#[test]
fn a_process_that_fails_ends_all_with_one_message() {
    let folder = subject();
    let good = format!("{LIFE} -o out");
    let missing = good.replace("lines.tck", "missing.tck");
    let mut lines = Tractogram::read(folder.join("lines.tck")).unwrap();
    lines.streamlines.push(&[[0.0, 5.0, 9.0], [1.0, 6.0, 10.0]]);
    lines.write(folder.join("other.tck"), &WriteOptions::default()).unwrap();
    let other = good.replace("lines.tck", "other.tck");
    for (parts, words) in [
        (vec![(2, missing.clone())], "missing.tck"),
        (vec![(1, good.clone()), (1, missing)], "missing.tck"),
        // Files that are not the first process's.
        (vec![(1, good), (1, other)], "process 1 found other inputs"),
    ] {
        let Some(ran) = mpirun(&folder, &parts) else { return };
        assert_ne!(ran.code, Some(0));
        assert_eq!(
            ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
            1,
            "not one error: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    // MPI may kill the process that made the folder; nothing in it looks finished.
    assert!(!folder.join("out/run.json").exists());
}
