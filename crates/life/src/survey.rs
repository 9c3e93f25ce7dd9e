//! How large an encoding becomes, from a first look at the streamlines.

use fimbria_compute::Workers;
use fimbria_compute::comm::Comm;
use fimbria_image::{Grid, Mask};
use rayon::prelude::*;

use crate::entry::{EncodeOptions, Sharer, SharerScratch};
use crate::{Deal, LifeError};

/// What an encoding of some streamlines comes to, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Streamlines, exactly.
    pub streamlines: u64,
    /// Points of all of them, exactly.
    pub points: u64,
    /// Entries of Φ, from every eighth streamline.
    pub entries: u64,
    /// Voxels passed: those that hold a point, and all of every eighth streamline.
    pub voxels: u64,
    /// Directions of columns at most.
    pub atoms: u64,
}

/// Looks at a tractogram as it arrives, chunk by chunk: points are counted, and every eighth
/// streamline is encoded, which takes a tenth of the time that encoding all of them does.
pub struct Surveyor<'a> {
    grid: Grid,
    sharer: Sharer,
    workers: &'a Workers,
    /// Of each voxel how many entries were seen of every eighth streamline; `None` where none was and
    /// no point lies either.
    seen: Vec<Option<u32>>,
    streamlines: u64,
    points: u64,
    sampled_points: u64,
    sampled_entries: u64,
}

/// One of so many streamlines is encoded.
const SAMPLED: usize = 8;
/// Bits that count the processes that saw a voxel, below what they saw there.
const PROCESS_BITS: u32 = 24;
/// Streamlines of one task.
const TASK: usize = 256;

impl<'a> Surveyor<'a> {
    /// Looks at streamlines on `grid`, in the voxels of `mask` where there is one.
    ///
    /// # Errors
    /// As [`Encoder::new`](crate::Encoder::new).
    pub fn new(
        grid: Grid,
        mask: Option<&Mask>,
        options: &EncodeOptions,
        workers: &'a Workers,
    ) -> Result<Self, LifeError> {
        Ok(Self {
            grid,
            sharer: Sharer::new(grid, mask, options)?,
            workers,
            seen: vec![None; grid.len()],
            streamlines: 0,
            points: 0,
            sampled_points: 0,
            sampled_entries: 0,
        })
    }

    /// Passes over streamlines that another process looks at.
    pub fn skip(&mut self, streamlines: usize) {
        self.streamlines += streamlines as u64;
    }

    /// Looks at some more: `i` has the points `points_ras_mm[offsets[i]..offsets[i + 1]]`.
    pub fn add(&mut self, offsets: &[u64], points_ras_mm: &[[f32; 3]]) {
        let streamlines = offsets.len().saturating_sub(1);
        let first = self.streamlines as usize;
        let task = |begin: usize| {
            let (mut met, mut sampled, mut points) = (Vec::new(), Vec::new(), 0);
            let (mut scratch, mut shares) = (SharerScratch::default(), Vec::new());
            for i in begin..(begin + TASK).min(streamlines) {
                let of_line = &points_ras_mm[offsets[i] as usize..offsets[i + 1] as usize];
                if (first + i).is_multiple_of(SAMPLED) {
                    self.sharer.share(of_line, &mut scratch, &mut shares);
                    points += of_line.len();
                    sampled.extend(shares.iter().map(|share| share.voxel));
                } else {
                    met.extend(of_line.iter().filter_map(|&p| self.sharer.voxel_at(p)));
                }
            }
            met.dedup();
            (met, sampled, points as u64)
        };
        let tasks = (0..streamlines).into_par_iter().step_by(TASK);
        let found: Vec<(Vec<u32>, Vec<u32>, u64)> =
            self.workers.install(|| tasks.map(task).collect());
        for (met, sampled, points) in found {
            met.iter().for_each(|&voxel| {
                self.seen[voxel as usize].get_or_insert(0);
            });
            sampled.iter().for_each(|&voxel| *self.seen[voxel as usize].get_or_insert(0) += 1);
            self.sampled_points += points;
            self.sampled_entries += sampled.len() as u64;
        }
        self.streamlines += streamlines as u64;
        self.points += points_ras_mm.len() as u64;
    }

    /// What all of it comes to, over all processes, each of which looked at some of the streamlines;
    /// and which voxels each of them is to have, where a voxel has as much besides as `rows` entries.
    pub fn finish(self, rows: usize, comm: &dyn Comm) -> (Survey, Deal) {
        let Self { grid, sharer, seen, streamlines, .. } = self;
        let mut sums = [self.points, self.sampled_points, self.sampled_entries].map(|n| n as i64);
        comm.sum_i64(&mut sums);
        let [points, sampled_points, sampled_entries] = sums.map(|n| n as u64);
        let share = points as f64 / sampled_points.max(1) as f64;
        let entries = (sampled_entries as f64 * share) as u64;
        // Who saw it, below what they saw there.
        let number = |seen: &Option<u32>| seen.map_or(0, |n| (i64::from(n) << PROCESS_BITS) + 1);
        let mut of_voxels: Vec<i64> = seen.iter().map(number).collect();
        drop(seen);
        comm.sum_i64(&mut of_voxels);
        let weight = |&n: &i64| (n > 0).then_some(SAMPLED as u64 * (n as u64 >> PROCESS_BITS));
        let weights: Vec<Option<u64>> = of_voxels.iter().map(weight).collect();
        let voxels = weights.iter().flatten().count() as u64;
        // Without orientations every point has its own.
        let atoms = sharer.orientations().map_or(points, |all| entries.min(all.len() as u64));
        let survey = Survey { streamlines, points, entries, voxels, atoms };
        (survey, Deal::new(grid, &weights, rows, comm.size()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{GRID, streamlines};
    use crate::{Atoms, Encoder, Normalise};
    use fimbria_compute::Silent;
    use fimbria_compute::comm::Solo;

    #[test]
    fn a_survey_foresees_the_encoding() {
        let workers = Workers::new(2).unwrap();
        let (offsets, points) = streamlines(400);
        for (atoms, normalise) in
            [(Atoms::Grid(90), Normalise::Length), (Atoms::Exact, Normalise::Nodes)]
        {
            let options = EncodeOptions { atoms, normalise, ..EncodeOptions::default() };
            let mut surveyor = Surveyor::new(GRID, None, &options, &workers).unwrap();
            // Two chunks.
            let cut = offsets[100];
            let rest: Vec<u64> = offsets[100..].iter().map(|o| o - cut).collect();
            surveyor.add(&offsets[..=100], &points[..cut as usize]);
            surveyor.add(&rest, &points[cut as usize..]);
            let (survey, deal) = surveyor.finish(30, &Solo);
            assert_eq!((deal.processes(), deal.largest()[1]), (1, survey.voxels));
            let mut encoder = Encoder::new(GRID, None, &options, &workers, &Silent).unwrap();
            encoder.add(&offsets, &points).unwrap();
            let encoding = encoder.finish().unwrap();
            assert_eq!((survey.streamlines, survey.points), (400, points.len() as u64));
            // One of eight of 400 streamlines.
            let ratio = survey.entries as f64 / encoding.entries.len() as f64;
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
            let ratio = survey.voxels as f64 / encoding.voxels.len() as f64;
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
            assert!(survey.atoms >= encoding.atoms.len() as u64);
        }
    }
}
