//! Streamlines through densities dealt out; where so many are to be kept, until they are there.

use std::ops::Range;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Interrupted, Progress};

use super::followers::{Crew, Followers};
use super::reseed::end_of_stretch;
use super::threads::Threads;
use super::{Collected, Reseed, rounds};
use crate::densities::{Attempts, DensityTracking};
use crate::packed::{put, take};
use crate::sample::{Collect, Parcel, Sample};

/// Streamlines that a thread takes at a time: each costs a hundred times one through samples.
const BLOCK: u64 = 256;

/// Streamlines of the first round, from which the share that is kept is known.
const FIRST_ROUND: u64 = 1024;

/// Streamlines of a round at most: they wait for its end. So many for each thread keep all of them busy.
const LARGEST_ROUND: u64 = 1 << 17;
const OF_A_THREAD: u64 = 1 << 14;

/// What was made.
pub struct Selected<C> {
    /// Where it was collected.
    pub collectors: Vec<C>,
    /// Streamlines started.
    pub attempts: u64,
    /// Those kept, where so many were to be; as the first process knows them.
    pub kept: Option<u64>,
    /// Streamlines made by each device that was given, and by the threads, of this process; those of the last round
    /// that were not wanted too.
    pub shares: Shares,
}

/// Tracks through densities on the devices and threads of all processes of `on`, which must be given the same
/// `tracking`. What blocks leave behind comes to `each` of the first process alone, in the order in
/// which streamlines are numbered; every process gets the collectors of those that it made.
///
/// With [`Attempts::UntilKept`] streamlines are started until as many are kept as were asked for:
/// those are the first ones by number that are, whatever the threads and processes.
///
/// # Errors
/// Those of `each`, and [`Interrupted`] where the user stops it, on any process; the others wait for
/// it, and must be ended.
pub fn track_densities<C: Parcel, E: From<Interrupted> + Send>(
    tracking: &DensityTracking<'_>,
    on: Backend<'_>,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Selected<C>, E> {
    track_reseeded(tracking, None, on, progress, new, each)
}

/// The same, where streamlines are started until so many are kept with the chances of `reseed`, if there is one,
/// in place of [`DensityTracking::chances`].
///
/// # Errors
/// As [`track_densities`].
pub fn track_reseeded<C: Parcel, E: From<Interrupted> + Send>(
    tracking: &DensityTracking<'_>,
    mut reseed: Option<&mut dyn Reseed>,
    on: Backend<'_>,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Selected<C>, E> {
    let followers = Followers::new(tracking, on.devices, progress);
    let Attempts::UntilKept { select, .. } = tracking.attempts else {
        let all = 0..tracking.total();
        progress.start("tracking", all.end);
        let threads = Threads::new(tracking, on.workers, progress, BLOCK, all.clone(), new);
        let crew = Crew { threads, followers: &followers };
        let Collected { collectors, shares } = rounds::among_processes(crew, on.comm, each)?;
        followers.end();
        return Ok(Selected { collectors, attempts: all.end, kept: None, shares });
    };
    progress.start("tracking", select);
    let threads: u64 = on.comm.of_each(on.workers.threads() as u64).into_iter().sum();
    let largest = LARGEST_ROUND.min(OF_A_THREAD.saturating_mul(threads));
    let (mut all, mut attempts, mut kept) = (Vec::<C>::new(), 0, 0);
    let mut stretch = 0..end_of_stretch(0);
    while kept < select && attempts < tracking.total() {
        let wanted = select - kept;
        let mut end = (attempts + round(wanted, kept, attempts, largest)).min(tracking.total());
        if reseed.is_some() {
            end = end.min(stretch.end);
        }
        let made = loop {
            let range = attempts..end;
            let made =
                Round::new(tracking, reseed.as_deref(), range, on, progress, &followers, &new)?;
            // The last streamline wanted is the end; what comes after it is made no more.
            let last = made
                .numbers
                .get(wanted as usize)
                .map_or(end, |_| u64::from(made.numbers[wanted as usize - 1]) + 1);
            let last = on.comm.of_each(last)[0];
            if let Some(reseed) = &mut reseed {
                reseed.settle(last == end);
            }
            if last == end {
                break made;
            }
            end = last;
        };
        let now = on.comm.of_each(made.numbers.len() as u64)[0];
        kept += now;
        progress.advance(now);
        made.blocks.into_iter().try_for_each(&mut each)?;
        // Rounds are many, and what is counted may be of every voxel.
        for collector in made.collectors {
            match all.first_mut() {
                Some(first) => first.merge(collector),
                None => all.push(collector),
            }
        }
        attempts = end;
        if let Some(reseed) = reseed.as_mut().filter(|_| end == stretch.end) {
            reseed.renew(end - stretch.start, on.comm);
            stretch = end..end_of_stretch(end);
        }
    }
    let shares = followers.shares();
    followers.end();
    Ok(Selected { collectors: all, attempts, kept: Some(kept), shares })
}

/// Streamlines that were started together.
struct Round<C: Collect> {
    /// What they leave behind, and the numbers of those kept, sorted: on the first process.
    blocks: Vec<C::Block>,
    numbers: Vec<u32>,
    collectors: Vec<C>,
}

impl<C: Parcel> Round<C> {
    fn new(
        tracking: &DensityTracking<'_>,
        reseed: Option<&dyn Reseed>,
        range: Range<u64>,
        on: Backend<'_>,
        progress: &dyn Progress,
        followers: &Followers,
        new: &(impl Fn() -> C + Sync),
    ) -> Result<Self, Interrupted> {
        let (mut blocks, mut numbers) = (Vec::new(), Vec::new());
        let chances = reseed.map(Reseed::chances).or(tracking.chances);
        let tracking = DensityTracking { chances, ..*tracking };
        let counting = || Counting { inner: new(), kept: Vec::new(), reseed };
        let quiet = Quiet(progress);
        let threads = Threads::new(&tracking, on.workers, &quiet, BLOCK, range, counting);
        let crew = Crew { threads, followers };
        let made =
            rounds::among_processes(crew, on.comm, |(block, kept): (C::Block, Vec<u32>)| {
                blocks.push(block);
                numbers.extend(kept);
                Ok::<(), Interrupted>(())
            })?;
        numbers.sort_unstable();
        let collectors = made.collectors.into_iter().map(|counting| counting.inner).collect();
        Ok(Self { blocks, numbers, collectors })
    }
}

/// Streamlines of the next round, `largest` at most, where so many are still wanted, and of `made` so many
/// were kept. Rounds stay below what is wanted until little is, as those too many are made in vain.
fn round(wanted: u64, kept: u64, made: u64, largest: u64) -> u64 {
    if made == 0 {
        return wanted.clamp(64, FIRST_ROUND);
    }
    let expected = wanted as f64 * made as f64 / (kept.max(1)) as f64;
    let few = 0.9 * expected;
    let next = if expected > FIRST_ROUND as f64 { few } else { expected };
    (next.ceil() as u64).clamp(64, largest)
}

/// Knows the numbers of the streamlines that are kept, and tells of them.
struct Counting<'a, C> {
    inner: C,
    kept: Vec<u32>,
    reseed: Option<&'a dyn Reseed>,
}

impl<C: Collect> Collect for Counting<'_, C> {
    type Block = (C::Block, Vec<u32>);

    fn sample(&mut self, sample: &Sample<'_>) {
        if sample.kept {
            self.kept.push(sample.number);
            if let Some(reseed) = self.reseed {
                reseed.pass(sample);
            }
        }
        self.inner.sample(sample);
    }

    fn end_block(&mut self) -> Self::Block {
        (self.inner.end_block(), std::mem::take(&mut self.kept))
    }
}

impl<C: Parcel> Parcel for Counting<'_, C> {
    fn merge(&mut self, other: Self) {
        self.inner.merge(other.inner);
    }

    fn pack((block, kept): Self::Block) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, &kept);
        bytes.extend(C::pack(block));
        bytes
    }

    fn unpack(mut bytes: &[u8]) -> Self::Block {
        let kept = take(&mut bytes);
        (C::unpack(bytes), kept)
    }
}

/// Tells nothing of how far it is: rounds do.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        self.0.warn(message);
    }
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
