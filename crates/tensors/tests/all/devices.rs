//! The kernels, on PoCL where there is no card.

use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Mask;
use fimbria_tensors::pairs::{Kind, PairFinder, Search, find_extremes};
use fimbria_tensors::peaks::{PeakOptions, find_peaks};

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_tensors::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_tensors::checks);
}

#[test]
fn devices_and_threads_find_the_same_peaks() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let directions = crate::forms::normal_directions(6, 3 * 6000);
    for order in [4, 8, 12] {
        let mut fibres: Vec<_> = directions
            .chunks(3)
            .map(|u| crate::forms::powers(order, &[(1.0, u[0]), (0.7, u[1]), (0.4, u[2])]))
            .collect();
        fibres[7].fill(0.0);
        fibres[8][2] = f64::NAN;
        let image = crate::forms::image_of(&fibres);
        let mask = Mask { grid: image.grid, voxels: (0..6000).filter(|v| v % 5 != 3).collect() };
        let workers = Workers::new(2).unwrap();
        let options = PeakOptions::default();
        let run = |devices: &[Device]| {
            let on = Backend::new(&workers, devices);
            find_peaks(&image, &mask, order, &options, &on, &Silent).unwrap()
        };
        let (on_cpu, on_device) = (run(&[]), run(std::slice::from_ref(&device)));
        assert_eq!(on_device.shares.cpu, 0);
        assert_eq!(on_device.counts, on_cpu.counts);
        if !workers.simd().fuses() {
            return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
        }
        for (a, b) in [
            (&on_cpu.peaks, &on_device.peaks),
            (&on_cpu.values, &on_device.values),
            (&on_cpu.status, &on_device.status),
        ] {
            assert!(a.data.iter().zip(&b.data).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
        }
    }
}

#[test]
fn devices_and_threads_find_the_same_extremes() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    for (order, dimension) in [(3, 3), (4, 3), (8, 3), (4, 4)] {
        let finder = PairFinder::new(order, dimension).unwrap();
        let n = finder.layout().len();
        let entries = crate::forms::normal_directions(6, 100 * n);
        let entries: Vec<f64> = entries.into_iter().flatten().collect();
        let tensors: Vec<Vec<f64>> = entries.chunks(n).take(100).map(<[f64]>::to_vec).collect();
        let workers = Workers::new(2).unwrap();
        let run = |devices: &[Device]| {
            let on = Backend::new(&workers, devices);
            let kinds = [Kind::Maximum, Kind::Minimum];
            find_extremes(&finder, &tensors, &kinds, &Search::default(), &on, &Silent).unwrap()
        };
        let ((on_cpu, _), (on_device, shares)) = (run(&[]), run(std::slice::from_ref(&device)));
        assert_eq!(shares.cpu, 0);
        for (cpu, device) in on_cpu.iter().zip(&on_device) {
            assert_eq!(cpu.pairs.len(), device.pairs.len(), "({order}, {dimension})");
            for (cpu, device) in cpu.pairs.iter().zip(&device.pairs) {
                // Polished in double precision from wherever single precision came to.
                assert!((cpu.lambda - device.lambda).abs() < 1e-11, "({order}, {dimension})");
                assert_eq!(cpu.kind, device.kind);
            }
        }
    }
}
