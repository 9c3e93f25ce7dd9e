//! Whole commands beside MRtrix3's, by the processor time that the system counts for each.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fimbria_image::{Image, Mask, read_image};

use super::table::{Table, digits, number, words};
use crate::{Console, Failure};

/// A subject on disk.
pub(crate) struct Files {
    folder: PathBuf,
    /// The series, with its gradient table in the header.
    pub(crate) dwi: PathBuf,
    /// The voxels to fit.
    pub(crate) mask: PathBuf,
}

impl Files {
    /// Names in `folder`, of files still to be written.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let (dwi, mask) = (folder.join("dwi.mif"), folder.join("mask.mif"));
        Self { folder: folder.to_owned(), dwi, mask }
    }
}

const PEER: &str = "dwi2tensor";

/// Times tensor fits by dwi2tensor and by this program, as commands, and compares the tensors.
pub(crate) fn report(files: &Files, mask: &Mask, console: &dyn Console) -> Result<(), Failure> {
    if !cfg!(unix) || Command::new(PEER).arg("-version").output().is_err() {
        let reason = if cfg!(unix) { "is not installed" } else { "cannot be timed here" };
        console.print(&format!("\nno comparison with MRtrix3: {PEER} {reason}\n"))?;
        return Ok(());
    }
    let table = Table::begin(
        console,
        [
            words("whole command, one thread, .mif to .mif, tensor only", 52),
            number("user s", 7),
            number("sys s", 7),
            number("wall s", 7),
            number("ratio", 6),
            number("difference", 10),
        ],
    )?;
    let theirs = files.folder.join("dt.mif");
    let peer = || {
        let mut command = Command::new(PEER);
        command.args(["-quiet", "-force", "-nthreads", "0", "-iter", "0", "-mask"]);
        command.args([&files.mask, &files.dwi, &theirs]);
        command
    };
    let unit = least(peer, console)?;
    let row = |name: &str, used: Used, difference: &str| {
        let ratio = digits(unit.user / used.user);
        let Used { user, system, wall } = used;
        table.row([name, &digits(user), &digits(system), &digits(wall), &ratio, difference])
    };
    row("dwi2tensor -iter 0", unit, "-")?;
    let theirs = read_image(&theirs)?;

    let program = std::env::current_exe()?;
    let out = files.folder.join("fit");
    // The method of dwi2tensor -iter 0.
    for extra in ["--compat mrtrix --method wls", ""] {
        let ours = || {
            let mut command = Command::new(&program);
            command.args(["fit", "dti", "--quiet", "--force", "--threads", "1"]);
            command.args(["--maps", "tensor", "--layout", "mrtrix"]);
            command.args(extra.split_whitespace());
            command.arg("--mask").args([&files.mask, &files.dwi]).arg("-o").arg(&out);
            command
        };
        let used = least(ours, console)?;
        let tensors = read_image(out.join("dt.mif"))?;
        tensors.grid.check_same(&theirs.grid, "the tensors of MRtrix3")?;
        let difference = difference(&tensors, &theirs, mask);
        let name = format!("fimbria fit dti {extra}");
        row(name.trim(), used, &format!("{difference:.1e}"))?;
    }
    Ok(())
}

/// The largest difference of two images inside the mask over the largest element.
fn difference(a: &Image, b: &Image, mask: &Mask) -> f32 {
    let (mut apart, mut largest) = (0.0f32, 0.0f32);
    for volume in 0..a.n_volumes.min(b.n_volumes) {
        let (a, b) = (a.volume(volume), b.volume(volume));
        for &voxel in &mask.voxels {
            let (a, b) = (a[voxel as usize], b[voxel as usize]);
            apart = apart.max((a - b).abs());
            largest = largest.max(b.abs());
        }
    }
    apart / largest
}

/// What a command used, in seconds.
#[derive(Clone, Copy, Debug)]
struct Used {
    user: f64,
    system: f64,
    wall: f64,
}

/// Runs a command once, and gives the user time it took.
pub(crate) fn user_seconds_of(command: impl Fn() -> Command) -> Result<f64, Failure> {
    let before = children_seconds();
    let output = command().output()?;
    if output.status.success() {
        return Ok(children_seconds()[0] - before[0]);
    }
    let program = command().get_program().to_string_lossy().into_owned();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CommandFailed { program, said }.into())
}

/// Runs a command several times: the mean processor times, which the system may count in ticks of
/// milliseconds, and the least wall time.
fn least(command: impl Fn() -> Command, console: &dyn Console) -> Result<Used, Failure> {
    const RUNS: u32 = 9;
    let run = || -> Result<f64, Failure> {
        console.check()?;
        let begun = Instant::now();
        let output = command().stdin(Stdio::null()).stdout(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(begun.elapsed().as_secs_f64());
        }
        let program = command().get_program().to_string_lossy().into_owned();
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(CommandFailed { program, said }.into())
    };
    run()?;
    let before = children_seconds();
    let mut wall = f64::INFINITY;
    for _ in 0..RUNS {
        wall = wall.min(run()?);
    }
    let after = children_seconds();
    let [user, system] = [0, 1].map(|i| (after[i] - before[i]) / f64::from(RUNS));
    Ok(Used { user, system, wall })
}

/// A command that ended with an error.
#[derive(Debug, thiserror::Error)]
#[error("{program} failed: {said}")]
struct CommandFailed {
    program: String,
    said: String,
}

/// User and system time of all children that have ended.
#[cfg(unix)]
fn children_seconds() -> [f64; 2] {
    // SAFETY: all fields are numbers; the call fills them.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].map(|t| t.tv_sec as f64 + 1e-6 * t.tv_usec as f64)
}

#[cfg(not(unix))]
fn children_seconds() -> [f64; 2] {
    [0.0; 2]
}
