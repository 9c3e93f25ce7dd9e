//! An image on the grid of another, by a way that is known.

use fimbria_image::{Affine, Grid, Image};
use rayon::prelude::*;

use crate::spline::Spline;

/// From scanner mm of the grid that is filled to scanner mm of the image; `None` where nothing is known.
pub type Way<'a> = &'a (dyn Fn([f64; 3]) -> Option<[f64; 3]> + Sync);

/// More points along an axis of a voxel tell no more.
const MOST_POINTS: usize = 5;

/// Points that stand for each voxel of a grid, by where they lie in an image.
struct Points<'a> {
    grid: &'a Grid,
    vox_from_ras: Affine,
    way: Way<'a>,
    /// Where points lie in a voxel.
    inside: Vec<[f64; 3]>,
}

impl<'a> Points<'a> {
    /// As many along each axis as the image has voxels in one of the grid, and `more`.
    fn new(grid: &'a Grid, image: &Grid, way: Way<'a>, more: usize) -> Self {
        let finest = image.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min);
        let number = |mm: f64| ((mm / finest - 1e-3).ceil() as usize + more).clamp(1, MOST_POINTS);
        let [nx, ny, nz] = grid.ras_from_vox.spacing().map(number);
        let at = |i: usize, n: usize| (i as f64 + 0.5) / n as f64 - 0.5;
        let mut inside = Vec::new();
        for k in 0..nz {
            for j in 0..ny {
                inside.extend((0..nx).map(|i| [at(i, nx), at(j, ny), at(k, nz)]));
            }
        }
        let vox_from_ras = image.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
        Self { grid, vox_from_ras, way, inside }
    }

    /// Voxel coordinates in the image of the points of a voxel.
    fn of_voxel(&self, voxel: usize) -> impl Iterator<Item = Option<[f64; 3]>> + '_ {
        let first = self.grid.voxel(voxel).map(|i| i as f64);
        self.inside.iter().map(move |by| {
            let at = [0, 1, 2].map(|a| first[a] + by[a]);
            let there = (self.way)(self.grid.ras_from_vox.apply(at))?;
            Some(self.vox_from_ras.apply(there))
        })
    }
}

/// The voxel of a grid that holds a point in voxel coordinates.
fn holding(grid: &Grid, at: [f64; 3]) -> Option<usize> {
    let nearest = at.map(|x| (x + 0.5).floor());
    // False for NaN too.
    let is_inside = (0..3).all(|a| nearest[a] >= 0.0 && nearest[a] < grid.dims[a] as f64);
    is_inside.then(|| grid.index(nearest.map(|i| i as usize)))
}

/// What a first volume shows in each voxel of `grid`: the mean of cubic splines over its points, within the least and the
/// largest value. 0 where it does not reach. On the threads of the current rayon pool.
pub fn image_onto(grid: &Grid, image: &Image, way: Way<'_>) -> Image {
    let samples = image.volume(0);
    let finite = || samples.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    let spline = Spline::new(image.grid.dims, samples);
    let points = Points::new(grid, &image.grid, way, 0);
    let value = |voxel: usize| {
        let values = points.of_voxel(voxel).filter_map(|at| spline.at(at?));
        let (n, sum) = values.fold((0.0f32, 0.0f32), |(n, sum), v| (n + 1.0, sum + v));
        if n > 0.0 { (sum / n).clamp(low.min(high), high.max(low)) } else { 0.0 }
    };
    let data = (0..grid.len()).into_par_iter().map(value).collect();
    Image { grid: *grid, n_volumes: 1, data }
}

/// The label that has the largest share of each voxel of `grid`; of equal shares the smallest. What lies outside the image
/// is 0. On the threads of the current rayon pool.
pub fn labels_onto(grid: &Grid, labels: &Image, way: Way<'_>) -> Image {
    let points = Points::new(grid, &labels.grid, way, 1);
    let label = |voxel: usize| {
        let mut counts: Vec<(f32, u32)> = Vec::new();
        for at in points.of_voxel(voxel) {
            let source = at.and_then(|at| holding(&labels.grid, at));
            let label = source.map_or(0.0, |source| labels.data[source]);
            match counts.iter_mut().find(|(known, _)| *known == label) {
                Some((_, n)) => *n += 1,
                None => counts.push((label, 1)),
            }
        }
        let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
        most.map_or(0.0, |(label, _)| label)
    };
    let data = (0..grid.len()).into_par_iter().map(label).collect();
    Image { grid: *grid, n_volumes: 1, data }
}

/// The mean over each voxel of `grid` of what the voxels of each volume hold, as of shares of tissues; 0 outside. On the
/// threads of the current rayon pool.
pub fn shares_onto(grid: &Grid, shares: &Image, way: Way<'_>) -> Image {
    let points = Points::new(grid, &shares.grid, way, 1);
    let (n, of_source) = (grid.len(), shares.grid.len());
    let sources = |voxel: usize| -> Vec<usize> {
        points.of_voxel(voxel).filter_map(|at| holding(&shares.grid, at?)).collect()
    };
    let mean = |voxel: usize| -> Vec<f32> {
        let sources = sources(voxel);
        let sum = |volume: usize| -> f32 {
            sources.iter().map(|source| shares.data[volume * of_source + source]).sum()
        };
        (0..shares.n_volumes).map(|volume| sum(volume) / points.inside.len() as f32).collect()
    };
    let mut all = Image::zeros(*grid, shares.n_volumes);
    let means: Vec<Vec<f32>> = (0..n).into_par_iter().map(mean).collect();
    for (voxel, means) in means.into_iter().enumerate() {
        means.into_iter().enumerate().for_each(|(volume, x)| all.data[volume * n + voxel] = x);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Image {
        let grid = Grid { dims: [12, 12, 12], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, 1);
        for voxel in 0..grid.len() {
            let [x, y, _] = grid.voxel(voxel);
            image.data[voxel] = if x < 5 {
                7.0
            } else if y < 6 {
                3.0
            } else {
                2000.0
            };
        }
        image
    }

    fn stay(p: [f64; 3]) -> Option<[f64; 3]> {
        Some(p)
    }

    #[test]
    fn on_their_own_grid_images_and_labels_stay() {
        let image = fine();
        assert_eq!(labels_onto(&image.grid, &image, &stay).data, image.data);
        assert_eq!(shares_onto(&image.grid, &image, &stay).data, image.data);
        let moved = image_onto(&image.grid, &image, &stay);
        // Splines of f32 up to 2000.
        assert!(moved.data.iter().zip(&image.data).all(|(a, b)| (a - b).abs() < 5e-3));
    }

    #[test]
    fn a_coarse_voxel_has_the_label_of_the_largest_share_and_the_mean_of_shares() {
        let image = fine();
        // Voxels of 3 mm from -0.5 on: the second along x holds two columns of 7 and one of others.
        let mut coarse = Grid { dims: [5, 4, 4], ras_from_vox: Affine::from_spacing([3.0; 3]) };
        (0..3).for_each(|a| coarse.ras_from_vox.0[a][3] = 1.0);
        let labels = labels_onto(&coarse, &image, &stay);
        let row = |y: usize| -> Vec<f32> {
            (0..5).map(|x| labels.data[coarse.index([x, y, 0])]).collect()
        };
        assert_eq!(row(0), [7.0, 7.0, 3.0, 3.0, 0.0]);
        assert_eq!(row(3), [7.0, 7.0, 2000.0, 2000.0, 0.0]);
        let ones =
            Image { data: image.data.iter().map(|v| f32::from(*v == 7.0)).collect(), ..image };
        let shares = shares_onto(&coarse, &ones, &stay);
        // Four points along each axis: of those of the second voxel, at 2.875, 3.625, 4.375 and 5.125, three.
        assert_eq!([0, 1, 2].map(|x| shares.data[coarse.index([x, 0, 0])]), [1.0, 0.75, 0.0]);
    }

    #[test]
    fn a_shift_moves_and_what_is_not_known_is_zero() {
        let image = fine();
        let shifted = |p: [f64; 3]| (p[2] < 5.5).then_some([p[0] + 2.0, p[1], p[2]]);
        let labels = labels_onto(&image.grid, &image, &shifted);
        let at = |voxel: [usize; 3]| labels.data[image.grid.index(voxel)];
        assert_eq!(
            [at([2, 0, 0]), at([3, 0, 0]), at([11, 0, 0]), at([2, 0, 8])],
            [7.0, 3.0, 0.0, 0.0]
        );
    }
}
