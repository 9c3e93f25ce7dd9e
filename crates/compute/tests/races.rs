//! oclgrind runs every kernel at toy size and reports data races and invalid accesses.

mod support;

use std::path::Path;

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{KernelSource, Launch};

const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

/// What oclgrind says about kernels; `None`, said aloud, where it is missing or in the process
/// that only started the one that ran them.
fn report(name: &str, checks: impl FnOnce() -> Vec<Check>) -> Option<String> {
    if !Path::new(OCLGRIND).exists() {
        support::skipped("oclgrind not found");
        return None;
    }
    let log = std::env::temp_dir().join(format!("fimbria-{name}-{}", std::process::id()));
    let variables = [
        ("OCL_ICD_VENDORS", OCLGRIND),
        ("OCLGRIND_DATA_RACES", "1"),
        ("OCLGRIND_CHECK_API", "1"),
        ("OCLGRIND_LOG", log.to_str().expect("a temporary path in UTF-8")),
    ];
    if !support::in_child(&variables) {
        return None;
    }
    let log = std::env::var("OCLGRIND_LOG").expect("set for the child");
    let device = support::opencl_device().expect("oclgrind's device");
    assert_eq!(device.info().name, "Oclgrind Simulator");
    for check in checks() {
        let report = check.run(&device, Extent::Toy);
        let passed = report.as_ref().is_ok_and(|report| report.comparison.passed());
        assert!(passed, "{}: {report:?}", check.name());
    }
    let report = std::fs::read_to_string(&log).expect("oclgrind's report");
    std::fs::remove_file(&log).expect("the report is ours");
    Some(report)
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    let Some(report) = report("kernels", fimbria_compute::checks) else { return };
    assert_eq!(report, "");
}

#[test]
fn a_planted_race_is_reported() {
    let planted = || {
        let text = "KERNEL(racing)(GLOBAL u32 *x) { x[0] = (u32)GLOBAL_ID(); }";
        let source = KernelSource::new("racing", text);
        let run = vec![source.clone()];
        vec![Check::new("racing", run, move |device, _| {
            let x = device.zeros::<u32>(1)?;
            let kernel = device.kernel(&source, "racing")?;
            // SAFETY: one parameter, one element; the race between its writers is the point.
            unsafe { kernel.launch(Launch::groups_of(4, 1), &[(&x).into()])? };
            Ok(Comparison { results: x.to_vec()?.len(), max_error: 0.0, tolerance: 0.0 })
        })]
    };
    let Some(report) = report("planted", planted) else { return };
    assert!(report.contains("Write-write data race"), "{report}");
}
