//! Gaussian smoothing.

use rayon::prelude::*;

/// A volume smoothed by a Gaussian of `fwhm_mm`, renormalised at the ends of the grid. As it is where the
/// width is 0. On the threads of the current rayon pool.
pub fn smooth(dims: [usize; 3], spacing_mm: [f64; 3], samples: &mut Vec<f32>, fwhm_mm: f64) {
    if fwhm_mm <= 0.0 {
        return;
    }
    let mut stride = 1;
    for axis in 0..3 {
        let n = dims[axis];
        let sigma = fwhm_mm / spacing_mm[axis] / (8.0 * std::f64::consts::LN_2).sqrt();
        let reach = ((3.0 * sigma).ceil() as usize).min(n - 1);
        let weight = |d: usize| (-0.5 * (d as f64 / sigma).powi(2)).exp() as f32;
        let weights: Vec<f32> = (0..=reach).map(weight).collect();
        let source = std::mem::take(samples);
        let mut target = vec![0.0; source.len()];
        let blocks = target.par_chunks_mut(stride * n).zip(source.par_chunks(stride * n));
        blocks.for_each(|(target, source)| {
            for k in 0..n {
                let out = &mut target[k * stride..(k + 1) * stride];
                let [low, high] = [k.saturating_sub(reach), (k + reach).min(n - 1)];
                let sum: f32 = (low..=high).map(|j| weights[j.abs_diff(k)]).sum();
                for j in low..=high {
                    let w = weights[j.abs_diff(k)] / sum;
                    let row = &source[j * stride..(j + 1) * stride];
                    out.iter_mut().zip(row).for_each(|(out, value)| *out += w * value);
                }
            }
        });
        *samples = target;
        stride *= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_becomes_a_gaussian_of_that_width() {
        let dims = [41, 31, 31];
        let middle = 20 + 41 * (15 + 31 * 15);
        let mut samples = vec![0.0; 41 * 31 * 31];
        samples[middle] = 1.0;
        smooth(dims, [2.0, 3.0, 3.0], &mut samples, 12.0);
        // Half of the middle at half the width: 3 voxels of 2 mm, 2 of 3 mm.
        for at in [middle + 3, middle - 3, middle + 2 * 41, middle - 2 * 41 * 31] {
            assert!((samples[at] / samples[middle] - 0.5).abs() < 1e-4, "{}", samples[at]);
        }
        let sum: f32 = samples.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }
}
