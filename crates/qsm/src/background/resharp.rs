use fimbria_compute::fft::Complex32;
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Mask};

use super::Local;
use crate::QsmError;
use crate::fourier::Periodic;

/// Part of a ball that may lie outside the mask by rounding of the transform.
const INSIDE: f32 = 0.999;
/// Conjugate gradients end where the gradient is this part of its first, or after so many steps.
const TOLERANCE: f64 = 1e-3;
const ITERATIONS: u64 = 200;

/// S = M (δ - ρ): what a volume differs by from its mean over a ball, at the voxels around which the whole
/// ball lies inside the mask.
struct Differences<'w> {
    space: Periodic<'w>,
    /// 1 - ρ over the half spectrum.
    filter: Vec<f32>,
    /// 1 at those voxels, else 0; of the padded volume.
    whole: Vec<f32>,
}

impl<'w> Differences<'w> {
    fn new(
        grid: &Grid,
        mask: &Mask,
        radius_mm: f64,
        workers: &'w Workers,
    ) -> Result<Self, QsmError> {
        let spacing = grid.ras_from_vox.spacing();
        let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        let widest = (0..3).map(|a| grid.dims[a] as f64 * spacing[a]).fold(f64::INFINITY, f64::min);
        if !(radius_mm >= smallest && radius_mm <= 0.5 * widest.max(2.0 * smallest)) {
            let rule =
                "RESHARP's is at least a voxel, in mm, and its ball no wider than the volume";
            return Err(QsmError::Parameter { name: "radius", value: radius_mm, rule });
        }
        let margin = (radius_mm / smallest).ceil() as usize;
        let space = Periodic::with_margin(grid.dims, spacing, margin, workers)?;
        let ball: Vec<f32> = space.forward(&space.ball(radius_mm)).iter().map(|x| x.re).collect();
        let mut inside = vec![0.0; grid.len()];
        mask.voxels.iter().for_each(|&v| inside[v as usize] = 1.0);
        let inside = space.pad(&inside);
        let part = filtered(&space, &inside, &ball);
        let is_whole = |(inside, part): (&f32, &f32)| *inside > 0.0 && *part > INSIDE;
        let whole = inside.iter().zip(&part).map(|pair| f32::from(u8::from(is_whole(pair))));
        let whole = whole.collect();
        let filter = ball.iter().map(|ball| 1.0 - ball).collect();
        Ok(Self { space, filter, whole })
    }

    fn apply(&self, volume: &[f32]) -> Vec<f32> {
        let mut differences = filtered(&self.space, volume, &self.filter);
        differences.iter_mut().zip(&self.whole).for_each(|(x, whole)| *x *= whole);
        differences
    }

    /// The ball is the same in opposite directions, so that its mean is its own adjoint.
    fn adjoint(&self, differences: &[f32]) -> Vec<f32> {
        let whole = differences.iter().zip(&self.whole).map(|(x, whole)| x * whole);
        filtered(&self.space, &whole.collect::<Vec<f32>>(), &self.filter)
    }
}

fn filtered(space: &Periodic<'_>, volume: &[f32], filter: &[f32]) -> Vec<f32> {
    let mut spectrum: Vec<Complex32> = space.forward(volume);
    spectrum.iter_mut().zip(filter).for_each(|(x, filter)| *x *= *filter);
    space.back(spectrum)
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

/// The b with ‖S (b - total)‖² + λ ‖b‖² least, by conjugate gradients on (S'S + λ) b = S'S total. What
/// sources outside make equals its means over balls, so that S has none of it; λ keeps b from taking it in
/// again.
pub(super) fn remove(
    grid: &Grid,
    total: &[f32],
    mask: &Mask,
    radius_mm: f64,
    lambda: f64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Local, QsmError> {
    if !(lambda > 0.0 && lambda.is_finite()) {
        let rule = "it is above 0";
        return Err(QsmError::Parameter { name: "lambda", value: lambda, rule });
    }
    let differences = Differences::new(grid, mask, radius_mm, workers)?;
    let space = &differences.space;
    let mut field = vec![0.0; total.len()];
    mask.voxels.iter().for_each(|&v| field[v as usize] = total[v as usize]);
    let normal = |x: &[f32]| {
        let mut image = differences.adjoint(&differences.apply(x));
        image.iter_mut().zip(x).for_each(|(image, x)| *image += lambda as f32 * x);
        image
    };
    let mut residual = differences.adjoint(&differences.apply(&space.pad(&field)));
    let mut local = vec![0.0_f32; residual.len()];
    let mut direction = residual.clone();
    let mut size = dot(&residual, &residual);
    let goal = TOLERANCE * TOLERANCE * size;
    progress.start("removing the background", ITERATIONS);
    for _ in 0..ITERATIONS {
        if size <= goal {
            break;
        }
        progress.check()?;
        let image = normal(&direction);
        let step = (size / dot(&direction, &image)) as f32;
        local.iter_mut().zip(&direction).for_each(|(x, p)| *x += step * p);
        residual.iter_mut().zip(&image).for_each(|(r, q)| *r -= step * q);
        let next = dot(&residual, &residual);
        let turn = (next / size) as f32;
        direction.iter_mut().zip(&residual).for_each(|(p, r)| *p = r + turn * *p);
        size = next;
        progress.advance(1);
    }
    let (local, whole) = (space.crop(&local), space.crop(&differences.whole));
    let is_known = |v: &u32| whole[*v as usize] > 0.0;
    let voxels: Vec<u32> = mask.voxels.iter().copied().filter(is_known).collect();
    let mut field = vec![0.0; total.len()];
    voxels.iter().for_each(|&v| field[v as usize] = local[v as usize]);
    Ok(Local { field, mask: Mask { grid: *grid, voxels } })
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    /// ⟨S x, y⟩ = ⟨x, S' y⟩, to the rounding of f32 transforms.
    #[test]
    fn the_adjoint_is_that_of_the_differences() {
        let grid = Grid { dims: [10, 12, 9], ras_from_vox: Affine::IDENTITY };
        let voxels = (0..grid.len() as u32).filter(|v| v % 12 > 1).collect();
        let workers = Workers::new(1).unwrap();
        let differences = Differences::new(&grid, &Mask { grid, voxels }, 2.0, &workers).unwrap();
        let some = |seed: f32| -> Vec<f32> {
            let n = differences.space.elements();
            (0..n).map(|i| (seed * i as f32).sin()).collect()
        };
        let (x, y) = (some(1.3), some(2.1));
        let forward = dot(&differences.apply(&x), &y);
        let back = dot(&x, &differences.adjoint(&y));
        let size = dot(&x, &x).sqrt() * dot(&y, &y).sqrt();
        assert!((forward - back).abs() < 1e-6 * size, "{forward} {back}");
        assert!(forward.abs() > 1e-4 * size);
    }
}
