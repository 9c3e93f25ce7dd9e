use std::fs;

use fimbria_streamlines::{Header, Streamlines, Tractogram, WriteOptions};

use super::{contents, mpirun};
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

/// What a result says, without what was said on the way.
fn results(folder: &Folder, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = contents(folder, name, |file| file != "run.json");
    let record = folder.json(&format!("{name}/run.json"));
    for key in ["objective", "nonzero", "iterations", "optimality", "rmse_median"] {
        files.push((key.to_owned(), record[key].to_string().into_bytes()));
    }
    let counts = record["stages"][1]["counts"].as_object().unwrap();
    // Bytes are those of each process, and exact atoms those of each that uses them.
    let same = |name: &str| !name.starts_with("bytes") && name != "atoms";
    let counts = counts.iter().filter(|(name, _)| same(name));
    files.extend(counts.map(|(name, count)| (name.clone(), count.to_string().into_bytes())));
    files
}

#[test]
fn life_finds_the_same_bytes_on_any_number_of_processes() {
    let folder = subject();
    let set: Vec<String> = (0..4000).map(|f| f.to_string()).collect();
    fs::write(folder.join("sets.txt"), format!("some {}", set.join(" "))).unwrap();
    let more = "--isotropic 2e-3 --demean none --sets sets.txt --second dwi.nii --format nii";
    let conjugate = LIFE.replace("--solver sbb", "--solver conjugate --atoms exact");
    for line in [format!("{LIFE} --format nii"), format!("{conjugate} {more}")] {
        folder.done(&format!("{line} -o single"));
        let expected = results(&folder, "single");
        assert!(expected.len() > 15, "{}", expected.len());
        let exchanges = ["scatter", "blocking", "pipelined", "auto"];
        let ways = [(1, 0), (2, 0), (2, 1), (3, 2), (4, 0), (4, 3)];
        for (processes, exchange) in ways.map(|(n, exchange)| (n, exchanges[exchange])) {
            let line = format!("{line} --exchange {exchange} -o several");
            let Some(ran) = mpirun(&folder, &[(processes, line)]) else { return };
            assert_eq!(ran.code, Some(0), "{processes} processes: {}", ran.stderr);
            for (found, expected) in results(&folder, "several").iter().zip(&expected) {
                assert_eq!(found.0, expected.0);
                // Sums over processes are exact, whatever their order.
                assert!(found.1 == expected.1, "{processes} processes, {exchange}: {}", found.0);
            }
        }
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
