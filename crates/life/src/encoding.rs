//! Φ: for every streamline the voxels it passes, the atoms it uses there, and how much of them.

use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Mask};
use rayon::prelude::*;

use crate::entry::{EncodeOptions, Share, Sharer, SharerScratch};
use crate::renumber::{all_voxels, renumber_atoms, renumber_voxels};
use crate::{Deal, LifeError};

/// A connectome encoded on an image (Caiafa and Pestilli 2017): the sparse array Φ, streamline by
/// streamline, without the voxels' signal. Of several processes each has that of its own voxels.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// The image's lattice.
    pub grid: Grid,
    /// The voxels of this process that streamlines pass, linear indices, ascending.
    pub voxels: Vec<u32>,
    /// Those of all processes.
    pub passed: Vec<u32>,
    /// Of each voxel of this process its position among those of all.
    pub place: Vec<u32>,
    /// The keys along the curve of voxels at which blocks of products begin; empty where they may begin
    /// anywhere.
    pub(crate) cuts: Vec<u64>,
    /// The unit direction of every atom in use, most used first on a grid: scanner axes (voxel
    /// axes for ENCODE).
    pub atoms: Vec<[f32; 3]>,
    /// Where each streamline's entries start, and where the last one's end.
    pub start: Vec<u64>,
    /// The entries, by streamline, then voxel, then atom.
    pub entries: Vec<Entry>,
    /// What was met on the way, on all processes.
    pub counts: EncodeCounts,
}

/// An entry of Φ.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entry {
    /// Position in [`Encoding::voxels`].
    pub voxel: u32,
    /// Position in [`Encoding::atoms`].
    pub atom: u32,
    /// How much of it.
    pub value: f32,
}

/// What became of the streamlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeCounts {
    /// All of them.
    pub streamlines: u64,
    /// Those that left a trace.
    pub encoded: u64,
    /// Those with fewer than two distinct points.
    pub short: u64,
    /// Those with a coordinate that is no number.
    pub not_finite: u64,
    /// Those that lie outside the image altogether.
    pub outside: u64,
    /// Those in the image that lie outside its mask altogether.
    pub outside_mask: u64,
    /// Those that leave the image and are in its mask elsewhere.
    pub partly_outside: u64,
    /// Points at the place of the one before.
    pub repeated_points: u64,
    /// Entries of Φ.
    pub entries: u64,
    /// Atoms in use; where each direction has its own, those of every process that uses it.
    pub atoms: u64,
}

/// Encodes a tractogram as it arrives, chunk by chunk.
pub struct Encoder<'a> {
    grid: Grid,
    sharer: Sharer,
    workers: &'a Workers,
    progress: &'a dyn Progress,
    comm: &'a dyn Comm,
    cuts: Vec<u64>,
    first_vox: Option<[f64; 3]>,
    start: Vec<u64>,
    entries: Vec<Entry>,
    dirs: Vec<[f32; 3]>,
    /// Of each streamline where it runs.
    runs: Vec<Runs>,
    counts: EncodeCounts,
}

/// Streamlines of one task.
const TASK: usize = 256;

/// Where a streamline runs, in the mask or not.
#[derive(Clone, Copy, Debug)]
struct Runs {
    inside: bool,
    outside: bool,
}

/// What a task found.
struct Found {
    entries: Vec<Entry>,
    lens: Vec<u32>,
    dirs: Vec<[f32; 3]>,
    runs: Vec<Runs>,
    counts: EncodeCounts,
}

impl<'a> Encoder<'a> {
    /// An encoder on `grid`, for the voxels of `mask` where there is one.
    ///
    /// # Errors
    /// As [`Sharer::new`].
    pub fn new(
        grid: Grid,
        mask: Option<&Mask>,
        options: &EncodeOptions,
        workers: &'a Workers,
        progress: &'a dyn Progress,
    ) -> Result<Self, LifeError> {
        Ok(Self {
            grid,
            sharer: Sharer::new(grid, mask, options)?,
            workers,
            progress,
            comm: &Solo,
            cuts: Vec::new(),
            first_vox: None,
            start: vec![0],
            entries: Vec::new(),
            dirs: Vec::new(),
            runs: Vec::new(),
            counts: EncodeCounts::default(),
        })
    }

    /// The same for the voxels that this process has. All processes must add the same streamlines.
    pub fn share(mut self, deal: &Deal, comm: &'a dyn Comm) -> Self {
        self.comm = comm;
        self.cuts = deal.cuts().to_vec();
        if comm.size() > 1 {
            self.sharer.keep(|voxel| deal.is_of(comm.rank(), voxel));
        }
        self
    }

    /// Adds streamlines in order: `i` has the points `points_ras_mm[offsets[i]..offsets[i + 1]]`.
    ///
    /// # Errors
    /// Where there are more points than can be counted, or the caller asked to stop.
    pub fn add(&mut self, offsets: &[u64], points_ras_mm: &[[f32; 3]]) -> Result<(), LifeError> {
        self.progress.check()?;
        if let (None, Some(&first)) = (self.first_vox, points_ras_mm.first()) {
            self.first_vox = Some(self.sharer.tracer().voxel_coordinates(first));
        }
        let streamlines = offsets.len().saturating_sub(1);
        let all = self.counts.streamlines + streamlines as u64;
        count_u32("streamlines", all)?;
        let keeps_dirs = self.sharer.orientations().is_none();
        if keeps_dirs {
            count_u32("points", (self.dirs.len() + points_ras_mm.len()) as u64)?;
        }
        let task = |first: usize| {
            let of_task = &offsets[first..(first + TASK).min(streamlines) + 1];
            self.encode(of_task, points_ras_mm, keeps_dirs)
        };
        let tasks = (0..streamlines).into_par_iter().step_by(TASK);
        let found: Vec<Found> = self.workers.install(|| tasks.map(task).collect());
        for mut part in found {
            let first_dir = self.dirs.len() as u32;
            if keeps_dirs {
                part.entries.iter_mut().for_each(|entry| entry.atom += first_dir);
            }
            self.entries.append(&mut part.entries);
            self.dirs.append(&mut part.dirs);
            self.runs.append(&mut part.runs);
            for len in part.lens {
                let last = self.start.last().copied().unwrap_or(0);
                self.start.push(last + u64::from(len));
            }
            self.counts.add(&part.counts);
        }
        self.progress.advance(streamlines as u64);
        Ok(())
    }

    /// Number of entries so far.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    fn encode(&self, offsets: &[u64], points: &[[f32; 3]], keeps_dirs: bool) -> Found {
        let mut found = Found {
            entries: Vec::new(),
            lens: Vec::with_capacity(offsets.len()),
            dirs: Vec::new(),
            runs: Vec::with_capacity(offsets.len()),
            counts: EncodeCounts::default(),
        };
        let mut used = Vec::new();
        let (mut scratch, mut shares) = (SharerScratch::default(), Vec::new());
        for ends in offsets.windows(2) {
            let points = &points[ends[0] as usize..ends[1] as usize];
            let notes = self.sharer.share(points, &mut scratch, &mut shares);
            if keeps_dirs {
                keep_used(&mut shares, &mut used, found.dirs.len() as u32);
                let dir = |&point: &u32| scratch.dirs[point as usize].map(|c| c as f32);
                found.dirs.extend(used.iter().map(dir));
            }
            found.lens.push(shares.len() as u32);
            found.entries.extend(shares.iter().map(|&Share { voxel, atom, value }| Entry {
                voxel,
                atom,
                value: value as f32,
            }));
            let has_length = points.windows(2).any(|pair| pair[0] != pair[1]);
            let (inside, outside) = (notes.inside > 0, notes.outside > 0);
            found.runs.push(Runs { inside, outside });
            found.counts.add(&EncodeCounts {
                streamlines: 1,
                short: u64::from(!has_length && !notes.not_finite),
                not_finite: u64::from(notes.not_finite),
                outside: u64::from(has_length && !notes.not_finite && !inside),
                repeated_points: u64::from(notes.repeated),
                // The rest only all processes together know.
                ..EncodeCounts::default()
            });
        }
        found
    }

    /// Counts what only all processes together know.
    fn count_traces(&mut self) {
        let mut entries: Vec<i64> =
            self.start.windows(2).map(|ends| (ends[1] - ends[0]) as i64).collect();
        self.comm.sum_i64(&mut entries);
        for (entries, Runs { inside, outside }) in entries.into_iter().zip(self.runs.drain(..)) {
            let left_trace = entries > 0;
            self.counts.add(&EncodeCounts {
                encoded: u64::from(left_trace),
                outside_mask: u64::from(!left_trace && inside),
                partly_outside: u64::from(left_trace && outside),
                entries: entries as u64,
                ..EncodeCounts::default()
            });
        }
    }

    /// The encoding of everything added.
    ///
    /// # Errors
    /// Where there is nothing in the image.
    pub fn finish(mut self) -> Result<Encoding, LifeError> {
        self.count_traces();
        let EncodeCounts { streamlines, outside, outside_mask, short, not_finite, .. } =
            self.counts;
        if streamlines == 0 {
            return Err(LifeError::NoStreamlines);
        }
        if self.counts.entries == 0 {
            let first_vox = self.first_vox.unwrap_or_default();
            let (streamlines, dims) = (streamlines as usize, self.grid.dims);
            return Err(LifeError::NothingEncoded {
                streamlines,
                outside,
                outside_mask,
                short,
                not_finite,
                first_vox,
                dims,
            });
        }
        let voxels = renumber_voxels(self.grid, &mut self.entries);
        let (passed, place) = all_voxels(self.grid, &voxels, self.comm);
        let atoms: Vec<[f32; 3]> = match self.sharer.orientations() {
            None => {
                let mut all = [self.dirs.len() as i64];
                self.comm.sum_i64(&mut all);
                self.counts.atoms = all[0] as u64;
                std::mem::take(&mut self.dirs)
            }
            Some(all) => {
                let (used, of_all) = renumber_atoms(all.len(), &mut self.entries, self.comm);
                self.counts.atoms = of_all;
                used.into_iter().map(|a| all.direction(a as usize).map(|c| c as f32)).collect()
            }
        };
        let Self { grid, start, mut entries, counts, cuts, .. } = self;
        entries.shrink_to_fit();
        Ok(Encoding { grid, voxels, passed, place, cuts, atoms, start, entries, counts })
    }
}

/// Numbers the points whose directions are in use, from `first` on, and lists them.
fn keep_used(shares: &mut [Share], used: &mut Vec<u32>, first: u32) {
    used.clear();
    used.extend(shares.iter().map(|share| share.atom));
    used.sort_unstable();
    used.dedup();
    for share in shares {
        let number = used.partition_point(|point| *point < share.atom);
        share.atom = first + number as u32;
    }
}

impl EncodeCounts {
    fn add(&mut self, other: &Self) {
        self.streamlines += other.streamlines;
        self.encoded += other.encoded;
        self.short += other.short;
        self.not_finite += other.not_finite;
        self.outside += other.outside;
        self.outside_mask += other.outside_mask;
        self.partly_outside += other.partly_outside;
        self.repeated_points += other.repeated_points;
        self.entries += other.entries;
        self.atoms += other.atoms;
    }
}

impl Encoding {
    /// Number of streamlines.
    pub fn streamlines(&self) -> usize {
        self.start.len() - 1
    }

    /// The entries of one streamline.
    pub fn entries_of(&self, streamline: usize) -> &[Entry] {
        &self.entries[self.start[streamline] as usize..self.start[streamline + 1] as usize]
    }

    /// Bytes that the arrays take.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&*self.entries) + size_of_val(&*self.start)) as u64
            + (size_of_val(&*self.atoms) + size_of_val(&*self.voxels)) as u64
            + (size_of_val(&*self.passed) + size_of_val(&*self.place)) as u64
    }
}

fn count_u32(what: &'static str, count: u64) -> Result<(), LifeError> {
    if count < u64::from(u32::MAX) { Ok(()) } else { Err(LifeError::TooMany { what, count }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{GRID, streamlines};
    use crate::{Atoms, Normalise};
    use fimbria_compute::Silent;

    fn encode(offsets: &[u64], points: &[[f32; 3]]) -> Result<Encoding, LifeError> {
        let workers = Workers::new(2).unwrap();
        let options = EncodeOptions::default();
        let mut encoder = Encoder::new(GRID, None, &options, &workers, &Silent)?;
        encoder.add(offsets, points)?;
        encoder.finish()
    }

    #[test]
    fn chunks_do_not_change_the_encoding() {
        let (offsets, points) = streamlines(50);
        for atoms in [Atoms::Grid(90), Atoms::Exact] {
            let workers = Workers::new(2).unwrap();
            let options = EncodeOptions { atoms, ..EncodeOptions::default() };
            let of_chunks = |cuts: &[usize]| {
                let mut encoder = Encoder::new(GRID, None, &options, &workers, &Silent).unwrap();
                for cut in cuts.windows(2) {
                    let from = offsets[cut[0]];
                    let chunk: Vec<u64> =
                        offsets[cut[0]..=cut[1]].iter().map(|o| o - from).collect();
                    encoder.add(&chunk, &points[from as usize..offsets[cut[1]] as usize]).unwrap();
                }
                encoder.finish().unwrap()
            };
            let (whole, parts) = (of_chunks(&[0, 50]), of_chunks(&[0, 1, 30, 30, 50]));
            assert!(whole.entries == parts.entries && whole.start == parts.start);
            assert!(whole.atoms == parts.atoms && whole.voxels == parts.voxels);
        }
    }

    #[test]
    fn shares_of_a_voxel_add_up_to_one() {
        let (offsets, points) = streamlines(20);
        let encoding = encode(&offsets, &points).unwrap();
        for f in 0..20 {
            for in_voxel in encoding.entries_of(f).chunk_by(|a, b| a.voxel == b.voxel) {
                let sum: f32 = in_voxel.iter().map(|entry| entry.value).sum();
                assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            }
        }
    }

    #[test]
    fn what_cannot_be_encoded_is_counted() {
        let centre = GRID.ras_from_vox.apply([5.0, 5.0, 3.0]).map(|c| c as f32);
        let far = centre.map(|c| c + 1000.0);
        let near = [centre[0] + 3.0, centre[1], centre[2]];
        let points = [centre, far, [f32::NAN; 3], centre, centre, far, far, centre, near];
        let points = [&points[..], &[far]].concat();
        // One point, nothing, NaN, repeated, outside, outside with repeated, whole.
        let offsets = [0, 1, 1, 3, 5, 7, 9];
        let encoding = encode(&offsets, &points[..9]).unwrap();
        let counts = encoding.counts;
        assert_eq!((counts.streamlines, counts.encoded, counts.not_finite), (6, 1, 1));
        // One point, none, and twice the same, inside or not.
        assert_eq!(counts.short, 4);
        assert!(encoding.entries_of(0).is_empty() && !encoding.entries_of(5).is_empty());
    }

    #[test]
    fn streamlines_outside_the_mask_are_not_outside_the_image() {
        let at = |vox: [f64; 3]| GRID.ras_from_vox.apply(vox).map(|c| c as f32);
        let workers = Workers::new(1).unwrap();
        let mask = Mask { grid: GRID, voxels: vec![GRID.index([5, 5, 3]) as u32] };
        for normalise in [Normalise::Length, Normalise::Nodes] {
            let options = EncodeOptions { normalise, ..EncodeOptions::default() };
            let mut encoder = Encoder::new(GRID, Some(&mask), &options, &workers, &Silent).unwrap();
            let [inside, near] = [at([5.0, 5.0, 3.0]), at([5.2, 5.0, 3.0])];
            let [beside, also, far] = [at([2.0, 5.0, 3.0]), at([2.2, 5.0, 3.0]), at([900.0; 3])];
            // In the mask, in the image, partly in the image, outside both.
            let points = [inside, near, beside, also, beside, far, far, far.map(|c| c + 1.0)];
            encoder.add(&[0, 2, 4, 6, 8], &points).unwrap();
            let counts = encoder.finish().unwrap().counts;
            assert_eq!((counts.encoded, counts.outside_mask, counts.outside), (1, 2, 1));
        }
    }

    #[test]
    fn a_tractogram_of_another_space_is_an_error() {
        let (offsets, mut points) = streamlines(5);
        points.iter_mut().for_each(|p| p[0] += 500.0);
        let refused = encode(&offsets, &points);
        assert!(
            matches!(refused, Err(LifeError::NothingEncoded { outside: 5, .. })),
            "{refused:?}"
        );
        assert!(matches!(encode(&[0], &[]), Err(LifeError::NoStreamlines)));
    }
}
