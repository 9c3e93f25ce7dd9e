//! Small files of every reader, damaged: each ends in a result or one error, soon. The parsers of images
//! and tractograms have fuzz targets of their own (fuzz/); here the program reads what else a user or
//! an earlier run gives it.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fimbria_image::bedpostx::{read_bedpostx, write_half};

use crate::track::with_samples;
use crate::util::Folder;

/// Damaged files per reader and run of the tests. More, for a longer search: FIMBRIA_HOSTILE=10000.
fn rounds() -> u64 {
    std::env::var("FIMBRIA_HOSTILE").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

/// A linear congruential generator: what is damaged must be the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Texts that parsers stumble over.
const WORDS: [&str; 16] = [
    "nan",
    "-inf",
    "1e308",
    "-0",
    "18446744073709551616",
    "-9223372036854775809",
    "0.0000001",
    "\"",
    "{",
    "[[[[[[[[",
    "\u{1b}[31m",
    "\0",
    "/dev/zero",
    "../../x",
    "\u{feff}",
    "é",
];

/// One to three damages: a byte, a word put in, a part cut out, doubled, or the end cut off.
fn damaged(whole: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len());
        let part = at..(at + 1 + chance.below(16)).min(bytes.len());
        match chance.below(5) {
            0 if !bytes.is_empty() => bytes[at] = chance.below(256) as u8,
            1 => {
                let word = WORDS[chance.below(WORDS.len())];
                bytes.splice(part, word.bytes());
            }
            2 => drop(bytes.drain(part)),
            3 => {
                let again = bytes[part].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Runs `line` on damaged versions of `file`.
fn survives(folder: &Folder, file: &str, line: &str) {
    /// Far more than any of these small runs takes, on a busy machine too.
    const LONGEST: Duration = Duration::from_secs(60);
    let whole = fs::read(folder.join(file)).unwrap();
    assert_eq!(folder.run(line).code, Some(0), "undamaged: {line}: {}", folder.run(line).stderr);
    let mut chance = Chance(whole.len() as u64);
    for round in 0..rounds() {
        let bytes = damaged(&whole, &mut chance);
        fs::write(folder.join(file), &bytes).unwrap();
        let mut command = folder.command(line);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > LONGEST {
                child.kill().unwrap();
                panic!("round {round} of `{line}` hangs on {file}: {:?}", shown(&bytes));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let told = matches!(status.code(), Some(0..=2))
            && !said.contains("panicked")
            && !said.contains('\u{1b}');
        assert!(told, "round {round} of `{line}`, {status}: {said}\n{:?}", shown(&bytes));
    }
    fs::write(folder.join(file), whole).unwrap();
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned()
}

fn put(folder: &Folder, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn tensors_in_json() {
    let folder = Folder::new();
    put(&folder, "in.json", r#"{"order": 2, "dimension": 2, "tensors": [[2.0, 1.0, 3.0]]}"#);
    survives(&folder, "in.json", "eigen in.json -o out.json --force");
}

#[test]
fn settings_in_toml() {
    let folder = Folder::with_subject();
    put(
        &folder,
        "run.toml",
        "[input]\ndwi = \"dwi.nii\"\nmask = \"mask.nii\"\nbvec_frame = \"scanner\"\n\n\
         [run]\nfits = []\n\n[dti]\nmethod = \"ols\"\n",
    );
    survives(&folder, "run.toml", "run --config run.toml -o out --force");
}

#[test]
fn bvals_and_bvecs() {
    let folder = Folder::with_subject();
    for file in ["dwi.bval", "dwi.bvec"] {
        survives(&folder, file, "info --table dwi.nii --bvec-frame scanner");
    }
}

#[test]
fn records_and_maps_of_an_earlier_run() {
    let folder = Folder::with_subject();
    let fit = "fit dti dwi.nii --mask mask.nii --bvec-frame scanner --method ols -o out --force";
    folder.done(fit);
    survives(&folder, "out/run.json", "report out -o page.html --force");
}

#[test]
fn lists_and_matrices_of_fsl() {
    let folder = with_samples();
    let line = "probtrackx2 -s bpx/merged -m bpx/nodif_brain_mask --opd -P 1 --dir=log --forcedir";
    put(&folder, "points.txt", "3 2 2\n2 2 2\n");
    survives(&folder, "points.txt", &format!("{line} --simple -x points.txt"));
    put(&folder, "way.txt", "far\n");
    survives(&folder, "way.txt", &format!("{line} -x seed --waypoints=way.txt"));
    put(&folder, "seed.mat", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    survives(&folder, "seed.mat", &format!("{line} -x seed --xfm=seed.mat"));
}

#[test]
fn samples_of_directions() {
    let folder = with_samples();
    let line = "probtrackx2 -x seed -m bpx/nodif_brain_mask --opd -P 1 --dir=log --forcedir";
    let samples = folder.names("bpx").into_iter().find(|name| name.starts_with("merged_th1"));
    let file = format!("bpx/{}", samples.unwrap());
    survives(&folder, &file, &format!("{line} -s bpx/merged"));
    let field = read_bedpostx(&folder.join("bpx"), None, &Default::default()).unwrap();
    fs::create_dir(folder.join("half")).unwrap();
    let half = fimbria_image::bedpostx::half_file(Path::new("half/merged"));
    write_half(&field, &mut fs::File::create(folder.join(half.to_str().unwrap())).unwrap())
        .unwrap();
    survives(&folder, half.to_str().unwrap(), &format!("{line} -s half/merged"));
}

#[test]
fn weights_of_streamlines() {
    let folder = crate::tractogram::with_tractogram();
    put(&folder, "weights.txt", "# of each\n1\n0.5 2\n");
    let line = "connectome a.trx labels.nii --weights weights.txt -o c --force";
    survives(&folder, "weights.txt", line);
}

#[test]
fn sidecars() {
    let folder = crate::peaks::with_hot();
    put(
        &folder,
        "hot.json",
        r#"{"OrientationEncoding": {"Type": "tensor", "TensorRank": 6}, "Reference": "ijk"}"#,
    );
    survives(&folder, "hot.json", "peaks hot.nii -o peaks --force");
}

#[test]
fn files_of_dqsm() {
    let folder = crate::dqsm_files::subject();
    let line =
        "qsm deltab.bin --dqsm-files --mask mask.bin --v1 models.bin --iterations 1 -o out --force";
    for file in ["deltab.bin", "mask.bin", "models.bin"] {
        survives(&folder, file, line);
    }
}
