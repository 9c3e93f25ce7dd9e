//! What one launch made is fetched while a kernel is at the next, by the log of a card that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::{Device, DeviceOptions};
use fimbria_compute::{Backend, Interrupted, Silent, Workers};
use fimbria_testing::Call;
use fimbria_tracking::{Deal, Propagation, Rules, Space, Tally, Tracking, track_on};

use crate::bend::{field, seeds};

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
    let launches: Vec<&Call> = calls.iter().filter(|call| call.what == "launch").collect();
    let tracked = launches.iter().filter(|launch| launch.of == "track").count();
    assert_eq!(tracked as u64, LAUNCHES, "{calls:?}");
    // Downloads wait for what is queued before them: one that is done while the other stream's kernel is not even
    // half done is beside it.
    let beside = |launch: &&&Call| {
        calls.iter().any(|call| {
            call.what == "download"
                && call.stream != launch.stream
                && call.ended > launch.began
                && call.ended < launch.began + KERNEL_SECONDS / 2.0
        })
    };
    assert!(launches.iter().filter(beside).count() > 0, "nothing was fetched: {calls:?}");
    // The samples are on the card once, whatever the queue.
    let largest = |call: &&Call| call.what == "upload" && call.of == largest_upload(&calls);
    assert_eq!(calls.iter().filter(largest).count(), 1, "{calls:?}");
}

/// Bytes of the largest upload.
fn largest_upload(calls: &[Call]) -> String {
    let bytes = |call: &Call| call.of.parse::<u64>().unwrap_or(0);
    let uploads = calls.iter().filter(|call| call.what == "upload");
    uploads.map(bytes).max().unwrap_or(0).to_string()
}
