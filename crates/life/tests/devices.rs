//! The kernels, on PoCL where there is no card.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use std::path::Path;

use fimbria_compute::check::Extent;

#[test]
fn every_kernel_agrees_with_its_oracle() {
    let Some(device) = support::opencl_device() else { return };
    for check in fimbria_life::checks() {
        let report = check.run(&device, Extent::Full).unwrap();
        assert!(report.comparison.passed(), "{}: {report:?}", check.name());
    }
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";
    if !Path::new(OCLGRIND).exists() {
        return support::skipped("oclgrind not found");
    }
    let log = std::env::temp_dir().join(format!("fimbria-life-{}", std::process::id()));
    let variables = [
        ("OCL_ICD_VENDORS", OCLGRIND),
        ("OCLGRIND_DATA_RACES", "1"),
        ("OCLGRIND_CHECK_API", "1"),
        ("OCLGRIND_LOG", log.to_str().unwrap()),
    ];
    if !support::in_child(&variables) {
        return;
    }
    let log = std::env::var("OCLGRIND_LOG").unwrap();
    let device = support::opencl_device().unwrap();
    for check in fimbria_life::checks() {
        let report = check.run(&device, Extent::Toy).unwrap();
        assert!(report.comparison.passed(), "{}: {report:?}", check.name());
    }
    let report = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(report, "");
}
