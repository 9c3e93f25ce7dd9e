//! The kernels on an OpenCL device, PoCL where there is no card, and under oclgrind.

use fimbria_compute::comm::Solo;
use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::dqsm::{DqsmOptions, Journey, reconstruct};
use fimbria_qsm::solver::{Checkpoint, StoppingRule};
use fimbria_qsm::{FieldModel, Geometry, QsmError, Shape};

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_qsm::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_qsm::checks);
}

const ITERATIONS: usize = 8;

/// The map of a small problem after each iteration on `devices`, or on threads where there is none.
fn maps(devices: &[Device]) -> Vec<Vec<f32>> {
    let dims = [14, 12, 13];
    let geometry = Geometry { dims, spacing: [1.0; 3], b0: [0.0, 0.6, 0.8] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let axis = |v: &u32| {
        if v.is_multiple_of(3) { Shape::Cylinder([0.6, 0.0, 0.8]) } else { Shape::Sphere }
    };
    let shapes = mask.iter().map(axis).collect();
    let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
    let field: Vec<f32> = mask.iter().map(|v| ((v * 37 % 101) as f32 - 50.0) * 1e-3).collect();
    let stop = StoppingRule { iterations: ITERATIONS, ..StoppingRule::default() };
    let options = DqsmOptions { stop, ..DqsmOptions::default() };
    let workers = Workers::new(2).unwrap();
    let mut maps = Vec::new();
    // The first vector of a checkpoint is the map.
    let mut after = |checkpoint: &dyn Fn() -> Result<Checkpoint, QsmError>| {
        maps.push(checkpoint()?.saved.vectors.swap_remove(0));
        Ok(())
    };
    let journey = Journey { start: None, resume: None, after: &mut after };
    let on = Backend::new(&workers, devices);
    let last =
        reconstruct(&model, &field, None, &options, &on, &Solo, &Silent, journey).unwrap().chi;
    assert_eq!(maps.last(), Some(&last));
    maps
}

/// Holds the maps of coincident iterations to each other.
fn assert_same(there: &[Vec<f32>], here: &[Vec<f32>]) {
    assert_eq!((there.len(), here.len()), (ITERATIONS, ITERATIONS));
    for (number, (there, here)) in (1..).zip(there.iter().zip(here)) {
        let largest = here.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let worst = there.iter().zip(here).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
        // Products agree to 3e-6; conjugate gradients amplify that with every iteration.
        let bound = 5e-6 * 2.0_f32.powi(number - 1);
        assert!(worst < bound * largest, "iteration {number}: {worst} of {largest}");
    }
}

#[test]
fn a_map_is_the_same_on_a_device_and_on_threads() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    assert_same(&maps(&[device]), &maps(&[]));
}

const TWO_POCL_DEVICES: [(&str, &str); 1] = [("POCL_DEVICES", "pthread pthread")];

#[test]
fn a_map_is_the_same_on_several_devices() {
    if !fimbria_testing::in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = fimbria_testing::two_devices(Default::default()) else { return };
    let several = maps(&devices);
    assert_same(&several, &maps(&[]));
    // Who takes which share is chance, and changes nothing.
    assert_eq!(several, maps(&devices));
}

#[test]
fn a_device_that_is_too_small_leaves_its_shares_to_the_other() {
    if !fimbria_testing::in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let small = DeviceOptions { memory_limit: Some(4096), ..DeviceOptions::default() };
    let Some(devices) = fimbria_testing::two_devices([DeviceOptions::default(), small]) else {
        return;
    };
    assert_same(&maps(&devices), &maps(&[]));
}
