use fimbria_compute::{Progress, Workers};
use fimbria_image::Mask;

use super::Local;
use crate::fourier::KSpace;
use crate::{Geometry, QsmError};

/// The dipoles outside the mask that explain the field inside best, with a constant: conjugate gradients on
/// min ‖M (f - c - D χ)‖², χ = 0 inside. Stopped early, they fit what is smooth, the background, and
/// not the local field.
///
/// The constant is that of the scanner's frequency, and of the turn that unwrapping chooses. Dipoles outside make
/// one badly, and it would be the largest part of what they fit. By least squares it is the mean over the mask: `total`
/// has none there, and it is taken off what dipoles make.
pub(super) fn remove(
    geometry: &Geometry,
    total: &[f32],
    mask: &Mask,
    tolerance: f64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Local, QsmError> {
    let space = KSpace::new(geometry, workers)?;
    let mut inside = vec![0.0_f32; total.len()];
    let mut field = vec![0.0; total.len()];
    for &v in &mask.voxels {
        inside[v as usize] = 1.0;
        field[v as usize] = total[v as usize];
    }
    let (inside, field) = (space.pad(&inside), space.pad(&field));
    let leave_constant = |x: &mut [f32]| {
        let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / mask.len() as f64;
        x.iter_mut().zip(&inside).for_each(|(x, m)| *x -= mean as f32 * m);
    };
    let dipole = |x: &[f32], keep: &dyn Fn(f32) -> f32| {
        let mut spectrum = space.forward(x);
        spectrum.iter_mut().zip(&space.dipole).for_each(|(x, d)| *x *= *d);
        let mut y = space.back(spectrum);
        y.iter_mut().zip(&inside).for_each(|(y, m)| *y *= keep(*m));
        y
    };
    let (within, beyond) = (|m: f32| m, |m: f32| 1.0 - m);
    let square = |x: &[f32]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let mut residual = field;
    let mut descent = dipole(&residual, &beyond);
    let mut direction = descent.clone();
    let mut size = square(&descent);
    let goal = tolerance * tolerance * size;
    let iterations = (mask.len() as f64).sqrt().ceil() as usize;
    progress.start("removing the background", iterations as u64);
    for _ in 0..iterations {
        progress.check()?;
        let mut image = dipole(&direction, &within);
        leave_constant(&mut image);
        let curvature = square(&image);
        if size <= goal || curvature == 0.0 {
            break;
        }
        let step = (size / curvature) as f32;
        residual.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
        descent = dipole(&residual, &beyond);
        let next = square(&descent);
        let turn = (next / size) as f32;
        direction.iter_mut().zip(&descent).for_each(|(p, s)| *p = s + turn * *p);
        size = next;
        progress.advance(1);
    }
    let local = space.crop(&residual);
    let mut field = vec![0.0; total.len()];
    mask.voxels.iter().for_each(|&v| field[v as usize] = local[v as usize]);
    Ok(Local { field, mask: mask.clone() })
}
