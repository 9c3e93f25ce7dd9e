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

#[test]
fn checks_can_be_chosen_and_told_as_json() {
    let folder = Folder::new();
    let ran = folder.done("devices --check --only dialect --json");
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one object");
    let devices = told["devices"].as_array().unwrap();
    if devices.is_empty() {
        return fimbria_testing::missing("a device (PoCL)");
    }
    for device in devices {
        let checks = device["checks"].as_array().unwrap();
        assert!(!checks.is_empty());
        for check in checks {
            assert!(check["name"].as_str().unwrap().contains("dialect"), "{check}");
            assert_eq!(check["verdict"], "ok", "{check}");
            assert!(
                check["results"].as_u64().unwrap() > 0 && check["seconds"].as_f64().unwrap() > 0.0
            );
        }
    }
    let error = folder.failed("devices --check --only nonsense");
    assert!(error.contains("`nonsense`"), "{error}");
    let error = folder.failed("devices --device opencl:99");
    assert!(error.contains("opencl:99"), "{error}");
}
