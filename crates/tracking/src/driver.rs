//! Seeds and samples dealt to threads.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::run_chunks;
use fimbria_compute::{Backend, Interrupted, Progress, Workers};
use rayon::prelude::*;

use crate::device::{Batch, DeviceTracker, Paths};
use crate::draws::{Draws, Keyed, Sequence, item_key};
use crate::fast::FastTracker;
use crate::oracle::{HalfEnd, Visit as _, propagate};
use crate::rules::{Judge, LoopCheck, Verdicts, Watcher};
use crate::sample::{Collect, Sample};
use crate::{EndReason, Field, Propagation, Rules, Seed, Space};

/// Everything that streamlines depend on.
#[derive(Clone, Copy, Debug)]
pub struct Tracking<'a> {
    /// The directions.
    pub field: &'a Field,
    /// Where seeds and regions are.
    pub space: &'a Space,
    /// How streamlines are propagated.
    pub propagation: &'a Propagation,
    /// What decides over them.
    pub rules: &'a Rules,
    /// Where they start.
    pub seeds: &'a [Seed],
    /// Samples of each seed.
    pub n_samples: u32,
    /// Radius of the sphere around each seed to start in, mm.
    pub jitter_mm: f32,
    /// Seed of the random numbers.
    pub rng_seed: u64,
}

/// Samples in a block: few enough that blocks keep all threads busy, enough to fill lanes.
const BLOCK_SAMPLES: u64 = 4096;

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
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Vec<C>, E> {
    let n_samples = u64::from(tracking.n_samples);
    let total = tracking.seeds.len() as u64 * n_samples;
    let idle: Mutex<Vec<C>> = Mutex::default();
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    progress.start("tracking", total);
    let blocks: Vec<_> = (0..total).step_by(BLOCK_SAMPLES as usize).collect();
    // Finished blocks wait for those before them: as many as keep the threads busy, no more.
    for round in blocks.chunks(4 * workers.threads()) {
        let block = |first: &u64| -> Result<C::Block, Interrupted> {
            progress.check()?;
            let mut collector = lock().pop().unwrap_or_else(&new);
            let last = (first + BLOCK_SAMPLES).min(total);
            FastTracker::new(tracking).run(*first..last, workers.simd(), &mut collector);
            let done = collector.end_block();
            lock().push(collector);
            progress.advance(last - first);
            Ok(done)
        };
        let done: Result<Vec<_>, Interrupted> =
            workers.install(|| round.par_iter().map(block).collect());
        for block in done? {
            each(block)?;
        }
    }
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Samples that one launch makes at most: enough to fill a large device many times over.
const LAUNCH_SAMPLES: usize = 1 << 18;

/// As [`track`] on devices, or on the threads for what a device cannot do: a random first fibre, and
/// looking for loops. Judgement and counting are the threads'.
///
/// # Errors
/// As [`track`].
pub fn track_on<C: Collect, E: From<Interrupted> + Send>(
    tracking: &Tracking<'_>,
    on: Backend<'_>,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    mut each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Vec<C>, E> {
    let Backend { workers, devices } = on;
    if devices.is_empty() || !DeviceTracker::supports(tracking.propagation) {
        return track(tracking, workers, progress, new, each);
    }
    let bytes = DeviceTracker::bytes_per_sample(tracking.propagation);
    let per_chunk = devices.iter().map(|d| d.chunk_len(&[bytes])).min().unwrap_or(1);
    let per_chunk = per_chunk.clamp(1, LAUNCH_SAMPLES) as u64;
    let total = tracking.seeds.len() as u64 * u64::from(tracking.n_samples);
    progress.start("tracking", total);
    let idle: Mutex<Vec<C>> = Mutex::default();
    let trackers: Mutex<Vec<(String, DeviceTracker)>> = Mutex::default();
    let firsts: Vec<_> = (0..total).step_by(per_chunk as usize).collect();
    for round in firsts.chunks(2 * devices.len()) {
        let mut chunks: Vec<Chunk<C>> = round
            .iter()
            .map(|first| Chunk { samples: *first..(first + per_chunk).min(total), blocks: vec![] })
            .collect();
        let share = Share { tracking, workers, idle: &idle, new: &new };
        run_chunks(
            devices,
            &mut chunks,
            |device, chunk| {
                let name = format!("{:?}", device.info());
                let kept = lock(&trackers).iter().position(|(of, _)| *of == name);
                let taken = kept.map(|at| lock(&trackers).swap_remove(at));
                let tracker = match taken {
                    Some((_, tracker)) => tracker,
                    None => DeviceTracker::new(
                        device,
                        tracking.field,
                        tracking.propagation,
                        tracking.rng_seed,
                    )?,
                };
                let made = share.on_device(device, &tracker, chunk);
                lock(&trackers).push((name, tracker));
                progress.advance(chunk.samples.end - chunk.samples.start);
                made
            },
            |chunk| -> Result<(), Interrupted> {
                share.on_threads(chunk, progress)?;
                Ok(())
            },
            progress,
        )?;
        for block in chunks.into_iter().flat_map(|chunk| chunk.blocks) {
            each(block)?;
        }
    }
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn blocks(samples: &Range<u64>) -> Vec<Range<u64>> {
        let firsts = samples.clone().step_by(BLOCK_SAMPLES as usize);
        firsts.map(|first| first..(first + BLOCK_SAMPLES).min(samples.end)).collect()
    }

    fn on_device(
        &self,
        device: &Device,
        tracker: &DeviceTracker,
        chunk: &mut Chunk<C>,
    ) -> Result<(), DeviceError> {
        chunk.blocks.clear();
        let n_samples = u64::from(self.tracking.n_samples);
        let mut rest = chunk.samples.clone();
        while !rest.is_empty() {
            let seeds = self.tracking.seeds;
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
            let paths = tracker.make(device, &batch)?;
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
            let blocks = Self::blocks(&samples);
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
            progress.advance(block.end - block.start);
            Ok(self.collected(|collector| {
                FastTracker::new(self.tracking).run(block, simd, collector);
            }))
        };
        let blocks = Self::blocks(&chunk.samples);
        let done: Result<Vec<_>, Interrupted> =
            self.workers.install(|| blocks.into_par_iter().map(made).collect());
        chunk.blocks = done?;
        Ok(())
    }
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
    progress.start("tracking", tracking.seeds.len() as u64 * u64::from(tracking.n_samples));
    let mut single = Single::new(tracking);
    for (index, seed) in tracking.seeds.iter().enumerate() {
        progress.check()?;
        for number in 0..tracking.n_samples {
            match &mut sequence {
                Some(sequence) => single.sample(index, seed, number, *sequence, collector),
                None => {
                    let mut draws = Keyed::new(tracking.rng_seed, seed.region, seed.key, number);
                    single.sample(index, seed, number, &mut draws, collector);
                }
            }
        }
        progress.advance(u64::from(tracking.n_samples));
    }
    Ok(())
}

/// A place in the sphere of radius `jitter_mm` around a seed, or the seed itself.
pub(crate) fn jittered(tracking: &Tracking<'_>, seed: &Seed, draws: &mut dyn Draws) -> [f32; 3] {
    let radius = tracking.jitter_mm;
    if radius <= 0.0 {
        return seed.pos;
    }
    let spacing = tracking.space.grid().ras_from_vox.spacing();
    // The chance to miss the sphere a thousand times is nil, unless numbers are no random ones.
    for attempt in 0..1000 {
        let place = draws.jitter(attempt).map(|u| (2.0 * u - 1.0) * radius);
        if place.iter().map(|x| x * x).sum::<f32>() <= radius * radius {
            return std::array::from_fn(|a| seed.pos[a] + place[a] / spacing[a] as f32);
        }
    }
    seed.pos
}

/// The oracle with what belongs to one sample.
struct Single<'a> {
    tracking: &'a Tracking<'a>,
    judge: Judge<'a>,
    verdicts: Verdicts,
    loops: LoopCheck,
    all: Vec<[f32; 3]>,
}

impl<'a> Single<'a> {
    fn new(tracking: &'a Tracking<'a>) -> Self {
        Self {
            tracking,
            judge: Judge::new(tracking.rules),
            verdicts: Verdicts::default(),
            loops: LoopCheck::default(),
            all: Vec::new(),
        }
    }

    /// Makes a sample by the oracle.
    fn sample<C: Collect>(
        &mut self,
        seed_index: usize,
        seed: &Seed,
        number: u32,
        draws: &mut dyn Draws,
        collector: &mut C,
    ) {
        let Tracking { field, space, propagation, .. } = *self.tracking;
        let start = space.to_samples(jittered(self.tracking, seed, draws));
        self.judged(seed_index, seed, number, collector, |half, dir, watcher| {
            propagate(field, propagation, half, start, dir, draws, watcher)
        });
    }

    /// Judges a sample whose halves `make` makes, given their number, the direction to start in and
    /// whom to tell their points.
    fn judged<C: Collect>(
        &mut self,
        seed_index: usize,
        seed: &Seed,
        number: u32,
        collector: &mut C,
        mut make: impl FnMut(u32, Option<[f32; 3]>, &mut Watcher<'_, '_>) -> HalfEnd,
    ) {
        let Tracking { space, propagation, .. } = *self.tracking;
        self.all.clear();
        self.verdicts.begin();
        self.judge.begin_sample(seed.region as usize);
        let mut dir: Option<[f32; 3]> = None;
        let (mut n_made_first, mut ends) = (0, [EndReason::OutsideMask; 2]);
        for half in 0..2 {
            let before = self.all.len();
            self.judge.begin_half();
            self.loops.begin_half();
            let mut watcher = Watcher {
                judge: &mut self.judge,
                space,
                path: &mut self.all,
                loops: propagation.loop_check.then_some(&mut self.loops),
                voxel: None,
            };
            let end = make(half as u32, dir, &mut watcher);
            if half == 0 {
                dir = end.first_dir.map(|dir| dir.map(|x| -x));
                n_made_first = self.all.len();
            }
            ends[half] = end.reason;
            self.verdicts.end_half(&self.judge, self.all.len() - before, propagation.step_mm);
        }
        let made = Made { seed, seed_index, number, n_made_first, ends };
        made.hand_in(&self.judge, &self.verdicts, propagation, &self.all, collector);
    }

    /// Judges a sample that a device made.
    fn replay<C: Collect>(
        &mut self,
        seed_index: usize,
        number: u32,
        paths: &Paths,
        item: usize,
        collector: &mut C,
    ) {
        let seed = &self.tracking.seeds[seed_index];
        // A rule that ends the first half at the seed takes its direction from the second, which
        // the device has given it.
        if self.ends_at_seed(seed, paths, item) {
            let mut draws = Keyed::new(self.tracking.rng_seed, seed.region, seed.key, number);
            return self.sample(seed_index, seed, number, &mut draws, collector);
        }
        self.judged(seed_index, seed, number, collector, |half, _, watcher| {
            let half = half as usize;
            let mut reason = paths.reason(half, item);
            for pos in paths.half(half, item) {
                let seen = watcher.enter(pos, [0.0; 3]).and_then(|()| watcher.leave());
                if let Err(why) = seen {
                    reason = why;
                    break;
                }
            }
            HalfEnd { first_dir: None, reason }
        });
    }

    fn ends_at_seed(&mut self, seed: &Seed, paths: &Paths, item: usize) -> bool {
        let Some(start) = paths.half(0, item).next() else { return false };
        if self.judge.is_idle() {
            return false;
        }
        let voxel = self.tracking.space.voxel(self.tracking.space.from_samples(start));
        self.judge.begin_sample(seed.region as usize);
        self.judge.begin_half();
        self.judge.enter(voxel).and_then(|()| self.judge.leave(voxel)).is_err()
    }
}

/// A sample whose halves are made.
pub(crate) struct Made<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) seed_index: usize,
    pub(crate) number: u32,
    pub(crate) n_made_first: usize,
    pub(crate) ends: [EndReason; 2],
}

impl Made<'_> {
    /// Judges the halves in `all`, and hands what is kept to the collector.
    pub(crate) fn hand_in<C: Collect>(
        self,
        judge: &Judge<'_>,
        verdicts: &Verdicts,
        propagation: &Propagation,
        all: &[[f32; 3]],
        collector: &mut C,
    ) {
        let Self { seed, seed_index, number, n_made_first, ends } = self;
        let [first, second] = verdicts.kept(judge, propagation.step_mm).0;
        let (points, n_first) = match (first, second) {
            (true, true) => (all, n_made_first),
            (true, false) => (&all[..n_made_first], n_made_first),
            (false, true) => (&all[n_made_first..], 0),
            (false, false) => (&all[..0], 0),
        };
        collector.sample(&Sample {
            seed,
            seed_index,
            number,
            points,
            n_first,
            n_made_first,
            all_points: all,
            ends,
            kept: first || second,
            network: &judge.network,
        });
    }
}
