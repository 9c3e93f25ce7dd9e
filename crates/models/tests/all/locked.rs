//! What fits send to a card and fetch from it lies in memory of the host that is locked for the card where it is used
//! again, by the log of one that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::curve::CurveOptions;
use fimbria_models::dti::{DtiOptions, Precision};
use fimbria_models::{Fitted, dki, dti, hot, mono};
use fimbria_testing::{Call, acquisition, asked, count, not_locked, signals, tensor};

/// Three blocks of voxels and a part of one.
const GRID: Grid = Grid { dims: [40, 40, 8], ras_from_vox: Affine::IDENTITY };

/// Bytes of buffers, by what a voxel takes: two blocks have room, two chunks of two do not, so that each block is a chunk.
const LITTLE: u64 = 7 << 19;
/// Linear fits keep their equations there.
const MORE: u64 = 24 << 20;

/// Bytes: tables of a protocol are smaller, what there is of a block's voxels is larger.
const LARGE: usize = 24 << 10;

/// What is fitted.
struct Series {
    image: Image,
    mask: Mask,
    table: GradientTable,
}

impl Series {
    fn new() -> Self {
        let table = acquisition(3, &[(1000.0, 20), (4000.0, 6), (2000.0, 20)]);
        let (d, _) = tensor([1.5e-3, 4e-4, 2e-4], [0.3, 0.5, 0.7]);
        let mut image = Image::zeros(GRID, table.len());
        for (v, s) in signals(&table, 700.0, d).into_iter().enumerate() {
            image.volume_mut(v).fill(s as f32);
        }
        Self { image, mask: Mask::full(GRID), table }
    }
}

type Fit = fn(&Series, &Backend<'_>) -> Fitted;

/// What the card with such a fault and so many bytes was asked by `work`.
fn asked_by(
    name: &str,
    fault: &str,
    memory_limit: Option<u64>,
    work: impl Fn(&Series, &Backend<'_>),
) -> Option<Vec<Call>> {
    let options = DeviceOptions { memory_limit, ..DeviceOptions::default() };
    asked(name, fault, 0.0, &options, |device: &Device| {
        let workers = Workers::new(2).unwrap();
        work(&Series::new(), &Backend::new(&workers, std::slice::from_ref(device)));
    })
}

/// A fit of which every one of so many chunks is the card's.
fn in_chunks(fit: Fit, chunks: usize, series: &Series, on: &Backend<'_>) -> Fitted {
    let fitted = fit(series, on);
    let shares = &fitted.shares;
    assert!(shares.cpu == 0 && shares.devices == [chunks], "{shares:?}");
    fitted
}

/// A fit of four chunks copies all of its voxels' numbers from and to locked memory: of each chunk in hand so many
/// arrays, each locked once.
fn locks_what_it_moves(name: &str, fit: Fit, memory: u64, arrays: usize) {
    let four = |series: &Series, on: &Backend<'_>| drop(in_chunks(fit, 4, series, on));
    let Some(calls) = asked_by(name, "none", Some(memory), four) else { return };
    assert_eq!(not_locked(&calls, LARGE), [""; 0], "{calls:?}");
    // One thread may have been so late that the other did all.
    let locks = count(&calls, "lock");
    assert!([arrays, 2 * arrays].contains(&locks), "{locks} locks: {calls:?}");
    assert_eq!(count(&calls, "unlock"), locks, "{calls:?}");
    let moved =
        |what: &str| calls.iter().filter(|call| call.what == what && call.is_locked).count();
    assert!(moved("upload") >= 4 && moved("download") >= 4, "{calls:?}");
}

fn tensors(series: &Series, on: &Backend<'_>) -> Fitted {
    let Series { image, mask, table } = series;
    dti::fit(image, mask, table, None, &DtiOptions::default(), on, &Silent).unwrap()
}

#[test]
fn tensors_lock_samples_parameters_and_maps() {
    locks_what_it_moves("locked-dti", tensors, LITTLE, 3);
}

#[test]
fn tensors_in_double_precision_lock_no_maps_which_threads_make() {
    let fit: Fit = |Series { image, mask, table }, on| {
        let options = DtiOptions { precision: Precision::Double, ..DtiOptions::default() };
        dti::fit(image, mask, table, None, &options, on, &Silent).unwrap()
    };
    locks_what_it_moves("locked-dti-double", fit, LITTLE, 2);
}

fn kurtosis(series: &Series, b_max_s_per_mm2: f64, on: &Backend<'_>) -> Fitted {
    let Series { image, mask, table } = series;
    let options =
        dki::DkiOptions { constrained: false, b_max_s_per_mm2, ..dki::DkiOptions::default() };
    dki::fit(image, mask, table, &options, on, &Silent).unwrap()
}

#[test]
fn kurtosis_of_all_volumes_locks_samples_parameters_and_maps() {
    locks_what_it_moves("locked-dki", |series, on| kurtosis(series, 5000.0, on), MORE, 3);
}

#[test]
fn kurtosis_of_some_volumes_locks_what_it_makes_of_the_samples() {
    locks_what_it_moves("locked-dki-some", |series, on| kurtosis(series, 3000.0, on), MORE, 2);
}

#[test]
fn forms_lock_no_maps_which_threads_make() {
    let fit: Fit = |Series { image, mask, table }, on| {
        hot::fit(image, mask, table, &hot::HotOptions::default(), on, &Silent).unwrap()
    };
    locks_what_it_moves("locked-hot", fit, MORE, 2);
}

#[test]
fn curves_lock_what_they_make_of_the_samples() {
    let fit: Fit = |Series { image, mask, table }, on| {
        mono::fit(image, mask, table, &CurveOptions::default(), on, &Silent).unwrap()
    };
    locks_what_it_moves("locked-mono", fit, LITTLE, 1);
}

#[test]
fn a_single_chunk_locks_nothing() {
    let one = |series: &Series, on: &Backend<'_>| drop(in_chunks(tensors, 1, series, on));
    let Some(calls) = asked_by("locked-once", "none", None, one) else { return };
    assert_eq!((count(&calls, "lock"), count(&calls, "launch")), (0, 2), "{calls:?}");
}

/// As where the driver refuses. That numbers arrive is tested in `compute`.
#[test]
fn a_fit_goes_on_where_some_or_all_memory_cannot_be_locked() {
    let twice = |series: &Series, on: &Backend<'_>| {
        for _ in 0..2 {
            in_chunks(tensors, 4, series, on);
        }
    };
    let Some(calls) = asked_by("locked-some", "lock:3+", Some(LITTLE), twice) else { return };
    assert_eq!((count(&calls, "lock"), count(&calls, "unlock")), (2, 2), "{calls:?}");
    assert!(!not_locked(&calls, LARGE).is_empty(), "{calls:?}");
}
