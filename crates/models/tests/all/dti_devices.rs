//! The tensor fit's kernels, on PoCL where there is no card.

use std::sync::Mutex;

use fimbria_compute::device::DeviceOptions;
use fimbria_compute::{Backend, Progress, Workers};
use fimbria_image::gradients::GradientTable;
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, DtiOptions, Method, Precision, fit};
use fimbria_testing::{Noise, acquisition, signals, tensor};

/// Several blocks.
const GRID: Grid = Grid { dims: [40, 40, 12], ras_from_vox: Affine::IDENTITY };

fn series(table: &GradientTable) -> Image {
    let mut image = Image::zeros(GRID, table.len());
    let mut noise = Noise(9);
    for voxel in 0..GRID.len() {
        let eigenvalues = [1.7e-3 * noise.uniform(), 0.7e-3 * noise.uniform(), 0.2e-3];
        let (d, _) = tensor(eigenvalues, std::array::from_fn(|_| 7.0 * noise.uniform()));
        for (v, s) in signals(table, 700.0, d).into_iter().enumerate() {
            image.volume_mut(v)[voxel] = noise.rician(s, 30.0) as f32;
        }
    }
    image
}

fn deviation() -> Image {
    let mut deviation = Image::zeros(GRID, 9);
    let mut noise = Noise(10);
    deviation.data.iter_mut().for_each(|l| *l = 0.05 * (noise.uniform() as f32 - 0.5));
    deviation
}

fn mask() -> Mask {
    Mask { grid: GRID, voxels: (0..GRID.len() as u32).filter(|v| v % 7 != 2).collect() }
}

/// Keeps what it is told.
#[derive(Default)]
struct Listener {
    warnings: Mutex<Vec<String>>,
    done: Mutex<u64>,
}

impl Progress for Listener {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, items: u64) {
        *self.done.lock().unwrap() += items;
    }
    fn warn(&self, message: &str) {
        self.warnings.lock().unwrap().push(message.into());
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}

fn run(on: &Backend<'_>, options: &DtiOptions, listener: &Listener) -> Fitted {
    let table = acquisition(3, &[(1000.0, 15)]);
    let image = series(&table);
    fit(&image, &mask(), &table, Some(&deviation()), options, on, listener).unwrap()
}

fn bits(found: &Fitted) -> Vec<u32> {
    found.maps.iter().flat_map(|map| map.image.data.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn devices_and_threads_give_the_same_maps() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let options = DtiOptions::default();
    let on_cpu = run(&Backend::cpu(&workers), &options, &Listener::default());
    let listener = Listener::default();
    let devices = [device];
    let on_device = run(&Backend::new(&workers, &devices), &options, &listener);
    assert_eq!(on_device.shares.cpu, 0, "{:?}", listener.warnings);
    assert_eq!(*listener.done.lock().unwrap(), mask().len() as u64);
    assert_eq!((on_device.status, on_device.raised), (on_cpu.status, on_cpu.raised));
    if workers.simd().fuses() {
        assert!(bits(&on_device) == bits(&on_cpu));
    } else {
        fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
    }
}

/// In double precision all methods are the device's, whose exponentials may end in another digit.
#[test]
fn fits_in_double_precision_are_the_threads_to_the_last_digits() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let (workers, devices) = (Workers::new(2).unwrap(), [device]);
    if !devices[0].info().has_f64 {
        return fimbria_testing::missing("an OpenCL device with double precision");
    }
    for method in [Method::Wls, Method::Nlls, Method::Restore] {
        let options = DtiOptions { method, precision: Precision::Double, ..DtiOptions::default() };
        let on_cpu = run(&Backend::cpu(&workers), &options, &Listener::default());
        let listener = Listener::default();
        let on_device = run(&Backend::new(&workers, &devices), &options, &listener);
        assert_eq!(on_device.shares.cpu, 0, "{method:?}: {:?}", listener.warnings);
        assert_eq!((on_device.status, on_device.raised), (on_cpu.status, on_cpu.raised));
        if method == Method::Wls {
            // Parameters differ by 1e-13 and become f32: now and then the next one.
            let (found, expected) = (bits(&on_device), bits(&on_cpu));
            let differ = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
            assert!(differ < found.len() / 500, "{differ} of {} differ", found.len());
        }
        // Iterations end where a step gains no more than 1e-14 of the sum of squares, and so where a parameter
        // is within 1e-7 of its own error.
        let fa = |fitted: &Fitted| fitted.map("FA").unwrap().data.clone();
        let far =
            fa(&on_device).iter().zip(fa(&on_cpu)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-6, "{method:?}: FA differs by {far}");
    }
}

#[test]
fn a_device_without_memory_costs_a_message_not_the_job() {
    let options = DeviceOptions { memory_limit: Some(4096), ..DeviceOptions::default() };
    let Some(device) = fimbria_testing::opencl_device_with(&options) else { return };
    let workers = Workers::new(2).unwrap();
    let expected = run(&Backend::cpu(&workers), &DtiOptions::default(), &Listener::default());
    let (listener, devices) = (Listener::default(), [device]);
    let on = Backend::new(&workers, &devices);
    let found = run(&on, &DtiOptions::default(), &listener);
    assert!(bits(&found) == bits(&expected));
    assert_eq!(found.shares.devices, [0]);
    let warnings = listener.warnings.into_inner().unwrap();
    assert!(warnings.iter().any(|w| w.contains("memory")), "{warnings:?}");
}

#[test]
fn a_non_linear_fit_says_that_it_runs_on_the_cpu() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let (listener, devices) = (Listener::default(), [device]);
    let on = Backend::new(&workers, &devices);
    let options =
        DtiOptions { method: Method::Nlls, maps: vec![DtiMap::Fa], ..DtiOptions::default() };
    run(&on, &options, &listener);
    let warnings = listener.warnings.into_inner().unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("CPU"), "{warnings:?}");
}

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_models::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_models::checks);
}
