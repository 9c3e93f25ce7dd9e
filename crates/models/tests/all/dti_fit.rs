//! The whole fit: series, mask and table to maps.

use std::sync::atomic::{AtomicU64, Ordering};

use fimbria_compute::{Backend, Progress, Silent, Workers};
use fimbria_image::gradients::GradientDeviation;
use fimbria_image::{Affine, BvecFrame, GradientTable, Grid, Image, Mask, Status};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiError, DtiMap, DtiOptions, Method, Precision, fit};
use fimbria_models::voxelwise::JobError;
use fimbria_testing::{Noise, acquisition, quadratic, signals, tensor};

const GRID: Grid = Grid { dims: [31, 17, 13], ras_from_vox: OBLIQUE };
/// Oblique axes, det > 0.
const OBLIQUE: Affine =
    Affine([[1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

fn table() -> GradientTable {
    acquisition(4, &[(1000.0, 25), (2000.0, 25)])
}

/// The tensor of a voxel, mm²/s, and its first eigenvector.
fn truth(voxel: usize) -> ([f64; 6], [f64; 3]) {
    let mut noise = Noise(voxel as u64 + 1000);
    let l = [1.2e-3 + 0.5e-3 * noise.uniform(), 0.6e-3, 0.2e-3 + 0.3e-3 * noise.uniform()];
    let (d, v) = tensor(l, std::array::from_fn(|_| 7.0 * noise.uniform()));
    (d, v[0])
}

fn series(table: &GradientTable, noise: f64) -> Image {
    let mut image = Image::zeros(GRID, table.len());
    let mut random = Noise(4);
    for voxel in 0..GRID.len() {
        let s0 = 500.0 + voxel as f64 / 10.0;
        for (v, s) in signals(table, s0, truth(voxel).0).into_iter().enumerate() {
            image.volume_mut(v)[voxel] = (s + noise * s0 * random.normal()) as f32;
        }
    }
    image
}

/// Every third voxel.
fn mask() -> Mask {
    Mask { grid: GRID, voxels: (0..GRID.len() as u32).filter(|v| v % 3 != 1).collect() }
}

fn run(image: &Image, table: &GradientTable, options: &DtiOptions) -> Result<Fitted, DtiError> {
    let workers = Workers::new(2).unwrap();
    fit(image, &mask(), table, None, options, &Backend::cpu(&workers), &Silent)
}

#[test]
fn no_fractional_anisotropy_above_one_has_the_status_of_a_fit() {
    // Signals that grow along x: of tensors with an eigenvalue below zero, some with an FA above 1.
    let table = table();
    let mut image = Image::zeros(GRID, table.len());
    let low = |voxel: usize| -0.5e-3 + 1e-6 * (voxel % 1000) as f64;
    for voxel in 0..GRID.len() {
        let (d, _) = tensor([1.5e-3, 0.3e-3, low(voxel)], [0.3, 1.1, 0.7]);
        for (v, s) in signals(&table, 500.0, d).into_iter().enumerate() {
            image.volume_mut(v)[voxel] = s as f32;
        }
    }
    for precision in [Precision::Single, Precision::Double] {
        let options = DtiOptions { precision, ..DtiOptions::default() };
        let found = run(&image, &table, &options).unwrap();
        let (fa, status) = (found.map(DtiMap::Fa).unwrap(), found.map(DtiMap::Status).unwrap());
        let above = mask().voxels.iter().filter(|&&v| fa.data[v as usize] > 1.0).count();
        assert!(above > 100, "{precision:?}: {above}");
        for voxel in mask().voxels.iter().map(|&v| v as usize) {
            let expected = match low(voxel) {
                low if low < -1e-6 => Status::NegativeDiffusion,
                low if low > 1e-6 => Status::Fitted,
                _ => continue,
            };
            let status = Status::from_code(status.data[voxel]);
            assert_eq!(status, expected, "{precision:?}: {}", low(voxel));
        }
    }
}

#[test]
fn noise_free_maps_are_the_truth_inside_the_mask_and_zero_outside() {
    let table = table();
    let found = run(&series(&table, 0.0), &table, &DtiOptions::default()).unwrap();
    let mask = mask();
    let tensor = found.map(DtiMap::Tensor).unwrap();
    let (v1, s0) = (found.map(DtiMap::V1).unwrap(), found.map(DtiMap::S0).unwrap());
    let status = found.map(DtiMap::Status).unwrap();
    for voxel in 0..GRID.len() {
        let inside = mask.voxels.binary_search(&(voxel as u32)).is_ok();
        assert_eq!(status.data[voxel], if inside { 1.0 } else { 0.0 });
        if !inside {
            assert!(
                found
                    .maps
                    .iter()
                    .all(|map| (0..map.image.n_volumes).all(|v| map.image.volume(v)[voxel] == 0.0))
            );
            continue;
        }
        let (d, axis) = truth(voxel);
        for k in 0..6 {
            // Samples are rounded to f32.
            assert!((f64::from(tensor.volume(k)[voxel]) - d[k]).abs() < 2e-9, "voxel {voxel}");
        }
        let s0 = f64::from(s0.data[voxel]) / (500.0 + voxel as f64 / 10.0);
        assert!((s0 - 1.0).abs() < 1e-6);
        let cos: f64 = (0..3).map(|k| f64::from(v1.volume(k)[voxel]) * axis[k]).sum();
        assert!(cos.abs() > 1.0 - 1e-6);
    }
    assert_eq!(found.status.count(Status::Fitted), mask.len() as u64);
    assert_eq!(found.raised.samples, 0);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let table = table();
    let image = series(&table, 0.05);
    for method in [Method::Wls, Method::Restore] {
        let options = DtiOptions { method, ..DtiOptions::default() };
        let bits = |threads: usize| -> Vec<u32> {
            let workers = Workers::new(threads).unwrap();
            let on = Backend::cpu(&workers);
            let found = fit(&image, &mask(), &table, None, &options, &on, &Silent).unwrap();
            found.maps.iter().flat_map(|map| map.image.data.iter().map(|x| x.to_bits())).collect()
        };
        let one = bits(1);
        for threads in [2, 3, 7] {
            assert!(bits(threads) == one, "{method:?} with {threads} threads");
        }
    }
}

#[test]
fn double_precision_agrees_with_single() {
    let table = table();
    let image = series(&table, 0.03);
    let options = |precision| DtiOptions { precision, ..DtiOptions::default() };
    let single = run(&image, &table, &options(Precision::Single)).unwrap();
    let double = run(&image, &table, &options(Precision::Double)).unwrap();
    let (a, b) = (single.map(DtiMap::Fa).unwrap(), double.map(DtiMap::Fa).unwrap());
    for (a, b) in a.data.iter().zip(&b.data) {
        assert!((a - b).abs() < 3e-6, "{a} {b}");
    }
    assert_eq!(single.status, double.status);
}

#[test]
fn voxels_that_cannot_be_fitted_are_counted_and_marked() {
    let table = table();
    let mut image = series(&table, 0.0);
    image.volume_mut(7)[0] = f32::NAN;
    for v in 0..table.len() {
        image.volume_mut(v)[2] = 0.0;
    }
    image.volume_mut(9)[3] = 0.0;
    image.volume_mut(11)[3] = -4.0;
    let found = run(&image, &table, &DtiOptions::default()).unwrap();
    let status = &found.map(DtiMap::Status).unwrap().data;
    assert_eq!((status[0], status[2], status[3]), (4.0, 4.0, 6.0));
    assert_eq!(found.status.count(Status::BadSignal), 2);
    assert_eq!((found.raised.samples, found.raised.voxels), (2, 1));
    assert_eq!(found.map(DtiMap::Md).unwrap().data[0], 0.0);
}

#[test]
fn gradients_that_deviate_by_voxel_are_undone() {
    let table = table();
    let ras_from_fsl = BvecFrame::Fsl.ras_from_frame(&OBLIQUE);
    let mut deviation = Image::zeros(GRID, 9);
    let mut image = Image::zeros(GRID, table.len());
    let mut noise = Noise(8);
    for voxel in 0..GRID.len() {
        let l: [f32; 9] = std::array::from_fn(|_| (0.1 * (noise.uniform() - 0.5)) as f32);
        for (volume, element) in l.into_iter().enumerate() {
            deviation.volume_mut(volume)[voxel] = element;
        }
        let bend = GradientDeviation::from_fsl(l.map(f64::from), &ras_from_fsl).unwrap();
        for v in 0..table.len() {
            let (dir_ras, b) = bend.deviated(table.dirs_ras[v], table.b_s_per_mm2[v]);
            let signal = 800.0 * (-b * quadratic(truth(voxel).0, dir_ras)).exp();
            image.volume_mut(v)[voxel] = signal as f32;
        }
    }
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    for method in [Method::Wls, Method::Nlls] {
        let options = DtiOptions { method, ..DtiOptions::default() };
        let found = fit(&image, &mask(), &table, Some(&deviation), &options, &on, &Silent).unwrap();
        let tensor = found.map(DtiMap::Tensor).unwrap();
        for &voxel in &mask().voxels {
            let (d, _) = truth(voxel as usize);
            for k in 0..6 {
                let error = f64::from(tensor.volume(k)[voxel as usize]) - d[k];
                assert!(error.abs() < 4e-9, "{method:?} voxel {voxel}: {error}");
            }
        }
    }
}

#[test]
fn a_deviation_without_inverse_marks_its_voxel_singular() {
    let table = table();
    let mut deviation = Image::zeros(GRID, 9);
    deviation.volume_mut(0)[5] = -1.0;
    deviation.volume_mut(4)[6] = f32::NAN;
    let workers = Workers::new(1).unwrap();
    let (image, on) = (series(&table, 0.0), Backend::cpu(&workers));
    let options = DtiOptions::default();
    let found = fit(&image, &mask(), &table, Some(&deviation), &options, &on, &Silent).unwrap();
    assert_eq!(found.status.count(Status::Singular), 2);
    assert_eq!(found.map(DtiMap::S0).unwrap().data[5], 0.0);
}

#[test]
fn only_wanted_maps_are_made() {
    let table = table();
    let options = DtiOptions { maps: vec![DtiMap::V1, DtiMap::Fa], ..DtiOptions::default() };
    let found = run(&series(&table, 0.0), &table, &options).unwrap();
    let made: Vec<_> =
        found.maps.iter().map(|map| (&*map.spec.name, map.image.n_volumes)).collect();
    assert_eq!(made, [("V1", 3), ("FA", 1), ("status", 1)]);
}

#[test]
fn what_does_not_fit_together_is_refused_with_the_numbers() {
    let table = table();
    let image = series(&table, 0.0);
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    let options = DtiOptions::default();
    let refused = |image: &Image, mask: &Mask, table: &GradientTable, deviation: Option<&Image>| {
        fit(image, mask, table, deviation, &options, &on, &Silent).unwrap_err().to_string()
    };
    let short = acquisition(4, &[(1000.0, 25)]);
    assert!(refused(&image, &mask(), &short, None).contains("54 volumes, the gradient table 29"));
    let elsewhere = Grid { dims: [31, 17, 12], ..GRID };
    assert!(refused(&image, &Mask::full(elsewhere), &table, None).contains("mask"));
    let eight = Image::zeros(GRID, 8);
    assert!(refused(&image, &mask(), &table, Some(&eight)).contains("8 volumes"));
    let other = Image::zeros(elsewhere, 9);
    assert!(refused(&image, &mask(), &table, Some(&other)).contains("deviation"));
}

#[test]
fn sigma_is_for_restore_and_positive() {
    let table = table();
    let image = series(&table, 0.0);
    let with = |method, sigma| DtiOptions { method, sigma: Some(sigma), ..DtiOptions::default() };
    let refused = |options| run(&image, &table, &options).unwrap_err();
    assert!(matches!(refused(with(Method::Wls, 1.0)), DtiError::SigmaUnused));
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(with(Method::Restore, sigma)), DtiError::Sigma(_)));
    }
    assert!(run(&image, &table, &with(Method::Restore, 1.0)).is_ok());
}

#[test]
fn an_empty_mask_gives_empty_maps() {
    let table = table();
    let workers = Workers::new(1).unwrap();
    let none = Mask { grid: GRID, voxels: Vec::new() };
    let (image, on) = (series(&table, 0.0), Backend::cpu(&workers));
    let found = fit(&image, &none, &table, None, &DtiOptions::default(), &on, &Silent).unwrap();
    assert!(found.maps.iter().all(|map| map.image.data.iter().all(|&x| x == 0.0)));
}

/// Counts what it is told, and stops the work from the start if asked.
struct Watch {
    total: AtomicU64,
    done: AtomicU64,
    cancelled: bool,
}

impl Progress for Watch {
    fn start(&self, _what: &str, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }
    fn advance(&self, items: u64) {
        self.done.fetch_add(items, Ordering::Relaxed);
    }
    fn warn(&self, _message: &str) {}
    fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

#[test]
fn progress_reaches_its_total_and_a_cancelled_fit_stops() {
    let table = table();
    let image = series(&table, 0.0);
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let run = |cancelled| {
        let watch = Watch { total: AtomicU64::new(0), done: AtomicU64::new(0), cancelled };
        let found =
            fit(&image, &mask(), &table, None, &DtiOptions::default(), &on, &watch).map(|_| ());
        (found, watch.total.into_inner(), watch.done.into_inner())
    };
    let (found, total, done) = run(false);
    assert!(found.is_ok() && total == mask().len() as u64 && done == total);
    assert!(matches!(run(true), (Err(DtiError::Job(JobError::Interrupted(_))), _, 0)));
}
