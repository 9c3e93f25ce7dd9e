//! The kernels run where a device is found, and compile where none is.

use fimbria_tracking::checks;

#[test]
fn a_device_makes_the_bits_of_the_oracle() {
    fimbria_testing::kernels_agree(checks);
}

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(checks);
}
