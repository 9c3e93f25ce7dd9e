//! Every kernel compiles for CUDA, on a machine without a card.

use fimbria_compute::device::{DeviceError, KernelSource};

#[test]
fn every_kernel_compiles_to_machine_code_for_volta_and_for_the_newest_card() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let since_volta = || nvrtc.compute_capabilities().filter(|&known| known >= (7, 0));
    for capability in [since_volta().next(), since_volta().last()].into_iter().flatten() {
        for source in fimbria_compute::checks().iter().flat_map(|check| check.sources()) {
            let compiled = nvrtc.compile(source, capability).unwrap_or_else(|e| panic!("{e}"));
            assert!(compiled.is_machine_code);
            assert!(compiled.image.starts_with(b"\x7fELF"), "{} is no cubin", source.name);
        }
    }
}

/// The PTX of a text, for a capability that no NVRTC knows yet.
fn ptx(text: &str) -> Option<String> {
    let nvrtc = fimbria_testing::nvrtc()?;
    let compiled = nvrtc.compile(&KernelSource::new("test", text), (99, 0)).unwrap();
    assert!(!compiled.is_machine_code);
    assert_eq!(compiled.image.last(), Some(&0), "the driver reads to the NUL");
    Some(String::from_utf8(compiled.image).unwrap())
}

#[test]
fn a_card_newer_than_the_compiler_gets_ptx() {
    let Some(ptx) = ptx("KERNEL(empty)(GLOBAL f32 *x) { x[0] = 1.0f; }") else { return };
    assert!(ptx.contains(".entry empty"), "{ptx}");
}

#[test]
fn contraction_is_off_under_nvrtc_and_fma_fuses() {
    let text = "KERNEL(separate)(GLOBAL f32 *x) { x[3] = x[0] * x[1] + x[2]; }";
    let Some(separate) = ptx(text) else { return };
    assert!(separate.contains("mul") && separate.contains("add") && !separate.contains("fma"));
    let fused = ptx("KERNEL(fused)(GLOBAL f32 *x) { x[3] = FMA(x[0], x[1], x[2]); }").unwrap();
    assert!(fused.contains("fma.rn.f32") && !fused.contains("mul"), "{fused}");
}

#[test]
fn a_text_that_does_not_compile_gives_nvrtcs_log() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let source = KernelSource::new("broken", "KERNEL(broken)(GLOBAL f32 *x) { x[0] = nonsense; }");
    let error = nvrtc.compile(&source, (9, 0)).unwrap_err();
    let DeviceError::Compile { program, log, .. } = &error else { panic!("{error:?}") };
    assert_eq!(program, "broken");
    assert!(log.contains("nonsense"), "{log}");
}
