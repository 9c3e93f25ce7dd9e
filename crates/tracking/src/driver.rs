//! Seeds and samples dealt to threads.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use crate::draws::{Draws, Keyed, Sequence};
use crate::fast::FastTracker;
use crate::oracle::propagate;
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
const BLOCK_SAMPLES: usize = 4096;

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
    let seeds_per_block = (BLOCK_SAMPLES / tracking.n_samples.max(1) as usize).max(1);
    let idle: Mutex<Vec<C>> = Mutex::default();
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    progress.start("tracking", tracking.seeds.len() as u64);
    let blocks: Vec<_> = (0..tracking.seeds.len()).step_by(seeds_per_block).collect();
    // Finished blocks wait for those before them: as many as keep the threads busy, no more.
    for round in blocks.chunks(4 * workers.threads()) {
        let block = |first: &usize| -> Result<C::Block, Interrupted> {
            progress.check()?;
            let mut collector = lock().pop().unwrap_or_else(&new);
            let last = (first + seeds_per_block).min(tracking.seeds.len());
            FastTracker::new(tracking).run(*first..last, workers.simd(), &mut collector);
            let done = collector.end_block();
            lock().push(collector);
            progress.advance((last - first) as u64);
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

/// Tracks by the oracle, one particle at a time on this thread. With a [`Sequence`] random numbers
/// are those of one stream, in probtrackx2's order; else those that [`track`] uses.
///
/// # Errors
/// Where the user stops it.
pub fn track_slowly<C: Collect>(
    tracking: &Tracking<'_>,
    mut sequence: Option<Sequence>,
    progress: &dyn Progress,
    collector: &mut C,
) -> Result<(), Interrupted> {
    progress.start("tracking", tracking.seeds.len() as u64);
    let mut single = Single::new(tracking);
    for (index, seed) in tracking.seeds.iter().enumerate() {
        progress.check()?;
        for number in 0..tracking.n_samples {
            match &mut sequence {
                Some(sequence) => single.sample(index, seed, number, sequence, collector),
                None => {
                    let mut draws = Keyed::new(tracking.rng_seed, seed.region, seed.key, number);
                    single.sample(index, seed, number, &mut draws, collector);
                }
            }
        }
        progress.advance(1);
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
            let end = propagate(field, propagation, half as u32, start, dir, draws, &mut watcher);
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
