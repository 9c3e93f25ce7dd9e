//! The zonal harmonics of a shell from voxels with known fibre axes.

use std::f64::consts::PI;

use fimbria_fitting::active_set::{Constraints, Programme, Work};
use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};

use crate::fod::FodError;

/// Angles at which the signal must not fall with the angle from the axis.
const N_ANGLES: usize = 45;
/// Preference for small coefficients, relative: decides what too few angles leave open.
const REGULARISATION: f64 = 1e-9;

/// Y_l0 for l = 0, 2, … at an angle of the given cosine from the axis.
pub(crate) fn zonal_harmonics(lmax: usize, cos: f64) -> Vec<f64> {
    let sin = (1.0 - cos * cos).max(0.0).sqrt();
    let values = evaluate(ShBasis::Mrtrix, lmax, [sin, 0.0, cos]);
    (0..=lmax).step_by(2).map(|l| values[sh_count(l) - l - 1]).collect()
}

/// Accumulates samples of one shell.
pub(super) struct ZonalFit {
    lmax: usize,
    gram: Vec<f64>,
    right_hand_side: Vec<f64>,
}

impl ZonalFit {
    pub(super) fn new(lmax: usize) -> Self {
        let n = lmax / 2 + 1;
        Self { lmax, gram: vec![0.0; n * n], right_hand_side: vec![0.0; n] }
    }

    /// A sample at an angle of the given cosine from the fibre.
    pub(super) fn add(&mut self, cos: f64, sample: f64) {
        let y = zonal_harmonics(self.lmax, cos);
        for (i, yi) in y.iter().enumerate() {
            self.right_hand_side[i] += yi * sample;
            for (j, yj) in y.iter().enumerate() {
                self.gram[i * y.len() + j] += yi * yj;
            }
        }
    }

    /// The coefficients, such that the signal is positive and rises from the axis to the plane
    /// across it: what diffusion along a fibre does, and noise does not know.
    pub(super) fn coefficients(mut self) -> Result<Vec<f64>, FodError> {
        let n = self.right_hand_side.len();
        let largest = (0..n).map(|i| self.gram[i * n + i]).fold(0.0, f64::max);
        (0..n).for_each(|i| self.gram[i * n + i] += REGULARISATION * largest);
        let angle = |i: usize| (0.5 * PI * i as f64 / N_ANGLES as f64).cos();
        let mut rows = zonal_harmonics(self.lmax, 1.0);
        for i in 0..N_ANGLES {
            let (near, far) = (angle(i), angle(i + 1));
            let (near, far) = (zonal_harmonics(self.lmax, near), zonal_harmonics(self.lmax, far));
            if self.lmax > 0 {
                rows.extend(far.iter().zip(&near).map(|(far, near)| far - near));
            }
        }
        let constraints = Constraints::non_negative(n, &rows)?;
        let mut x = self.right_hand_side;
        Programme::new(&constraints).solve(&self.gram, &mut x, &mut Work::default())?;
        Ok(x)
    }
}
