//! The kernels run where a device is found, and compile where none is.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use fimbria_tracking::checks;

#[test]
fn a_device_makes_the_bits_of_the_oracle() {
    support::kernels_agree(checks);
}

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = support::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    support::kernels_are_clean(checks);
}
