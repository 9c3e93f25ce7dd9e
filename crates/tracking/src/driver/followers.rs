//! Streamlines through densities dealt to devices, or where there are none to threads.

use std::ops::Range;
use std::sync::Mutex;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::Shares;
use fimbria_compute::{Interrupted, Progress};
use rayon::prelude::*;

use super::rounds::{Team, pieces};
use super::serving::{self, Service};
use super::threads::Threads;
use super::{Collected, lock};
use crate::densities::DensityTracking;
use crate::densities::device::{DensityPlan, Follower, Start};
use crate::sample::Collect;

/// Streamlines of a launch at most, enough to fill a large device many times over.
const LAUNCH: u64 = 1 << 16;

/// Devices that follow densities, which they keep from round to round.
pub(super) struct Followers {
    /// One of each device.
    queues: Vec<Vec<Device>>,
    plans: Vec<DensityPlan>,
    each: Vec<Mutex<Option<Follower>>>,
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
            match DensityPlan::new(densities, propagation, device.available_bytes(), largest) {
                Some(plan) => {
                    numbers.push(number);
                    queues.push(vec![device.clone()]);
                    plans.push(plan);
                }
                None => progress.warn(&format!(
                    "{} is not used: it has no memory for the densities",
                    device.info().name
                )),
            }
        }
        Self {
            each: plans.iter().map(|_| Mutex::default()).collect(),
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

    /// Streamlines that all of them have memory for.
    fn per_launch(&self) -> u64 {
        self.plans.iter().map(|plan| plan.per_launch).min().unwrap_or(1).min(LAUNCH)
    }
}

/// Who makes the streamlines of a process.
pub(super) struct Crew<'a, C, F> {
    pub(super) threads: Threads<'a, DensityTracking<'a>, C, F>,
    pub(super) followers: &'a Followers,
}

impl<C: Collect, F: Fn() -> C + Sync> Crew<'_, C, F> {
    /// A chunk on a device; the threads let streamlines take what it made only once all of it is there, so
    /// that a device that fails leaves nothing behind.
    fn on_device(&self, index: usize, samples: Range<u64>) -> Result<Vec<C::Block>, DeviceError> {
        let (device, plan) = (&self.followers.queues[index][0], self.followers.plans[index]);
        let Threads { tracking, workers, block, .. } = self.threads;
        let blocks: Vec<_> = pieces(samples.clone(), block).collect();
        let simd = workers.simd();
        let starts: Vec<Vec<Start>> = workers
            .install(|| blocks.into_par_iter().map(|block| tracking.starts(block, simd)).collect());
        let mut firsts = vec![0];
        firsts.extend(starts.iter().scan(0, |sum, starts| {
            *sum += starts.len();
            Some(*sum)
        }));
        let mut follower = lock(&self.followers.each[index]);
        let follower = match &mut *follower {
            Some(follower) => follower,
            none => {
                let DensityTracking { densities, propagation, rng_seed, .. } = *tracking;
                none.insert(Follower::new(device, densities, propagation, rng_seed, plan)?)
            }
        };
        let halves = follower.make(device, &starts.concat())?;
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
        if self.followers.plans.is_empty() {
            self.threads.block
        } else {
            self.followers.per_launch()
        }
    }

    fn at_once(&self) -> u64 {
        match self.followers.plans.len() as u64 {
            0 => self.threads.at_once(),
            n => self.followers.per_launch().saturating_mul(2 * n),
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
            self.followers.per_launch(),
            |[index, _], samples| self.on_device(index, samples),
            |samples| self.threads.made(samples),
            self.progress(),
        )
    }

    fn collected(self) -> Collected<C> {
        Collected { collectors: self.threads.collectors(), shares: self.followers.shares() }
    }
}
