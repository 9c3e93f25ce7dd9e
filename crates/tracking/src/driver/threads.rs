//! Samples dealt to threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use super::rounds::pieces;
use super::{Tracker, lock};
use crate::sample::Collect;

/// The threads of a process, and a collector for each of them.
pub(super) struct Threads<'a, T, C, F> {
    pub(super) tracking: &'a T,
    pub(super) workers: &'a Workers,
    pub(super) progress: &'a dyn Progress,
    /// Samples that a thread takes at a time.
    pub(super) block: u64,
    /// The samples to be made.
    all: Range<u64>,
    new: F,
    idle: Mutex<Vec<C>>,
}

impl<'a, T: Tracker, C: Collect, F: Fn() -> C + Sync> Threads<'a, T, C, F> {
    pub(super) fn new(
        tracking: &'a T,
        workers: &'a Workers,
        progress: &'a dyn Progress,
        block: u64,
        all: Range<u64>,
        new: F,
    ) -> Self {
        Self { tracking, workers, progress, block, all, new, idle: Mutex::default() }
    }

    /// The same with a collector that is there already.
    pub(super) fn with(self, collector: C) -> Self {
        lock(&self.idle).push(collector);
        self
    }

    /// What a collector that `fill` fills with samples leaves behind.
    pub(super) fn collected(&self, fill: impl FnOnce(&mut C)) -> C::Block {
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
                self.tracking.run(block, simd, &mut |sample| collector.sample(sample));
            });
            self.progress.advance(len);
            Ok(done)
        };
        let blocks: Vec<_> = pieces(samples, self.block).collect();
        self.workers.install(|| blocks.into_par_iter().map(made).collect())
    }

    /// All samples.
    pub(super) fn all(&self) -> Range<u64> {
        self.all.clone()
    }

    /// How many samples keep all threads busy.
    pub(super) fn at_once(&self) -> u64 {
        self.block.saturating_mul(4 * self.workers.threads() as u64)
    }

    /// Makes the samples of every unit.
    pub(super) fn make(&self, units: Vec<Range<u64>>) -> Result<Vec<Vec<C::Block>>, Interrupted> {
        self.workers.install(|| units.into_par_iter().map(|unit| self.made(unit)).collect())
    }

    /// Where everything was collected.
    pub(super) fn collectors(self) -> Vec<C> {
        self.idle.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
