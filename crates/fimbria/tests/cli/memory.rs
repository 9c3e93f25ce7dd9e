//! Memory that is refused, by a limit or block by block: one clear error, no output, nothing left.

use std::process::{Command, Stdio};
use std::time::Duration;

use fimbria_image::{Image, WriteOptions, write_image};

use crate::util::{FIT, Folder, Ran, subject};

/// What commands are tried on: two scans of a head and what is made of them. Voxels of `edge` mm.
fn subject_of(edge: f64) -> Folder {
    let folder = Folder::new();
    let [x, y, z] = [144.0, 144.0, 72.0].map(|extent: f64| (extent / edge) as usize);
    let size = format!("--size {x},{y},{z} --voxel {edge}");
    let shells = "--shells 60:6,150:6,400:6,1000:20,2000:20,3000:20";
    folder.done(&format!("phantom crossing {size} {shells} --format nii -o head"));
    folder.done(&format!("phantom gre {size} -o gre"));
    // Every direction with several b.
    folder.done("phantom protocol --size 12,12,4 --voxel 5,5,4 --format nii -o lines");
    folder.done(&format!("fit dti {HEAD} -o dti"));
    folder.done(&format!("fit hot {HEAD} -o hot"));
    folder.done(&format!("fit fod {HEAD} -o fod"));
    folder.done(&format!("{SAMPLED} -o bpx"));
    folder.done("track dti/V1.nii.gz --seeds head/mask.nii -n 3 -o tracks");
    folder.done(&format!("{PHASE} -o field"));
    folder
}

const HEAD: &str = "head/dwi.nii --mask head/mask.nii";
const SAMPLED: &str = "sticks head/dwi.nii --mask head/mask.nii --fibres 1 --burn-in 5 --jumps 10 \
                       --sample-every 5 --device cpu";
const PHASE: &str =
    "field gre/phase.nii.gz --magnitude gre/magnitude.nii.gz --mask gre/mask.nii.gz";

/// Every command but fits, on what [`subject_of`] makes.
fn commands() -> Vec<String> {
    let qsm = "qsm field/local_field.nii.gz --mask field/mask.nii.gz";
    let mut lines = [
        SAMPLED,
        "peaks hot/hot.nii.gz",
        "track dti/V1.nii.gz --seeds head/mask.nii -n 3",
        "track bpx --seeds head/mask.nii -n 3",
        "life tracks/tracks.trx --dwi head/dwi.nii --max-iterations 5",
        "connectome tracks/tracks.trx head/mask.nii",
        "sift2 tracks/tracks.trx fod/fod.nii.gz",
        "phantom crossing --size 24,24,12 --voxel 6",
        "phantom gre --size 24,28,22 --voxel 6",
        "phantom protocol --size 12,12,4 --voxel 5,5,4",
    ]
    .map(|line| format!("{line} -o out"))
    .to_vec();
    lines.extend(
        ["vsharp", "resharp --radius 24", "pdf", "lbv"]
            .map(|how| format!("{PHASE} --background {how} -o out")),
    );
    lines.push(format!("{PHASE} --unwrap laplacian -o out"));
    for how in ["dqsm --iterations 2", "dtv"] {
        lines.push(format!("{qsm} --method {how} --v1 dti/V1.nii.gz -o out"));
    }
    lines
        .extend(["tkd", "tikhonov", "tv", "rts"].map(|how| format!("{qsm} --method {how} -o out")));
    for name in ["out.nii.gz", "out.mif", "out.nii"] {
        lines.push(format!("convert head/dwi.nii -o {name}"));
    }
    for name in ["out.tck", "out.trk", "out.trx"] {
        lines.push(format!("convert tracks/tracks.trx -o {name}"));
    }
    let region = "--include head/mask.nii --number 5 --points 30";
    lines.push(format!("tract edit tracks/tracks.trx {region} -o out.trx"));
    lines.push("tract clean tracks/tracks.trx -o out.trx".to_owned());
    lines.push("tract profile tracks/tracks.trx --map dti/FA.nii.gz -o out".to_owned());
    let others = [
        "probtrackx2 -s bpx/merged -m bpx/nodif_brain_mask -x head/mask --opd -P 5 --dir=out",
        "compare dti/FA.nii.gz dti/MD.nii.gz -o out -- dti/S0.nii.gz dti/FA.nii.gz",
        "report dti -o out.html",
        "run head/dwi.nii --mask head/mask.nii --set run.fits=[] -o out",
        "info head/dwi.nii",
        "info tracks/tracks.trx",
        "life query tracks/tracks.trx --dwi head/dwi.nii --ball 0,0,0,3",
    ];
    lines.extend(others.map(str::to_owned));
    lines
}

fn fits() -> Vec<String> {
    let models = [
        "dti",
        "dti --method nlls",
        "dki",
        "mono",
        "hot",
        "ivim",
        "stremi",
        "noddi",
        "fwdti",
        "smt",
        "mapmri --order 4",
    ];
    let mut lines = models.map(|model| format!("fit {model} {HEAD} -o out")).to_vec();
    for model in ["dki1d", "stremi1d"] {
        lines.push(format!("fit {model} lines/dwi.nii --mask lines/mask.nii -o out"));
    }
    let curve = "--model S0*exp(-b*D) --param S0=500 --param D=1";
    lines.push(format!("fit expr {HEAD} {curve} -o out"));
    lines
}

/// Takes away what a command wrote.
fn clear(folder: &Folder, before: &[String]) {
    for name in folder.names(".").iter().filter(|name| !before.contains(name)) {
        let path = folder.join(name);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
            .unwrap();
    }
}

/// Fails unless the command did its work, or said once that memory is short and left nothing.
fn ended_well(folder: &Folder, line: &str, under: &str, ran: &Ran, before: &[String]) {
    let said = &ran.stderr;
    if ran.code != Some(0) {
        assert_eq!(ran.code, Some(1), "`{line}` {under}: {said}");
        assert!(said.contains("memory") && !said.contains("panicked"), "`{line}` {under}: {said}");
        let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "`{line}` {under}: {said}");
        let mut left = folder.names(".");
        // Weights, chunks and finished stages that --resume goes on from are no waste.
        let goes_on = ["life", "run", "sticks", "qsm"].iter().any(|name| line.starts_with(name));
        if goes_on && folder.join("out").is_dir() {
            assert!(!folder.names("out").iter().any(|name| name.contains(".unfinished")), "{line}");
            left.retain(|name| name != "out");
        }
        assert_eq!(left, before, "`{line}` {under}: {said}");
    }
    clear(folder, before);
}

/// Each of `lines`, its n-th large block refused, n = 1, 4, 16 ...; FIMBRIA_REFUSALS=all: of all blocks.
#[cfg(debug_assertions)]
fn survive_refusals(folder: &Folder, lines: &[String]) {
    let before = folder.names(".");
    let mut refusals = 0;
    for line in lines {
        folder.done(line);
        clear(folder, &before);
        let all = std::env::var_os("FIMBRIA_REFUSALS").is_some();
        let next = |n: &u64| Some(if all { n + 1 } else { 4 * n });
        for n in std::iter::successors(Some(1_u64), next) {
            let mut command = folder.command(line);
            let ran = Ran::of(&command.env("FIMBRIA_REFUSE", n.to_string()).output().unwrap());
            ended_well(folder, line, &format!("without block {n}"), &ran, &before);
            if ran.code == Some(0) {
                break;
            }
            refusals += 1;
        }
    }
    assert!(refusals >= lines.len(), "{refusals} refusals: the test proves nothing");
}

#[cfg(debug_assertions)]
#[test]
fn every_fit_outlives_refusals() {
    survive_refusals(&subject_of(6.0), &fits());
}

#[cfg(debug_assertions)]
#[test]
fn every_command_outlives_refusals() {
    survive_refusals(&subject_of(6.0), &commands());
}

/// The program with the words of `line` in an address space of so many KiB.
#[cfg(all(target_os = "linux", not(feature = "mpi")))]
fn within(folder: &Folder, kib: u64, line: &str) -> Ran {
    let limited = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(assert_cmd::cargo::cargo_bin!("fimbria"));
    command.args(line.split_whitespace()).current_dir(folder.path()).env("NO_COLOR", "1");
    Ran::of(&command.output().unwrap())
}

/// Each of `lines` where the system gives little memory: threads, maps and libraries are refused.
#[cfg(all(target_os = "linux", not(feature = "mpi")))]
fn survive_small_machines(folder: &Folder, lines: &[String]) {
    let before = folder.names(".");
    // Below, the program is not even loaded.
    let mut sizes = (1..).map(|k| 2000 * k);
    let least = sizes.find(|kib| within(folder, *kib, "--version").code == Some(0)).unwrap();
    let mut refusals = 0;
    for line in lines {
        for more in [0, 1000, 3000, 6000, 10_000, 16_000, 30_000] {
            let ran = within(folder, least + more, line);
            ended_well(folder, line, &format!("within {} KiB", least + more), &ran, &before);
            refusals += usize::from(ran.code != Some(0));
        }
    }
    assert!(refusals >= lines.len(), "{refusals} refusals: the test proves nothing");
}

#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[test]
fn every_fit_outlives_small_machines() {
    survive_small_machines(&subject_of(12.0), &fits());
}

#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[test]
fn every_command_outlives_small_machines() {
    survive_small_machines(&subject_of(12.0), &commands());
}

/// A series of 55 MiB, `dwi.nii`, and its voxels in `mask.nii`: the subject's, side by side.
fn large_series() -> Folder {
    let subject = subject();
    let mut grid = subject.dwi.grid;
    let (of_one, n_volumes) = (grid.len(), subject.dwi.n_volumes);
    grid.dims[2] *= 3120;
    let mut dwi = Image::zeros(grid, n_volumes);
    for volume in 0..n_volumes {
        for part in dwi.volume_mut(volume).chunks_mut(of_one) {
            part.copy_from_slice(subject.dwi.volume(volume));
        }
    }
    let mut mask = Image::zeros(grid, 1);
    mask.data[..of_one].copy_from_slice(&subject.mask.data);
    let folder = Folder::new();
    for (name, image) in [("dwi.nii", &dwi), ("mask.nii", &mask)] {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    }
    std::fs::write(folder.join("dwi.bval"), &subject.bvals).unwrap();
    std::fs::write(folder.join("dwi.bvec"), &subject.bvecs).unwrap();
    folder
}

/// Runs a command, and looks every millisecond how much memory of its own it has: pages of files
/// are the system's, which drops them where it needs them.
#[cfg(target_os = "linux")]
fn most_memory(mut command: Command) -> (Ran, u64) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = kib.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    (Ran::of(&child.wait_with_output().unwrap()), most)
}

#[cfg(target_os = "linux")]
#[test]
fn a_series_larger_than_the_memory_allowed_is_worked_on_from_disk() {
    let folder = large_series();
    folder.done("convert dwi.nii -o packed.nii.gz");
    let table = "--bval dwi.bval --bvec dwi.bvec";
    let fit = format!("{FIT} --maps FA -o out");
    let packed = fit.replace("dwi.nii", &format!("packed.nii.gz {table}"));
    for line in [&fit, &packed, "convert dwi.nii -o out.mif"] {
        let line = format!("{line} --force");
        let (ran, unlimited) = most_memory(folder.command(&line));
        assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.stderr);
        let (ran, most) = most_memory(folder.command(&format!("{line} --memory 80M")));
        assert!(unlimited > 40 << 20 || line.starts_with("convert"), "{line}: too little to limit");
        assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.stderr);
        assert!(most <= 80 << 20, "`{line}`: {} MiB of 80", most >> 20);
    }
}

/// Values of JSON are many small blocks, which nobody counts.
#[test]
#[cfg(target_os = "linux")]
fn pairs_of_many_tensors_stay_within_the_memory_allowed() {
    let folder = Folder::new();
    const TENSORS: usize = 12_000;
    let mut noise = fimbria_testing::Noise(5);
    let values: Vec<u8> = (0..TENSORS * 15).flat_map(|_| noise.normal().to_le_bytes()).collect();
    std::fs::write(folder.join("in.npy"), crate::util::npy("<f8", [TENSORS, 15], &values)).unwrap();
    let (ran, most) =
        most_memory(folder.command("eigen in.npy --precision single --memory 100M -o out.json"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(most < 100 << 20, "{} MiB", most >> 20);
}

#[test]
fn what_does_not_fit_into_the_memory_allowed_is_one_error() {
    let folder = Folder::with_subject();
    folder.done("phantom gre --size 90,108,84 --voxel 1.7 --format nii -o gre");
    let before = folder.names(".");
    for line in [
        "phantom crossing --voxel 1 --memory 64M -o out",
        "phantom gre --memory 64M -o out",
        "field gre/phase.nii --mask gre/mask.nii --memory 49M -o out",
    ] {
        let error = folder.run(line);
        assert_eq!(error.code, Some(1), "`{line}`: {}", error.stderr);
        assert!(error.stderr.contains("allows less: allow more"), "{}", error.stderr);
    }
    let ran = folder.run(&format!("{FIT} --memory 20M -o out"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("needs 48.0 MiB at least"), "{}", ran.stderr);
    assert_eq!(folder.names("."), before);
    folder.done(&format!("{FIT} --memory 64M -o out"));
}
