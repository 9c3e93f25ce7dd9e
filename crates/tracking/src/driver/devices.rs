//! Samples dealt to devices.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::run_chunks;
use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use super::single::Single;
use super::{Deal, Tracking, jittered, lock};
use crate::device::{Batch, DeviceTracker, MemoryPlan};
use crate::draws::{Keyed, item_key};
use crate::fast::FastTracker;
use crate::sample::Collect;

/// Failures in a row after which a device gets no more work.
const MAX_FAILURES: u32 = 3;

/// Devices that have memory for the field, and how it is used; of the others `progress` is told.
pub(super) fn usable(
    tracking: &Tracking<'_>,
    devices: &[Device],
    progress: &dyn Progress,
) -> Vec<(Device, MemoryPlan)> {
    let Tracking { field, propagation, .. } = *tracking;
    let mut plans = Vec::new();
    for device in devices {
        let largest = device.info().largest_buffer_bytes;
        match MemoryPlan::new(field.size(), propagation, device.available_bytes(), largest) {
            Ok(plan) => plans.push((device.clone(), plan)),
            Err(shortage) => {
                progress.warn(&format!("{} is not used: {shortage}", device.info().name));
            }
        }
    }
    plans
}

/// Tracks on devices, each of which keeps the field from the first chunk to the last.
pub(crate) fn track<C: Collect, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    workers: &Workers,
    plans: &[(Device, MemoryPlan)],
    deal: Deal,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Vec<C>, E> {
    let devices: Vec<_> = plans.iter().map(|(device, _)| device.clone()).collect();
    let fits = plans.iter().map(|(_, plan)| plan.samples_per_launch).min().unwrap_or(1);
    let per_chunk = deal.launch.min(fits);
    let total = tracking.seeds.len() as u64 * u64::from(tracking.n_samples);
    progress.start("tracking", total);
    let idle: Mutex<Vec<C>> = Mutex::default();
    // Each is used by the one host thread that serves its device.
    let trackers: Vec<Mutex<Option<DeviceTracker>>> =
        devices.iter().map(|_| Mutex::default()).collect();
    let share = Share { tracking, workers, deal, idle: &idle, new: &new };
    // Failures in a row; a device that has too many of them gets no chunk of later rounds either.
    let failures: Vec<AtomicU32> = devices.iter().map(|_| AtomicU32::new(0)).collect();
    let firsts: Vec<_> = (0..total).step_by(per_chunk as usize).collect();
    for round in firsts.chunks(2 * devices.len()) {
        let good: Vec<_> = (0..devices.len())
            .filter(|index| failures[*index].load(Ordering::Relaxed) < MAX_FAILURES)
            .collect();
        let serving: Vec<_> = good.iter().map(|index| devices[*index].clone()).collect();
        let mut chunks: Vec<Chunk<C>> = round
            .iter()
            .map(|first| Chunk { samples: *first..(first + per_chunk).min(total), blocks: vec![] })
            .collect();
        run_chunks(
            &serving,
            &mut chunks,
            |device, chunk| {
                let index = serving.iter().position(|known| std::ptr::eq(known, device));
                let index = good[index.unwrap_or_default()];
                let mut tracker = lock(&trackers[index]);
                let done = share.on_device(device, &mut tracker, &plans[index].1, chunk);
                match &done {
                    Ok(()) => {
                        failures[index].store(0, Ordering::Relaxed);
                        progress.advance(chunk.samples.end - chunk.samples.start);
                    }
                    Err(error) => {
                        let more = if error.is_lost() { MAX_FAILURES } else { 1 };
                        let failed = failures[index].fetch_add(more, Ordering::Relaxed) + more;
                        if failed == MAX_FAILURES && !error.is_lost() {
                            let name = &device.info().name;
                            progress.warn(&format!("{name} is not used any more"));
                        }
                    }
                }
                done
            },
            |chunk| share.on_threads(chunk, progress),
            progress,
        )?;
        for block in chunks.into_iter().flat_map(|chunk| chunk.blocks) {
            each(block)?;
        }
    }
    let mut idle = lock(&idle);
    Ok(std::mem::take(&mut *idle))
}

/// Samples to be made, counted through all seeds, and what becomes of them.
struct Chunk<C: Collect> {
    samples: Range<u64>,
    blocks: Vec<C::Block>,
}

/// What all chunks share.
struct Share<'a, C, F> {
    tracking: &'a Tracking<'a>,
    workers: &'a Workers,
    deal: Deal,
    idle: &'a Mutex<Vec<C>>,
    new: &'a F,
}

impl<C: Collect, F: Fn() -> C + Sync> Share<'_, C, F> {
    fn collected(&self, fill: impl FnOnce(&mut C)) -> C::Block {
        let taken = lock(self.idle).pop();
        let mut collector = taken.unwrap_or_else(self.new);
        fill(&mut collector);
        let done = collector.end_block();
        lock(self.idle).push(collector);
        done
    }

    fn blocks(&self, samples: &Range<u64>) -> Vec<Range<u64>> {
        let firsts = samples.clone().step_by(self.deal.block as usize);
        firsts.map(|first| first..(first + self.deal.block).min(samples.end)).collect()
    }

    /// A chunk on a device, launch by launch of samples of one region; judged on the threads only
    /// once all of it is made, so that a device that fails leaves nothing behind.
    fn on_device(
        &self,
        device: &Device,
        tracker: &mut Option<DeviceTracker>,
        plan: &MemoryPlan,
        chunk: &mut Chunk<C>,
    ) -> Result<(), DeviceError> {
        let Tracking { field, propagation, rng_seed, .. } = *self.tracking;
        let tracker = match tracker {
            Some(tracker) => tracker,
            none => none.insert(DeviceTracker::new(device, field, propagation, rng_seed, plan)?),
        };
        let n_samples = u64::from(self.tracking.n_samples);
        let seeds = self.tracking.seeds;
        let mut made = Vec::new();
        let mut rest = chunk.samples.clone();
        while !rest.is_empty() {
            let region = seeds[(rest.start / n_samples) as usize].region;
            let in_region = |at: &u64| seeds[(*at / n_samples) as usize].region == region;
            let stretch: Vec<u64> = rest.clone().take_while(in_region).collect();
            let samples = rest.start..rest.start + stretch.len() as u64;
            rest.start = samples.end;
            let mut batch = Batch { region, ..Batch::default() };
            for at in stretch {
                let (seed, number) = (&seeds[(at / n_samples) as usize], (at % n_samples) as u32);
                let mut draws = Keyed::new(self.tracking.rng_seed, region, seed.key, number);
                let start = jittered(self.tracking, seed, &mut draws);
                batch.items.push(item_key(seed.key, number));
                batch.starts.push(self.tracking.space.to_samples(start));
            }
            made.push((samples, tracker.make(device, &batch)?));
        }
        for (samples, paths) in made {
            let judged = |block: Range<u64>| {
                self.collected(|collector| {
                    let mut single = Single::new(self.tracking);
                    for at in block {
                        let (seed, number) = ((at / n_samples) as usize, (at % n_samples) as u32);
                        let item = (at - samples.start) as usize;
                        single.replay(seed, number, &paths, item, collector);
                    }
                })
            };
            let blocks = self.blocks(&samples);
            let done: Vec<_> =
                self.workers.install(|| blocks.into_par_iter().map(judged).collect());
            chunk.blocks.extend(done);
        }
        Ok(())
    }

    fn on_threads(&self, chunk: &mut Chunk<C>, progress: &dyn Progress) -> Result<(), Interrupted> {
        let made = |block: Range<u64>| {
            progress.check()?;
            let simd = self.workers.simd();
            let len = block.end - block.start;
            let done = self.collected(|collector| {
                FastTracker::new(self.tracking).run(block, simd, collector);
            });
            progress.advance(len);
            Ok(done)
        };
        let blocks = self.blocks(&chunk.samples);
        let done: Result<Vec<_>, Interrupted> =
            self.workers.install(|| blocks.into_par_iter().map(made).collect());
        chunk.blocks = done?;
        Ok(())
    }
}
