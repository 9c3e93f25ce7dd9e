//! The kernels run where a device is found, and compile where none is.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use std::path::Path;

use fimbria_compute::check::{Check, Extent};
use fimbria_compute::device::Device;

const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

fn pass(checks: Vec<Check>, device: &Device, extent: Extent) {
    for check in checks {
        let report = check.run(device, extent);
        let passed = report.as_ref().is_ok_and(|report| report.comparison.passed());
        assert!(passed, "{}: {report:?}", check.name());
        assert!(report.is_ok_and(|report| report.comparison.results > 50), "{}", check.name());
    }
}

#[test]
fn a_device_makes_the_bits_of_the_oracle() {
    let Some(device) = support::opencl_device() else {
        support::skipped("no OpenCL device");
        return;
    };
    pass(fimbria_tracking::checks(), &device, Extent::Full);
}

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = support::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in fimbria_tracking::checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    if !Path::new(OCLGRIND).exists() {
        support::skipped("oclgrind not found");
        return;
    }
    let log = std::env::temp_dir().join(format!("fimbria-tracking-{}", std::process::id()));
    let variables = [
        ("OCL_ICD_VENDORS", OCLGRIND),
        ("OCLGRIND_DATA_RACES", "1"),
        ("OCLGRIND_CHECK_API", "1"),
        ("OCLGRIND_LOG", log.to_str().expect("a temporary path in UTF-8")),
    ];
    if !support::in_child(&variables) {
        return;
    }
    let log = std::env::var("OCLGRIND_LOG").expect("set for the child");
    let device = support::opencl_device().expect("oclgrind's device");
    pass(fimbria_tracking::checks(), &device, Extent::Toy);
    let report = std::fs::read_to_string(&log).expect("oclgrind's report");
    std::fs::remove_file(&log).expect("the report is ours");
    assert_eq!(report, "");
}
