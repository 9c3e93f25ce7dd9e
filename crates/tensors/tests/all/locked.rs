//! What the search for peaks sends to a card and fetches from it lies in memory of the host that is locked for the card
//! where it is used again, by the log of one that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::DeviceOptions;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_tensors::peaks::{PeakOptions, find_peaks};
use fimbria_testing::{Call, asked, count, not_locked};

/// Three blocks of voxels and a part of one.
const GRID: Grid = Grid { dims: [40, 40, 8], ras_from_vox: Affine::IDENTITY };

/// What a card with so many bytes for buffers was asked, of as many chunks.
fn asked_in(chunks: usize, name: &str, memory_limit: Option<u64>) -> Option<Vec<Call>> {
    let options = DeviceOptions { memory_limit, ..DeviceOptions::default() };
    asked(name, "none", 0.0, &options, |device| {
        let workers = Workers::new(2).unwrap();
        let on = Backend::new(&workers, std::slice::from_ref(device));
        let (forms, mask) = (Image::zeros(GRID, 15), Mask::full(GRID));
        let found = find_peaks(&forms, &mask, 4, &PeakOptions::default(), &on, &Silent).unwrap();
        let shares = &found.shares;
        assert!(shares.cpu == 0 && shares.devices == [chunks], "{shares:?}");
    })
}

#[test]
fn four_chunks_lock_forms_and_peaks() {
    // Room for two blocks at once, and not for two chunks of two.
    let Some(calls) = asked_in(4, "peaks-locked", Some(3 << 19)) else { return };
    // The tables are smaller than a page for each of a few hundred directions.
    let of_voxels =
        |what: &str| calls.iter().filter(|call| call.what == what && call.is_locked).count();
    assert_eq!((of_voxels("upload"), of_voxels("download")), (4, 4), "{calls:?}");
    let locks = count(&calls, "lock");
    assert!([2, 4].contains(&locks) && count(&calls, "unlock") == locks, "{locks}: {calls:?}");
}

#[test]
fn a_single_chunk_locks_nothing() {
    let Some(calls) = asked_in(1, "peaks-once", None) else { return };
    assert_eq!((count(&calls, "lock"), count(&calls, "launch")), (0, 1), "{calls:?}");
    assert_eq!(not_locked(&calls, 1).len(), count(&calls, "upload") + 1, "{calls:?}");
}
