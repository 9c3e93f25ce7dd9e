//! Maxima between directions: where the density itself is largest.

use fimbria_compute::dense::vec3::{add, dot, scale, unit};

use super::Lobe;
use crate::layout::Layout;
use crate::newton::newton;
use crate::problem::{Form, Local, Problem};
use crate::sh::{ShBasis, ShError, ShToForm};
use crate::tables::Chain;

/// Takes maxima among directions to those of the density.
pub(super) struct Summits {
    form: ShToForm,
    chain: Chain,
}

impl Summits {
    pub(super) fn new(basis: ShBasis, lmax: usize) -> Result<Self, ShError> {
        let form = ShToForm::new(basis, lmax)?;
        Ok(Self {
            form,
            chain: Chain::new(Layout::new(lmax, 3).expect("a form of three dimensions")),
        })
    }

    /// Takes the maxima of a voxel to those of the density, and lobes that rise to the same one together: on a
    /// ridge a direction may be larger than all its neighbours where the density still rises.
    pub(super) fn sharpen(
        &self,
        coefficients: &[f64],
        found: Vec<Lobe>,
        least_peak: f64,
    ) -> Vec<Lobe> {
        /// Cosine of 1°: maxima are found far more precisely, and lie farther apart.
        const SAME: f64 = 0.99985;
        let entries = self.form.to_form(coefficients);
        let problem = Problem { a: Form::new(&self.chain, &entries), b: None };
        let mut local = Local::default();
        let mut lobes: Vec<Lobe> = Vec::new();
        for mut lobe in found {
            if let Some(dir) = summit(problem, lobe.peak_dir, &mut local) {
                (lobe.peak, lobe.peak_dir) = (local.lambda, dir);
            }
            let same = |other: &&mut Lobe| dot(other.peak_dir, lobe.peak_dir).abs() > SAME;
            match lobes.iter_mut().find(same) {
                Some(other) => {
                    other.integral += lobe.integral;
                    let end = 1.0_f64.copysign(dot(other.mean, lobe.mean));
                    other.mean = add(other.mean, scale(lobe.mean, end));
                }
                None => lobes.push(lobe),
            }
        }
        lobes.retain(|lobe| lobe.peak > least_peak);
        lobes.sort_by(|a, b| b.peak.total_cmp(&a.peak));
        lobes
    }
}

/// The maximum that the form rises to from the unit vector `start`, to rounding; `local` then belongs to it.
fn summit(problem: Problem<'_>, start: [f64; 3], local: &mut Local) -> Option<[f64; 3]> {
    /// Far more than it takes: steps end where Newton's method finds the maximum.
    const STEPS: usize = 100;
    /// Newton's method from nearer than this (cosine of 10°) finds the maximum of the same lobe.
    const NEAR: f64 = 0.985;
    problem.evaluate(&start, local);
    let (mut at, mut value, tolerance) = (start, local.lambda, 1e-9 * local.lambda.abs());
    let mut step = 1.0 / (problem.a.order() as f64 * value.abs()).max(f64::MIN_POSITIVE);
    for _ in 0..STEPS {
        let mut dir = at;
        if newton(problem, &mut dir, tolerance, local)
            && local.lambda >= value
            && dot(dir, at) > NEAR
            && is_maximum(&local.projected_hessian(&dir))
        {
            return Some(dir);
        }
        problem.evaluate(&at, local);
        let uphill = [0, 1, 2].map(|axis| local.residual[axis]);
        loop {
            let next = unit(add(at, scale(uphill, step)))?;
            problem.evaluate(&next, local);
            if local.lambda > value {
                (at, value) = (next, local.lambda);
                step *= 2.0;
                break;
            }
            step /= 2.0;
            if step * uphill.iter().map(|x| x.abs()).fold(0.0, f64::max) < 1e-12 {
                return None;
            }
        }
    }
    None
}

/// Whether a symmetric 2 by 2 matrix is negative definite.
fn is_maximum(hessian: &[f64]) -> bool {
    let [a, b, _, d] = *hessian else { return false };
    a < 0.0 && a * d - b * b > 0.0
}
