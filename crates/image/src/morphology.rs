//! Sets of voxels by their shape: grown, shrunk, opened and closed by millimetres, cut into pieces,
//! filled.
//!
//! Distances run between voxel centres and are exact: the lower envelope of parabolas, one axis
//! after the other (Felzenszwalb, Huttenlocher, Theory of Computing 8, 415, 2012). Work is dealt to
//! the pool of threads that the caller is in.

use rayon::prelude::*;

use crate::{Affine, Grid, Image, Mask};

/// Some voxels of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct VoxelSet {
    grid: Grid,
    inside: Vec<bool>,
}

impl VoxelSet {
    /// The voxels whose `values` (one a voxel, in the order of the grid) satisfy `is_inside`.
    pub fn where_value<T: Sync>(
        grid: Grid,
        values: &[T],
        is_inside: impl Fn(&T) -> bool + Send + Sync,
    ) -> Self {
        Self { grid, inside: values.par_iter().map(is_inside).collect() }
    }

    /// The voxels of an image's first volume that are above `share` of their own `level`.
    pub fn above(image: &Image, level: &[f32], share: f32) -> Self {
        let inside =
            image.volume(0).par_iter().zip(level).map(|(value, level)| *value > share * level);
        Self { grid: image.grid, inside: inside.collect() }
    }

    /// The voxels of a mask.
    pub fn from_mask(mask: &Mask) -> Self {
        let mut inside = vec![false; mask.grid.len()];
        for &voxel in &mask.voxels {
            inside[voxel as usize] = true;
        }
        Self { grid: mask.grid, inside }
    }

    /// As a mask.
    pub fn to_mask(&self) -> Mask {
        let voxels = (0_u32..).zip(&self.inside).filter(|(_, inside)| **inside);
        Mask { grid: self.grid, voxels: voxels.map(|(voxel, _)| voxel).collect() }
    }

    /// The lattice.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// For each voxel of the grid, whether it is in the set.
    pub fn inside(&self) -> &[bool] {
        &self.inside
    }

    /// Number of voxels in the set.
    pub fn count(&self) -> usize {
        self.inside.par_iter().filter(|inside| **inside).count()
    }

    /// What is in both.
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| a && b)
    }

    /// What is in either.
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b| a || b)
    }

    /// What is here but not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        self.with(other, |a, b| a && !b)
    }

    fn with(&self, other: &Self, join: impl Fn(bool, bool) -> bool + Send + Sync) -> Self {
        let inside = self.inside.par_iter().zip(&other.inside).map(|(&a, &b)| join(a, b)).collect();
        Self { grid: self.grid, inside }
    }

    /// Distance in mm from each voxel to the nearest one outside the set; infinite where all are
    /// inside. What lies beyond the grid does not count as outside.
    pub fn depth_mm(&self) -> Vec<f32> {
        self.distance_mm(false)
    }

    /// Distance in mm from each voxel to the nearest one whose membership is `member`.
    fn distance_mm(&self, member: bool) -> Vec<f32> {
        let source = |&inside: &bool| if inside == member { 0.0 } else { f32::INFINITY };
        let start = self.inside.par_iter().map(source).collect();
        let spacing = self.grid.ras_from_vox.spacing();
        let mut squared = along_lines(start, self.grid.dims, |axis, line, out| {
            lower_envelope(spacing[axis] as f32, line, out);
        });
        squared.par_iter_mut().for_each(|d| *d = d.sqrt());
        squared
    }

    /// The voxels farther than `radius_mm` from every voxel outside; the edge of the grid takes
    /// nothing away.
    pub fn eroded(&self, radius_mm: f64) -> Self {
        let depth = self.depth_mm();
        Self::where_value(self.grid, &depth, |&d| f64::from(d) > radius_mm)
    }

    /// The voxels within `radius_mm` of the set.
    pub fn dilated(&self, radius_mm: f64) -> Self {
        let distance = self.distance_mm(true);
        Self::where_value(self.grid, &distance, |&d| f64::from(d) <= radius_mm)
    }

    /// Without what a ball of `radius_mm` does not fit in.
    pub fn opened(&self, radius_mm: f64) -> Self {
        self.eroded(radius_mm).dilated(radius_mm)
    }

    /// With the gaps that a ball of `radius_mm` outside does not reach. The ball may lie beyond the
    /// grid, so that nothing is closed against the grid's faces.
    pub fn closed(&self, radius_mm: f64) -> Self {
        let spacing = self.grid.ras_from_vox.spacing();
        let margin = spacing.map(|mm| (radius_mm / mm) as usize + 2);
        let dims: [usize; 3] = std::array::from_fn(|k| self.grid.dims[k] + 2 * margin[k]);
        let padded = Grid { dims, ras_from_vox: Affine::from_spacing(spacing) };
        let place = |voxel: usize| {
            let at = self.grid.voxel(voxel);
            padded.index(std::array::from_fn(|k| at[k] + margin[k]))
        };
        let mut wide = Self { grid: padded, inside: vec![false; padded.len()] };
        for (voxel, &inside) in self.inside.iter().enumerate() {
            wide.inside[place(voxel)] = inside;
        }
        let wide = wide.dilated(radius_mm).eroded(radius_mm);
        let closed = (0..self.inside.len()).map(|voxel| wide.inside[place(voxel)]);
        Self { grid: self.grid, inside: closed.collect() }
    }

    /// The largest piece connected through faces; of equal ones the first.
    pub fn largest_piece(&self) -> Self {
        let mut left = self.inside.clone();
        let mut largest = Vec::new();
        for seed in 0..left.len() {
            if left[seed] {
                let piece = take_piece(&mut left, &self.grid, seed);
                if piece.len() > largest.len() {
                    largest = piece;
                }
            }
        }
        let mut inside = vec![false; left.len()];
        for voxel in largest {
            inside[voxel] = true;
        }
        Self { grid: self.grid, inside }
    }

    /// With what it encloses: what no way through faces leads to from the edge of the grid.
    #[must_use]
    pub fn enclosing(mut self) -> Self {
        let mut beyond: Vec<bool> = self.inside.iter().map(|inside| !inside).collect();
        for voxel in 0..beyond.len() {
            if beyond[voxel] && neighbours(&self.grid, voxel).count() < 6 {
                take_piece(&mut beyond, &self.grid, voxel);
            }
        }
        self.inside.iter_mut().zip(beyond).for_each(|(inside, hole)| *inside |= hole);
        self
    }

    /// With what is enclosed in each slice along the third axis: a slab of few slices encloses
    /// nothing in three dimensions, and what three enclose each slice does.
    pub fn filled(mut self) -> Self {
        let [nx, ny, _] = self.grid.dims;
        let flat = Grid { dims: [nx, ny, 1], ..self.grid };
        self.inside.par_chunks_mut((nx * ny).max(1)).for_each(|slice| {
            let mut background: Vec<bool> = slice.iter().map(|inside| !inside).collect();
            for voxel in 0..slice.len() {
                let [x, y, _] = flat.voxel(voxel);
                let is_at_border = x == 0 || y == 0 || x + 1 == nx || y + 1 == ny;
                if is_at_border && background[voxel] {
                    take_piece(&mut background, &flat, voxel);
                }
            }
            // What no border voxel reaches is a hole.
            for (inside, hole) in slice.iter_mut().zip(background) {
                *inside |= hole;
            }
        });
        self
    }
}

/// The up to six voxels that share a face with `voxel`.
pub fn neighbours(grid: &Grid, voxel: usize) -> impl Iterator<Item = usize> {
    let [nx, ny, _] = grid.dims;
    let (position, dims) = (grid.voxel(voxel), grid.dims);
    [1, nx, nx * ny].into_iter().enumerate().flat_map(move |(axis, step)| {
        let before = (position[axis] > 0).then(|| voxel - step);
        let after = (position[axis] + 1 < dims[axis]).then(|| voxel + step);
        before.into_iter().chain(after)
    })
}

/// `filter(axis, line, out)` on every line of voxels along the third axis, then along the second,
/// then along the first. `out` comes in zeroed.
pub fn along_lines(
    mut data: Vec<f32>,
    mut dims: [usize; 3],
    filter: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) -> Vec<f32> {
    for axis in [2, 1, 0] {
        // Lines are read along the slowest axis and written along the fastest, so that three
        // passes bring the order of the axes back.
        let [nx, ny, n] = dims;
        let mut out = vec![0.0; data.len()];
        out.par_chunks_mut(n.max(1)).with_min_len(64).enumerate().for_each_init(
            || vec![0.0; n],
            |line, (first, out)| {
                for (value, &sample) in line.iter_mut().zip(data[first..].iter().step_by(nx * ny)) {
                    *value = sample;
                }
                filter(axis, line, out);
            },
        );
        (data, dims) = (out, [n, nx, ny]);
    }
    data
}

/// For each place on a line, the least of `heights[p] + (spacing (place - p))²` over all p.
fn lower_envelope(spacing: f32, heights: &[f32], out: &mut [f32]) {
    // Parabolas of the envelope by their places, each with the place from which it is the lowest.
    let mut lowest: Vec<(usize, f32)> = Vec::with_capacity(heights.len());
    let area = spacing * spacing;
    for (p, &height) in heights.iter().enumerate().filter(|(_, height)| height.is_finite()) {
        let from = loop {
            let Some(&(q, from)) = lowest.last() else { break f32::NEG_INFINITY };
            let (p, q_place) = (p as f32, q as f32);
            let meet = ((height - heights[q]) / area + (p * p - q_place * q_place))
                / (2.0 * (p - q_place));
            if meet > from {
                break meet;
            }
            lowest.pop();
        };
        lowest.push((p, from));
    }
    if lowest.is_empty() {
        out.fill(f32::INFINITY);
        return;
    }
    let mut k = 0;
    for (place, out) in out.iter_mut().enumerate() {
        while lowest.get(k + 1).is_some_and(|(_, from)| *from <= place as f32) {
            k += 1;
        }
        let p = lowest[k].0;
        *out = heights[p] + area * (place as f32 - p as f32).powi(2);
    }
}

/// Removes the piece around `seed` from `left` and returns its voxels.
fn take_piece(left: &mut [bool], grid: &Grid, seed: usize) -> Vec<usize> {
    let mut piece = vec![seed];
    left[seed] = false;
    let mut done = 0;
    while let Some(&voxel) = piece.get(done) {
        done += 1;
        for neighbour in neighbours(grid, voxel) {
            if std::mem::take(&mut left[neighbour]) {
                piece.push(neighbour);
            }
        }
    }
    piece
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid(dims: [usize; 3]) -> Grid {
        Grid { dims, ras_from_vox: Affine::from_spacing([1.0, 2.0, 2.5]) }
    }

    /// Distance between the centres of two voxels.
    fn between(grid: &Grid, a: usize, b: usize) -> f64 {
        let (a, b) = (grid.voxel(a), grid.voxel(b));
        let spacing = grid.ras_from_vox.spacing();
        (0..3).map(|k| (spacing[k] * (a[k] as f64 - b[k] as f64)).powi(2)).sum::<f64>().sqrt()
    }

    proptest! {
        #[test]
        fn the_depth_is_the_distance_to_the_nearest_voxel_outside(
            dims in [1_usize..7, 1_usize..7, 1_usize..7],
            seed in prop::collection::vec(prop::bool::weighted(0.8), 216),
        ) {
            let grid = grid(dims);
            let set = VoxelSet { grid, inside: seed[..grid.len()].to_vec() };
            for (voxel, depth) in set.depth_mm().into_iter().enumerate() {
                let outside = (0..grid.len()).filter(|&other| !set.inside[other]);
                let nearest = outside.map(|other| between(&grid, voxel, other)).fold(f64::INFINITY, f64::min);
                // Squares below 2000 in single precision.
                prop_assert!(depth.is_infinite() && nearest.is_infinite() || (f64::from(depth) - nearest).abs() < 1e-5);
            }
        }

        #[test]
        fn opening_takes_away_closing_adds_and_a_second_time_changes_nothing(
            seed in prop::collection::vec(any::<bool>(), 6 * 5 * 4),
        ) {
            let set = VoxelSet { grid: grid([6, 5, 4]), inside: seed };
            let (opened, closed) = (set.opened(2.1), set.closed(2.1));
            prop_assert_eq!(opened.without(&set).count(), 0);
            prop_assert_eq!(set.without(&closed).count(), 0);
            prop_assert_eq!(opened.opened(2.1), opened);
            prop_assert_eq!(closed.closed(2.1), closed);
        }
    }

    #[test]
    fn nothing_is_closed_against_the_faces_of_the_grid() {
        let grid = grid([9, 9, 9]);
        let all: Vec<usize> = (0..grid.len()).collect();
        let set = VoxelSet::where_value(grid, &all, |&v| (2..7).contains(&grid.voxel(v)[0]));
        assert_eq!(set.closed(6.0), set);
    }

    #[test]
    fn a_hole_is_filled_and_a_bay_is_not() {
        let grid = grid([5, 5, 2]);
        let picture = ["#####", "#.#..", "#####", "##...", "#####"].concat();
        let inside: Vec<bool> = picture.chars().map(|c| c == '#').collect();
        let set = VoxelSet { grid, inside: inside.repeat(2) }.filled();
        assert_eq!(
            set.without(&VoxelSet { grid, inside: inside.repeat(2) }).to_mask().voxels,
            [6, 31]
        );
    }

    #[test]
    fn the_largest_piece_hangs_together_through_faces() {
        let grid = grid([4, 2, 1]);
        let inside = [true, true, false, true, false, false, true, true].to_vec();
        let piece = VoxelSet { grid, inside }.largest_piece();
        assert_eq!(piece.to_mask().voxels, [3, 6, 7]);
    }
}
