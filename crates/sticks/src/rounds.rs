//! Chunks that several processes sample together, round by round, as many at a time as there are
//! processes. Each has a stretch of a round's voxels, a chunk where all are full; what it sampled goes
//! to the first one, which alone keeps anything.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress};
use fimbria_image::sticks::PackedStick;
use fimbria_image::{Mask, Status};

use crate::SticksError;
use crate::chunk::{CHUNK, Chunk, TILE, VoxelResult};
use crate::sampler::Sampler;

/// Samples `chunks`, those of `mask` that are left to do, as the first of all processes. Each goes to
/// `finish` after its round.
pub(crate) fn as_first(
    sampler: &Sampler<'_>,
    mask: &Mask,
    chunks: &mut [Chunk<'_>],
    finish: &(dyn Fn(&Chunk<'_>) -> io::Result<()> + Sync),
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Shares, SticksError> {
    let mut left = vec![0; mask.voxels.chunks(CHUNK).len()];
    chunks.iter().for_each(|chunk| left[chunk.index] = 1);
    on.comm.broadcast(&mut left, 0);
    let n_processes = on.comm.size();
    let mut shares = Shares::none(on.devices.len());
    for round in chunks.chunks_mut(n_processes) {
        let sizes: Vec<_> = round.iter().map(|chunk| chunk.voxels.len()).collect();
        let stretches = |rank| stretches(&sizes, rank, n_processes);
        let mut mine = parts(round, stretches(0));
        let of_all = OfAll::new(progress, &mine, &sizes);
        shares.add(&sampler.run(&mut mine, &|_| Ok(()), on, &of_all)?);
        for from in 1..n_processes {
            for mut part in parts(round, stretches(from)) {
                if !part.restore(&on.comm.to_first(Vec::new(), from)) {
                    return Err(SticksError::OtherWork(from));
                }
            }
        }
        round.iter().try_for_each(finish)?;
    }
    Ok(shares)
}

/// Samples what is left of `mask` as a process that is not the first.
pub(crate) fn as_another(
    sampler: &Sampler<'_>,
    mask: &Mask,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(), SticksError> {
    let mut left = vec![0; mask.voxels.chunks(CHUNK).len()];
    on.comm.broadcast(&mut left, 0);
    let chunks = mask.voxels.chunks(CHUNK).enumerate();
    let (left, kept): (Vec<_>, Vec<_>) = chunks.partition(|(index, _)| left[*index] == 1);
    progress.advance(kept.iter().map(|(_, voxels)| voxels.len() as u64).sum());
    for round in left.chunks(on.comm.size()) {
        let sizes: Vec<_> = round.iter().map(|(_, voxels)| voxels.len()).collect();
        let stretches = stretches(&sizes, on.comm.rank(), on.comm.size());
        let places = round.iter().zip(stretches).filter(|(_, stretch)| !stretch.is_empty());
        let mut places: Vec<_> = places
            .map(|((index, voxels), stretch)| {
                let sticks = vec![PackedStick::NONE; stretch.len() * sampler.per_voxel()];
                let results = vec![VoxelResult::without_samples(Status::Outside); stretch.len()];
                (*index, &voxels[stretch], sticks, results)
            })
            .collect();
        let chunks = places.iter_mut().map(|(index, voxels, sticks, results)| Chunk {
            index: *index,
            voxels,
            sticks,
            results,
        });
        let mut mine: Vec<_> = chunks.collect();
        let of_all = OfAll::new(progress, &mine, &sizes);
        sampler.run(&mut mine, &|_| Ok(()), on, &of_all)?;
        for part in &mine {
            on.comm.to_first(part.bytes(), on.comm.rank());
        }
    }
    Ok(())
}

/// What a process has of each chunk of a round, nothing of most: its share of all voxels in a row.
/// Threads are kept busy by a stretch in one piece, or in two, rather than by a piece of every chunk.
fn stretches(sizes: &[usize], rank: usize, n_processes: usize) -> Vec<Range<usize>> {
    let share = sizes.iter().sum::<usize>().div_ceil(n_processes).next_multiple_of(TILE);
    let (first, end) = (rank * share, (rank + 1) * share);
    let mut before = 0;
    let stretch = |&size: &usize| {
        let at = |voxel: usize| voxel.clamp(before, before + size) - before;
        let stretch = at(first)..at(end);
        before += size;
        stretch
    };
    sizes.iter().map(stretch).collect()
}

/// These stretches of a round's chunks, where there is anything of them.
fn parts<'a>(round: &'a mut [Chunk<'_>], stretches: Vec<Range<usize>>) -> Vec<Chunk<'a>> {
    let parts = round.iter_mut().zip(stretches).filter(|(_, stretch)| !stretch.is_empty());
    parts.map(|(chunk, stretch)| chunk.part(stretch)).collect()
}

/// What one process does of a round, told as what all have done: they are about as fast.
struct OfAll<'a> {
    progress: &'a dyn Progress,
    /// Voxels of this process, and of all.
    mine: u64,
    all: u64,
    done: AtomicU64,
}

impl<'a> OfAll<'a> {
    fn new(progress: &'a dyn Progress, mine: &[Chunk<'_>], sizes: &[usize]) -> Self {
        let mine = mine.iter().map(|part| part.voxels.len() as u64).sum();
        let all = sizes.iter().sum::<usize>() as u64;
        Self { progress, mine, all, done: AtomicU64::new(0) }
    }
}

impl Progress for OfAll<'_> {
    fn start(&self, what: &str, total: u64) {
        self.progress.start(what, total);
    }

    fn advance(&self, items: u64) {
        let of_all = |mine: u64| mine.min(self.mine) * self.all / self.mine;
        let before = self.done.fetch_add(items, Ordering::Relaxed);
        self.progress.advance(of_all(before + items) - of_all(before));
    }

    fn warn(&self, message: &str) {
        self.progress.warn(message);
    }

    fn note(&self, message: &str) {
        self.progress.note(message);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_of_a_round_is_done_once_and_a_full_round_is_a_chunk_each() {
        for sizes in [vec![4096; 3], vec![4096, 4096, 100], vec![4096], vec![180], vec![1]] {
            for n_processes in 1..7 {
                let mut next = vec![0; sizes.len()];
                for rank in 0..n_processes {
                    let stretches = stretches(&sizes, rank, n_processes);
                    assert!(rank > 0 || stretches.iter().any(|stretch| !stretch.is_empty()));
                    if n_processes == 3 && sizes == [4096; 3] {
                        assert_eq!(stretches[rank], 0..4096);
                    }
                    for (next, stretch) in next.iter_mut().zip(stretches) {
                        assert!(stretch.is_empty() || stretch.start == *next);
                        *next = stretch.end.max(*next);
                    }
                }
                assert_eq!(next, sizes, "{n_processes} processes");
            }
        }
    }
}
