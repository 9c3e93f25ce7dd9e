//! The kernels on an OpenCL device, PoCL where there is no card, and under oclgrind.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use fimbria_compute::comm::Solo;
use fimbria_compute::device::{Device, DeviceOptions, Selection, list};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::dqsm::{DqsmOptions, Journey, reconstruct};
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::{FieldModel, Geometry, Shape};

#[test]
fn every_kernel_agrees_with_its_oracle() {
    support::kernels_agree(fimbria_qsm::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    support::kernels_are_clean(fimbria_qsm::checks);
}

/// The map of a small problem on `devices`, or on threads where there is none.
fn map(devices: &[Device]) -> Vec<f32> {
    let dims = [14, 12, 13];
    let geometry = Geometry { dims, spacing: [1.0; 3], b0: [0.0, 0.6, 0.8] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let axis = |v: &u32| {
        if v.is_multiple_of(3) { Shape::Cylinder([0.6, 0.0, 0.8]) } else { Shape::Sphere }
    };
    let shapes = mask.iter().map(axis).collect();
    let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
    let field: Vec<f32> = mask.iter().map(|v| ((v * 37 % 101) as f32 - 50.0) * 1e-3).collect();
    let stop = StoppingRule { iterations: 8, ..StoppingRule::default() };
    let options = DqsmOptions { stop, ..DqsmOptions::default() };
    let workers = Workers::new(2).unwrap();
    let journey = Journey { start: None, resume: None, after: &mut |_| Ok(()) };
    let on = Backend::new(&workers, devices);
    reconstruct(&model, &field, None, &options, &on, &Solo, &Silent, journey).unwrap().chi
}

fn assert_same(there: &[f32], here: &[f32]) {
    let largest = here.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let worst = there.iter().zip(here).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
    // Eight iterations of products that agree to 3e-6, of a problem whose conditioning is 100.
    assert!(worst < 1e-3 * largest, "{worst} of {largest}");
}

#[test]
fn a_map_is_the_same_on_a_device_and_on_threads() {
    let Some(device) = support::opencl_device() else { return };
    assert_same(&map(&[device]), &map(&[]));
}

/// Two PoCL devices of these options; `None`, said aloud, where PoCL is missing.
fn two_devices(options: [DeviceOptions; 2]) -> Option<[Device; 2]> {
    let Ok(chosen) = Selection::OpenCl(vec![0, 1]).choose(&list()) else {
        support::skipped("no two PoCL devices");
        return None;
    };
    let open = |k: usize| Device::open(&chosen[k], &options[k]).expect("the device opens");
    Some([open(0), open(1)])
}

const TWO_POCL_DEVICES: [(&str, &str); 1] = [("POCL_DEVICES", "pthread pthread")];

#[test]
fn a_map_is_the_same_on_several_devices() {
    if !support::in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = two_devices(Default::default()) else { return };
    let several = map(&devices);
    assert_same(&several, &map(&[]));
    // Who takes which share is chance, and changes nothing.
    assert_eq!(several, map(&devices));
}

#[test]
fn a_device_that_is_too_small_leaves_its_shares_to_the_other() {
    if !support::in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let small = DeviceOptions { memory_limit: Some(4096), ..DeviceOptions::default() };
    let Some(devices) = two_devices([DeviceOptions::default(), small]) else { return };
    assert_same(&map(&devices), &map(&[]));
}
