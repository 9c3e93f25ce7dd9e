//! Every kernel compiles for CUDA, on a machine without a card.

#[test]
fn every_kernel_compiles_to_machine_code_for_volta_and_for_the_newest_card() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let since_volta = || nvrtc.compute_capabilities().filter(|&known| known >= (7, 0));
    for capability in [since_volta().next(), since_volta().last()].into_iter().flatten() {
        for source in fimbria_life::checks().iter().flat_map(|check| check.sources()) {
            let compiled = nvrtc.compile(source, capability).unwrap_or_else(|e| panic!("{e}"));
            assert!(compiled.is_machine_code);
        }
    }
}
