//! Every kernel agrees with its oracle, on PoCL where there is no card.

use fimbria_compute::check::Extent;

#[test]
fn every_kernel_agrees_with_its_oracle() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let mut failed = Vec::new();
    for check in fimbria_compute::checks() {
        match check.run(&device, Extent::Full) {
            Ok(report) if report.passed() => {}
            other => failed.push(format!("{}: {other:?}", check.name())),
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
