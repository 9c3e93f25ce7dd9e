//! Samples dealt to devices, or where there are none to threads.

use std::ops::Range;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{IN_HAND, queues_of};
use fimbria_compute::{Backend, Interrupted, Progress};
use rayon::prelude::*;

use super::handing::Handing;
use super::hands::Hand;
use super::rounds::Team;
use super::serving::{self, Service};
use super::single::Single;
use super::threads::Threads;
use super::{Collected, Deal, Tracker as _};
use crate::device::{DeviceTracker, Given, Made, MemoryPlan, Work};
use crate::draws::Keyed;
use crate::needs::{Needs, Points};
use crate::sample::Collect;
use crate::tracking::{Tracking, jittered};

/// Launches that each device gets at least, where there are samples for them; where streamlines are made round by round
/// until enough are kept, of each round: with fewer, one of several that is slower keeps the others waiting for its last,
/// and a single one has none in hand while the last is stored.
pub(super) const LAUNCHES_OF_DEVICE: u64 = 4;

/// Samples that fill a large card: fewer make no launch for the sake of having two in hand.
const FILLING: u64 = 1 << 16;

/// Launches of a device that are made at a time where streamlines wait for those before them, and where nothing
/// but counts comes of them.
const AT_ONCE: [u64; 2] = [4, 64];

/// How much of a device's memory is used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    /// What is free.
    Free,
    /// So many bytes, in buffers no larger than that.
    Of { bytes: u64, largest: u64 },
}

impl Memory {
    /// Runs that are looked through where memory is given.
    pub(crate) const LOOK_BACK: usize = 4;

    /// Bytes that may be used of a device, and of its largest buffer.
    fn of(self, device: &Device) -> (u64, u64) {
        match self {
            Self::Free => (device.available_bytes(), device.info().largest_buffer_bytes),
            Self::Of { bytes, largest } => (bytes, largest),
        }
    }

    /// Launches of a device at a time; where its memory is given, one.
    fn in_hand(self) -> usize {
        match self {
            Self::Free => IN_HAND,
            Self::Of { .. } => 1,
        }
    }

    /// Runs of a streamline that are looked through in place of `usual`; where memory is given few, so that short
    /// streamlines try both ways.
    fn look_back(self, usual: usize) -> usize {
        match self {
            Self::Free => usual,
            Self::Of { .. } => Self::LOOK_BACK,
        }
    }

    /// How many devices have memory for this work.
    fn fit(self, work: &Work<'_>, devices: &[Device]) -> usize {
        let fits = |device: &&Device| {
            let (bytes, largest) = self.of(device);
            work.plan(self.in_hand(), bytes, largest).is_ok()
        };
        devices.iter().filter(fits).count()
    }

    /// Devices that have memory for the field, with their numbers, and how it is used; of the others
    /// `progress` is told.
    fn plans(
        self,
        work: &Work<'_>,
        devices: &[Device],
        progress: &dyn Progress,
    ) -> (Vec<usize>, Vec<(Device, MemoryPlan)>) {
        let (mut numbers, mut plans) = (Vec::new(), Vec::new());
        for (number, device) in devices.iter().enumerate() {
            let (bytes, largest) = self.of(device);
            match work.plan(self.in_hand(), bytes, largest) {
                Ok(plan) => {
                    numbers.push(number);
                    plans.push((device.clone(), plan));
                }
                Err(shortage) => {
                    progress.warn(&format!("{} is not used: {shortage}", device.info().name));
                }
            }
        }
        (numbers, plans)
    }
}

/// Who makes the samples of a process: its threads or, where there are some, its devices. Each device has two
/// launches in hand, with a host thread and a queue for each: what one made is fetched and stored while the other
/// is made.
pub(super) struct Crew<'a, C, F> {
    threads: Threads<'a, Tracking<'a>, C, F>,
    work: Work<'a>,
    plans: Vec<MemoryPlan>,
    /// Each device has memory for the field, which it keeps from the first chunk to the last.
    hands: Vec<Hand<Given, DeviceTracker>>,
    /// Of each device.
    queues: Vec<Vec<Device>>,
    /// Samples that all devices have memory for.
    per_chunk: u64,
    service: Service,
    /// Devices that were given, those that have no memory too.
    given: usize,
}

impl<'a, C: Collect, F: Fn() -> C + Sync> Crew<'a, C, F> {
    /// Begins: `progress` hears how many samples there are. Devices get chunks of as many as `deal`
    /// says, and of no more than all of them have memory for.
    pub(super) fn begin(
        tracking: &'a Tracking<'a>,
        on: Backend<'a>,
        memory: Memory,
        deal: Deal,
        progress: &'a dyn Progress,
        new: F,
    ) -> Self {
        let total = tracking.total();
        // Their kernel knows no rules that differ from place to place.
        let devices = if tracking.rules.local.is_empty() { on.devices } else { &[] };
        let first = (!devices.is_empty()).then(&new);
        let needs = first.as_ref().map(C::needs);
        let has_double = devices.iter().all(|device| device.info().has_f64);
        let of_needs = |needs: Option<&Needs<'_>>| {
            let work = Work::new(tracking, needs, has_double);
            Work { look_back: memory.look_back(work.look_back), ..work }
        };
        let mut work = of_needs(needs.as_ref());
        let points_alone = work.of_points_alone();
        let most = memory.fit(&points_alone, devices);
        let fits = |work: &Work<'_>| work.regions.is_none() || memory.fit(work, devices) == most;
        if !fits(&work) && work.counts.is_some() {
            progress.note("the threads count these streamlines: a device has no memory for counts");
            work = of_needs(needs.map(|needs| Needs { counts: None, ..needs }).as_ref());
        }
        if !fits(&work) {
            progress
                .note("the threads judge these streamlines: a device has no memory for regions");
            work = points_alone;
        }
        let (numbers, plans) = memory.plans(&work, devices, progress);
        progress.start("tracking", total);
        let threads = Threads::new(tracking, on.workers, progress, deal.block, 0..total, new);
        let threads = first.into_iter().fold(threads, Threads::with);
        let fits = plans.iter().map(|(_, plan)| plan.samples_per_launch).min().unwrap_or(1);
        let least = if plans.len() > 1 { deal.block } else { FILLING };
        let n_launches = LAUNCHES_OF_DEVICE * plans.len().max(1) as u64;
        let for_each = total.div_ceil(n_launches).max(least);
        let queues: Vec<_> =
            plans.iter().map(|(device, plan)| queues_of(device, plan.in_hand)).collect();
        let hands = queues.iter().map(|queues| Hand::new(queues.len())).collect();
        let plans = plans.into_iter().map(|(_, plan)| plan).collect();
        let (service, given) = (Service::of(numbers), on.devices.len());
        let per_chunk = deal.launch.min(fits).min(for_each).max(1);
        Self { threads, work, plans, hands, queues, per_chunk, service, given }
    }

    /// A chunk on a device, by this queue of it. Collectors take of it only once all of it is made, so that a device
    /// that fails leaves nothing behind.
    fn on_device(
        &self,
        [device, queue]: [usize; 2],
        samples: Range<u64>,
    ) -> Result<Vec<C::Block>, DeviceError> {
        let (work, plan) = (&self.work, &self.plans[device]);
        self.hands[device].work(
            &self.queues[device],
            queue,
            |queue| Given::new(queue, work, plan),
            |queue, given| DeviceTracker::new(queue, given, work, plan),
            |_, tracker| {
                let starts =
                    if work.starts_are_given() { self.starts(samples.clone()) } else { Vec::new() };
                let made = tracker.make(work, samples.clone(), &starts)?;
                Ok(self.taken(samples.clone(), made))
            },
        )
    }

    /// Where samples start, in voxels of the directions.
    fn starts(&self, samples: Range<u64>) -> Vec<[f32; 3]> {
        let Threads { tracking, workers, .. } = &self.threads;
        let n_samples = u64::from(tracking.n_samples);
        let start = |at: u64| {
            let (seed, number) =
                (&tracking.seeds[(at / n_samples) as usize], (at % n_samples) as u32);
            let mut draws = Keyed::new(tracking.rng_seed, seed.region, seed.key, number);
            tracking.space.to_samples(jittered(tracking, seed, &mut draws))
        };
        workers.install(|| samples.into_par_iter().map(start).collect())
    }

    /// What collectors make of a chunk.
    fn taken(&self, samples: Range<u64>, made: &Made) -> Vec<C::Block> {
        let (tracking, first) = (self.threads.tracking, samples.start);
        if self.work.regions.is_none() {
            let n_samples = u64::from(tracking.n_samples);
            return self.threads.filled(samples, |block, collector| {
                let mut single = Single::new(tracking);
                for at in block {
                    let (seed, number) = ((at / n_samples) as usize, (at % n_samples) as u32);
                    let item = (at - first) as usize;
                    single.replay(seed, number, made, item, &mut |sample| collector.sample(sample));
                }
            });
        }
        if self.work.counts.is_none() {
            return self.threads.filled(samples, |block, collector| {
                let mut handing = Handing::new(tracking, made, first);
                for at in block {
                    handing.sample(at, &mut |sample| collector.sample(sample));
                }
            });
        }
        let mut blocks = vec![self.threads.collected(|collector| collector.counted(&made.counts))];
        if self.work.points != Points::None || self.work.places.is_some() {
            let n_samples = u64::from(tracking.n_samples);
            blocks.extend(self.threads.filled(samples, |block, collector| {
                let mut handing = Handing::new(tracking, made, first);
                for at in block {
                    if self.work.places.is_some() && handing.is_kept(at) {
                        collector.met(&made.met((at / n_samples) as usize, (at - first) as usize));
                    }
                    if self.work.points == Points::None {
                        continue;
                    }
                    if self.work.points == Points::All || handing.is_kept(at) {
                        handing.sample(at, &mut |sample| collector.counted_sample(sample));
                    }
                }
            }));
        }
        blocks
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
        if self.hands.is_empty() { self.threads.block } else { self.per_chunk }
    }

    fn at_once(&self) -> u64 {
        if self.hands.is_empty() {
            return self.threads.at_once();
        }
        let of_device = AT_ONCE[usize::from(self.work.points == Points::None)];
        self.per_chunk.saturating_mul(of_device * self.hands.len() as u64)
    }

    fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        self.service.begin(&units);
        if self.hands.is_empty() {
            return self.threads.make(units);
        }
        serving::make(
            &self.queues,
            &self.service,
            units,
            self.per_chunk,
            |place, samples| self.on_device(place, samples),
            |samples| self.threads.made(samples),
            self.progress(),
        )
    }

    fn collected(self) -> Collected<C> {
        let Self { threads, hands, queues, service, given, .. } = self;
        // Other programs may want the memory while something else is done here.
        drop(hands);
        queues.iter().flatten().for_each(Device::give_back);
        Collected { collectors: threads.collectors(), shares: service.shares(given) }
    }
}
