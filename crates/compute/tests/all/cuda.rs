//! The host half of the CUDA path against a stand-in driver, on machines without a card. What
//! kernels compute is tested elsewhere; `fimbria devices --check` proves a real card.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use fimbria_compute::Silent;
use fimbria_compute::device::{
    Device, DeviceError, DeviceOptions, DeviceSpace, HostBuffer, KernelSource, Launch, Missing,
    PciAddress, RuntimeKind, Selection, SelectionError, list,
};
use fimbria_compute::operator::VectorSpace;
use fimbria_testing::Driver;

/// The stand-in driver; `None`, said aloud, without a compiler.
fn driver() -> Option<Driver> {
    Driver::compile("driver.c")
}

/// True in a process that finds the stand-in driver, and NVRTC in `nvrtc`.
fn with_driver(nvrtc: &Path) -> bool {
    with_driver_and(nvrtc, &[])
}

/// The same, with further variables for the driver.
fn with_driver_and(nvrtc: &Path, more: &[(&str, &str)]) -> bool {
    if fimbria_testing::is_child() {
        return true;
    }
    let Some(driver) = driver() else { return false };
    let path = driver.library_path(nvrtc);
    fimbria_testing::in_child(&[&[("LD_LIBRARY_PATH", path.as_str())], more].concat());
    false
}

/// The stand-in card, opened, in a process that has it.
fn card() -> Option<Device> {
    let Some(nvrtc) = fimbria_testing::nvrtc_folder() else {
        fimbria_testing::missing("NVRTC");
        return None;
    };
    if !with_driver(&nvrtc) {
        return None;
    }
    let chosen = Selection::AllGpus.choose(&list()).expect("the stand-in card");
    Some(Device::open(&chosen[0], &DeviceOptions::default()).expect("the card opens"))
}

#[test]
fn a_card_is_described_as_the_driver_does() {
    let Some(card) = card() else { return };
    let info = card.info();
    assert_eq!((info.name.as_str(), info.runtime), ("Stand-in", RuntimeKind::Cuda));
    assert_eq!(info.driver, "CUDA 99.4");
    assert_eq!(info.pci, Some(PciAddress { bus: 3, device: 0, domain: Some(1) }));
    assert_eq!(info.compute_capability, Some((9, 0)));
    assert_eq!((info.compute_units, info.max_group_size), (132, 1024));
    // 80 % of what is free, not of all there is.
    assert_eq!(card.available_bytes(), 720_000);
}

#[test]
fn memory_goes_there_and_back_and_kernels_get_their_arguments() {
    let Some(card) = card() else { return };
    let space = DeviceSpace::new(&card, 1000).unwrap();
    let x = space.upload(&[2.0; 1000]).unwrap();
    let mut y = space.zeros().unwrap();
    y.write(998, &[5.0, 7.0]).unwrap();
    space.axpy(3.0, &x, &mut y).unwrap();
    let mut z = space.zeros().unwrap();
    space.copy(&y, &mut z).unwrap();
    let mut last = [0.0; 3];
    z.read(997, &mut last).unwrap();
    assert_eq!(last, [6.0, 11.0, 13.0]);
}

#[test]
fn every_call_may_come_from_a_thread_of_its_own() {
    fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(work).join().expect("no panic there"))
    }
    let Some(card) = card() else { return };
    let space = elsewhere(|| DeviceSpace::new(&card, 3)).unwrap();
    let mut x = elsewhere(|| card.allocate::<f32>(3)).unwrap();
    elsewhere(|| x.write(0, &[1.0, 2.0, 3.0])).unwrap();
    let mut y = elsewhere(|| card.allocate::<f32>(3)).unwrap();
    elsewhere(|| y.fill_zero()).unwrap();
    elsewhere(|| space.axpy(2.0, &x, &mut y)).unwrap();
    let mut z = card.allocate::<f32>(3).unwrap();
    elsewhere(|| z.copy_from(0, &y, 0..3)).unwrap();
    assert_eq!(elsewhere(|| z.to_vec()).unwrap(), [2.0, 4.0, 6.0]);
    elsewhere(|| card.synchronize()).unwrap();
}

#[test]
fn memory_is_freed_once_no_kernel_uses_it_and_can_be_had_again() {
    let Some(card) = card() else { return };
    let space = DeviceSpace::new(&card, 50_000).unwrap();
    // Each pair takes most of the card.
    for _ in 0..3 {
        let x = space.upload(&vec![1.0; 50_000]).unwrap();
        let mut y = space.zeros().unwrap();
        space.axpy(2.0, &x, &mut y).unwrap();
        drop(x);
        assert_eq!(y.to_vec().unwrap()[49_999], 2.0);
    }
}

/// The stand-in has no functions for it.
#[test]
fn a_driver_that_locks_no_memory_copies_all_the_same() {
    let Some(card) = card() else { return };
    let mut host = HostBuffer::for_uses(&card, 2);
    host.with_len(2000).fill(3.0_f32);
    let there = card.upload(host.first::<f32>(2000)).unwrap();
    host.with_len(2000).fill(0.0_f32);
    there.read(0, host.with_len(2000)).unwrap();
    assert_eq!(host.first::<f32>(2000), [3.0; 2000]);
    assert!(!host.is_locked());
}

#[test]
fn a_card_without_memory_refuses_with_an_error_and_goes_on() {
    let Some(card) = card() else { return };
    let refused = card.allocate::<u8>(600_000).unwrap_err();
    assert!(matches!(refused, DeviceError::OutOfMemory { requested: 600_000, .. }), "{refused:?}");
    assert_eq!(card.zeros::<u32>(100).unwrap().to_vec().unwrap(), [0; 100]);
}

#[test]
fn a_fault_in_a_kernel_loses_the_card_at_the_next_call() {
    let Some(card) = card() else { return };
    let x = card.zeros::<f32>(1).unwrap();
    let source = KernelSource::new("faulty", "KERNEL(faulty)(GLOBAL f32 *x) { x[1 << 30] = 0; }");
    let kernel = card.kernel(&source, "faulty").unwrap();
    // SAFETY: the stand-in does not run the kernel.
    unsafe { kernel.launch(Launch::items(1), &[(&x).into()]) }.unwrap();
    let lost = x.to_vec().unwrap_err();
    assert!(lost.is_lost() && lost.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{lost}");
}

#[test]
fn a_driver_without_nvrtc_is_reported_and_unused() {
    // Only the driver: NVRTC may be where the tests were told to look for it.
    if !fimbria_testing::is_child() {
        let Some(driver) = driver() else { return };
        let path = driver.folder().to_str().expect("a temporary path in UTF-8");
        fimbria_testing::in_child(&[("LD_LIBRARY_PATH", path)]);
        return;
    }
    if fimbria_testing::nvrtc_is_installed() {
        return fimbria_testing::skipped("NVRTC is in a folder of the system");
    }
    let inventory = list();
    assert!(inventory.missing.contains(&Missing::Nvrtc), "{:?}", inventory.missing);
    assert!(inventory.devices.iter().all(|info| info.runtime != RuntimeKind::Cuda));
}

#[test]
fn a_compiler_of_a_later_cuda_than_the_drivers_is_passed_over() {
    let Some(nvrtc) = fimbria_testing::nvrtc_folder() else {
        return fimbria_testing::missing("NVRTC");
    };
    // No NVRTC that is known here is as old as CUDA 9.
    if !with_driver_and(&nvrtc, &[("STAND_IN_CUDA_VERSION", "9020")]) {
        return;
    }
    assert!(list().missing.contains(&Missing::Nvrtc));
}

#[test]
fn a_card_that_does_not_open_is_left_out_of_auto_and_an_error_where_it_was_named() {
    let Some(nvrtc) = fimbria_testing::nvrtc_folder() else {
        return fimbria_testing::missing("NVRTC");
    };
    if !with_driver_and(&nvrtc, &[("STAND_IN_DOES_NOT_OPEN", "1")]) {
        return;
    }
    let open = |selection: Selection| {
        let opened = selection.open(&list(), &DeviceOptions::default(), &Silent);
        opened
            .map(|devices| devices.iter().filter(|d| d.info().runtime == RuntimeKind::Cuda).count())
    };
    assert_eq!(open(Selection::Auto), Ok(0));
    assert!(matches!(open(Selection::Gpus(vec![0])), Err(SelectionError::Open(_))));
}

#[test]
fn a_kernel_is_kept_on_disk_and_a_damaged_one_compiled_again() {
    let Some(nvrtc) = fimbria_testing::nvrtc_folder() else {
        return fimbria_testing::missing("NVRTC");
    };
    let caches = std::env::temp_dir().join(format!("fimbria-caches-{}", std::process::id()));
    let variable = ("XDG_CACHE_HOME", caches.to_str().expect("a temporary path in UTF-8"));
    if !with_driver_and(&nvrtc, &[variable]) {
        drop(std::fs::remove_dir_all(caches));
        return;
    }
    let caches = PathBuf::from(std::env::var_os("XDG_CACHE_HOME").expect("set for the child"));
    let kept = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(caches.join("fimbria/kernels")).expect("the cache");
        let paths = files.map(|file| file.expect("an entry").path());
        paths.map(|path| (path.clone(), std::fs::read(path).expect("a kernel"))).collect()
    };
    let compile = || {
        let chosen = Selection::AllGpus.choose(&list()).expect("the stand-in card");
        let card = Device::open(&chosen[0], &DeviceOptions::default()).expect("the card opens");
        DeviceSpace::new(&card, 3).expect("its kernels")
    };
    compile();
    let first = kept();
    assert!(!first.is_empty());
    // Loaded as it is: nothing is written anew.
    let written = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before = written(&first[0].0);
    compile();
    assert_eq!((kept(), written(&first[0].0)), (first.clone(), before));
    for (path, kernel) in &first {
        std::fs::write(path, &kernel[..kernel.len() / 2]).unwrap();
    }
    compile();
    assert_eq!(kept(), first);
}
