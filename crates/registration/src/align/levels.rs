//! An image ever coarser.

use fimbria_image::Grid;

use crate::smooth::smooth;

/// An image, smoothed, on a grid as coarse as that allows.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) grid: Grid,
    pub(super) samples: Vec<f32>,
}

/// Voxels are left out as long as so many remain within the width that an image is smoothed by.
const VOXELS_PER_WIDTH: f64 = 2.0;

/// The image smoothed by Gaussians of these widths, mm, the widest first. Each rests on the next finer one.
pub(super) fn levels(grid: &Grid, samples: &[f32], fwhm_mm: &[f64]) -> Vec<Level> {
    let finite = samples.iter().map(|v| if v.is_finite() { *v } else { 0.0 }).collect();
    let mut before = Level { grid: *grid, samples: finite };
    let mut width = 0.0;
    let mut all = Vec::new();
    for &fwhm in fwhm_mm.iter().rev() {
        let mut level = before;
        let more = f64::max(fwhm * fwhm - width * width, 0.0).sqrt();
        smooth(level.grid.dims, level.grid.ras_from_vox.spacing(), &mut level.samples, more);
        let every =
            level.grid.ras_from_vox.spacing().map(|mm| (fwhm / VOXELS_PER_WIDTH / mm) as usize);
        before = every_other(level, every.map(|n| n.max(1)));
        all.push(before.clone());
        width = fwhm;
    }
    all.reverse();
    all
}

fn every_other(level: Level, every: [usize; 3]) -> Level {
    if every == [1; 3] {
        return level;
    }
    let Level { grid, samples } = level;
    let dims = [0, 1, 2].map(|a| grid.dims[a].div_ceil(every[a]));
    let mut ras_from_vox = grid.ras_from_vox;
    for row in &mut ras_from_vox.0 {
        (0..3).for_each(|axis| row[axis] *= every[axis] as f64);
    }
    let coarse = Grid { dims, ras_from_vox };
    let sample = |voxel: usize| {
        let at = coarse.voxel(voxel);
        samples[grid.index([0, 1, 2].map(|a| at[a] * every[a]))]
    };
    Level { grid: coarse, samples: (0..coarse.len()).map(sample).collect() }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    #[test]
    fn a_slow_wave_stays_where_it_is_on_coarser_grids() {
        let grid = Grid { dims: [60, 50, 40], ras_from_vox: Affine::from_spacing([1.0, 1.0, 1.5]) };
        let wave = |p: [f64; 3]| ((p[0] + p[1] - p[2]) / 20.0).sin();
        let samples: Vec<f32> = (0..grid.len())
            .map(|v| wave(grid.ras_from_vox.apply(grid.voxel(v).map(|i| i as f64))) as f32)
            .collect();
        let all = levels(&grid, &samples, &[8.0, 4.0, 2.0]);
        assert_eq!(all[0].grid.dims, [15, 13, 20]);
        assert_eq!(all[2].grid.dims, grid.dims);
        let voxel = [7, 6, 10];
        let at = all[0].grid.ras_from_vox.apply(voxel.map(|i| i as f64));
        // A Gaussian of sigma s keeps exp(-k² s² / 2) of a wave; k² = 3 / 400.
        let kept = (-0.5 * 3.0 / 400.0 * 64.0 / (8.0 * std::f64::consts::LN_2)).exp();
        let value = f64::from(all[0].samples[all[0].grid.index(voxel)]);
        assert!((value - kept * wave(at)).abs() < 0.01, "{value} {}", kept * wave(at));
    }
}
