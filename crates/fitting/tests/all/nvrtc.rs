//! The kernels compile for CUDA, on a machine without a card.

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in fimbria_fitting::checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}
