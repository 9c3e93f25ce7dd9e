//! `fimbria devices` and the choice of a device.

use crate::util::{FIT, Folder};

#[test]
fn the_processor_is_always_listed() {
    let text = Folder::new().done("devices").stdout;
    assert!(text.starts_with("cpu ") && text.contains("threads"), "{text}");
}

#[test]
fn every_kernel_agrees_with_its_reference_on_every_device() {
    let ran = Folder::new().done("devices --check");
    if !ran.stdout.contains("  ok ") {
        fimbria_testing::missing("a device (PoCL)");
    }
    assert!(!ran.stdout.contains("FAILED"), "{}", ran.stdout);
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_help() {
    let folder = Folder::with_subject();
    let error = folder.failed(&format!("{FIT} -o out --device opencl:99"));
    assert!(error.contains("opencl:99") && error.contains("--device cpu"), "{error}");
    assert!(!folder.join("out").exists());
}
