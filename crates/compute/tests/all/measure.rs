//! Measurements give numbers that a machine can have.

use fimbria_compute::device::{DeviceOptions, measure};

#[test]
fn every_rate_is_one_a_machine_can_have() {
    // Little memory, so that the test is quick.
    let options = DeviceOptions { memory_limit: Some(24 << 20), ..DeviceOptions::default() };
    let Some(device) = fimbria_testing::opencl_device_with(&options) else { return };
    let attained = measure(&device).unwrap();
    let bandwidths = [
        attained.memory_triad,
        attained.cache_read,
        attained.local_read,
        attained.upload,
        attained.download,
    ];
    // From a disk's to beyond any chip's.
    assert!(bandwidths.iter().all(|rate| (1e6..1e15).contains(&rate.per_second())), "{attained:?}");
    assert!((1e6..1e16).contains(&attained.multiply_add.per_second()), "{attained:?}");
    assert!((10.0..1e8).contains(&attained.launch.per_second()), "{attained:?}");
}
