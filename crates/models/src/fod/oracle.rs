//! The deconvolution as one would write it down: Hildreth's method (Naval Res. Logist. Q. 4, 79
//! (1957)) on the dual, one constraint after another, until nothing moves.
//!
//! x minimises ½xᵀHx - fᵀx where Cx ≥ 0. From x = H⁻¹f on, every constraint in turn gets the
//! multiplier that makes cᵢᵀx zero, or none if that would have to pull the other way. Slow and
//! simple; the fast solver walks over active sets instead and must come to the same x.

use fimbria_compute::dense::lu;
use fimbria_fitting::active_set::{Constraints, SharedProgramme, Work};

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
        let rows = convolution.matrix.chunks_exact(n).zip(&convolution.volumes);
        for ((row, &v), price) in rows.zip(&self.deconvolution.prices) {
            (0..n).for_each(|k| f[k] += row[k] * f64::from(samples[v]));
            f[0] -= price * f64::from(samples[v]);
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

/// Three tissues of one shell as Dhollander & Connelly (ISMRM 24, 3010 (2016)) tell them apart: grey matter
/// and fluid are fitted beside the fibres so far, at first none, then fibres and fluid beside that grey
/// matter, and so on. Fibres grow from nothing, so that of all mixtures with the signal the one with the
/// fewest is met first.
pub(crate) fn alternate(deconvolution: &Deconvolution, samples: &[f32], rounds: usize) -> Vec<f64> {
    let (n, grey) = (deconvolution.n_unknowns(), deconvolution.n_harmonics());
    let convolution = &deconvolution.convolution;
    let mut f = vec![0.0; n];
    for (row, &v) in convolution.matrix.chunks_exact(n).zip(&convolution.volumes) {
        (0..n).for_each(|k| f[k] += row[k] * f64::from(samples[v]));
    }
    let without_fibres = Part::new(deconvolution, vec![grey, grey + 1]);
    let without_grey = Part::new(deconvolution, (0..n).filter(|&k| k != grey).collect());
    let mut x = vec![0.0; n];
    for _ in 0..rounds {
        without_fibres.minimise(&deconvolution.hessian, &f, &mut x);
        without_grey.minimise(&deconvolution.hessian, &f, &mut x);
    }
    x
}

/// Some of the unknowns, of which the others are held.
struct Part {
    unknowns: Vec<usize>,
    programme: SharedProgramme,
}

impl Part {
    fn new(deconvolution: &Deconvolution, unknowns: Vec<usize>) -> Self {
        let n = deconvolution.n_unknowns();
        let of_both = unknowns.iter().flat_map(|&i| unknowns.iter().map(move |&j| (i, j)));
        let hessian: Vec<f64> = of_both.map(|(i, j)| deconvolution.hessian[i * n + j]).collect();
        let all = deconvolution.programme.constraints();
        let rows = (0..all.len()).map(|i| unknowns.iter().map(|&k| all.row(i)[k]).collect());
        let rows: Vec<Vec<f64>> =
            rows.filter(|row: &Vec<f64>| row.iter().any(|c| *c != 0.0)).collect();
        let constraints = Constraints::non_negative(unknowns.len(), &rows.concat()).unwrap();
        Self { programme: SharedProgramme::new(&hessian, constraints).unwrap(), unknowns }
    }

    fn minimise(&self, hessian: &[f64], f: &[f64], x: &mut [f64]) {
        let n = f.len();
        let is_held = |k: &usize| !self.unknowns.contains(k);
        let right = |&i: &usize| {
            let held = (0..n).filter(is_held).map(|k| hessian[i * n + k] * x[k]);
            f[i] - held.sum::<f64>()
        };
        let mut part: Vec<f64> = self.unknowns.iter().map(right).collect();
        self.programme.solve(&mut part, &mut Work::default());
        self.unknowns.iter().zip(part).for_each(|(&k, value)| x[k] = value);
    }
}
