//! Which fixels streamlines pass, and how long they are in each.

use fimbria_compute::Workers;
use fimbria_compute::dense::vec3::unit;
use rayon::prelude::*;

use crate::{Piece, Tracer};

/// Parts that a forward product is cut into, whatever the threads: each has sums of its own, which are
/// added in order.
const PARTS: usize = 32;
/// Parts that are worked on together, so that few sums are held.
pub(super) const PARTS_AT_ONCE: usize = 8;

/// Streamlines of a block, which is never copied once it is full.
pub(super) const BLOCK: usize = 4096;

/// The length in mm of every streamline in every fixel that it passes: a sparse matrix, a streamline
/// a row.
#[derive(Clone, Debug)]
pub struct FixelLengths {
    fixels: usize,
    streamlines: usize,
    blocks: Vec<Rows>,
}

/// Rows of the matrix: where each ends, and all their entries.
#[derive(Clone, Debug, Default)]
struct Rows {
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

/// The fixel of a voxel along a unit direction in scanner axes.
pub type FixelAt<'a> = dyn Fn(u32, [f64; 3]) -> Option<u32> + Sync + 'a;

/// Room for the way of one streamline through voxels.
#[derive(Debug, Default)]
pub struct Traced {
    pieces: Vec<Piece>,
    dirs: Vec<[f64; 3]>,
}

impl Traced {
    /// Tells `each` of the fixels that a streamline passes, in order, and how long it is in each, mm. What runs
    /// where there is no fixel does not count. In a voxel a streamline has one direction: from where it comes in
    /// to where it goes out.
    pub fn fixels(
        &mut self,
        points_ras_mm: &[[f32; 3]],
        tracer: &Tracer,
        fixel_at: &FixelAt<'_>,
        mut each: impl FnMut(u32, f64),
    ) {
        let Self { pieces, dirs } = self;
        tracer.trace(points_ras_mm, pieces, dirs);
        for visit in pieces.chunk_by(|a, b| a.voxel == b.voxel) {
            let (mut way, mut length_mm) = ([0.0; 3], 0.0);
            for piece in visit {
                length_mm += piece.amount;
                let dir = dirs[piece.point as usize];
                (0..3).for_each(|i| way[i] += piece.amount * dir[i]);
            }
            if let Some(fixel) = unit(way).and_then(|dir| fixel_at(visit[0].voxel, dir)) {
                each(fixel, length_mm);
            }
        }
    }
}

impl FixelLengths {
    /// No streamlines, among `fixels` fixels.
    pub fn new(fixels: usize) -> Self {
        Self { fixels, streamlines: 0, blocks: Vec::new() }
    }

    /// Adds the streamlines of which k has the points `offsets[k] .. offsets[k + 1]`, scanner mm, as
    /// [`Traced`] finds their fixels.
    pub fn add(
        &mut self,
        offsets: &[u64],
        points_ras_mm: &[[f32; 3]],
        tracer: &Tracer,
        fixel_at: &FixelAt<'_>,
        workers: &Workers,
    ) {
        let row = |scratch: &mut Traced, pair: &[u64]| {
            let points = &points_ras_mm[pair[0] as usize..pair[1] as usize];
            let mut row = Vec::new();
            scratch
                .fixels(points, tracer, fixel_at, |fixel, length| row.push((fixel, length as f32)));
            row
        };
        let rows: Vec<Vec<(u32, f32)>> =
            workers.install(|| offsets.par_windows(2).map_init(Default::default, row).collect());
        for row in rows {
            if self.streamlines.is_multiple_of(BLOCK) {
                self.blocks.push(Rows::default());
            }
            self.streamlines += 1;
            if let Some(block) = self.blocks.last_mut() {
                block.entries.extend(row);
                block.ends.push(block.entries.len());
                if block.ends.len() == BLOCK {
                    block.entries.shrink_to_fit();
                }
            }
        }
    }

    /// Bytes that the matrix takes.
    pub fn bytes(&self) -> u64 {
        let of = |rows: &Rows| 8 * (rows.ends.len() + rows.entries.len()) as u64;
        self.blocks.iter().map(of).sum()
    }

    /// Number of streamlines.
    pub fn streamlines(&self) -> usize {
        self.streamlines
    }

    /// Number of fixels.
    pub fn fixels(&self) -> usize {
        self.fixels
    }

    /// The fixels that a streamline passes, and the length in each, mm.
    pub fn lengths_of(&self, streamline: usize) -> &[(u32, f32)] {
        let (rows, row) = (&self.blocks[streamline / BLOCK], streamline % BLOCK);
        let start = row.checked_sub(1).map_or(0, |before| rows.ends[before]);
        &rows.entries[start..rows.ends[row]]
    }

    /// For each fixel Σ length × value over the streamlines that pass it, for N values of each
    /// streamline at once.
    pub(super) fn sums<const N: usize>(
        &self,
        values: impl Fn(usize) -> [f64; N] + Sync,
    ) -> Vec<[f64; N]> {
        let n = self.streamlines();
        let part = |part: usize| {
            let mut sums = vec![[0.0_f64; N]; self.fixels];
            for streamline in n * part / PARTS..n * (part + 1) / PARTS {
                let values = values(streamline);
                for &(fixel, length) in self.lengths_of(streamline) {
                    let sum = &mut sums[fixel as usize];
                    (0..N).for_each(|i| sum[i] += f64::from(length) * values[i]);
                }
            }
            sums
        };
        let add = |mut sums: Vec<[f64; N]>, other: Vec<[f64; N]>| {
            for (sum, other) in sums.iter_mut().zip(other) {
                (0..N).for_each(|i| sum[i] += other[i]);
            }
            sums
        };
        // A few parts at a time, so that few sums are held at once, always in the same order.
        let mut all = vec![[0.0; N]; self.fixels];
        for round in (0..PARTS).collect::<Vec<_>>().chunks(PARTS_AT_ONCE) {
            let parts: Vec<_> = round.par_iter().map(|&p| part(p)).collect();
            all = parts.into_iter().fold(all, add);
        }
        all
    }
}
