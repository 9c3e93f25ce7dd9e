//! A volume between its voxels.

/// A volume as cubic B-splines, which pass through its samples (Unser, IEEE Signal Process Mag 16, 22,
/// 1999). Beyond its ends it is mirrored about the last samples.
#[derive(Clone, Debug)]
pub struct Spline {
    dims: [usize; 3],
    /// Coefficients with [`PAD`] mirrored ones at each end of each axis, x fastest.
    coefficients: Vec<f32>,
}

/// So far beyond the ends reach the four coefficients of a point half a voxel outside.
const PAD: usize = 2;

impl Spline {
    /// Through `samples`, x fastest. What is not finite counts as 0.
    pub fn new(dims: [usize; 3], samples: &[f32]) -> Self {
        let mut inner: Vec<f32> =
            samples.iter().map(|&v| if v.is_finite() { v } else { 0.0 }).collect();
        let mut stride = 1;
        for &n in &dims {
            if n > 1 {
                inner.chunks_exact_mut(stride * n).for_each(|block| filter(block, n, stride));
            }
            stride *= n;
        }
        let padded = dims.map(|n| n + 2 * PAD);
        let mut coefficients = Vec::with_capacity(padded.iter().product());
        for k in 0..padded[2] {
            for j in 0..padded[1] {
                let row = mirrored(j, dims[1]) + dims[1] * mirrored(k, dims[2]);
                let row = &inner[row * dims[0]..(row + 1) * dims[0]];
                coefficients.extend((0..padded[0]).map(|i| row[mirrored(i, dims[0])]));
            }
        }
        Self { dims, coefficients }
    }

    /// The value at a point in voxel coordinates, or at the nearest one in reach.
    pub fn near(&self, point_vox: [f64; 3]) -> f32 {
        let inside = |a: usize| point_vox[a].clamp(-0.5, self.dims[a] as f64 - 0.5);
        self.at([0, 1, 2].map(inside)).unwrap_or(0.0)
    }

    /// The value as [`at`](Self::at) has it, and how it changes per voxel along each axis.
    pub(crate) fn with_slope(&self, point_vox: [f64; 3]) -> Option<(f32, [f32; 3])> {
        let (first, parts) = self.cell(point_vox)?;
        let weights = parts.map(cubic);
        let slopes = parts.map(cubic_slope);
        let [nx, ny] = [self.dims[0] + 2 * PAD, self.dims[1] + 2 * PAD];
        // Of the value and of its slopes along y and z, before x is summed.
        let mut sums = [[0.0f32; 4]; 3];
        for k in 0..4 {
            for j in 0..4 {
                let start = first[0] + nx * (first[1] + j + ny * (first[2] + k));
                let row: &[f32; 4] = self.coefficients[start..].first_chunk()?;
                let by = [
                    weights[1][j] * weights[2][k],
                    slopes[1][j] * weights[2][k],
                    weights[1][j] * slopes[2][k],
                ];
                for (sum, by) in sums.iter_mut().zip(by) {
                    (0..4).for_each(|i| sum[i] += by * row[i]);
                }
            }
        }
        let along = |sum: &[f32; 4], x: &[f32; 4]| (0..4).map(|i| sum[i] * x[i]).sum();
        let [value, y, z] = [0, 1, 2].map(|i| along(&sums[i], &weights[0]));
        Some((value, [along(&sums[0], &slopes[0]), y, z]))
    }

    /// The first padded coefficient that a point takes along each axis, and how far it lies behind the second.
    #[inline]
    fn cell(&self, point_vox: [f64; 3]) -> Option<([usize; 3], [f32; 3])> {
        let (mut first, mut parts) = ([0; 3], [0.0; 3]);
        for axis in 0..3 {
            let x = point_vox[axis];
            // False for NaN too.
            if !(x >= -0.5 && x <= self.dims[axis] as f64 - 0.5) {
                return None;
            }
            let floor = x.floor();
            first[axis] = (floor as isize + PAD as isize - 1) as usize;
            parts[axis] = (x - floor) as f32;
        }
        Some((first, parts))
    }

    /// The value at a point in voxel coordinates; `None` more than half a voxel outside.
    #[inline]
    pub fn at(&self, point_vox: [f64; 3]) -> Option<f32> {
        let (first, parts) = self.cell(point_vox)?;
        let weights = parts.map(cubic);
        let [nx, ny] = [self.dims[0] + 2 * PAD, self.dims[1] + 2 * PAD];
        let mut sum = [0.0f32; 4];
        for (k, wz) in weights[2].iter().enumerate() {
            for (j, wy) in weights[1].iter().enumerate() {
                let start = first[0] + nx * (first[1] + j + ny * (first[2] + k));
                let row: &[f32; 4] = self.coefficients[start..].first_chunk()?;
                let w = wy * wz;
                (0..4).for_each(|i| sum[i] += w * row[i]);
            }
        }
        Some((0..4).map(|i| sum[i] * weights[0][i]).sum())
    }
}

/// The index of padded `i`, mirrored about the ends of `n` samples.
fn mirrored(i: usize, n: usize) -> usize {
    let period = (2 * n as isize - 2).max(1);
    let at = (i as isize - PAD as isize).rem_euclid(period);
    at.min(period - at) as usize % n
}

/// The four weights of a point `t` after the second of four coefficients.
#[inline]
pub(crate) fn cubic(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    let [t2, u2] = [t * t, u * u];
    [u2 * u / 6.0, 2.0 / 3.0 - t2 * (1.0 - 0.5 * t), 2.0 / 3.0 - u2 * (1.0 - 0.5 * u), t2 * t / 6.0]
}

/// How these weights change with `t`.
#[inline]
pub(crate) fn cubic_slope(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    [-0.5 * u * u, t * (1.5 * t - 2.0), -u * (1.5 * u - 2.0), 0.5 * t * t]
}

/// Turns samples along one axis into coefficients: position `k` of the axis is the `stride` values from
/// `k * stride` on.
fn filter(block: &mut [f32], n: usize, stride: usize) {
    /// The root of the spline's transfer function.
    const POLE: f32 = -0.267_949_2;
    /// POLE to this power is below the precision of single numbers.
    const REACH: usize = 14;
    let mut start = vec![0.0f32; stride];
    let mut power = 1.0;
    for k in 0..REACH {
        let at = mirrored(k + PAD, n) * stride;
        (0..stride).for_each(|i| start[i] += power * block[at + i]);
        power *= POLE;
    }
    block[..stride].copy_from_slice(&start);
    for k in 1..n {
        let (before, now) = block.split_at_mut(k * stride);
        let before = &before[(k - 1) * stride..];
        now[..stride].iter_mut().zip(before).for_each(|(now, before)| *now += POLE * before);
    }
    let gain = POLE / (POLE * POLE - 1.0);
    for i in 0..stride {
        let last = (n - 1) * stride + i;
        block[last] = gain * (block[last] + POLE * block[last - stride]);
    }
    for k in (0..n - 1).rev() {
        let (now, after) = block.split_at_mut((k + 1) * stride);
        let now = &mut now[k * stride..];
        now.iter_mut().zip(&after[..stride]).for_each(|(now, after)| *now = POLE * (after - *now));
    }
    // The two filters together have a gain of 1/6.
    block.iter_mut().for_each(|value| *value *= 6.0);
}

#[cfg(test)]
mod tests {
    use fimbria_testing::Noise;

    use super::*;

    #[test]
    fn it_passes_through_its_samples_on_any_grid() {
        let mut random = Noise(1);
        for dims in [[7, 5, 6], [1, 4, 3], [2, 2, 2], [9, 1, 1], [3, 8, 1]] {
            let samples: Vec<f32> =
                (0..dims.iter().product()).map(|_| random.uniform() as f32).collect();
            let spline = Spline::new(dims, &samples);
            for (index, sample) in samples.iter().enumerate() {
                let at = [index % dims[0], index / dims[0] % dims[1], index / (dims[0] * dims[1])];
                let value = spline.at(at.map(|i| i as f64)).unwrap();
                // A few dozen roundings of numbers near 6.
                assert!((value - sample).abs() < 1e-5, "{dims:?} {at:?}: {value} {sample}");
            }
        }
    }

    #[test]
    fn a_slow_wave_is_reproduced_between_samples() {
        let dims = [24, 20, 22];
        let wave = |[x, y, z]: [f64; 3]| (0.4 * x).sin() + (0.3 * y - 0.2 * z).cos();
        let samples: Vec<f32> = (0..dims.iter().product::<usize>())
            .map(|i| wave([i % 24, i / 24 % 20, i / 480].map(|i| i as f64)) as f32)
            .collect();
        let spline = Spline::new(dims, &samples);
        let point = [11.37, 9.61, 10.5];
        // The error of cubic splines is of order (0.4)^4 / 300.
        assert!((f64::from(spline.at(point).unwrap()) - wave(point)).abs() < 3e-4);
        let (value, slope) = spline.with_slope(point).unwrap();
        assert!((value - spline.at(point).unwrap()).abs() < 1e-6);
        let angle = 0.3 * point[1] - 0.2 * point[2];
        let known = [0.4 * (0.4 * point[0]).cos(), -0.3 * angle.sin(), 0.2 * angle.sin()];
        // One order less.
        (0..3).for_each(|a| assert!((f64::from(slope[a]) - known[a]).abs() < 2e-3, "{slope:?}"));
        assert_eq!(spline.at([-0.51, 3.0, 3.0]), None);
        assert_eq!(spline.at([f64::NAN, 3.0, 3.0]), None);
    }
}
