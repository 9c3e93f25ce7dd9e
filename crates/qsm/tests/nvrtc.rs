//! The kernels compile for CUDA, on a machine without a card.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = support::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in fimbria_qsm::checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}
