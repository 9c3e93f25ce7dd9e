//! Units of samples made by devices, and by threads what those cannot do; and who made how many.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{Shares, run_queues};
use fimbria_compute::{Interrupted, Progress};

use super::rounds::pieces;

/// Failures in a row after which a device gets no more work.
const MAX_FAILURES: u32 = 3;

/// How devices have served from round to round.
pub(super) struct Service {
    devices: Vec<Served>,
    /// Samples of this process's rounds.
    samples: AtomicUsize,
}

struct Served {
    /// Which of the devices that were given it is.
    number: usize,
    /// How often it has failed in a row; one that has too often gets no chunk of later rounds either.
    failures: AtomicU32,
    /// Samples it has made.
    samples: AtomicUsize,
}

impl Service {
    /// Nothing yet, of devices with these numbers among those that were given.
    pub(super) fn of(numbers: impl IntoIterator<Item = usize>) -> Self {
        let served =
            |number| Served { number, failures: AtomicU32::new(0), samples: AtomicUsize::new(0) };
        Self { devices: numbers.into_iter().map(served).collect(), samples: AtomicUsize::new(0) }
    }

    /// A round begins, of so many samples.
    pub(super) fn begin(&self, units: &[Range<u64>]) {
        let samples: u64 = units.iter().map(|samples| samples.end - samples.start).sum();
        self.samples.fetch_add(samples as usize, Ordering::Relaxed);
    }

    /// Samples made by each of `given` devices, and by the threads.
    pub(super) fn shares(&self, given: usize) -> Shares {
        let mut devices = vec![0; given];
        for served in &self.devices {
            devices[served.number] = served.samples.load(Ordering::Relaxed);
        }
        let all = self.samples.load(Ordering::Relaxed);
        Shares { cpu: all.saturating_sub(devices.iter().sum()), devices }
    }

    /// The devices that still get work.
    fn good(&self) -> Vec<usize> {
        let failures = |index: &usize| self.devices[*index].failures.load(Ordering::Relaxed);
        (0..self.devices.len()).filter(|index| failures(index) < MAX_FAILURES).collect()
    }

    /// Counts how a device did with samples; true where it is not used any more from now on, and not lost.
    fn note(&self, index: usize, samples: &Range<u64>, done: &Result<(), DeviceError>) -> bool {
        let served = &self.devices[index];
        let Err(error) = done else {
            // What its other queue was at may be done after it was lost.
            let begin_anew = |failures| (failures < MAX_FAILURES).then_some(0);
            let _ = served.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin_anew);
            served.samples.fetch_add((samples.end - samples.start) as usize, Ordering::Relaxed);
            return false;
        };
        let more = if error.is_lost() { MAX_FAILURES } else { 1 };
        let failed = served.failures.fetch_add(more, Ordering::Relaxed) + more;
        failed == MAX_FAILURES && !error.is_lost()
    }
}

/// Samples to be made, and what becomes of them.
struct Chunk<B> {
    unit: usize,
    samples: Range<u64>,
    blocks: Vec<B>,
}

/// The blocks of each unit: `on_device` makes up to `most` samples on a queue, given the numbers of its device and of
/// itself among that device's, `on_threads` what no device does. `progress` hears of what devices have made, and
/// of those that are given up.
pub(super) fn make<B: Send>(
    queues: &[Vec<Device>],
    service: &Service,
    units: Vec<Range<u64>>,
    most: u64,
    on_device: impl Fn([usize; 2], Range<u64>) -> Result<Vec<B>, DeviceError> + Sync,
    on_threads: impl Fn(Range<u64>) -> Result<Vec<B>, Interrupted> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<Vec<B>>, Interrupted> {
    let good = service.good();
    let serving: Vec<&[Device]> = good.iter().map(|index| &*queues[*index]).collect();
    let mut blocks: Vec<Vec<B>> = units.iter().map(|_| Vec::new()).collect();
    let mut chunks: Vec<Chunk<B>> = (0..)
        .zip(units)
        .flat_map(|(unit, samples)| {
            // Another process may have memory for more at a time.
            pieces(samples, most).map(move |samples| Chunk { unit, samples, blocks: vec![] })
        })
        .collect();
    run_queues(
        &serving,
        &mut chunks,
        |queue, chunk| {
            let [device, number] = place_of(queue, &serving).unwrap_or_default();
            let index = good[device];
            let samples = chunk.samples.clone();
            let done = on_device([index, number], samples).map(|made| chunk.blocks = made);
            if service.note(index, &chunk.samples, &done) {
                progress.warn(&format!("{} is not used any more", queue.info().name));
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

/// The device of a queue, and which of its queues it is.
fn place_of(queue: &Device, of_devices: &[&[Device]]) -> Option<[usize; 2]> {
    of_devices.iter().enumerate().find_map(|(device, queues)| {
        let number = queues.iter().position(|known| std::ptr::eq(known, queue))?;
        Some([device, number])
    })
}
