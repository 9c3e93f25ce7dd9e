//! What shapes proposals, learnt from a state.

use std::f64::consts::TAU;

use super::Posterior;
use crate::Noise;
use crate::options::MOST_FIBRES;
use crate::rules::{DIFFERENCE, JOINT_WIDTH, LEAST_PIVOT, LEAST_SINE, LEAST_SQUARES};
use crate::slots::{self, MOST, MOST_CHANGED, PRECISION, RATIO, S0, SPREAD, fraction, theta};

/// L, w and c of [`rules`](crate::rules).
#[derive(Default)]
pub(super) struct Learnt {
    factor: [[f64; MOST_CHANGED]; MOST_CHANGED],
    pub(super) sine: [f64; MOST_FIBRES],
    pub(super) shear: [f64; MOST_FIBRES],
}

impl Learnt {
    pub(super) fn at(p: &[f64; MOST], posterior: &Posterior<'_>) -> Self {
        let mut learnt = Self { factor: factor(p, posterior), ..Self::default() };
        let n = posterior.y.len();
        let m: Vec<f64> = (0..n).map(|i| posterior.attenuation(p, i)).collect();
        let square: f64 = m.iter().map(|m| m * m).sum();
        for j in 0..posterior.options.n_fibres {
            learnt.sine[j] = (TAU * p[theta(j)]).sin().abs().max(LEAST_SINE);
            // m is linear in f: this is a stick without the ball.
            let mut more = *p;
            more[fraction(j)] += 1.0;
            let product: f64 =
                (0..n).map(|i| m[i] * (posterior.attenuation(&more, i) - m[i])).sum();
            learnt.shear[j] = -p[S0] * product / square.max(LEAST_SQUARES);
        }
        learnt
    }

    /// L⁻ᵀz for the first `n` of `z`.
    pub(super) fn shape(&self, z: [f64; MOST_CHANGED], n: usize) -> [f64; MOST_CHANGED] {
        let mut x = [0.0; MOST_CHANGED];
        for k in (0..n).rev() {
            let after: f64 = (k + 1..n).map(|t| self.factor[t][k] * x[t]).sum();
            x[k] = (z[k] - after) / self.factor[k][k];
        }
        x
    }
}

/// L of L Lᵀ = JᵀJ/σ² + 1/width².
fn factor(p: &[f64; MOST], posterior: &Posterior<'_>) -> [[f64; MOST_CHANGED]; MOST_CHANGED] {
    let n = posterior.y.len();
    let joint = slots::joint(posterior.options.diffusivity);
    let attenuation = |p: &[f64; MOST], i| posterior.attenuation(p, i);
    let slope = |slot: usize, i: usize| {
        let mut more = *p;
        more[slot] += DIFFERENCE;
        match slot {
            S0 => attenuation(p, i),
            SPREAD => p[S0] * p[SPREAD] * (attenuation(&more, i) - attenuation(p, i)) / DIFFERENCE,
            _ => p[S0] * (attenuation(&more, i) - attenuation(p, i)) / DIFFERENCE,
        }
    };
    let rows: Vec<Vec<f64>> =
        joint.iter().map(|&slot| (0..n).map(|i| slope(slot, i)).collect()).collect();
    let precision = match posterior.options.noise {
        Noise::Gaussian => n as f64 / posterior.squares(p).max(LEAST_SQUARES),
        Noise::Rician => p[PRECISION],
    };
    let mut factor = [[0.0; MOST_CHANGED]; MOST_CHANGED];
    for i in 0..joint.len() {
        for k in 0..=i {
            let product: f64 = rows[i].iter().zip(&rows[k]).map(|(a, b)| a * b).sum();
            let width = match joint[i] {
                RATIO => posterior.options.ratio.1,
                _ => JOINT_WIDTH,
            };
            let all = product * precision + if i == k { width.powi(-2) } else { 0.0 };
            let left = all - (0..k).map(|t| factor[i][t] * factor[k][t]).sum::<f64>();
            factor[i][k] = match i == k {
                true => left.max(LEAST_PIVOT * all).sqrt(),
                false => left / factor[k][k],
            };
        }
    }
    factor
}
