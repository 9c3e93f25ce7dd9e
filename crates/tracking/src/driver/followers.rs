//! Streamlines through densities dealt to devices, or where there are none to threads.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::run_chunks;
use fimbria_compute::{Interrupted, Progress};
use rayon::prelude::*;

use super::lock;
use super::rounds::{Team, pieces};
use super::threads::Threads;
use crate::densities::DensityTracking;
use crate::densities::device::{DensityPlan, Follower, Start};
use crate::sample::Collect;

/// Failures in a row after which a device gets no more work.
const MAX_FAILURES: u32 = 3;

/// Streamlines of a launch at most, enough to fill a large device many times over.
const LAUNCH: u64 = 1 << 16;

/// Devices that follow densities, which they keep from round to round.
pub(super) struct Followers {
    devices: Vec<(Device, DensityPlan)>,
    each: Vec<Mutex<Option<Follower>>>,
    /// In a row.
    failures: Vec<AtomicU32>,
}

impl Followers {
    /// Those devices that have memory for the densities; of the others `progress` is told. None where the
    /// kernel has no such rule.
    pub(super) fn new(
        tracking: &DensityTracking<'_>,
        devices: &[Device],
        progress: &dyn Progress,
    ) -> Self {
        let mut usable = Vec::new();
        for device in devices.iter().filter(|_| tracking.may_use_devices()) {
            let largest = device.info().largest_buffer_bytes;
            let DensityTracking { densities, propagation, .. } = *tracking;
            match DensityPlan::new(densities, propagation, device.available_bytes(), largest) {
                Some(plan) => usable.push((device.clone(), plan)),
                None => progress.warn(&format!(
                    "{} is not used: it has no memory for the densities",
                    device.info().name
                )),
            }
        }
        Self {
            each: usable.iter().map(|_| Mutex::default()).collect(),
            failures: usable.iter().map(|_| AtomicU32::new(0)).collect(),
            devices: usable,
        }
    }

    /// Streamlines that all of them have memory for.
    fn per_launch(&self) -> u64 {
        self.devices.iter().map(|(_, plan)| plan.per_launch).min().unwrap_or(1).min(LAUNCH)
    }
}

/// Who makes the streamlines of a process.
pub(super) struct Crew<'a, C, F> {
    pub(super) threads: Threads<'a, DensityTracking<'a>, C, F>,
    pub(super) followers: &'a Followers,
}

/// Streamlines to be made, and what becomes of them.
struct Chunk<C: Collect> {
    unit: usize,
    samples: Range<u64>,
    blocks: Vec<C::Block>,
}

impl<C: Collect, F: Fn() -> C + Sync> Crew<'_, C, F> {
    /// A chunk on a device; the threads let streamlines take what it made only once all of it is there, so
    /// that a device that fails leaves nothing behind.
    fn on_device(&self, index: usize, chunk: &mut Chunk<C>) -> Result<(), DeviceError> {
        let (device, plan) = &self.followers.devices[index];
        let Threads { tracking, workers, block, .. } = self.threads;
        let blocks: Vec<_> = pieces(chunk.samples.clone(), block).collect();
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
                none.insert(Follower::new(device, densities, propagation, rng_seed, *plan)?)
            }
        };
        let halves = follower.make(device, &starts.concat())?;
        let first = chunk.samples.start;
        chunk.blocks = self.threads.filled(chunk.samples.clone(), |samples, collector| {
            let before = firsts[((samples.start - first) / block) as usize];
            tracking.replay(samples, simd, &halves, before, collector);
        });
        Ok(())
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
        if self.followers.devices.is_empty() {
            self.threads.unit()
        } else {
            self.followers.per_launch()
        }
    }

    fn at_once(&self) -> u64 {
        match self.followers.devices.len() as u64 {
            0 => self.threads.at_once(),
            n => self.followers.per_launch().saturating_mul(2 * n),
        }
    }

    fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        let Followers { devices, failures, .. } = self.followers;
        let good: Vec<_> = (0..devices.len())
            .filter(|index| failures[*index].load(Ordering::Relaxed) < MAX_FAILURES)
            .collect();
        if good.is_empty() {
            return self.threads.make(units);
        }
        let serving: Vec<_> = good.iter().map(|index| devices[*index].0.clone()).collect();
        let mut blocks: Vec<Vec<C::Block>> = units.iter().map(|_| Vec::new()).collect();
        let mut chunks: Vec<Chunk<C>> = (0..)
            .zip(units)
            .flat_map(|(unit, samples)| {
                let chunk = move |samples| Chunk { unit, samples, blocks: vec![] };
                pieces(samples, self.followers.per_launch()).map(chunk)
            })
            .collect();
        let progress = self.progress();
        run_chunks(
            &serving,
            &mut chunks,
            |device, chunk| {
                let index = serving.iter().position(|known| std::ptr::eq(known, device));
                let index = good[index.unwrap_or_default()];
                let done = self.on_device(index, chunk);
                match &done {
                    Ok(()) => {
                        failures[index].store(0, Ordering::Relaxed);
                        progress.advance(chunk.samples.end - chunk.samples.start);
                    }
                    Err(error) => {
                        let more = if error.is_lost() { MAX_FAILURES } else { 1 };
                        failures[index].fetch_add(more, Ordering::Relaxed);
                    }
                }
                done
            },
            |chunk| {
                chunk.blocks = self.threads.made(chunk.samples.clone())?;
                Ok::<(), Interrupted>(())
            },
            progress,
        )?;
        chunks.into_iter().for_each(|chunk| blocks[chunk.unit].extend(chunk.blocks));
        Ok(blocks)
    }

    fn collectors(self) -> Vec<C> {
        self.threads.collectors()
    }
}
