//! Devices, and every kernel on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fimbria_compute::check::{Check, Extent};
use fimbria_compute::device::{Device, DeviceOptions, Nvrtc, Selection, list};

use crate::missing;

/// The first OpenCL device, a processor included; `None`, said aloud, where there is none.
pub fn opencl_device() -> Option<Device> {
    opencl_device_with(&DeviceOptions::default())
}

/// The same, opened with `options`.
pub fn opencl_device_with(options: &DeviceOptions) -> Option<Device> {
    let Ok(chosen) = Selection::OpenCl(vec![0]).choose(&list()) else {
        missing("an OpenCL device (PoCL)");
        return None;
    };
    Some(Device::open(&chosen[0], options).expect("the device opens"))
}

/// The first two OpenCL devices, opened with `options`; `None`, said aloud, where there are not two.
/// PoCL is as many as `POCL_DEVICES` names ([`in_child`]).
pub fn two_devices(options: [DeviceOptions; 2]) -> Option<[Device; 2]> {
    several_devices(&options)?.try_into().ok()
}

/// The first OpenCL devices, one for each of `options`; `None`, said aloud, where there are fewer.
pub fn several_devices(options: &[DeviceOptions]) -> Option<Vec<Device>> {
    let Ok(chosen) = Selection::OpenCl((0..options.len()).collect()).choose(&list()) else {
        missing("several OpenCL devices (PoCL)");
        return None;
    };
    let open = |(info, options)| Device::open(info, options).expect("the device opens");
    Some(chosen.iter().zip(options).map(open).collect())
}

/// Set in the processes that [`in_child`] starts.
const CHILD: &str = "FIMBRIA_TEST_CHILD";

/// True in a process that [`in_child`] started.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// True in a process that has `variables` set; otherwise runs the calling test again in such a
/// process, passes its verdict on, and returns false. Libraries read their variables at start.
pub fn in_child(variables: &[(&str, &str)]) -> bool {
    if is_child() {
        return true;
    }
    let test = std::thread::current().name().expect("tests run in named threads").to_owned();
    let mut again = Command::new(std::env::current_exe().expect("the test's own program"));
    again.args(["--exact", &test, "--nocapture"]).envs(variables.iter().copied()).env(CHILD, "1");
    let output = output_of(&mut again);
    let printed = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let [stdout, stderr] = printed;
    assert!(output.status.success(), "{test} failed in the child process\n{stdout}{stderr}");
    false
}

/// What `command` gives, run once more where PoCL ended it: PoCL 3.1 counts the users of a kernel by
/// its hash alone, so that devices that launch one for the first time at once can end the process in
/// an assertion of PoCL's own.
pub fn output_of(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    let ended_by_pocl = !output.status.success()
        && String::from_utf8_lossy(&output.stderr).contains("pocl_release_dlhandle_cache");
    if ended_by_pocl { command.output().expect("the program starts") } else { output }
}

/// Every kernel agrees with its oracle on the first OpenCL device.
pub fn kernels_agree(checks: impl FnOnce() -> Vec<Check>) {
    if let Some(device) = opencl_device() {
        run(&device, checks(), Extent::Full);
    }
}

/// No kernel races or leaves its buffers, by oclgrind's account of a toy.
pub fn kernels_are_clean(checks: impl FnOnce() -> Vec<Check>) {
    if let Some(report) = oclgrind_report(checks) {
        assert_eq!(report, "");
    }
}

/// What oclgrind says about kernels at toy size; `None`, said aloud, where it is missing or in the
/// process that only started the one that ran them.
pub fn oclgrind_report(checks: impl FnOnce() -> Vec<Check>) -> Option<String> {
    const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";
    if !Path::new(OCLGRIND).exists() {
        missing("oclgrind");
        return None;
    }
    // Test programs run side by side, and tests within each.
    let test = std::thread::current().name().expect("tests run in named threads").to_owned();
    let log = format!("fimbria-{}-{}", test.replace("::", "-"), std::process::id());
    let log = std::env::temp_dir().join(log);
    let variables = [
        ("OCL_ICD_VENDORS", OCLGRIND),
        ("OCLGRIND_DATA_RACES", "1"),
        ("OCLGRIND_CHECK_API", "1"),
        ("OCLGRIND_LOG", log.to_str().expect("a temporary path in UTF-8")),
    ];
    if !in_child(&variables) {
        return None;
    }
    let log = std::env::var("OCLGRIND_LOG").expect("set for the child");
    let device = opencl_device().expect("oclgrind's device");
    assert_eq!(device.info().name, "Oclgrind Simulator");
    run(&device, checks(), Extent::Toy);
    let report = std::fs::read_to_string(&log).expect("oclgrind's report");
    std::fs::remove_file(&log).expect("the report is ours");
    Some(report)
}

fn run(device: &Device, checks: Vec<Check>, extent: Extent) {
    for check in checks {
        let report = check.run(device, extent);
        let passed = report.as_ref().is_ok_and(|report| report.passed());
        assert!(passed, "{}: {report:?}", check.name());
    }
}

/// True where NVRTC is found without help.
pub fn nvrtc_is_installed() -> bool {
    Nvrtc::find().is_some()
}

/// Where NVRTC is: anywhere the loader looks, or in Python's wheel.
pub fn nvrtc_folder() -> Option<PathBuf> {
    if nvrtc_is_installed() {
        return Some(PathBuf::new());
    }
    let script = "import nvidia.cuda_nvrtc as m; print(list(m.__path__)[0])";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let folder = Path::new(String::from_utf8(output.stdout).ok()?.trim()).join("lib");
    folder.is_dir().then_some(folder)
}

/// NVRTC; `None`, said aloud, where there is none.
pub fn nvrtc() -> Option<Nvrtc> {
    let in_wheel = || Nvrtc::open(&nvrtc_folder()?.join("libnvrtc.so.12"));
    let found = Nvrtc::find().or_else(in_wheel);
    if found.is_none() {
        missing("NVRTC");
    }
    found
}
