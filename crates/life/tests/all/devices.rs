//! The kernels, on PoCL where there is no card.

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_life::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_life::checks);
}
