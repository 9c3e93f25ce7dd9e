//! Directions as lines of two points through the middles of voxels.

use fimbria_image::{Image, Mask};

use crate::window::percentile;

/// Share of a voxel's narrowest side that the longest stick takes.
const LONGEST: f64 = 0.9;

/// A stick for each peak of each voxel of the mask, scanner mm, as long as its amplitude is relative to the
/// 99th percentile. `peaks_ras` has three volumes for a peak, NaN or zero where there is none.
pub(super) fn sticks(peaks_ras: &Image, mask: &Mask) -> Vec<[[f32; 3]; 2]> {
    let n = peaks_ras.grid.len();
    let peaks = || {
        let of_voxel = |&voxel: &u32| (0..peaks_ras.n_volumes / 3).map(move |peak| (voxel, peak));
        mask.voxels.iter().flat_map(of_voxel).filter_map(|(voxel, peak)| {
            let at =
                |axis: usize| f64::from(peaks_ras.data[(3 * peak + axis) * n + voxel as usize]);
            let dir = [at(0), at(1), at(2)];
            let length = dir.iter().map(|x| x * x).sum::<f64>().sqrt();
            (length > 0.0 && length.is_finite()).then_some((voxel, dir, length))
        })
    };
    let mut lengths: Vec<f32> = peaks().map(|(_, _, length)| length as f32).collect();
    let longest = percentile(&mut lengths, 0.99).max(f64::MIN_POSITIVE);
    let side = peaks_ras.grid.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min);
    let stick = |(voxel, dir, length): (u32, [f64; 3], f64)| {
        let middle = peaks_ras.grid.voxel(voxel as usize).map(|index| index as f64);
        let middle = peaks_ras.grid.ras_from_vox.apply(middle);
        let half = 0.5 * LONGEST * side * (length / longest).min(1.0) / length;
        let end = |sign: f64| [0, 1, 2].map(|axis| (middle[axis] + sign * half * dir[axis]) as f32);
        [end(-1.0), end(1.0)]
    };
    peaks().map(stick).collect()
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    #[test]
    fn sticks_lie_in_the_middle_along_scanner_axes_and_as_long_as_they_are_large() {
        // Voxels of 2 mm, whose x runs to the left.
        let mut ras_from_vox = Affine::from_spacing([2.0; 3]);
        ras_from_vox.0[0] = [-2.0, 0.0, 0.0, 30.0];
        let grid = Grid { dims: [3, 1, 1], ras_from_vox };
        let mut peaks = Image::zeros(grid, 6);
        peaks.data.fill(f32::NAN);
        let mut put = |voxel: usize, peak: usize, dir: [f32; 3]| {
            for (axis, x) in dir.into_iter().enumerate() {
                peaks.data[(3 * peak + axis) * 3 + voxel] = x;
            }
        };
        put(0, 0, [0.0, 0.5, 0.0]);
        put(2, 0, [0.5, 0.0, 0.0]);
        put(2, 1, [0.0, 0.0, 0.25]);
        let mask = Mask { grid, voxels: vec![0, 1, 2] };
        let close = |got: [[f32; 3]; 2], expected: [[f32; 3]; 2]| {
            let pairs = got.into_iter().flatten().zip(expected.into_iter().flatten());
            // Numbers of two digits in single precision.
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{got:?}"));
        };
        let drawn = sticks(&peaks, &mask);
        assert_eq!(drawn.len(), 3);
        close(drawn[0], [[30.0, -0.9, 0.0], [30.0, 0.9, 0.0]]);
        close(drawn[1], [[25.1, 0.0, 0.0], [26.9, 0.0, 0.0]]);
        close(drawn[2], [[26.0, 0.0, -0.45], [26.0, 0.0, 0.45]]);
    }
}
