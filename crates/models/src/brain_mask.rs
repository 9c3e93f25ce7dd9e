//! A simple brain mask for when the user gives none.
//!
//! The mean unweighted volume is smoothed by two passes of a median over the three neighbours
//! along x, y and z in turn, cut at Otsu's threshold of its square root, reduced to the largest
//! piece that hangs together by more than a few voxels, and filled slice by slice. It is close to the brain where the
//! head's other tissues are dark, as they are in diffusion images, and no match for a mask made
//! with care; whoever uses it should say so.
//!
//! Otsu N. IEEE Trans Syst Man Cybern 9, 62 (1979).

use fimbria_compute::Workers;
use fimbria_image::{GradientTable, Grid, Image, Mask, SignalSource};
use rayon::prelude::*;

/// The brain in a diffusion series, by the mean of its unweighted volumes (or of those with the
/// lowest b where none counts as unweighted).
pub fn brain_mask(
    signals: &dyn SignalSource,
    gradients: &GradientTable,
    workers: &Workers,
) -> Mask {
    head_mask(mean_unweighted(signals, gradients, workers), workers)
}

/// What is bright in an image of the head.
pub fn head_mask(mut image: Image, workers: &Workers) -> Mask {
    for _ in 0..2 {
        for axis in 0..3 {
            image.data = workers.install(|| median_along(&image, axis));
        }
    }
    // The square root draws the bright fluid towards the tissue, so that the cut falls between
    // tissue and air and not between fluid and tissue.
    for value in &mut image.data {
        *value = value.max(0.0).sqrt();
    }
    let threshold = otsu_threshold(&image.data);
    let mut inside: Vec<bool> = image.data.iter().map(|&v| v > threshold).collect();
    keep_core(&mut inside, &image.grid);
    fill_holes(&mut inside, &image.grid);
    let voxels = (0u32..).zip(&inside).filter(|(_, inside)| **inside).map(|(v, _)| v).collect();
    Mask { grid: image.grid, voxels }
}

/// The mean over the unweighted volumes, or over those of the lowest b; NaN counts as 0.
pub fn mean_unweighted(
    signals: &dyn SignalSource,
    gradients: &GradientTable,
    workers: &Workers,
) -> Image {
    const TILE: usize = 64;
    let lowest = gradients.b_s_per_mm2.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = lowest.max(gradients.b0_threshold);
    let volumes: Vec<usize> =
        (0..gradients.len()).filter(|&v| gradients.b_s_per_mm2[v] <= limit).collect();
    let mut mean = Image::zeros(*signals.grid(), 1);
    workers.install(|| {
        mean.data.par_chunks_mut(TILE).enumerate().for_each_init(
            || vec![0.0; signals.n_volumes() * TILE],
            |samples, (tile, means)| {
                let first = (tile * TILE) as u32;
                let voxels: Vec<u32> = (first..).take(means.len()).collect();
                signals.gather(&voxels, TILE, samples);
                for (lane, mean) in means.iter_mut().enumerate() {
                    let sum: f32 = volumes.iter().map(|v| samples[v * TILE + lane]).sum();
                    *mean = sum / volumes.len() as f32;
                    if !mean.is_finite() {
                        *mean = 0.0;
                    }
                }
            },
        );
    });
    mean
}

/// The median of every voxel and its two neighbours along an axis; at an end, of the voxel, its
/// neighbour and the voxel again.
fn median_along(image: &Image, axis: usize) -> Vec<f32> {
    let [nx, ny, _] = image.grid.dims;
    let step = [1, nx, nx * ny][axis];
    let n = image.grid.dims[axis];
    let mut out = vec![0.0; image.data.len()];
    out.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, out)| {
        let position = i / step % n;
        let centre = image.data[i];
        let before = if position > 0 { image.data[i - step] } else { centre };
        let after = if position + 1 < n { image.data[i + step] } else { centre };
        *out = before.min(after).max(before.max(after).min(centre));
    });
    out
}

/// The threshold between two classes that maximises the variance between them, over 256 bins.
fn otsu_threshold(values: &[f32]) -> f32 {
    const BINS: usize = 256;
    let top = values.iter().copied().fold(0.0, f32::max);
    if top <= 0.0 {
        return 0.0;
    }
    let mut counts = [0.0f64; BINS];
    for &value in values {
        counts[((value / top * BINS as f32) as usize).min(BINS - 1)] += 1.0;
    }
    let total = values.len() as f64;
    let total_sum: f64 = counts.iter().enumerate().map(|(bin, n)| bin as f64 * n).sum();
    let (mut below, mut sum_below) = (0.0, 0.0);
    let mut best = (0.0, 0);
    for (bin, n) in counts.iter().enumerate() {
        below += n;
        sum_below += bin as f64 * n;
        let above = total - below;
        if below == 0.0 || above == 0.0 {
            continue;
        }
        let distance = sum_below / below - (total_sum - sum_below) / above;
        let between = below * above * distance * distance;
        if between > best.0 {
            best = (between, bin + 1);
        }
    }
    best.1 as f32 / BINS as f32 * top
}

/// Keeps the largest piece that still hangs together once [`PEELS`] layers are peeled off, with
/// those layers back on: the brain without the scalp that touches it here and there.
fn keep_core(inside: &mut [bool], grid: &Grid) {
    /// Layers of voxels that cut the vessels and nerves between brain and scalp.
    const PEELS: usize = 2;
    let whole = inside.to_vec();
    for _ in 0..PEELS {
        let before = inside.to_vec();
        for (voxel, inside) in inside.iter_mut().enumerate() {
            *inside &= neighbours(grid, voxel).all(|neighbour| before[neighbour]);
        }
    }
    keep_largest_piece(inside, grid);
    if !inside.contains(&true) {
        // All of it is thinner than the layers.
        inside.copy_from_slice(&whole);
        keep_largest_piece(inside, grid);
    }
    // One layer more, for corners that the peeling took with them.
    for _ in 0..=PEELS {
        let before = inside.to_vec();
        for (voxel, inside) in inside.iter_mut().enumerate() {
            let grows = || neighbours(grid, voxel).any(|neighbour| before[neighbour]);
            *inside |= whole[voxel] && grows();
        }
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

/// Keeps the largest piece connected through faces; of equal ones the first.
fn keep_largest_piece(inside: &mut [bool], grid: &Grid) {
    let mut left = inside.to_vec();
    let mut largest = Vec::new();
    for seed in 0..left.len() {
        if left[seed] {
            let piece = take_piece(&mut left, grid, seed);
            if piece.len() > largest.len() {
                largest = piece;
            }
        }
    }
    inside.fill(false);
    for voxel in largest {
        inside[voxel] = true;
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

/// Adds what is enclosed in each axial slice. Slices are filled one by one because a slab of few
/// slices encloses nothing in three dimensions.
fn fill_holes(inside: &mut [bool], grid: &Grid) {
    let [nx, ny, _] = grid.dims;
    if nx * ny == 0 {
        return;
    }
    let flat = Grid { dims: [nx, ny, 1], ..*grid };
    for slice in inside.chunks_mut(nx * ny) {
        let mut background: Vec<bool> = slice.iter().map(|inside| !inside).collect();
        for voxel in 0..slice.len() {
            let [x, y, _] = flat.voxel(voxel);
            let on_border = x == 0 || y == 0 || x + 1 == nx || y + 1 == ny;
            if on_border && background[voxel] {
                take_piece(&mut background, &flat, voxel);
            }
        }
        // What no border voxel reaches is a hole.
        for (inside, hole) in slice.iter_mut().zip(background) {
            *inside |= hole;
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    /// A bright ball of radius 9 with a dark hole, a bright piece that hangs on it by a thread, and
    /// air of level 5.
    fn head() -> (Image, Vec<u32>) {
        let grid = Grid { dims: [32, 30, 28], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, 2);
        let mut ball = Vec::new();
        for i in 0..grid.len() {
            let p = grid.voxel(i).map(|x| x as f64);
            let r2 = |c: [f64; 3]| (0..3).map(|a| (p[a] - c[a]).powi(2)).sum::<f64>();
            let in_ball = r2([15.0, 15.0, 14.0]) <= 81.0;
            let in_hole = r2([15.0, 15.0, 14.0]) <= 9.0;
            // A piece beside the ball, and a thread between them.
            let in_piece = r2([27.0, 15.0, 14.0]) <= 4.0;
            let in_thread = p[1] == 15.0 && p[2] == 14.0 && (24.0..26.0).contains(&p[0]);
            let in_stray = in_piece || in_thread;
            if in_ball {
                ball.push(i as u32);
            }
            let bright = in_stray || in_ball && !in_hole;
            image.data[i] = if bright { 1000.0 } else { 5.0 };
            // The weighted volume says the contrary and must not be looked at.
            image.data[grid.len() + i] = if bright { 0.0 } else { 9000.0 };
        }
        (image, ball)
    }

    fn table() -> GradientTable {
        GradientTable {
            b_s_per_mm2: vec![0.0, 1000.0],
            dirs_ras: vec![[0.0; 3], [1.0, 0.0, 0.0]],
            b0_threshold: 50.0,
        }
    }

    #[test]
    fn mask_is_the_ball_filled_without_the_piece_that_hangs_on_it() {
        let (image, ball) = head();
        let mask = brain_mask(&image, &table(), &Workers::new(2).unwrap());
        let differing = ball.iter().filter(|v| mask.voxels.binary_search(v).is_err()).count()
            + mask.voxels.iter().filter(|v| ball.binary_search(v).is_err()).count();
        // The median rounds the ball's corners off: a few voxels of the 3000, none elsewhere.
        assert!(differing * 100 < ball.len(), "{differing} of {} differ", ball.len());
        assert!(mask.voxels.is_sorted());
    }

    #[test]
    fn an_empty_image_has_an_empty_mask() {
        let grid = Grid { dims: [4, 4, 4], ras_from_vox: Affine::IDENTITY };
        let mask = brain_mask(&Image::zeros(grid, 2), &table(), &Workers::new(1).unwrap());
        assert!(mask.is_empty());
    }
}
