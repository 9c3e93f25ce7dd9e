use fimbria_compute::Progress;
use fimbria_image::{Grid, Mask};

use super::Local;
use crate::QsmError;
use crate::phase::neighbours;

/// Laplace's equation inside the mask, the field given on its outermost voxels, by conjugate
/// gradients on the seven-point stencil; in f64, whose rounding the ill-conditioned interior needs.
pub(super) fn remove(
    grid: &Grid,
    total: &[f32],
    mask: &Mask,
    tolerance: f64,
    progress: &dyn Progress,
) -> Result<Local, QsmError> {
    const OUTSIDE: u32 = u32::MAX;
    let mut inside = vec![false; grid.len()];
    mask.voxels.iter().for_each(|&v| inside[v as usize] = true);
    // Interior voxels have all six neighbours inside.
    let whole = |&&v: &&u32| neighbours(grid, v as usize).filter(|&n| inside[n]).count() == 6;
    let interior: Vec<u32> = mask.voxels.iter().filter(whole).copied().collect();
    let mut index = vec![OUTSIDE; grid.len()];
    interior.iter().enumerate().for_each(|(i, &v)| index[v as usize] = i as u32);
    let spacing = grid.ras_from_vox.spacing();
    let weights = spacing.map(|s| 1.0 / (s * s));
    let centre: f64 = 2.0 * weights.iter().sum::<f64>();
    let strides = [1, grid.dims[0], grid.dims[0] * grid.dims[1]];
    // -∇² of interior values, the border's being zero.
    let apply = |x: &[f64], y: &mut [f64]| {
        for (i, &v) in interior.iter().enumerate() {
            let v = v as usize;
            let value = |n: usize| if index[n] == OUTSIDE { 0.0 } else { x[index[n] as usize] };
            let around: f64 =
                (0..3).map(|a| weights[a] * (value(v - strides[a]) + value(v + strides[a]))).sum();
            y[i] = centre * x[i] - around;
        }
    };
    let mut residual = vec![0.0; interior.len()];
    for (i, &v) in interior.iter().enumerate() {
        let v = v as usize;
        let value = |n: usize| if index[n] == OUTSIDE { f64::from(total[n]) } else { 0.0 };
        residual[i] =
            (0..3).map(|a| weights[a] * (value(v - strides[a]) + value(v + strides[a]))).sum();
    }
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let mut background = vec![0.0; interior.len()];
    let mut direction = residual.clone();
    let mut image = vec![0.0; interior.len()];
    let mut size = square(&residual);
    let goal = tolerance * tolerance * size;
    let iterations = 4 * grid.dims.iter().max().copied().unwrap_or(1);
    progress.start("removing the background", iterations as u64);
    for _ in 0..iterations {
        if size <= goal {
            break;
        }
        progress.check()?;
        apply(&direction, &mut image);
        let curvature: f64 = direction.iter().zip(&image).map(|(p, q)| p * q).sum();
        let step = size / curvature;
        background.iter_mut().zip(&direction).for_each(|(x, p)| *x += step * p);
        residual.iter_mut().zip(&image).for_each(|(r, q)| *r -= step * q);
        let next = square(&residual);
        direction.iter_mut().zip(&residual).for_each(|(p, r)| *p = r + next / size * *p);
        size = next;
        progress.advance(1);
    }
    let mut field = vec![0.0; total.len()];
    for (&v, background) in interior.iter().zip(background) {
        field[v as usize] = (f64::from(total[v as usize]) - background) as f32;
    }
    Ok(Local { field, mask: Mask { grid: *grid, voxels: interior } })
}
