//! The kurtosis fit's kernels, on PoCL where there is no card.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::dki::{DkiOptions, fit};
use fimbria_testing::{Noise, acquisition, signals, tensor};

#[test]
fn devices_and_threads_give_the_same_maps() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let grid = Grid { dims: [30, 20, 3], ras_from_vox: Affine::IDENTITY };
    let table = acquisition(3, &[(1000.0, 20), (2000.0, 20)]);
    let mut image = Image::zeros(grid, table.len());
    let mut noise = Noise(9);
    for voxel in 0..grid.len() {
        let mut compartment = || {
            let l = [2e-3 * noise.uniform(), 0.7e-3 * noise.uniform(), 0.2e-3];
            let (d, _) = tensor(l, std::array::from_fn(|_| 7.0 * noise.uniform()));
            signals(&table, 400.0, d)
        };
        let both = compartment().into_iter().zip(compartment());
        for (v, (a, b)) in both.enumerate() {
            image.volume_mut(v)[voxel] = noise.rician(a + b, 40.0) as f32;
        }
    }
    let mask = Mask { grid, voxels: (0..grid.len() as u32).filter(|v| v % 7 != 2).collect() };
    let workers = Workers::new(2).unwrap();
    let run = |on: &Backend<'_>| -> Fitted {
        fit(&image, &mask, &table, &DkiOptions::default(), on, &Silent).unwrap()
    };
    let on_cpu = run(&Backend::cpu(&workers));
    let devices = [device];
    let on_device = run(&Backend::new(&workers, &devices));
    assert_eq!(on_device.shares.cpu, 0);
    assert_eq!((on_device.status, on_device.raised), (on_cpu.status, on_cpu.raised));
    if !workers.simd().fuses() {
        return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
    }
    for (a, b) in on_device.maps.iter().zip(&on_cpu.maps) {
        let differ =
            a.image.data.iter().zip(&b.image.data).filter(|(a, b)| a.to_bits() != b.to_bits());
        assert_eq!(differ.count(), 0, "{}", a.spec.name);
    }
}
