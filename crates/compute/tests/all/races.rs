//! oclgrind runs every kernel at toy size and reports data races and invalid accesses.

use fimbria_compute::check::{Check, Comparison};
use fimbria_compute::device::{KernelSource, Launch};

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_compute::checks);
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
    let Some(report) = fimbria_testing::oclgrind_report(planted) else { return };
    assert!(report.contains("Write-write data race"), "{report}");
}
