//! Generalised diffusion tensors on a device, on PoCL where there is no card.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_models::hot::{HotOptions, fit};
use fimbria_testing::{Noise, acquisition, signals, tensor};

#[test]
fn devices_and_threads_give_the_same_maps() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let grid = Grid { dims: [30, 20, 2], ras_from_vox: Affine::IDENTITY };
    let table = acquisition(3, &[(1000.0, 20), (2000.0, 20)]);
    let mut image = Image::zeros(grid, table.len());
    let mut noise = Noise(6);
    for voxel in 0..grid.len() {
        let (d, _) = tensor([1.5e-3, 4e-4, 2e-4], std::array::from_fn(|_| 7.0 * noise.uniform()));
        for (v, s) in signals(&table, 700.0, d).into_iter().enumerate() {
            image.volume_mut(v)[voxel] = noise.rician(s, 30.0) as f32;
        }
    }
    image.volume_mut(4)[11] = f32::NAN;
    let mask = Mask { grid, voxels: (0..grid.len() as u32).filter(|v| v % 7 != 2).collect() };
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    let run =
        |on: &Backend<'_>| fit(&image, &mask, &table, &HotOptions::default(), on, &Silent).unwrap();
    let on_cpu = run(&Backend::cpu(&workers));
    let on_device = run(&Backend::new(&workers, &devices));
    assert_eq!(on_device.shares.cpu, 0);
    assert_eq!(on_device.status, on_cpu.status);
    if !workers.simd().fuses() {
        return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
    }
    for (a, b) in on_cpu.maps.iter().zip(&on_device.maps) {
        let bits = |image: &Image| -> Vec<u32> { image.data.iter().map(|x| x.to_bits()).collect() };
        assert!(bits(&a.image) == bits(&b.image), "{}", a.spec.name);
    }
}
