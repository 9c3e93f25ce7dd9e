use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Mask};

use super::Local;
use crate::QsmError;
use crate::fourier::{ALIKE, Periodic};

/// Part of a ball that may lie outside the mask by rounding of the transform.
const INSIDE: f32 = 0.999;

/// The least whole number that is not below `x` but for what lengths that are [`ALIKE`] make of it.
fn whole_above(x: f64) -> f64 {
    (x * (1.0 - ALIKE)).ceil()
}

/// Radii to try, largest first: from `radius_mm` down in steps of a voxel or 1 mm. A ball that is
/// wider than the grid fits nowhere in it, so that those are left out: what is left is bounded by the
/// grid, whatever is asked for.
fn radii(dims: [usize; 3], spacing: [f64; 3], radius_mm: f64) -> Vec<f64> {
    let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    let step = smallest.max(1.0);
    let widest = (0..3).map(|a| dims[a] as f64 * spacing[a]).fold(f64::INFINITY, f64::min);
    let skipped = whole_above((radius_mm - 0.5 * widest * (1.0 + ALIKE)) / step).max(0.0);
    // Where the radius is so large that a step is lost in its rounding, the widest ball begins.
    let first = (radius_mm - skipped * step).min(0.5 * widest.max(2.0 * smallest)).max(smallest);
    // The last ball is the smallest there is, whatever the first: only a rim of a voxel is lost.
    let steps = whole_above((first - smallest) / step) as u32;
    (0..=steps).map(|i| (first - f64::from(i) * step).max(smallest)).collect()
}

pub(super) fn remove(
    grid: &Grid,
    total: &[f32],
    mask: &Mask,
    radius_mm: f64,
    threshold: f64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Local, QsmError> {
    let spacing = grid.ras_from_vox.spacing();
    let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    if !(radius_mm >= smallest && radius_mm.is_finite()) {
        let rule = "V-SHARP's is at least a voxel, in mm (12 mm where none is given)";
        return Err(QsmError::Parameter { name: "radius", value: radius_mm, rule });
    }
    let radii = radii(grid.dims, spacing, radius_mm);
    let margin = whole_above(radii.first().copied().unwrap_or(smallest) / smallest) as usize;
    let space = Periodic::with_margin(grid.dims, spacing, margin, workers)?;
    let mut inside = vec![0.0; total.len()];
    let mut field = vec![0.0; total.len()];
    for &v in &mask.voxels {
        inside[v as usize] = 1.0;
        field[v as usize] = total[v as usize];
    }
    let (inside, field) = (space.pad(&inside), space.pad(&field));
    let (inside_k, field_k) = (space.forward(&inside), space.forward(&field));
    let mut local = vec![0.0; field.len()];
    let mut known = vec![false; field.len()];
    let mut largest: Option<Vec<f32>> = None;
    progress.start("removing the background", radii.len() as u64);
    for radius in radii {
        progress.check()?;
        let ball: Vec<f32> = space.forward(&space.ball(radius)).iter().map(|x| x.re).collect();
        let convolved = |spectrum: &[_]| {
            let product: Vec<_> = spectrum.iter().zip(&ball).map(|(x, s)| x * *s).collect();
            space.back(product)
        };
        let (part, mean) = (convolved(&inside_k), convolved(&field_k));
        let mut any = false;
        for i in 0..local.len() {
            if !known[i] && inside[i] > 0.0 && part[i] > INSIDE {
                known[i] = true;
                local[i] = field[i] - mean[i];
                any = true;
            }
        }
        // What the largest ball that fits anywhere took off is put back.
        if any && largest.is_none() {
            largest = Some(ball);
        }
        progress.advance(1);
    }
    let ball = largest.ok_or(QsmError::EmptyMask)?;
    let mut spectrum = space.forward(&local);
    for (x, s) in spectrum.iter_mut().zip(&ball) {
        let high = 1.0 - s;
        *x = if high.abs() > threshold as f32 { *x / high } else { Default::default() };
    }
    let sharp = space.crop(&space.back(spectrum));
    let flags: Vec<f32> = known.iter().map(|k| f32::from(u8::from(*k))).collect();
    let known = space.crop(&flags);
    let voxels: Vec<u32> =
        mask.voxels.iter().copied().filter(|&v| known[v as usize] > 0.5).collect();
    let mut field = vec![0.0; total.len()];
    voxels.iter().for_each(|&v| field[v as usize] = sharp[v as usize]);
    Ok(Local { field, mask: Mask { grid: *grid, voxels } })
}

#[cfg(test)]
mod tests {
    use super::radii;

    #[test]
    fn radii_that_fit_the_grid_are_as_asked_for() {
        assert_eq!(radii([64; 3], [1.0; 3], 4.0), [4.0, 3.0, 2.0, 1.0]);
        assert_eq!(radii([64; 3], [2.0; 3], 5.0), [5.0, 3.0, 2.0]);
        assert_eq!(radii([8; 3], [1.0; 3], 6.5), [3.5, 2.5, 1.5, 1.0]);
    }

    #[test]
    fn absurd_radii_and_spacings_are_bounded_by_the_grid() {
        for radius in [1e5, 9e15, 1e308] {
            for spacing in [1e-3, 1.0, 3.0] {
                let radii = radii([10, 12, 14], [spacing; 3], radius);
                assert!(radii.len() <= 11, "{radius} {spacing}: {}", radii.len());
                assert!(radii[0] <= 7.0 * spacing && radii[0] >= spacing);
            }
        }
    }
}
