//! Images made of streamlines: what passes each voxel of a grid.
//!
//! Calamante et al., NeuroImage 53, 1233 (2010): density; NeuroImage 59, 2494 (2012): values of streamlines.

use fimbria_compute::Workers;
use fimbria_image::{Affine, Grid, Image, voxels_between, voxels_on_line};
use fimbria_memory::{Refused, try_zeros};
use rayon::prelude::*;

use crate::{Streamlines, distance_mm};

/// What a voxel holds of the streamlines that pass it. Each counts by its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Their length in it, mm.
    Density,
    /// Their number, each once.
    Number,
    /// The number of their ends in it.
    Ends,
    /// Their length in it along x, y and z, mm: three volumes, red, green and blue in colours.
    Directions,
    /// The mean of a value that each has, weighted by its length in it; 0 where there is none.
    Mean,
}

impl Passing {
    /// Sums that are kept of a voxel: two for a mean.
    fn sums(self) -> usize {
        match self {
            Self::Density | Self::Number | Self::Ends => 1,
            Self::Mean => 2,
            Self::Directions => 3,
        }
    }
}

/// What one streamline adds to one voxel.
struct Visit {
    voxel: u32,
    adds: [f32; 3],
}

/// A map as it is made. Sums have one order, that of the streamlines, whatever the threads.
pub struct TrackMap {
    passing: Passing,
    grid: Grid,
    vox_from_ras: Affine,
    /// `[voxel][sum]`.
    sums: Vec<f64>,
}

/// A map that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrackMapError {
    /// No place can be found in a matrix that has no inverse.
    #[error("the affine of the grid cannot be inverted")]
    Singular,
    /// Voxels are counted in 32 bits.
    #[error("a grid of {0:?} voxels is too large: at most 2^32 - 1 together")]
    Voxels([usize; 3]),
    /// There is not enough memory.
    #[error("the map does not fit into memory: {0}")]
    Memory(#[from] Refused),
}

/// Streamlines that a thread takes at a time.
const BLOCK: usize = 256;

impl TrackMap {
    /// Of nothing yet.
    ///
    /// # Errors
    /// [`TrackMapError`].
    pub fn new(passing: Passing, grid: Grid) -> Result<Self, TrackMapError> {
        let vox_from_ras = grid.ras_from_vox.inverse().ok_or(TrackMapError::Singular)?;
        let voxels =
            grid.dims.iter().try_fold(1_u32, |n, dim| n.checked_mul((*dim).try_into().ok()?));
        let voxels = voxels.ok_or(TrackMapError::Voxels(grid.dims))? as usize;
        Ok(Self { passing, grid, vox_from_ras, sums: try_zeros(voxels * passing.sums())? })
    }

    /// Adds the streamlines of a chunk by their weights; `value` gives that of one where a mean is made. One
    /// without a value counts for nothing.
    pub fn add(
        &mut self,
        chunk: &Streamlines,
        weights: &[f64],
        value: impl Fn(&[[f32; 3]]) -> Option<f64> + Sync,
        workers: &Workers,
    ) {
        let n = self.passing.sums();
        let this = &*self;
        let visits_of = |first: usize| {
            let mut visits = Vec::new();
            for index in first..(first + BLOCK).min(chunk.len()) {
                let points = chunk.points(index);
                let value = if this.passing == Passing::Mean { value(points) } else { Some(0.0) };
                if let Some(value) = value {
                    this.visit(points, weights[index], value, &mut visits);
                }
            }
            visits
        };
        let starts: Vec<usize> = (0..chunk.len()).step_by(BLOCK).collect();
        let all: Vec<Vec<Visit>> =
            workers.install(|| starts.into_par_iter().map(visits_of).collect());
        // Each thread adds to voxels of its own, and passes over the others' visits.
        let voxels = (self.sums.len() / n).div_ceil(workers.threads()).max(1);
        let parts = self.sums.par_chunks_mut(voxels * n).enumerate();
        workers.install(|| {
            parts.for_each(|(part, sums)| {
                let first = part * voxels;
                for visit in all.iter().flatten() {
                    let Some(at) = (visit.voxel as usize).checked_sub(first) else { continue };
                    let Some(sums) = sums.get_mut(at * n..(at + 1) * n) else { continue };
                    for (sum, add) in sums.iter_mut().zip(visit.adds) {
                        *sum += f64::from(add);
                    }
                }
            });
        });
    }

    /// What one streamline adds.
    fn visit(&self, points: &[[f32; 3]], weight: f64, value: f64, visits: &mut Vec<Visit>) {
        let dims = self.grid.dims;
        let pos_vox = |point: &[f32; 3]| self.vox_from_ras.apply(point.map(f64::from));
        let first = visits.len();
        let number =
            |voxel| Visit { voxel: self.grid.index(voxel) as u32, adds: [weight as f32, 0.0, 0.0] };
        match self.passing {
            Passing::Number => {
                voxels_on_line(dims, points.iter().map(pos_vox), |voxel| {
                    visits.push(number(voxel))
                });
                visits[first..].sort_unstable_by_key(|visit| visit.voxel);
                let mut kept = first;
                for at in first..visits.len() {
                    if at == first || visits[at].voxel != visits[kept - 1].voxel {
                        visits.swap(kept, at);
                        kept += 1;
                    }
                }
                visits.truncate(kept);
            }
            Passing::Ends => {
                // One point is both ends.
                for end in points.first().into_iter().chain(points.last()) {
                    voxels_on_line(dims, [pos_vox(end)], |voxel| visits.push(number(voxel)));
                }
            }
            Passing::Density | Passing::Directions | Passing::Mean => {
                for pair in points.windows(2) {
                    let mm = weight * distance_mm(&pair[0], &pair[1]);
                    let adds = match self.passing {
                        Passing::Density => [mm, 0.0, 0.0],
                        Passing::Mean => [mm * value, mm, 0.0],
                        _ => [0, 1, 2].map(|a| weight * f64::from(pair[1][a] - pair[0][a]).abs()),
                    };
                    self.piece([pos_vox(&pair[0]), pos_vox(&pair[1])], adds, first, visits);
                }
            }
        }
    }

    /// What a straight piece adds, to the voxel before it where it stays in that.
    fn piece(
        &self,
        [from, to]: [[f64; 3]; 2],
        adds: [f64; 3],
        first: usize,
        visits: &mut Vec<Visit>,
    ) {
        if !(from.iter().sum::<f64>() + to.iter().sum::<f64>()).is_finite() {
            return;
        }
        voxels_between(self.grid.dims, from, to, |voxel, share| {
            let voxel = self.grid.index(voxel) as u32;
            let adds = adds.map(|add| (add * share) as f32);
            match visits[first..].last_mut().filter(|last| last.voxel == voxel) {
                Some(last) => last.adds.iter_mut().zip(adds).for_each(|(sum, add)| *sum += add),
                None => visits.push(Visit { voxel, adds }),
            }
        });
    }

    /// The map.
    pub fn image(&self) -> Image {
        let n = self.passing.sums();
        let volumes = if self.passing == Passing::Mean { 1 } else { n };
        let mut image = Image::zeros(self.grid, volumes);
        for (voxel, sums) in self.sums.chunks_exact(n).enumerate() {
            if self.passing == Passing::Mean {
                image.data[voxel] = if sums[1] > 0.0 { (sums[0] / sums[1]) as f32 } else { 0.0 };
                continue;
            }
            for (volume, sum) in sums.iter().enumerate() {
                image.volume_mut(volume)[voxel] = *sum as f32;
            }
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let ras_from_vox = Affine([[-2., 0.3, 0., 9.], [0., 2.5, 0.2, -3.], [0.1, 0., 3., 1.]]);
        Grid { dims: [9, 8, 7], ras_from_vox }
    }

    fn ras(vox: [f64; 3]) -> [f32; 3] {
        grid().ras_from_vox.apply(vox).map(|x| x as f32)
    }

    fn lines() -> Streamlines {
        let mut lines = Streamlines::default();
        for k in 0..700 {
            let (a, b) = (f64::from(k % 7), f64::from(k % 5));
            lines.push(&[ras([0.3, b, a]), ras([4.1, 6.0 - b, 2.0]), ras([8.2, 1.2 + b, 6.0 - a])]);
        }
        lines
    }

    fn made(passing: Passing, threads: usize, value: f64) -> Image {
        let mut map = TrackMap::new(passing, grid()).unwrap();
        let lines = lines();
        let weights: Vec<f64> = (0..lines.len()).map(|i| 1.0 + (i % 3) as f64).collect();
        map.add(&lines, &weights, |_| Some(value), &Workers::new(threads).unwrap());
        map.image()
    }

    #[test]
    fn all_of_the_length_that_lies_on_the_grid_is_somewhere() {
        let lines = lines();
        let length: f64 = (0..lines.len())
            .map(|i| (1.0 + (i % 3) as f64) * crate::arc_length_mm(lines.points(i)))
            .sum();
        let sum: f64 = made(Passing::Density, 2, 0.0).data.iter().map(|x| f64::from(*x)).sum();
        // Visits are single precision.
        assert!((sum - length).abs() < 1e-5 * length, "{sum} {length}");
    }

    #[test]
    fn maps_have_the_same_bits_for_any_number_of_threads() {
        for passing in [Passing::Density, Passing::Number, Passing::Directions, Passing::Mean] {
            assert_eq!(made(passing, 1, 0.7), made(passing, 3, 0.7), "{passing:?}");
        }
    }

    #[test]
    fn a_mean_of_one_value_is_that_value_wherever_streamlines_pass() {
        let (mean, density) = (made(Passing::Mean, 1, 0.7), made(Passing::Density, 1, 0.0));
        for (mean, density) in mean.data.iter().zip(&density.data) {
            let expected = if *density > 0.0 { 0.7 } else { 0.0 };
            assert!((mean - expected).abs() < 1e-6, "{mean} {density}");
        }
    }

    #[test]
    fn a_streamline_that_comes_back_counts_once_and_has_two_ends() {
        let mut lines = Streamlines::default();
        lines.push(&[[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 1.0]]);
        let grid = Grid { dims: [4, 2, 2], ras_from_vox: Affine::IDENTITY };
        let workers = Workers::new(1).unwrap();
        let made = |passing| {
            let mut map = TrackMap::new(passing, grid).unwrap();
            map.add(&lines, &[1.5], |_| None, &workers);
            map.image().data[grid.index([0, 1, 1])..][..4].to_vec()
        };
        assert_eq!(made(Passing::Number), [0.0, 1.5, 1.5, 1.5]);
        assert_eq!(made(Passing::Ends), [0.0, 3.0, 0.0, 0.0]);
        // Half a voxel at its ends and at its turn, each twice.
        assert_eq!(made(Passing::Density), [0.0, 1.5, 3.0, 1.5]);
        assert_eq!(made(Passing::Directions), made(Passing::Density));
        assert_eq!(made(Passing::Mean), [0.0; 4]);
    }

    #[test]
    fn what_is_beside_the_grid_or_no_number_is_left_out() {
        let mut lines = Streamlines::default();
        lines.push(&[[-9.0, 0.0, 0.0], [0.25, 0.0, 0.0]]);
        lines.push(&[[f32::NAN, 0.0, 0.0], [1.0, 0.0, 0.0]]);
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut map = TrackMap::new(Passing::Density, grid).unwrap();
        map.add(&lines, &[1.0, 1.0], |_| None, &Workers::new(1).unwrap());
        assert_eq!(map.image().data, [0.75, 0.0, 0.0]);
    }
}
