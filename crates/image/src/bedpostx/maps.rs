//! What is computed from the samples of one fibre in one voxel.

use crate::eigen::eigen;
use crate::frames::{Matrix3, turned};
use crate::sticks::{PackedStick, StickSamples};

/// Means over the samples of one fibre of one voxel; vectors in FSL's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FibreMeans {
    /// Unit principal eigenvector of the mean of v vᵀ; zero without directions.
    pub(super) dyad: [f64; 3],
    /// 1 - the eigenvalue of the dyad: 0 for directions that agree, 2/3 for any.
    pub(super) dispersion: f64,
    pub(super) theta: f64,
    pub(super) phi: f64,
    pub(super) fraction: f64,
}

impl FibreMeans {
    pub(super) fn from_samples(
        field: &StickSamples,
        slot: usize,
        fibre: usize,
        fsl_from_ras: &Matrix3,
    ) -> Self {
        let mut square = [[0.0; 3]; 3];
        let (mut directions, mut fraction) = (0.0, 0.0);
        let sticks = || field.voxel(slot).iter().skip(fibre).step_by(field.n_fibres);
        for stick in sticks() {
            fraction += f64::from(stick.fraction());
            if stick.has_direction() {
                let v = turned(fsl_from_ras, stick.dir_ras().map(f64::from));
                directions += 1.0;
                for i in 0..3 {
                    for j in 0..3 {
                        square[i][j] += v[i] * v[j];
                    }
                }
            }
        }
        let n_samples = field.n_samples as f64;
        let mut means = Self { fraction: fraction / n_samples, ..Self::default() };
        if directions == 0.0 {
            return means;
        }
        let (values, vectors) = eigen(&square.map(|row| row.map(|s| s / directions)));
        means.dyad = vectors[0];
        means.dispersion = (1.0 - values[0]).max(0.0);
        for stick in sticks() {
            let [theta, phi] = angles(*stick, fsl_from_ras, means.dyad);
            means.theta += theta / n_samples;
            means.phi += phi / n_samples;
        }
        means
    }
}

/// θ and φ of a stick in FSL's frame, 0 and 0 without a direction. Of the two senses of the stick
/// the one nearer to `dyad` is taken, and of the values of φ, which is no more than an angle, the
/// one nearest to the dyad's: so that means of angles mean something wherever they can.
pub(super) fn angles(stick: PackedStick, fsl_from_ras: &Matrix3, dyad: [f64; 3]) -> [f64; 2] {
    use std::f64::consts::{PI, TAU};
    /// Small enough to be no change, large enough to be a number of its own in `f32`.
    const NOT_ZERO: f64 = 1e-7;
    if !stick.has_direction() {
        return [0.0; 2];
    }
    let v = turned(fsl_from_ras, stick.dir_ras().map(f64::from));
    let cos: f64 = (0..3).map(|k| v[k] * dyad[k]).sum();
    let [x, y, z] = if cos < 0.0 { v.map(|c| -c) } else { v };
    let theta = x.hypot(y).atan2(z);
    let centre = dyad[1].atan2(dyad[0]);
    let mut phi = y.atan2(x);
    if phi - centre > PI {
        phi -= TAU;
    } else if phi - centre < -PI {
        phi += TAU;
    }
    let not_zero = |angle: f64| if angle.abs() < NOT_ZERO { NOT_ZERO } else { angle };
    [not_zero(theta), not_zero(phi)]
}
