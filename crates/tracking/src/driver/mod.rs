//! Seeds and samples dealt to processes, and there to threads and devices.

mod devices;
mod followers;
mod handing;
mod hands;
mod judging;
mod reseed;
mod rounds;
mod select;
mod serving;
mod single;
mod threads;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Interrupted, Progress, SimdLevel, Workers};

use crate::device::can_judge;
use crate::draws::{Keyed, Sequence};
use crate::fast::FastTracker;
use crate::sample::{Collect, Parcel, Take};
use crate::tracking::Tracking;

use devices::Crew;
pub(crate) use devices::Memory;
pub(crate) use judging::{Half, Judged, Judging, Made};
pub use reseed::Reseed;
pub use select::{Selected, track_densities, track_reseeded};
use single::Single;

/// Makes streamlines on one thread.
pub(crate) trait Tracker: Sync {
    /// How many there are, counted through all seeds.
    fn total(&self) -> u64;

    /// Makes those of a range, in any order.
    fn run(&self, range: Range<u64>, simd: SimdLevel, take: &mut Take<'_>);
}

impl Tracker for Tracking<'_> {
    fn total(&self) -> u64 {
        self.seeds.len() as u64 * u64::from(self.n_samples)
    }

    fn run(&self, range: Range<u64>, simd: SimdLevel, take: &mut Take<'_>) {
        if self.rules.local.is_empty() {
            return FastTracker::new(self).run(range, simd, take);
        }
        let mut single = Single::new(self);
        let n_samples = u64::from(self.n_samples);
        for at in range {
            let (index, number) = ((at / n_samples) as usize, (at % n_samples) as u32);
            let seed = &self.seeds[index];
            let mut draws = Keyed::new(self.rng_seed, seed.region, seed.key, number);
            single.sample(index, seed, number, &mut draws, take);
        }
    }
}

/// How samples are dealt out. No result depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Samples that a thread takes at a time, at least 1.
    pub block: u64,
    /// Samples that one launch on a device makes at most, at least 1; fewer where its memory is.
    pub launch: u64,
}

impl Default for Deal {
    /// Blocks few enough to keep all threads busy, and large enough to fill lanes; launches that
    /// fill a large device, of which two are made at a time.
    fn default() -> Self {
        Self { block: 4096, launch: 1 << 17 }
    }
}

/// What was collected, and who made it.
#[derive(Debug)]
pub struct Collected<C> {
    /// Where it was collected.
    pub collectors: Vec<C>,
    /// Samples made by each device that was given, in their order, and by the threads, of this process.
    pub shares: Shares,
}

/// Tracks every sample of every seed on the threads of `workers`. Each thread has a collector made
/// by `new`, and all are returned; what blocks leave behind comes to `each` in the order of seeds.
///
/// # Errors
/// Those of `each`, and [`Interrupted`] where the user stops it.
pub fn track<C: Collect, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    workers: &Workers,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Vec<C>, E> {
    let on = Backend::cpu(workers);
    Ok(track_on(tracking, on, Deal::default(), progress, new, each)?.collectors)
}

/// As [`track`] on devices, with the threads for what devices fail at, all of this process. Devices judge and count,
/// and hand back no more than a collector [needs](Collect::needs); the threads judge where a surface is
/// among the rules or a warp leads to the seed space.
///
/// # Errors
/// As [`track`].
pub fn track_on<C: Collect, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    on: Backend<'_>,
    deal: Deal,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Collected<C>, E> {
    let crew = Crew::begin(tracking, on, Memory::Free, deal, progress, new);
    rounds::in_one_process(crew, each)
}

/// Whether devices judge these streamlines; else they follow them, and threads judge and count.
pub fn devices_judge(tracking: &Tracking<'_>) -> bool {
    can_judge(tracking)
}

/// As [`track_on`] with so many bytes of each device, in buffers of no more than `largest`, one launch at a
/// time.
pub(crate) fn track_within<C: Collect, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    on: Backend<'_>,
    (bytes, largest): (u64, u64),
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Collected<C>, E> {
    let memory = Memory::Of { bytes, largest };
    let crew = Crew::begin(tracking, on, memory, Deal::default(), progress, new);
    rounds::in_one_process(crew, each)
}

/// As [`track_on`] with all processes of `on`, which must be given the same `tracking`: each makes a
/// part of the samples. What blocks leave behind comes to `each` of the first process alone, all of
/// it in the order of seeds; every process gets the collectors of the samples that it made.
///
/// # Errors
/// As [`track`], on any process; the others wait for it, and must be ended.
pub fn track_among<C: Parcel, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    on: Backend<'_>,
    deal: Deal,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Collected<C>, E> {
    let crew = Crew::begin(tracking, on, Memory::Free, deal, progress, new);
    rounds::among_processes(crew, on.comm, each)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tracks by the oracle, one particle at a time on this thread. With a [`Sequence`] random numbers
/// are those of one stream, in probtrackx2's order; else those that [`track`] uses.
///
/// # Errors
/// Where the user stops it.
pub fn track_slowly<C: Collect>(
    tracking: &Tracking<'_>,
    mut sequence: Option<&mut Sequence>,
    progress: &dyn Progress,
    collector: &mut C,
) -> Result<(), Interrupted> {
    progress.start("tracking", tracking.total());
    let mut single = Single::new(tracking);
    let take: &mut Take<'_> = &mut |sample| collector.sample(sample);
    for (index, seed) in tracking.seeds.iter().enumerate() {
        progress.check()?;
        for number in 0..tracking.n_samples {
            match &mut sequence {
                Some(sequence) => single.sample(index, seed, number, *sequence, take),
                None => {
                    let mut draws = Keyed::new(tracking.rng_seed, seed.region, seed.key, number);
                    single.sample(index, seed, number, &mut draws, take);
                }
            }
        }
        progress.advance(u64::from(tracking.n_samples));
    }
    Ok(())
}
