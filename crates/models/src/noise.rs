//! Noise levels: the standard deviation σ of each part of the complex signal, in input units.

use fimbria_image::{GradientTable, Mask, SignalSource, Status};

use crate::Fitted;

/// Voxels read at a time.
const TILE: usize = 4096;

/// Why no noise level could be estimated.
#[derive(Debug, thiserror::Error)]
pub enum NoiseError {
    /// Too few repeated volumes.
    #[error(
        "estimating the noise needs at least 2 volumes without diffusion weighting, but the series \
         has {found}: give the noise level (--sigma) or a mask of air \
         to take it from (--background)"
    )]
    TooFewUnweighted {
        /// Unweighted volumes of the series.
        found: usize,
    },
    /// Nothing to measure.
    #[error("no voxel has finite, positive samples to estimate the noise from")]
    NoVoxels,
}

/// σ from the spread of repeated unweighted volumes: the median over the voxels of `mask` of the
/// standard deviation over volumes, corrected for their number.
///
/// Volumes at or below the b0 threshold are taken for repetitions. Motion, drift and pulsation add
/// to the spread; the median keeps what is confined to a minority of voxels out. In tissue at
/// SNR > 3 a magnitude has the spread of one part of the complex signal.
///
/// # Errors
/// [`NoiseError`] with fewer than two such volumes, or without a voxel to measure in.
pub fn from_unweighted(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
) -> Result<f64, NoiseError> {
    let volumes: Vec<usize> = (0..gradients.len()).filter(|&v| gradients.is_b0(v)).collect();
    let n = volumes.len();
    if n < 2 {
        return Err(NoiseError::TooFewUnweighted { found: n });
    }
    let mut deviations = Vec::new();
    let mut inputs = vec![0.0; signals.n_volumes() * TILE];
    for voxels in mask.voxels.chunks(TILE) {
        signals.gather(voxels, TILE, &mut inputs);
        for voxel in 0..voxels.len() {
            let samples = || volumes.iter().map(|&v| f64::from(inputs[v * TILE + voxel]));
            let mean = samples().sum::<f64>() / n as f64;
            let variance = samples().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            if variance.is_finite() && mean > 0.0 {
                deviations.push(variance.sqrt());
            }
        }
    }
    let median = median(&mut deviations).ok_or(NoiseError::NoVoxels)?;
    Ok(median / median_of_deviation(n))
}

/// σ from the magnitude in voxels without signal: √(mean of squares / 2), as a Rayleigh
/// distribution has it, over all volumes of `background`.
///
/// # Errors
/// [`NoiseError::NoVoxels`] where there is no finite, positive sample.
pub fn from_background(signals: &dyn SignalSource, background: &Mask) -> Result<f64, NoiseError> {
    let (mut sum, mut count) = (0.0, 0usize);
    let mut inputs = vec![0.0; signals.n_volumes() * TILE];
    for voxels in background.voxels.chunks(TILE) {
        signals.gather(voxels, TILE, &mut inputs);
        for row in inputs.chunks(TILE) {
            for &s in row[..voxels.len()].iter().filter(|s| s.is_finite() && **s > 0.0) {
                sum += f64::from(s).powi(2);
                count += 1;
            }
        }
    }
    match count {
        0 => Err(NoiseError::NoVoxels),
        _ => Ok((sum / (2.0 * count as f64)).sqrt()),
    }
}

/// σ from what a fit of `n_parameters` to `n_samples` left: the median of its residual map over
/// the voxels that came to rest, corrected for the parameters. What the model cannot describe
/// counts as noise.
///
/// # Errors
/// [`NoiseError::NoVoxels`] where no voxel did.
pub fn from_residuals(
    fitted: &Fitted,
    n_samples: usize,
    n_parameters: usize,
) -> Result<f64, NoiseError> {
    let (Some(residual), Some(status)) = (fitted.map("residual"), fitted.map("status")) else {
        return Err(NoiseError::NoVoxels);
    };
    let settled = [Status::Fitted, Status::Constrained, Status::NegativeDiffusion];
    let settled = settled.map(Status::code);
    let of_settled = residual.data.iter().zip(&status.data).filter(|(_, s)| settled.contains(s));
    let mut residuals: Vec<f64> = of_settled.map(|(&r, _)| f64::from(r)).collect();
    let free = n_samples.saturating_sub(n_parameters).max(1);
    let median = median(&mut residuals).ok_or(NoiseError::NoVoxels)?;
    Ok(median * (n_samples as f64 / free as f64).sqrt())
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The median of the sample standard deviation of n normal numbers of variance 1: the square root
/// of that of χ² over its k = n - 1 degrees of freedom. Exact for k = 1 and 2, beyond that by
/// Wilson and Hilferty's k (1 - 2/9k)³, good to 0.2 %.
fn median_of_deviation(n: usize) -> f64 {
    match n - 1 {
        1 => 0.674_489_750_196_081_7,
        2 => std::f64::consts::LN_2.sqrt(),
        k => (1.0 - 2.0 / (9.0 * k as f64)).powf(1.5),
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid, Image};

    use super::*;
    use fimbria_testing::{Noise, acquisition};

    fn series(n_b0: usize, signal: f64, sigma: f64) -> (Image, Mask, GradientTable) {
        let grid = Grid { dims: [20, 20, 10], ras_from_vox: Affine::IDENTITY };
        let table = acquisition(n_b0, &[(1000.0, 6)]);
        let mut image = Image::zeros(grid, table.len());
        let mut noise = Noise(5);
        for (i, value) in image.data.iter_mut().enumerate() {
            // The weighted volumes hold something else.
            let s = if i < n_b0 * grid.len() { signal } else { 0.3 * signal };
            *value = noise.rician(s, sigma) as f32;
        }
        let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
        (image, mask, table)
    }

    #[test]
    fn repeated_volumes_give_the_noise_level() {
        for n in [2, 3, 6, 18] {
            let (image, mask, table) = series(n, 100.0, 5.0);
            let sigma = from_unweighted(&image, &mask, &table).unwrap();
            // The median of 4000 deviations has a standard error below 2 %.
            assert!((sigma / 5.0 - 1.0).abs() < 0.05, "{n} volumes: {sigma}");
        }
    }

    #[test]
    fn background_gives_the_noise_level() {
        let (image, mask, _) = series(4, 0.0, 5.0);
        let sigma = from_background(&image, &mask).unwrap();
        // 40000 samples: a standard error of 0.25 %.
        assert!((sigma / 5.0 - 1.0).abs() < 0.01, "{sigma}");
    }

    #[test]
    fn one_unweighted_volume_is_refused() {
        let (image, mask, table) = series(1, 100.0, 5.0);
        let error = from_unweighted(&image, &mask, &table).unwrap_err().to_string();
        assert!(error.contains("has 1"), "{error}");
    }
}
