//! Samples dealt to devices, or where there are none to threads.

use std::ops::Range;
use std::sync::Mutex;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Interrupted, Progress, Workers};

use super::rounds::Team;
use super::serving::{self, Failures};
use super::single::Single;
use super::threads::Threads;
use super::{Deal, Tracker as _, Tracking, jittered, lock};
use crate::device::{Batch, DeviceTracker, MemoryPlan};
use crate::draws::{Keyed, item_key};
use crate::sample::Collect;

/// Devices that have memory for the field, and how it is used; of the others `progress` is told.
pub(super) fn usable(
    tracking: &Tracking<'_>,
    devices: &[Device],
    progress: &dyn Progress,
) -> Vec<(Device, MemoryPlan)> {
    let Tracking { field, propagation, rules, .. } = *tracking;
    let mut plans = Vec::new();
    // Their kernel knows none.
    let devices = if rules.local.is_empty() { devices } else { &[] };
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

/// Who makes the samples of a process: its threads or, where there are some, its devices, each of
/// which keeps the field from the first chunk to the last.
pub(super) struct Crew<'a, C, F> {
    threads: Threads<'a, Tracking<'a>, C, F>,
    plans: &'a [(Device, MemoryPlan)],
    /// Samples that all devices have memory for.
    per_chunk: u64,
    /// Each is used by the one host thread that serves its device.
    trackers: Vec<Mutex<Option<DeviceTracker>>>,
    failures: Failures,
}

impl<'a, C: Collect, F: Fn() -> C + Sync> Crew<'a, C, F> {
    /// Begins: `progress` hears how many samples there are. Devices get chunks of as many as `deal`
    /// says, and of no more than all of them have memory for.
    pub(super) fn begin(
        tracking: &'a Tracking<'a>,
        workers: &'a Workers,
        plans: &'a [(Device, MemoryPlan)],
        deal: Deal,
        progress: &'a dyn Progress,
        new: F,
    ) -> Self {
        progress.start("tracking", tracking.total());
        let all = 0..tracking.total();
        let threads = Threads::new(tracking, workers, progress, deal.block, all, new);
        let fits = plans.iter().map(|(_, plan)| plan.samples_per_launch).min().unwrap_or(1);
        let trackers = plans.iter().map(|_| Mutex::default()).collect();
        let failures = Failures::none(plans.len());
        Self { threads, plans, per_chunk: deal.launch.min(fits), trackers, failures }
    }

    /// A chunk on a device, launch by launch of samples of one region; judged on the threads only
    /// once all of it is made, so that a device that fails leaves nothing behind.
    fn on_device(&self, index: usize, all: Range<u64>) -> Result<Vec<C::Block>, DeviceError> {
        let (device, plan) = &self.plans[index];
        let tracking = self.threads.tracking;
        let Tracking { field, propagation, seeds, rng_seed, .. } = *tracking;
        let mut tracker = lock(&self.trackers[index]);
        let tracker = match &mut *tracker {
            Some(tracker) => tracker,
            none => none.insert(DeviceTracker::new(device, field, propagation, rng_seed, plan)?),
        };
        let n_samples = u64::from(tracking.n_samples);
        let mut made = Vec::new();
        let mut rest = all;
        while !rest.is_empty() {
            let region = seeds[(rest.start / n_samples) as usize].region;
            let in_region = |at: &u64| seeds[(*at / n_samples) as usize].region == region;
            let stretch: Vec<u64> = rest.clone().take_while(in_region).collect();
            let samples = rest.start..rest.start + stretch.len() as u64;
            rest.start = samples.end;
            let mut batch = Batch { region, ..Batch::default() };
            for at in stretch {
                let (seed, number) = (&seeds[(at / n_samples) as usize], (at % n_samples) as u32);
                let mut draws = Keyed::new(rng_seed, region, seed.key, number);
                let start = jittered(tracking, seed, &mut draws);
                batch.items.push(item_key(seed.key, number));
                batch.starts.push(tracking.space.to_samples(start));
            }
            made.push((samples, tracker.make(device, &batch)?));
        }
        let mut blocks = Vec::new();
        for (samples, paths) in made {
            let done = self.threads.filled(samples.clone(), |block, collector| {
                let mut single = Single::new(tracking);
                for at in block {
                    let (seed, number) = ((at / n_samples) as usize, (at % n_samples) as u32);
                    let item = (at - samples.start) as usize;
                    single
                        .replay(seed, number, &paths, item, &mut |sample| collector.sample(sample));
                }
            });
            blocks.extend(done);
        }
        Ok(blocks)
    }
}

impl<C: Collect, F: Fn() -> C + Sync> Team<C> for Crew<'_, C, F> {
    fn all(&self) -> Range<u64> {
        self.threads.all()
    }

    fn progress(&self) -> &dyn Progress {
        self.threads.progress
    }

    fn unit(&self) -> u64 {
        if self.plans.is_empty() { self.threads.unit() } else { self.per_chunk }
    }

    fn at_once(&self) -> u64 {
        if self.plans.is_empty() {
            return self.threads.at_once();
        }
        self.per_chunk.saturating_mul(2 * self.plans.len() as u64)
    }

    fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        if self.plans.is_empty() {
            return self.threads.make(units);
        }
        serving::make(
            self.plans,
            &self.failures,
            units,
            self.per_chunk,
            |index, samples| self.on_device(index, samples),
            |samples| self.threads.made(samples),
            self.progress(),
        )
    }

    fn collectors(self) -> Vec<C> {
        self.threads.collectors()
    }
}
