//! The sparse product as a kernel: against its oracle, for races, and for CUDA.

#[test]
fn the_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_bench::checks);
}

#[test]
fn the_kernel_does_not_race_or_leave_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_bench::checks);
}

#[test]
fn the_kernel_compiles_for_cuda() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in fimbria_bench::checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}
