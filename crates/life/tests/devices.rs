//! The kernels, on PoCL where there is no card.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

#[test]
fn every_kernel_agrees_with_its_oracle() {
    support::kernels_agree(fimbria_life::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    support::kernels_are_clean(fimbria_life::checks);
}
