//! Where a device's time goes, on PoCL where there is no card.

use std::thread::sleep;
use std::time::{Duration, Instant};

use fimbria_compute::device::{DeviceOptions, KernelSource, Launch};
use fimbria_testing::{opencl_device, opencl_device_with};

const METERED: DeviceOptions =
    DeviceOptions { memory_fraction: 0.8, memory_limit: None, metered: true };

/// Long beside calls that do next to nothing, whatever else the machine does.
const NAP: Duration = Duration::from_millis(50);

const TEXT: &str = "KERNEL(spin)(GLOBAL f32 *x, u32 n) {
    u64 i = GLOBAL_ID();
    f32 y = x[i];
    for (u32 k = 0; k < n; k++) y = y * 0.999f + 1.0f;
    x[i] = y;
}";

#[test]
fn a_device_is_metered_only_where_that_is_asked_for() {
    let Some(device) = opencl_device() else { return };
    assert_eq!(device.spent(), None);
    device.stored();
    let metered = opencl_device_with(&METERED).unwrap();
    assert!(metered.spent().is_some());
    // What runs side by side could not be told apart.
    assert!(metered.another_queue().is_err() && device.another_queue().is_ok());
}

#[test]
fn every_moment_belongs_to_one_part() {
    let Some(device) = opencl_device_with(&METERED) else { return };
    let (begun, before) = (Instant::now(), device.spent().unwrap());
    let kernel = device.kernel(&KernelSource::new("spin", TEXT), "spin").unwrap();
    sleep(NAP);
    let x = device.upload(&[1.0_f32; 128]).unwrap();
    let compiled = device.spent().unwrap().since(before);
    // SAFETY: the kernel's two parameters; a group of 128 items has as many elements.
    unsafe { kernel.launch(Launch::items(128), &[(&x).into(), 100_000_u32.into()]) }.unwrap();
    let launched = device.spent().unwrap().since(before);
    x.to_vec().unwrap();
    sleep(NAP);
    device.stored();
    let spent = device.spent().unwrap().since(before);
    let elapsed = begun.elapsed().as_secs_f64();

    let nap = NAP.as_secs_f64();
    assert!(spent.store >= nap && compiled.store == 0.0, "{spent:?}");
    assert!(compiled.prepare >= nap && spent.compile > 0.0 && spent.upload > 0.0, "{spent:?}");
    // The launch returned once the kernel was done, so that reading does not wait for it.
    assert!(compiled.kernel == 0.0 && launched.kernel > spent.download, "{spent:?}");
    assert_eq!((spent.launches, spent.bytes_up, spent.bytes_down), (1.0, 512.0, 512.0));
    let all: f64 = spent.parts().iter().map(|(_, seconds)| seconds).sum();
    // The clocks are read some microseconds apart, at most a nap on a busy machine.
    assert!(all <= elapsed && elapsed - all < nap, "{all} of {elapsed}");
}
