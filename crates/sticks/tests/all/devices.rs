//! The kernel, on PoCL where there is no card.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Image;
use fimbria_sticks::{CHUNK, Diffusivity, Keeper, Noise, SticksError, SticksOptions, sample};

#[test]
fn every_kernel_agrees_with_its_twin() {
    fimbria_testing::kernels_agree(fimbria_sticks::checks);
}

#[test]
fn every_kernel_compiles_for_cuda() {
    let Some(nvrtc) = fimbria_testing::nvrtc() else { return };
    let newest = nvrtc.compute_capabilities().last().unwrap();
    for source in fimbria_sticks::checks().iter().flat_map(|check| check.sources()) {
        nvrtc.compile(source, newest).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_sticks::checks);
}

/// From the same starts: those, too, are fitted on the device.
#[test]
fn devices_and_threads_draw_the_same_samples() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let crate::common::Subject { series, mask, gradients, .. } =
        &crate::common::Subject::crossings(20);
    let mut deviation = Image::zeros(series.grid, 9);
    deviation.data.iter_mut().enumerate().for_each(|(i, x)| *x = 0.01 * (i % 7) as f32 - 0.03);
    let usual = SticksOptions { burn_in: 40, jumps: 50, ..SticksOptions::default() };
    let (gamma, zeppelin) = (Diffusivity::Gamma, Diffusivity::Zeppelin);
    for (options, deviation) in [
        (SticksOptions { n_fibres: 2, ..usual.clone() }, None),
        (SticksOptions { n_fibres: 3, diffusivity: gamma, ..usual.clone() }, Some(&deviation)),
        (SticksOptions { n_fibres: 4, noise: Noise::Rician, ..usual.clone() }, None),
        (SticksOptions { n_fibres: 1, diffusivity: zeppelin, ..usual }, Some(&deviation)),
    ] {
        let workers = Workers::new(2).unwrap();
        let run = |devices: &[Device]| {
            let on = Backend::new(&workers, devices);
            sample(series, mask, gradients, deviation, &options, None, &on, &Silent).unwrap()
        };
        let (on_cpu, on_device) = (run(&[]), run(std::slice::from_ref(&device)));
        assert_eq!(on_device.shares.cpu, 0);
        if !workers.simd().fuses() {
            return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
        }
        assert!(on_cpu.sticks == on_device.sticks, "{options:?}");
    }
}

/// A full disk.
#[derive(Default)]
struct Full(AtomicUsize);

impl Keeper for Full {
    fn kept(&self, _: usize) -> Option<Vec<u8>> {
        None
    }

    fn keep(&self, _: usize, _: &[u8]) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_chunk_that_cannot_be_kept_ends_the_work_of_a_device() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let subject = crate::common::Subject::crossings(2800);
    let options = SticksOptions { burn_in: 1, jumps: 25, n_fibres: 1, ..SticksOptions::default() };
    let workers = Workers::new(2).unwrap();
    let on = Backend::new(&workers, std::slice::from_ref(&device));
    let crate::common::Subject { series, mask, gradients, .. } = &subject;
    assert!(mask.len() > 2 * CHUNK, "{} voxels", mask.len());
    let full = Full::default();
    let ended = sample(series, mask, gradients, None, &options, Some(&full), &on, &Silent);
    assert!(matches!(ended, Err(SticksError::Keep(_))), "{:?}", ended.err());
    assert_eq!(full.0.into_inner(), 1);
}
