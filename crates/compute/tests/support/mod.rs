//! What the device tests share.

// A test that could not run says so; not every test file uses everything.
#![allow(clippy::print_stderr, dead_code)]

use std::path::Path;
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

/// True in a process that has `variables` set; otherwise runs the calling test again in such a
/// process, passes its verdict on, and returns false. OpenCL reads its variables once, at start.
pub(crate) fn in_child(variables: &[(&str, &str)]) -> bool {
    const MARK: &str = "FIMBRIA_TEST_CHILD";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let test = std::thread::current().name().expect("tests run in named threads").to_owned();
    let status = Command::new(std::env::current_exe().expect("the test's own program"))
        .args(["--exact", &test, "--nocapture"])
        .envs(variables.iter().copied())
        .env(MARK, "1")
        .status()
        .expect("the test starts again");
    assert!(status.success(), "{test} failed in the child process");
    false
}

/// NVRTC, where the loader finds it or where Python has its wheel; `None`, said aloud, elsewhere.
pub(crate) fn nvrtc() -> Option<Nvrtc> {
    let wheel = || {
        let script = "import nvidia.cuda_nvrtc as m; print(list(m.__path__)[0])";
        let output = Command::new("python3").args(["-c", script]).output().ok()?;
        let folder = String::from_utf8(output.stdout).ok()?;
        Nvrtc::open(&Path::new(folder.trim()).join("lib/libnvrtc.so.12"))
    };
    let found = Nvrtc::find().or_else(wheel);
    if found.is_none() {
        skipped("NVRTC not found");
    }
    found
}
