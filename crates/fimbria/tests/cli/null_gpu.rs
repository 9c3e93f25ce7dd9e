//! Every command that has `--device`, on a card that fails: the threads do the work, and what is written
//! has the same bytes as without a device. The card is `crates/compute/tests/stand_in/null_gpu.c`, on
//! which every kernel does nothing, so that whatever came from it would be seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use fimbria_testing::Driver;
use serde_json::Value;

use crate::bids::{contents, with_data_set};
use crate::util::{Folder, Ran};

/// The card that is lost at its first launch, as by a fault in a kernel.
const LOST: &str = "address:1";
/// No memory from the first allocation on, from the second on, and for launches.
const SHORT: [&str; 3] = ["allocation:1+", "allocation:2+", "launch:1+"];

/// Where a command runs, and what it takes beside `--device` and its output.
struct Case {
    command: &'static str,
    line: &'static str,
    group: Group,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// One series with two shells.
    Shells,
    /// Many b along each direction.
    Protocol,
    /// What is made of a series and its densities.
    Directions,
    /// Gradient echoes.
    Echoes,
    /// Several stages at once.
    Whole,
    /// A whole head of its own, which takes longest.
    Demo,
}

use Group::{Demo, Directions, Echoes, Protocol, Shells, Whole};

const fn case(command: &'static str, group: Group, line: &'static str) -> Case {
    Case { command, line, group }
}

const SERIES: &str = "s/dwi.nii --mask s/mask.nii";

const CASES: &[Case] = &[
    case("fit dti", Shells, SERIES),
    case("fit fod", Shells, SERIES),
    case("fit dki", Shells, SERIES),
    case("fit msdki", Shells, SERIES),
    case("fit mono", Shells, SERIES),
    case("fit noddi", Shells, SERIES),
    case("fit fwdti", Shells, SERIES),
    case("fit smt", Shells, SERIES),
    case("fit axdki", Shells, SERIES),
    case("fit dkimicro", Shells, SERIES),
    case("fit gqi", Shells, SERIES),
    case("fit mapmri", Shells, "s/dwi.nii --mask s/mask.nii --order 4"),
    case(
        "fit expr",
        Shells,
        "s/dwi.nii --mask s/mask.nii --model S0*exp(-b*D) --param S0=500 --param D=1",
    ),
    case("fit hot", Protocol, "s/dwi.nii --mask s/mask.nii --bmax 4000"),
    case("fit stremi", Protocol, SERIES),
    case("fit stremi1d", Protocol, SERIES),
    case("fit dki1d", Protocol, SERIES),
    case("fit ivim", Protocol, SERIES),
    case("eigen", Directions, "fod/hot.nii --mask s/mask.nii --precision single"),
    case("peaks", Directions, "fod/fod.nii --mask s/mask.nii"),
    case(
        "sticks",
        Directions,
        "s/dwi.nii --mask s/mask.nii --fibres 1 --burn-in 5 --jumps 10 --sample-every 5",
    ),
    case("track", Directions, "pk/peaks.nii --seeds s/mask.nii -n 1"),
    case("probtrackx2", Directions, "-s bpx/merged -m s/mask.nii -x s/mask.nii -P 2"),
    case("life", Directions, "tr/tracks.trx --dwi s/dwi.nii --max-iterations 4"),
    case("qsm", Echoes, "field.nii --mask gre/mask.nii --method dqsm --iterations 2"),
    case("qsm", Echoes, "field.nii --mask gre/mask.nii --method rts"),
    case("run", Whole, "s/dwi.nii --mask s/mask.nii --set run.fits=[\"dti\",\"fod\"]"),
    case("maps", Whole, "s/dwi.nii --mask s/mask.nii --models dti,mono"),
    case("bids", Whole, "in OUT participant --participant-label 01"),
    case("demo", Demo, "--voxel 10"),
];

/// Benchmarks with little to do.
const BENCHES: &[&str] = &[
    "dti --voxels 2000",
    "fit --fits 3000 --voxels 1000 --scipy 0",
    "fft --size 16",
    "life --streamlines 300 --directions 12 --voxels 1500 --iterations 3 --short",
    "sparse",
    "sshopm --order 4 --tensors 32 --starts 4 --iterations 2 --max-iterations 20",
    "track --particles 400 --plain 400",
    "sticks --voxels 32 --plain 1 --jumps 4",
    "qsm --sides 8 --no-paper --no-solvers --fast-only",
];

/// Where a record says what the command line was, a page how long it took, or `bids` when files were written.
const TELLS_OF_ITSELF: [&str; 5] =
    ["run.json", ".html", "commands.txt", "probtrackx.log", ".fimbria/seen/sub-01"];

/// A folder, and the cards that programs in it find.
struct Bed {
    folder: Folder,
    library_path: String,
    /// It goes with this.
    _driver: Driver,
}

impl Bed {
    /// `None`, said aloud, where NVRTC or a compiler is missing.
    fn new(folder: Folder) -> Option<Self> {
        let (driver, library_path) = fimbria_testing::null_gpu()?;
        Some(Self { folder, library_path, _driver: driver })
    }

    /// The program with the words of `line`, on a card with this fault; kernels are kept from one to the
    /// next.
    fn run(&self, line: &str, fault: &str) -> Ran {
        let kept = concat!(env!("CARGO_TARGET_TMPDIR"), "/null-gpu");
        let mut command = self.folder.command(line);
        command
            .env("LD_LIBRARY_PATH", &self.library_path)
            .env("XDG_CACHE_HOME", kept)
            .env("NULL_GPU_FAULT", fault);
        Ran::of(&command.output().unwrap())
    }

    /// What `line` leaves in `out`, but for what tells of itself.
    fn written(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        let mut all = contents(&self.folder.join(out));
        all.retain(|name, _| !TELLS_OF_ITSELF.iter().any(|end| name.ends_with(end)));
        all
    }

    /// The commands of a group with each of the faults.
    fn prove(&self, group: Group, faults: &[&str]) {
        for Case { command, line, .. } in CASES.iter().filter(|case| case.group == group) {
            let whole = |out: &str| match *command {
                "probtrackx2" => format!("{command} {line} --dir={out}"),
                "bids" => format!("{command} {}", line.replace("OUT", out)),
                // One file, in a folder like the others' files.
                "eigen" => format!("{command} {line} -o {out}/pairs.json"),
                _ => format!("{command} {line} -o {out}"),
            };
            self.folder.done(&format!("{} --device cpu", whole("cpu")));
            let expected = self.written("cpu");
            assert!(!expected.is_empty(), "`{command}` wrote nothing");
            for fault in faults {
                let line = format!("{} --device gpu:0", whole("gpu"));
                let ran = self.run(&line, fault);
                assert_eq!(ran.code, Some(0), "`{line}`, {fault}: {}", ran.stderr);
                // Mean-signal kurtosis and q-sampling have no kernel.
                let said = match *command {
                    "fit msdki" | "fit gqi" => "no kernel does this",
                    _ if *fault == LOST => "Null GPU: lost (",
                    _ => "Null GPU: out of memory (",
                };
                assert!(ran.stderr.contains(said), "`{line}`, {fault}: {}", ran.stderr);
                let found = self.written("gpu");
                let names = |all: &BTreeMap<String, Vec<u8>>| -> BTreeSet<String> {
                    all.keys().cloned().collect()
                };
                assert_eq!(names(&found), names(&expected), "`{line}`, {fault}");
                let differ: Vec<_> = expected.iter().filter(|(k, v)| found[*k] != **v).collect();
                let differ: Vec<_> = differ.into_iter().map(|(name, _)| name).collect();
                assert!(differ.is_empty(), "`{line}`, {fault}: {differ:?} differ");
                fs::remove_dir_all(self.folder.join("gpu")).unwrap();
            }
            fs::remove_dir_all(self.folder.join("cpu")).unwrap();
        }
    }
}

fn all_faults() -> Vec<&'static str> {
    [LOST].into_iter().chain(SHORT).collect()
}

#[test]
fn every_command_that_takes_a_device_is_proven() {
    let text = Folder::new().done("describe --format json").stdout;
    let methods: Vec<Value> = serde_json::from_str(&text).unwrap();
    let takes_device = |method: &&Value| {
        method["options"].as_array().unwrap().iter().any(|option| option["long"] == "device")
    };
    let take: BTreeSet<&str> = methods
        .iter()
        .filter(takes_device)
        .map(|method| method["name"].as_str().unwrap())
        .collect();
    let benches = BENCHES.iter().map(|line| line.split_once(' ').map_or(*line, |(name, _)| name));
    let benches: Vec<String> = benches.map(|name| format!("bench {name}")).collect();
    let proven = CASES.iter().map(|case| case.command).chain(benches.iter().map(String::as_str));
    // A device that fails is what `devices` is there to tell; a paper is one of the benchmarks above.
    assert_eq!(take, proven.chain(["devices", "bench paper"]).collect());
}

#[test]
fn fits_of_shells_go_on_without_a_card_that_fails() {
    let folder = Folder::new();
    folder.done(
        "phantom crossing --size 12,14,11 --voxel 14 --shells 1000:20,2000:20 --format nii -o s",
    );
    if let Some(bed) = Bed::new(folder) {
        bed.prove(Shells, &all_faults());
    }
}

#[test]
fn fits_of_a_protocol_go_on_without_a_card_that_fails() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 5,5,2 --voxel 12 --format nii -o s");
    if let Some(bed) = Bed::new(folder) {
        bed.prove(Protocol, &all_faults());
    }
}

#[test]
fn directions_are_found_and_followed_without_a_card_that_fails() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 12,14,11 --voxel 14 --shells 1000:30 --format nii -o s");
    folder.done(&format!("fit fod {SERIES} --order 8 --device cpu --format nii -o fod"));
    folder.done("peaks fod/fod.nii --mask s/mask.nii --device cpu --format nii -o pk");
    folder.done("track pk/peaks.nii --seeds s/mask.nii -n 1 --device cpu -o tr");
    let sampled = "--fibres 1 --burn-in 5 --jumps 10 --sample-every 5 --device cpu -o bpx";
    folder.done(&format!("sticks {SERIES} {sampled}"));
    if let Some(bed) = Bed::new(folder) {
        bed.prove(Directions, &all_faults());
    }
}

#[test]
fn susceptibility_is_found_without_a_card_that_fails() {
    let folder = Folder::new();
    folder.done("phantom gre --size 12,14,11 --voxel 14 --format nii -o gre");
    fs::copy(folder.join("gre/truth/local_field.nii"), folder.join("field.nii")).unwrap();
    if let Some(bed) = Bed::new(folder) {
        bed.prove(Echoes, &all_faults());
    }
}

#[test]
fn runs_of_several_stages_go_on_without_a_card_that_fails() {
    let folder = with_data_set();
    folder.done("phantom crossing --size 12,14,11 --voxel 14 --shells 1000:30 --format nii -o s");
    if let Some(bed) = Bed::new(folder) {
        bed.prove(Whole, &[LOST, SHORT[0]]);
    }
}

#[test]
fn the_demo_goes_on_without_a_card_that_fails() {
    if let Some(bed) = Bed::new(Folder::new()) {
        bed.prove(Demo, &[LOST]);
    }
}

/// What threads did in its place would stand in its row.
#[test]
fn a_benchmark_ends_where_its_card_fails() {
    let Some(bed) = Bed::new(Folder::new()) else { return };
    for bench in BENCHES {
        let ran = bed.run(&format!("bench {bench} --device gpu:0"), LOST);
        assert_eq!(ran.code, Some(1), "`bench {bench}`: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("error: Null GPU: lost ("), "`bench {bench}`: {}", ran.stderr);
    }
}

#[test]
fn a_card_that_was_named_and_does_not_open_is_one_error() {
    let Some(bed) = Bed::new(Folder::with_subject()) else { return };
    let ran = bed.run(&format!("{} --device gpu:0 -o out", crate::util::FIT), "open:1");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: Null GPU: out of memory ("), "{}", ran.stderr);
    assert!(!bed.folder.join("out").exists());
}

/// In a place of its own, whose folder of devices shows a card; $1 is where the usual one goes.
const WITH_A_CARD: &str = r#"
set -e
mkdir "$1"; mount --rbind /dev "$1"; mount -t tmpfs tmpfs /dev
for name in null zero random urandom; do touch /dev/$name; mount --bind "$1/$name" /dev/$name; done
mkdir /dev/nvidia0
shift; exec "$@"
"#;

/// What `crates/models/src/voxelwise/gain.rs` says pays is the card's, the rest the threads', who say so.
#[test]
fn a_card_that_nobody_named_is_used_for_what_it_pays_for() {
    let folder = Folder::new();
    // Of one thread the densities of these voxels take more than half a second, by the table.
    folder.done(
        "phantom crossing --size 18,20,16 --voxel 9.4 --shells 1000:20,2000:20 --format nii -o s",
    );
    let Some(bed) = Bed::new(folder) else { return };
    let run = |words: &[&str]| {
        let program = bed.folder.command("");
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--mount", "sh", "-c", WITH_A_CARD, "sh", "devices"])
            .args(words.iter().map(|word| match *word {
                "fimbria" => program.get_program(),
                word => word.as_ref(),
            }))
            .current_dir(bed.folder.path())
            .env("LD_LIBRARY_PATH", &bed.library_path)
            .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/null-gpu"));
        let ran = Ran::of(&command.output().unwrap());
        fs::remove_dir(bed.folder.join("devices")).unwrap();
        ran
    };
    if run(&["true"]).code != Some(0) {
        return fimbria_testing::skipped("the system gives nobody a folder of devices of his own");
    }
    for (fit, pays) in [("dti", false), ("fod", true)] {
        let mut words = vec!["fimbria", "fit", fit];
        words.extend(SERIES.split(' '));
        let out = format!("{fit}-auto");
        words.extend(["--device", "auto", "--threads", "1", "--format", "nii", "-o", &out]);
        let ran = run(&words);
        assert_eq!(ran.code, Some(0), "{fit}: {}", ran.stderr);
        let record = fs::read(bed.folder.join(&out).join("run.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        let stages = record["stages"].as_array().unwrap();
        let stage = stages.iter().find(|stage| stage["name"] == fit).unwrap();
        let on_card = stage["counts"]["chunks_on_Null GPU"].as_u64().unwrap_or(0);
        let left = &record["left_to_threads"];
        assert_eq!((on_card > 0, left.is_null()), (pays, pays), "{fit}: {record}");
    }
}

#[test]
fn every_check_fails_on_a_card_that_does_nothing_and_those_after_a_fault_are_made() {
    let Some(bed) = Bed::new(Folder::new()) else { return };
    let mut names: Option<Vec<String>> = None;
    for fault in ["none", LOST, "allocation:3"] {
        let ran = bed.run("devices --check --device gpu:0 --json", fault);
        assert_eq!(ran.code, Some(1), "{fault}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{fault}: {}", ran.stderr);
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let checks = told["devices"][0]["checks"].as_array().unwrap();
        for check in checks {
            assert_eq!(check["verdict"], "FAILED", "{fault}: {check}");
        }
        assert!(ran.stderr.contains(&format!("{} checks failed", checks.len())), "{}", ran.stderr);
        let found: Vec<_> = checks.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(*names.get_or_insert(found.clone()), found, "{fault}");
        let errors = checks.iter().filter(|check| check.get("error").is_some()).count();
        match fault {
            "none" => assert_eq!(errors, 0, "{checks:?}"),
            LOST => assert!(errors + 1 >= checks.len(), "{checks:?}"),
            _ => assert_eq!(errors, 1, "{checks:?}"),
        }
    }
}
