//! Streamlines through densities dealt to devices, or where there are none to threads.

use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{IN_HAND, Shares, queues_of};
use fimbria_compute::{Interrupted, Progress};
use rayon::prelude::*;

use super::Collected;
use super::devices::LAUNCHES_OF_DEVICE;
use super::hands::Hand;
use super::rounds::{Team, pieces};
use super::serving::{self, Service};
use super::threads::Threads;
use crate::densities::DensityTracking;
use crate::densities::device::{DensityPlan, Follower, Start, Stored};
use crate::sample::Collect;

/// Streamlines of a launch at most: two of them fill a large device.
const LAUNCH: u64 = 1 << 15;

/// Streamlines that are worth a launch on one of several devices: one that is slower would keep the others waiting
/// for its last.
const WORTH_ONE: u64 = 256;

/// Streamlines that are worth a launch where there is one device: two in hand have together as many as the largest
/// launch.
const WORTH_ONE_ALONE: u64 = LAUNCH / 2;

/// Devices that follow densities, which they keep from round to round. Each has two launches in hand where a round
/// has streamlines for them, with a host thread and a queue for each: the points of one are fetched and taken while
/// the other is made.
pub(super) struct Followers {
    /// Of each device.
    queues: Vec<Vec<Device>>,
    plans: Vec<DensityPlan>,
    hands: Vec<Hand<Stored, Follower>>,
    /// Streamlines of a launch at most, which all of them have memory for.
    most: u64,
    service: Service,
    /// Devices that were given, those that are not used too.
    given: usize,
}

impl Followers {
    /// Those devices that have memory for the densities; of the others `progress` is told. None where the
    /// kernel has no such rule.
    pub(super) fn new(
        tracking: &DensityTracking<'_>,
        devices: &[Device],
        progress: &dyn Progress,
    ) -> Self {
        let (mut numbers, mut queues, mut plans) = (Vec::new(), Vec::new(), Vec::new());
        let devices_used = if tracking.may_use_devices() { devices } else { &[] };
        for (number, device) in devices_used.iter().enumerate() {
            let largest = device.info().largest_buffer_bytes;
            let DensityTracking { densities, propagation, .. } = *tracking;
            match DensityPlan::of_several(
                densities,
                propagation,
                IN_HAND,
                device.available_bytes(),
                largest,
            ) {
                Some(plan) => {
                    numbers.push(number);
                    queues.push(queues_of(device, plan.in_hand));
                    plans.push(plan);
                }
                None => progress.warn(&format!(
                    "{} is not used: it has no memory for the densities",
                    device.info().name
                )),
            }
        }
        let fits = plans.iter().map(|plan| plan.per_launch).min().unwrap_or(1);
        Self {
            hands: queues.iter().map(|queues: &Vec<_>| Hand::new(queues.len())).collect(),
            most: fits.min(LAUNCH),
            service: Service::of(numbers),
            given: devices.len(),
            queues,
            plans,
        }
    }

    /// Streamlines made by each of the devices that were given, and by the threads.
    pub(super) fn shares(&self) -> Shares {
        self.service.shares(self.given)
    }

    /// Gives the memory of devices back, which other programs may want while something else is done here.
    pub(super) fn end(self) {
        drop(self.hands);
        self.queues.iter().flatten().for_each(Device::give_back);
    }
}

/// Streamlines of each launch, `most` of them at most, where so many are dealt to this number of `devices`: as
/// many launches as [`LAUNCHES_OF_DEVICE`] says, or fewer, each of which is worth one.
fn of_a_launch(streamlines: u64, devices: u64, most: u64) -> u64 {
    let worth_one = if devices > 1 { WORTH_ONE } else { WORTH_ONE_ALONE };
    let launches = (streamlines / worth_one).clamp(1, LAUNCHES_OF_DEVICE * devices);
    streamlines.div_ceil(launches).clamp(1, most)
}

/// Who makes the streamlines of a process.
pub(super) struct Crew<'a, C, F> {
    pub(super) threads: Threads<'a, DensityTracking<'a>, C, F>,
    pub(super) followers: &'a Followers,
}

impl<C: Collect, F: Fn() -> C + Sync> Crew<'_, C, F> {
    /// A chunk on a device, by this queue of it; the threads let streamlines take what it made only once all of it
    /// is there, so that a device that fails leaves nothing behind.
    fn on_device(
        &self,
        [device, queue]: [usize; 2],
        samples: Range<u64>,
    ) -> Result<Vec<C::Block>, DeviceError> {
        let Followers { queues, plans, hands, .. } = self.followers;
        let Threads { tracking, workers, block, .. } = self.threads;
        let DensityTracking { densities, propagation, rng_seed, .. } = *tracking;
        let blocks: Vec<_> = pieces(samples.clone(), block).collect();
        let simd = workers.simd();
        let starts: Vec<Vec<Start>> = workers
            .install(|| blocks.into_par_iter().map(|block| tracking.starts(block, simd)).collect());
        let mut firsts = vec![0];
        firsts.extend(starts.iter().scan(0, |sum, starts| {
            *sum += starts.len();
            Some(*sum)
        }));
        let starts = starts.concat();
        let halves = hands[device].work(
            &queues[device],
            queue,
            |queue| Stored::new(queue, densities),
            |queue, stored| {
                Follower::new(queue, stored, densities, propagation, rng_seed, plans[device])
            },
            |queue, follower| follower.make(queue, &starts),
        )?;
        let first = samples.start;
        Ok(self.threads.filled(samples, |samples, collector| {
            let before = firsts[((samples.start - first) / block) as usize];
            tracking.replay(samples, simd, &halves, before, &mut |sample| collector.sample(sample));
        }))
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
        let Range { start, end } = self.all();
        match self.followers.plans.len() as u64 {
            0 => self.threads.block,
            n => of_a_launch(end - start, n, self.followers.most),
        }
    }

    fn at_once(&self) -> u64 {
        match self.followers.plans.len() as u64 {
            0 => self.threads.at_once(),
            n => self.unit().saturating_mul(LAUNCHES_OF_DEVICE * n),
        }
    }

    fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        let Followers { queues, service, .. } = self.followers;
        service.begin(&units);
        if queues.is_empty() {
            return self.threads.make(units);
        }
        serving::make(
            queues,
            service,
            units,
            self.unit(),
            |place, samples| self.on_device(place, samples),
            |samples| self.threads.made(samples),
            self.progress(),
        )
    }

    fn collected(self) -> Collected<C> {
        Collected { collectors: self.threads.collectors(), shares: self.followers.shares() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_gets_launches_of_a_round_that_is_worth_them() {
        // How many launches there are of so many streamlines, for one device and for two.
        for (streamlines, of_one, of_two) in [
            (0, 0, 0),
            (1, 1, 1),
            (256, 1, 1),
            (1024, 1, 4),
            (2 * WORTH_ONE_ALONE - 1, 1, 8),
            // The largest round of two threads, and of eight.
            (2 * WORTH_ONE_ALONE, 2, 8),
            (1 << 17, 4, 8),
            (1 << 20, 32, 32),
        ] {
            for (devices, launches) in [(1, of_one), (2, of_two)] {
                let unit = of_a_launch(streamlines, devices, LAUNCH);
                assert_eq!(streamlines.div_ceil(unit), launches, "{streamlines} on {devices}");
            }
        }
        assert_eq!(of_a_launch(1 << 17, 2, 1000), 1000);
    }
}
