//! The kernels on an OpenCL device, PoCL where there is no card, and under oclgrind.

#[path = "../../compute/tests/support/mod.rs"]
mod support;

use fimbria_compute::comm::Solo;
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

#[test]
fn a_map_is_the_same_on_a_device_and_on_threads() {
    let Some(device) = support::opencl_device() else { return };
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
    let map = |devices: &[_]| {
        let journey = Journey { start: None, resume: None, after: &mut |_| Ok(()) };
        let on = Backend { workers: &workers, devices };
        reconstruct(&model, &field, None, &options, &on, &Solo, &Silent, journey).unwrap().chi
    };
    let (there, here) = (map(std::slice::from_ref(&device)), map(&[]));
    let largest = here.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let worst = there.iter().zip(&here).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
    // Eight iterations of products that agree to 3e-6, of a problem whose conditioning is 100.
    assert!(worst < 1e-3 * largest, "{worst} of {largest}");
}
