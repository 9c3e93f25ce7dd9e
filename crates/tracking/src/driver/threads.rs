//! Samples dealt to threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use super::rounds::pieces;
use super::{Tracking, lock};
use crate::fast::FastTracker;
use crate::sample::Collect;

/// The threads of a process, and a collector for each of them.
pub(super) struct Threads<'a, C, F> {
    pub(super) tracking: &'a Tracking<'a>,
    pub(super) workers: &'a Workers,
    pub(super) progress: &'a dyn Progress,
    /// Samples that a thread takes at a time.
    pub(super) block: u64,
    new: F,
    idle: Mutex<Vec<C>>,
}

impl<'a, C: Collect, F: Fn() -> C + Sync> Threads<'a, C, F> {
    pub(super) fn new(
        tracking: &'a Tracking<'a>,
        workers: &'a Workers,
        progress: &'a dyn Progress,
        block: u64,
        new: F,
    ) -> Self {
        Self { tracking, workers, progress, block, new, idle: Mutex::default() }
    }

    /// What a collector that `fill` fills with samples leaves behind.
    fn collected(&self, fill: impl FnOnce(&mut C)) -> C::Block {
        let taken = lock(&self.idle).pop();
        let mut collector = taken.unwrap_or_else(&self.new);
        fill(&mut collector);
        let done = collector.end_block();
        lock(&self.idle).push(collector);
        done
    }

    /// Block by block what `fill` hands to collectors.
    pub(super) fn filled(
        &self,
        samples: Range<u64>,
        fill: impl Fn(Range<u64>, &mut C) + Sync,
    ) -> Vec<C::Block> {
        let blocks: Vec<_> = pieces(samples, self.block).collect();
        let filled = |block| self.collected(|collector| fill(block, collector));
        self.workers.install(|| blocks.into_par_iter().map(filled).collect())
    }

    /// Makes samples.
    pub(super) fn made(&self, samples: Range<u64>) -> Result<Vec<C::Block>, Interrupted> {
        let made = |block: Range<u64>| {
            self.progress.check()?;
            let (simd, len) = (self.workers.simd(), block.end - block.start);
            let done = self.collected(|collector| {
                FastTracker::new(self.tracking).run(block, simd, collector);
            });
            self.progress.advance(len);
            Ok(done)
        };
        let blocks: Vec<_> = pieces(samples, self.block).collect();
        self.workers.install(|| blocks.into_par_iter().map(made).collect())
    }

    /// Makes every sample of `units`; the blocks of each, in order.
    pub(super) fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        self.workers.install(|| units.into_par_iter().map(|unit| self.made(unit)).collect())
    }

    /// Where everything was collected.
    pub(super) fn collectors(self) -> Vec<C> {
        self.idle.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
