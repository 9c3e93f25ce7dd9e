//! The kernels on an OpenCL device, PoCL where there is no card, and under oclgrind.

use std::sync::atomic::{AtomicUsize, Ordering};

use fimbria_compute::check::{CheckReport, Extent, Outcome};
use fimbria_compute::comm::Solo;
use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::{Backend, Progress, Silent, Workers};
use fimbria_qsm::device::gains;
use fimbria_qsm::dqsm::{DqsmOptions, Journey, reconstruct};
use fimbria_qsm::fourier::{FourierMethod, invert};
use fimbria_qsm::nonlinear::{Nonlinear, invert_nonlinear};
use fimbria_qsm::solver::{Checkpoint, StoppingRule};
use fimbria_qsm::tensor::reconstruct_tensors;
use fimbria_qsm::variation::{Guidance, Prior, Variation, reconstruct_variation};
use fimbria_qsm::{FieldModel, Geometry, QsmError, Shape};

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_qsm::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_qsm::checks);
}

/// A device has no fault where it has too little memory for what it can do without.
#[test]
fn lists_that_there_is_no_memory_for_are_not_checked() {
    let checks = fimbria_qsm::checks();
    let check = checks.iter().find(|check| check.name().contains("lists")).unwrap();
    let run = |options: &DeviceOptions| {
        let device = fimbria_testing::opencl_device_with(options)?;
        Some(check.run(&device, Extent::Full).unwrap())
    };
    let Some(ample) = run(&DeviceOptions::default()) else { return };
    assert!(ample.passed() && matches!(ample.outcome, Outcome::Compared(_)), "{ample:?}");
    let short = DeviceOptions { memory_limit: Some(700_000), ..DeviceOptions::default() };
    let short = run(&short).unwrap();
    assert!(short.passed() && matches!(short.outcome, Outcome::NotRun(_)), "{short:?}");
    // With a little more there is one of two lists, which is compared; each list counts as a result.
    let results = |report: &CheckReport| match report.outcome {
        Outcome::Compared(comparison) => Some(comparison.results),
        Outcome::NotRun(_) => None,
    };
    let more = (700_000..).step_by(50_000).map(|limit| {
        run(&DeviceOptions { memory_limit: Some(limit), ..DeviceOptions::default() }).unwrap()
    });
    let first = more.into_iter().find(|report| results(report).is_some()).unwrap();
    assert!(first.passed() && results(&first) == Some(results(&ample).unwrap() - 1), "{first:?}");
}

const ITERATIONS: usize = 8;

/// The solvers that run on devices.
#[derive(Clone, Copy)]
enum Method {
    Dqsm,
    Tensor,
}

/// The map of a small problem after each iteration on `devices`, or on threads where there is none.
fn maps(method: Method, devices: &[Device]) -> Vec<Vec<f32>> {
    let dims = [14, 12, 13];
    let geometry = Geometry { dims, spacing: [1.0; 3], b0: [0.0, 0.6, 0.8], reversed: [false; 3] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let axis = |v: &u32| {
        if v.is_multiple_of(3) { Shape::Cylinder([0.6, 0.0, 0.8]) } else { Shape::Sphere }
    };
    let shapes = mask.iter().map(axis).collect();
    let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
    let field: Vec<f32> = mask.iter().map(|v| ((v * 37 % 101) as f32 - 50.0) * 1e-3).collect();
    let weights: Vec<f32> = mask.iter().map(|v| 0.5 + (v % 7) as f32 / 7.0).collect();
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
    let solve = match method {
        Method::Dqsm => reconstruct,
        Method::Tensor => reconstruct_tensors,
    };
    let weights = Some(&weights[..]);
    let last = solve(&model, &field, weights, &options, &on, &Solo, &Silent, journey).unwrap().chi;
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

const METHODS: [Method; 2] = [Method::Dqsm, Method::Tensor];

#[test]
fn a_map_is_the_same_on_a_device_and_on_threads() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    for method in METHODS {
        assert_same(&maps(method, std::slice::from_ref(&device)), &maps(method, &[]));
    }
}

const TWO_POCL_DEVICES: [(&str, &str); 1] = [("POCL_DEVICES", "pthread pthread")];

#[test]
fn a_map_is_the_same_on_several_devices() {
    if !fimbria_testing::in_child(&TWO_POCL_DEVICES) {
        return;
    }
    let Some(devices) = fimbria_testing::two_devices(Default::default()) else { return };
    for method in METHODS {
        let several = maps(method, &devices);
        assert_same(&several, &maps(method, &[]));
        // Who takes which share is chance, and changes nothing.
        assert_eq!(several, maps(method, &devices));
    }
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
    for method in METHODS {
        assert_same(&maps(method, &devices), &maps(method, &[]));
    }
}

/// Every iteration that one device does as a whole, on `on`: its map.
fn maps_of_one_device(on: &Backend<'_>, told: &dyn Progress) -> Vec<Vec<f32>> {
    let geometry = Geometry {
        dims: [14, 12, 13],
        spacing: [1.0; 3],
        b0: [0.0, 0.6, 0.8],
        reversed: [false; 3],
    };
    let mask: Vec<u32> = (0..geometry.len() as u32).filter(|v| v % 11 > 0).collect();
    let shapes = vec![Shape::Cylinder([0.6, 0.0, 0.8]); mask.len()];
    let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
    let field: Vec<f32> = mask.iter().map(|v| ((v * 37 % 101) as f32 - 50.0) * 1e-3).collect();
    let guidance = Guidance {
        fa: mask.iter().map(|v| (v * 13 % 29) as f32 / 29.0).collect(),
        images: Vec::new(),
    };
    let how = Variation { iterations: 5, ..Variation::default() };
    let priors = [Prior::Total, Prior::Explained(&guidance), Prior::Generalised];
    let mut maps: Vec<Vec<f32>> = priors
        .map(|prior| reconstruct_variation(&model, &field, None, prior, how, on, told).unwrap().chi)
        .into();
    let how = Nonlinear { lambda: 1e-3, radians: 16.0, iterations: 5, tolerance: 0.0 };
    maps.push(invert_nonlinear(&model, &field, None, how, on, told).unwrap().chi);
    let mut volume = vec![0.0; geometry.len()];
    mask.iter().zip(&field).for_each(|(&voxel, b)| volume[voxel as usize] = *b);
    maps.push(invert(&geometry, &volume, FourierMethod::RTS, on, told).unwrap().0);
    maps
}

/// Counts warnings.
#[derive(Default)]
struct Warnings(AtomicUsize);

impl Progress for Warnings {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        assert!(message.ends_with("; the threads do the work"), "{message}");
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_device_that_is_too_small_leaves_a_whole_map_to_the_threads() {
    let small = DeviceOptions { memory_limit: Some(4096), ..DeviceOptions::default() };
    let Some(device) = fimbria_testing::opencl_device_with(&small) else { return };
    let workers = Workers::new(2).unwrap();
    let (none, told) = (Warnings::default(), Warnings::default());
    let here = maps_of_one_device(&Backend::cpu(&workers), &none);
    let on = Backend::new(&workers, std::slice::from_ref(&device));
    assert_eq!(maps_of_one_device(&on, &told), here);
    assert_eq!((none.0.into_inner(), told.0.into_inner()), (0, here.len()));
}

/// Of so small a volume, where nobody named the device.
#[test]
fn a_device_that_would_not_gain_is_left_alone() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let named = Backend::new(&workers, std::slice::from_ref(&device));
    let (none, dims) = (Warnings::default(), [14, 12, 13]);
    let here = maps_of_one_device(&Backend::cpu(&workers), &none);
    assert_eq!(maps_of_one_device(&named.only_where_it_pays(), &none), here);
    assert!(!gains(&named.only_where_it_pays(), dims) && gains(&named, dims));
    assert!(gains(&named.only_where_it_pays(), [160; 3]));
    assert!(!gains(&Backend::cpu(&workers), [160; 3]));
    // A device rounds otherwise: it was none that made these.
    assert_ne!(maps_of_one_device(&named, &none), here);
}
