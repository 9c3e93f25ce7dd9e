//! What the device tests share.

// A test that could not run says so; not every test file uses everything.
#![allow(clippy::print_stderr, dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use fimbria_compute::device::{Device, DeviceOptions, Nvrtc, Selection, list};

pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// The first OpenCL device, a processor included; `None`, said aloud, where there is none.
pub(crate) fn opencl_device() -> Option<Device> {
    opencl_device_with(&DeviceOptions::default())
}

/// The same, opened with `options`.
pub(crate) fn opencl_device_with(options: &DeviceOptions) -> Option<Device> {
    let Ok(chosen) = Selection::OpenCl(vec![0]).choose(&list()) else {
        skipped("no OpenCL device");
        return None;
    };
    Some(Device::open(&chosen[0], options).expect("the device opens"))
}

/// Set in the processes that [`in_child`] starts.
const CHILD: &str = "FIMBRIA_TEST_CHILD";

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// True in a process that has `variables` set; otherwise runs the calling test again in such a
/// process, passes its verdict on, and returns false. Libraries read their variables at start.
pub(crate) fn in_child(variables: &[(&str, &str)]) -> bool {
    if is_child() {
        return true;
    }
    let test = std::thread::current().name().expect("tests run in named threads").to_owned();
    let status = Command::new(std::env::current_exe().expect("the test's own program"))
        .args(["--exact", &test, "--nocapture"])
        .envs(variables.iter().copied())
        .env(CHILD, "1")
        .status()
        .expect("the test starts again");
    assert!(status.success(), "{test} failed in the child process");
    false
}

/// True where NVRTC is found without help.
pub(crate) fn nvrtc_is_installed() -> bool {
    Nvrtc::find().is_some()
}

/// Where NVRTC is: anywhere the loader looks, or in Python's wheel.
pub(crate) fn nvrtc_folder() -> Option<PathBuf> {
    if nvrtc_is_installed() {
        return Some(PathBuf::new());
    }
    let script = "import nvidia.cuda_nvrtc as m; print(list(m.__path__)[0])";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let folder = Path::new(String::from_utf8(output.stdout).ok()?.trim()).join("lib");
    folder.is_dir().then_some(folder)
}

/// NVRTC; `None`, said aloud, where there is none.
pub(crate) fn nvrtc() -> Option<Nvrtc> {
    let in_wheel = || Nvrtc::open(&nvrtc_folder()?.join("libnvrtc.so.12"));
    let found = Nvrtc::find().or_else(in_wheel);
    if found.is_none() {
        skipped("NVRTC not found");
    }
    found
}
