//! Units of samples made by devices, and by threads what those cannot do.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::run_chunks;
use fimbria_compute::{Interrupted, Progress};

use super::rounds::pieces;

/// Failures in a row after which a device gets no more work.
const MAX_FAILURES: u32 = 3;

/// How often each device has failed in a row; one that has too often gets no chunk of later rounds either.
pub(super) struct Failures(Vec<AtomicU32>);

impl Failures {
    /// None yet, of so many devices.
    pub(super) fn none(devices: usize) -> Self {
        Self((0..devices).map(|_| AtomicU32::new(0)).collect())
    }

    /// The devices that still get work.
    fn good(&self) -> Vec<usize> {
        let is_good = |index: &usize| self.0[*index].load(Ordering::Relaxed) < MAX_FAILURES;
        (0..self.0.len()).filter(is_good).collect()
    }

    /// Counts how a device did; true where it is not used any more from now on, and not lost.
    fn note(&self, index: usize, done: &Result<(), DeviceError>) -> bool {
        let Err(error) = done else {
            self.0[index].store(0, Ordering::Relaxed);
            return false;
        };
        let more = if error.is_lost() { MAX_FAILURES } else { 1 };
        let failed = self.0[index].fetch_add(more, Ordering::Relaxed) + more;
        failed == MAX_FAILURES && !error.is_lost()
    }
}

/// Samples to be made, and what becomes of them.
struct Chunk<B> {
    unit: usize,
    samples: Range<u64>,
    blocks: Vec<B>,
}

/// The blocks of each unit: `on_device` makes up to `most` samples on the device of a number, `on_threads`
/// what no device does. `progress` hears of what devices have made, and of those that are given up.
pub(super) fn make<B: Send, P>(
    devices: &[(Device, P)],
    failures: &Failures,
    units: Vec<Range<u64>>,
    most: u64,
    on_device: impl Fn(usize, Range<u64>) -> Result<Vec<B>, DeviceError> + Sync,
    on_threads: impl Fn(Range<u64>) -> Result<Vec<B>, Interrupted> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<Vec<B>>, Interrupted> {
    let good = failures.good();
    let serving: Vec<_> = good.iter().map(|index| devices[*index].0.clone()).collect();
    let mut blocks: Vec<Vec<B>> = units.iter().map(|_| Vec::new()).collect();
    let mut chunks: Vec<Chunk<B>> = (0..)
        .zip(units)
        .flat_map(|(unit, samples)| {
            // Another process may have memory for more at a time.
            pieces(samples, most).map(move |samples| Chunk { unit, samples, blocks: vec![] })
        })
        .collect();
    run_chunks(
        &serving,
        &mut chunks,
        |device, chunk| {
            let index = serving.iter().position(|known| std::ptr::eq(known, device));
            let index = good[index.unwrap_or_default()];
            let done = on_device(index, chunk.samples.clone()).map(|made| chunk.blocks = made);
            if failures.note(index, &done) {
                progress.warn(&format!("{} is not used any more", device.info().name));
            }
            if done.is_ok() {
                progress.advance(chunk.samples.end - chunk.samples.start);
            }
            done
        },
        |chunk| {
            chunk.blocks = on_threads(chunk.samples.clone())?;
            Ok::<(), Interrupted>(())
        },
        progress,
    )?;
    chunks.into_iter().for_each(|chunk| blocks[chunk.unit].extend(chunk.blocks));
    Ok(blocks)
}
