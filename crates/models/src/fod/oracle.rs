//! The deconvolution as one would write it down: Hildreth's method (Naval Res. Logist. Q. 4, 79
//! (1957)) on the dual, one constraint after another, until nothing moves.
//!
//! x minimises ½xᵀHx - fᵀx where Cx ≥ 0. From x = H⁻¹f on, every constraint in turn gets the
//! multiplier that makes cᵢᵀx zero, or none if that would have to pull the other way. Slow and
//! simple; the fast solver walks over active sets instead and must come to the same x.

use fimbria_compute::dense::lu;

use super::Deconvolution;

/// Solves voxels by Hildreth's method.
pub(crate) struct Plain<'a> {
    deconvolution: &'a Deconvolution,
    inverse: Vec<f64>,
    /// H⁻¹cᵢ and cᵢᵀH⁻¹cᵢ.
    steps: Vec<(Vec<f64>, f64)>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(deconvolution: &'a Deconvolution) -> Self {
        let n = deconvolution.n_unknowns();
        let inverse = lu::inverse(&deconvolution.hessian, n).unwrap();
        let constraints = deconvolution.programme.constraints();
        let steps = (0..constraints.len())
            .map(|i| {
                let mut step = vec![0.0; n];
                for (k, c) in constraints.row(i).iter().enumerate() {
                    (0..n).for_each(|j| step[j] += c * inverse[j * n + k]);
                }
                let curvature = constraints.slack(i, &step);
                (step, curvature)
            })
            .collect();
        Self { deconvolution, inverse, steps }
    }

    /// The unknowns of one voxel from its samples of all volumes of the series.
    pub(crate) fn solve(&self, samples: &[f32]) -> Vec<f64> {
        const SWEEPS: usize = 20_000;
        const STILL: f64 = 1e-10;
        let n = self.deconvolution.n_unknowns();
        let convolution = &self.deconvolution.convolution;
        let mut f = vec![0.0; n];
        for (row, &v) in convolution.matrix.chunks_exact(n).zip(&convolution.volumes) {
            (0..n).for_each(|k| f[k] += row[k] * f64::from(samples[v]));
        }
        let mut x: Vec<f64> = self
            .inverse
            .chunks_exact(n)
            .map(|row| row.iter().zip(&f).map(|(a, b)| a * b).sum())
            .collect();
        let size = x.iter().fold(0.0f64, |size, x| size.max(x.abs()));
        let constraints = self.deconvolution.programme.constraints();
        let mut multipliers = vec![0.0; self.steps.len()];
        for _ in 0..SWEEPS {
            let mut largest = 0.0f64;
            for (i, (step, curvature)) in self.steps.iter().enumerate() {
                let wanted = multipliers[i] - constraints.slack(i, &x) / curvature;
                let change = wanted.max(0.0) - multipliers[i];
                multipliers[i] += change;
                (0..n).for_each(|k| x[k] += change * step[k]);
                largest = step.iter().fold(largest, |l, s| l.max((change * s).abs()));
            }
            if largest <= STILL * size {
                break;
            }
        }
        x
    }
}
