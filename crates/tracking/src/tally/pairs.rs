//! Sparse matrices of samples.

use fimbria_compute::comm::Comm;
use rustc_hash::FxHashMap;

use crate::packed::{put, take};

/// How many samples join a row and a column, and after how many steps.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    counts: FxHashMap<u64, (u64, u64)>,
}

/// An entry of [`Pairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The row, from 0.
    pub row: u32,
    /// The column, from 0.
    pub column: u32,
    /// Samples that join them.
    pub samples: u64,
    /// Sum over these of the steps between them.
    pub steps: u64,
}

impl Pairs {
    pub(super) fn add(&mut self, row: u32, column: u32, steps: u64) {
        let entry = self.counts.entry(u64::from(column) << 32 | u64::from(row)).or_default();
        entry.0 += 1;
        entry.1 += steps;
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (pair, (samples, steps)) in other.counts {
            let mine = self.counts.entry(pair).or_default();
            mine.0 += samples;
            mine.1 += steps;
        }
    }

    pub(super) fn gather(&mut self, comm: &dyn Comm) {
        for from in 1..comm.size() {
            if comm.rank() == from {
                comm.to_first(std::mem::take(self).pack(), from);
            } else if comm.rank() == 0 {
                self.merge(Self::unpack(&comm.to_first(Vec::new(), from)));
            }
        }
    }

    fn pack(self) -> Vec<u8> {
        let numbers = |(pair, (samples, steps)): (u64, (u64, u64))| [pair, samples, steps];
        let mut bytes = Vec::new();
        put(&mut bytes, &self.counts.into_iter().map(numbers).collect::<Vec<_>>());
        bytes
    }

    fn unpack(mut bytes: &[u8]) -> Self {
        let pair = |[pair, samples, steps]: [u64; 3]| (pair, (samples, steps));
        Self { counts: take(&mut bytes).into_iter().map(pair).collect() }
    }

    /// Every entry there is, by column, then row.
    pub fn entries(&self) -> Vec<Pair> {
        let mut entries: Vec<_> =
            self.counts.iter().map(|(&pair, &counts)| (pair, counts)).collect();
        entries.sort_unstable_by_key(|(pair, _)| *pair);
        let pair = |(pair, (samples, steps)): (u64, (u64, u64))| Pair {
            row: pair as u32,
            column: (pair >> 32) as u32,
            samples,
            steps,
        };
        entries.into_iter().map(pair).collect()
    }
}
