//! What one launch made is fetched while a kernel is at the next, by the log of a card that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::{Backend, Interrupted, Silent, Workers};
use fimbria_testing::Call;
use fimbria_tracking::{Attempts, Deal, Propagation, Rules, Space, Tally, Tracking, track_on};

use crate::bend::{field, seeds};
use crate::densities::{ALONG_X, ARCS, best, densities, seed, tracked_on};

/// Seconds that each kernel takes.
const KERNEL_SECONDS: f64 = 0.1;

/// Launches.
const LAUNCHES: u64 = 6;

/// Visits are counted of what the card should have made, which does nothing.
fn count(device: &Device) {
    let workers = Workers::new(2).unwrap();
    let field = field(&workers);
    let space = Space::same(*field.grid());
    let seeds = seeds(&space);
    let tracking = Tracking {
        field: &field,
        space: &space,
        propagation: &Propagation::default(),
        rules: &Rules::default(),
        seeds: &seeds,
        n_samples: 2,
        jitter_mm: 0.0,
        rng_seed: 1,
    };
    let on = Backend::new(&workers, std::slice::from_ref(device));
    let total = 2 * seeds.len();
    let deal = Deal { block: 64, launch: (total as u64).div_ceil(LAUNCHES) };
    let new = || Tally::new(&space, 1, true);
    let made = track_on(&tracking, on, deal, &Silent, new, |()| Ok::<(), Interrupted>(()));
    let made = made.unwrap();
    assert_eq!((made.shares.devices, made.shares.cpu), (vec![total], 0));
}

#[test]
fn what_a_launch_made_is_fetched_while_a_kernel_is_at_the_next() {
    let options = DeviceOptions::default();
    let Some(calls) = fimbria_testing::asked("in-flight", "none", KERNEL_SECONDS, &options, count)
    else {
        return;
    };
    let tracked = calls.iter().filter(|call| call.what == "launch" && call.of == "track").count();
    assert_eq!(tracked as u64, LAUNCHES, "{calls:?}");
    assert!(fetches_beside_kernels(&calls), "nothing was fetched: {calls:?}");
    // The samples are on the card once, whatever the queue.
    let largest = |call: &&Call| call.what == "upload" && call.of == largest_upload(&calls);
    assert_eq!(calls.iter().filter(largest).count(), 1, "{calls:?}");
}

/// Arcs through densities that go along x everywhere, in launches that a small memory has room for.
fn follow(device: &Device) {
    let workers = best();
    let field = densities(|_| vec![ALONG_X]);
    let seeds: Vec<_> = (0..30).map(|x| seed([x as f32, 15.0, 7.0])).collect();
    let (on, each) = (Backend::new(&workers, std::slice::from_ref(device)), Attempts::PerSeed(10));
    tracked_on(on, &Silent, None, &field, &ARCS, &seeds, each);
}

#[test]
fn points_of_a_launch_through_densities_are_fetched_while_a_kernel_is_at_the_next() {
    // Twice some fifty streamlines beside the densities.
    let options = DeviceOptions { memory_limit: Some(3_800_000), ..DeviceOptions::default() };
    let name = "densities-in-flight";
    let Some(calls) = fimbria_testing::asked(name, "none", KERNEL_SECONDS, &options, follow) else {
        return;
    };
    let followed = calls.iter().filter(|call| call.what == "launch" && call.of == "follow").count();
    assert!(followed >= 4, "{calls:?}");
    assert!(fetches_beside_kernels(&calls), "nothing was fetched: {calls:?}");
    // The densities are on the card once, whatever the queue.
    let largest = |call: &&Call| call.what == "upload" && call.of == largest_upload(&calls);
    assert_eq!(calls.iter().filter(largest).count(), 1, "{calls:?}");
}

/// Whether something was fetched from the card while a kernel ran. Downloads wait for what is queued before them:
/// one that is done while the other stream's kernel is not even half done is beside it.
fn fetches_beside_kernels(calls: &[Call]) -> bool {
    calls.iter().filter(|call| call.what == "launch").any(|launch| {
        calls.iter().any(|call| {
            call.what == "download"
                && call.stream != launch.stream
                && call.ended > launch.began
                && call.ended < launch.began + KERNEL_SECONDS / 2.0
        })
    })
}

/// Bytes of the largest upload.
fn largest_upload(calls: &[Call]) -> String {
    let bytes = |call: &Call| call.of.parse::<u64>().unwrap_or(0);
    let uploads = calls.iter().filter(|call| call.what == "upload");
    uploads.map(bytes).max().unwrap_or(0).to_string()
}
