//! What one launch made is awaited and fetched while a kernel is at the next, by the log of a card that does nothing.
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
fn two_launches_through_samples_are_in_hand() {
    let options = DeviceOptions::default();
    let Some(calls) = fimbria_testing::asked("in-flight", "none", KERNEL_SECONDS, &options, count)
    else {
        return;
    };
    let tracked = calls.iter().filter(|call| call.what == "launch" && call.of == "track").count();
    assert_eq!(tracked as u64, LAUNCHES, "{calls:?}");
    assert!(are_two_in_hand(&calls), "{calls:?}");
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
fn two_launches_through_densities_are_in_hand() {
    // Twice some fifty streamlines beside the densities.
    let options = DeviceOptions { memory_limit: Some(3_800_000), ..DeviceOptions::default() };
    let name = "densities-in-flight";
    let Some(calls) = fimbria_testing::asked(name, "none", KERNEL_SECONDS, &options, follow) else {
        return;
    };
    let followed = calls.iter().filter(|call| call.what == "launch" && call.of == "follow").count();
    assert!(followed >= 4, "{calls:?}");
    assert!(are_two_in_hand(&calls), "{calls:?}");
    // The densities are on the card once, whatever the queue.
    let largest = |call: &&Call| call.what == "upload" && call.of == largest_upload(&calls);
    assert_eq!(calls.iter().filter(largest).count(), 1, "{calls:?}");
}

/// Whether a launch began while what the other stream's launch made was not there yet: with one in hand it
/// begins once that is fetched.
fn are_two_in_hand(calls: &[Call]) -> bool {
    let launches = || calls.iter().filter(|call| call.what == "launch");
    launches().any(|first| {
        let fetched = calls.iter().find(|call| {
            call.what == "download" && call.stream == first.stream && call.began > first.began
        });
        let until = fetched.map_or(f64::NEG_INFINITY, |download| download.ended);
        launches().any(|second| {
            second.stream != first.stream && second.began > first.began && second.began < until
        })
    })
}

/// Bytes of the largest upload.
fn largest_upload(calls: &[Call]) -> String {
    let bytes = |call: &Call| call.of.parse::<u64>().unwrap_or(0);
    let uploads = calls.iter().filter(|call| call.what == "upload");
    uploads.map(bytes).max().unwrap_or(0).to_string()
}
