//! Signal, likelihood and priors.

use std::f64::consts::TAU;

use crate::protocol::Protocol;
use crate::rules::{
    LEAST_DIFFUSIVITY, LEAST_SPREAD, LEAST_SQUARES, MOST_DIFFUSIVITY, MOST_SPREAD,
    MOST_ZEPPELIN_SPREAD,
};
use crate::slots::{DIFFUSIVITY, MOST, OFFSET, PRECISION, RATIO, S0, SPREAD, fraction, phi, theta};
use crate::{Diffusivity, Noise, Offset, Relevance, SticksOptions};

/// The posterior of one voxel.
pub(crate) struct Posterior<'a> {
    pub(crate) options: &'a SticksOptions,
    pub(crate) protocol: &'a Protocol,
    pub(crate) y: &'a [f64],
    /// I + L of the gradients in scanner axes, rows first.
    pub(crate) bend: Option<[[f64; 3]; 3]>,
}

impl Posterior<'_> {
    /// The unit vector of a fibre.
    pub(crate) fn direction(p: &[f64; MOST], fibre: usize) -> [f64; 3] {
        let (st, ct) = (TAU * p[theta(fibre)]).sin_cos();
        let (sp, cp) = (TAU * p[phi(fibre)]).sin_cos();
        [st * cp, st * sp, ct]
    }

    fn gamma(p: &[f64; MOST], x: f64) -> f64 {
        let (d, s) = (p[DIFFUSIVITY], p[SPREAD]);
        if s < LEAST_SPREAD {
            return (-x * d).exp();
        }
        let scale = s * s / d.max(LEAST_DIFFUSIVITY);
        (-(d * d) / (s * s) * (x * scale).ln_1p()).exp()
    }

    /// What is left of the signal of the ball.
    fn ball(&self, p: &[f64; MOST], b: f64) -> f64 {
        match self.options.diffusivity {
            Diffusivity::Single => (-b * p[DIFFUSIVITY]).exp(),
            Diffusivity::Gamma | Diffusivity::Zeppelin => Self::gamma(p, b),
        }
    }

    /// What is left of the signal of a stick, of b and x = b (g·v)².
    fn stick(&self, p: &[f64; MOST], b: f64, x: f64) -> f64 {
        match self.options.diffusivity {
            Diffusivity::Single => (-x * p[DIFFUSIVITY]).exp(),
            Diffusivity::Gamma => Self::gamma(p, x),
            Diffusivity::Zeppelin => {
                let r = p[RATIO];
                (-3.0 * p[DIFFUSIVITY] / (2.0 * r + 1.0) * ((1.0 - r) * x + r * b)).exp()
            }
        }
    }

    /// S_i / S0.
    pub(crate) fn attenuation(&self, p: &[f64; MOST], i: usize) -> f64 {
        let mut root = self.protocol.root[i];
        let mut b = self.protocol.b[i];
        if let Some(bend) = &self.bend {
            root = bend.map(|row| (0..3).map(|k| row[k] * root[k]).sum());
            b = root.iter().map(|c| c * c).sum();
        }
        let sum: f64 = (0..self.options.n_fibres).map(|j| p[fraction(j)]).sum();
        let mut m = (1.0 - p[OFFSET] - sum) * self.ball(p, b) + p[OFFSET];
        for j in 0..self.options.n_fibres {
            let v = Self::direction(p, j);
            let along: f64 = (0..3).map(|k| root[k] * v[k]).sum();
            m += p[fraction(j)] * self.stick(p, b, along * along);
        }
        m
    }

    /// Σ (y - S)².
    pub(crate) fn squares(&self, p: &[f64; MOST]) -> f64 {
        let residual = |i: usize| self.y[i] - p[S0] * self.attenuation(p, i);
        (0..self.y.len()).map(|i| residual(i).powi(2)).sum()
    }
}

impl Posterior<'_> {
    /// The energy of the noise.
    pub(crate) fn noise(&self, p: &[f64; MOST]) -> f64 {
        let n = self.y.len() as f64;
        match self.options.noise {
            Noise::Gaussian => 0.5 * n * self.squares(p).max(LEAST_SQUARES).ln(),
            Noise::Rician => {
                let tau = p[PRECISION];
                let term = |i: usize| {
                    let (y, s) = (self.y[i], p[S0] * self.attenuation(p, i));
                    0.5 * tau * (y - s).powi(2) - ln_i0e(tau * s * y)
                };
                -n * tau.ln() + (0..self.y.len()).map(term).sum::<f64>()
            }
        }
    }

    /// The energy of the priors; infinite outside the ranges.
    pub(crate) fn priors(&self, p: &[f64; MOST]) -> f64 {
        let o = self.options;
        let mut e = 0.0;
        let (d, s) = (p[DIFFUSIVITY], p[SPREAD]);
        let mut inside = p[S0] >= 0.0 && (0.0..=MOST_DIFFUSIVITY).contains(&d);
        if o.diffusivity != Diffusivity::Single {
            let zeppelin = o.diffusivity == Diffusivity::Zeppelin;
            let most = if zeppelin { MOST_ZEPPELIN_SPREAD } else { MOST_SPREAD };
            inside &= s > 0.0 && s <= most;
            e += s.ln();
        }
        if o.diffusivity == Diffusivity::Zeppelin {
            let (mean, std) = o.ratio;
            let r = p[RATIO];
            inside &= r > mean - 2.0 * std && r <= 2.0 * mean;
            e += ((r - mean) / std).powi(2) - 2.0 * d.ln() + 4.0 * d;
        }
        if o.noise == Noise::Rician {
            inside &= p[PRECISION] > 0.0;
        }
        let mut sum = 0.0;
        if o.offset != Offset::None {
            inside &= p[OFFSET] > 0.0 && p[OFFSET] < 1.0;
            sum += p[OFFSET];
            if o.offset == Offset::Relevance {
                e += p[OFFSET].ln();
            }
        }
        for j in 0..o.n_fibres {
            let f = p[fraction(j)];
            inside &= f > 0.0 && f < 1.0;
            sum += f;
            e -= (TAU * p[theta(j)]).sin().abs().ln();
            if o.relevance == Relevance::All || (o.relevance == Relevance::Further && j > 0) {
                e += o.fudge * f.ln();
            }
        }
        if inside && sum <= 1.0 { e } else { f64::INFINITY }
    }

    /// Minus the logarithm of the posterior, up to a constant.
    pub(crate) fn energy(&self, p: &[f64; MOST]) -> f64 {
        match self.priors(p) {
            e if e.is_finite() => e + self.noise(p),
            _ => f64::INFINITY,
        }
    }
}

/// ln(I0(x) e^-x) for x >= 0: the power series, and from 30 on Hankel's expansion.
pub(crate) fn ln_i0e(x: f64) -> f64 {
    if x < 30.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..200 {
            term *= (0.5 * x / f64::from(k)).powi(2);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return f64::ln(sum) - x;
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..20 {
        let odd = f64::from(2 * k - 1);
        term *= odd * odd / (8.0 * x * f64::from(k));
        sum += term;
    }
    f64::ln(sum) - 0.5 * (TAU * x).ln()
}
