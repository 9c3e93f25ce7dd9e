//! What is found, on machines with and without the libraries.

use fimbria_compute::device::{
    Device, DeviceError, DeviceKind, DeviceOptions, Missing, Selection, list,
};

/// A folder in which each of `names` is a file that is no library: the loader stops at it.
fn broken_libraries(names: &[&str]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("fimbria-no-libraries-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    for name in names {
        std::fs::write(folder.join(name), "").expect("an empty file");
    }
    folder
}

#[test]
fn a_machine_with_neither_library_has_no_devices_and_says_what_is_missing() {
    let libraries = ["libOpenCL.so.1", "libOpenCL.so", "libcuda.so.1", "libcuda.so"];
    let folder = broken_libraries(&libraries);
    let is_child =
        fimbria_testing::in_child(&[("LD_LIBRARY_PATH", folder.to_str().expect("UTF-8"))]);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    if !is_child {
        return;
    }
    let inventory = list();
    assert!(inventory.devices.is_empty());
    assert_eq!(inventory.missing, [Missing::CudaDriver, Missing::OpenClLibrary]);
    assert!(Selection::Auto.choose(&inventory).unwrap().is_empty());
    for missing in inventory.missing {
        assert!(missing.to_string().contains("not found: "), "{missing}");
    }
}

#[test]
fn a_loader_without_drivers_says_so() {
    let has_loader = fimbria_testing::is_child() || fimbria_testing::opencl_device().is_some();
    if !has_loader || !fimbria_testing::in_child(&[("OCL_ICD_VENDORS", "/nowhere")]) {
        return;
    }
    let inventory = list();
    assert!(inventory.opencl.is_empty());
    assert!(inventory.missing.contains(&Missing::OpenClDriver), "{:?}", inventory.missing);
}

#[test]
fn a_processor_behind_opencl_is_listed_but_used_only_when_named() {
    let inventory = list();
    let Some(processor) = inventory.opencl.iter().find(|info| info.kind == DeviceKind::Cpu) else {
        return fimbria_testing::missing("a processor behind OpenCL (PoCL)");
    };
    assert!(inventory.devices.iter().any(|info| info.name == processor.name));
    let chosen = Selection::Auto.choose(&inventory).unwrap();
    assert!(chosen.iter().all(|info| info.kind == DeviceKind::Gpu));
    assert!(processor.memory_bytes >= processor.largest_buffer_bytes);
    assert!(processor.compute_units > 0 && processor.max_group_size >= 128);
}

#[test]
fn a_device_filled_to_the_brim_refuses_with_an_error() {
    // PoCL's unit is the gigabyte.
    if fimbria_testing::opencl_device().is_none()
        || !fimbria_testing::in_child(&[("POCL_MEMORY_LIMIT", "1")])
    {
        return;
    }
    let chosen = Selection::OpenCl(vec![0]).choose(&list()).unwrap();
    assert!(chosen[0].memory_bytes <= 1 << 30);
    let options = DeviceOptions { memory_fraction: 1.0, ..DeviceOptions::default() };
    let device = Device::open(&chosen[0], &options).unwrap();
    let mut held = Vec::new();
    let refusal = loop {
        match device.zeros::<u8>(200 << 20) {
            Ok(buffer) => held.push(buffer),
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, DeviceError::OutOfMemory { .. }), "{refusal:?}");
    assert!((1..=5).contains(&held.len()));
    drop(held);
    assert!(device.zeros::<u8>(200 << 20).is_ok(), "what was freed can be had again");
}
