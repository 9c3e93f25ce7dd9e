//! Kurtosis averaged over directions: the formulas of the lanes with a rule of 64 nodes.

use std::f64::consts::PI;
use std::sync::OnceLock;

use crate::dki::form::{N_W, OF_PAIRS, PAIRS};

/// Nodes of the rule: exact to rounding for any shape of D that an estimate has.
const N_NODES: usize = 64;

/// The entries of the form `v` along the axes `frame`, from the definition.
pub(crate) fn in_frame(v: &[f64; N_W], frame: &[[f64; 3]; 3]) -> [f64; N_W] {
    let pair = |i: usize, j: usize| PAIRS.iter().position(|p| *p == [i.min(j), i.max(j)]);
    let entry = |i, j, k, l| match (pair(i, j), pair(k, l)) {
        (Some(p), Some(q)) => v[OF_PAIRS[p][q]],
        _ => f64::NAN,
    };
    let mut out = [0.0; N_W];
    for (p, [a, b]) in PAIRS.into_iter().enumerate() {
        for (q, [c, d]) in PAIRS.into_iter().enumerate() {
            let mut sum = 0.0;
            for at in 0..81 {
                let (i, j, k, l) = (at / 27, at / 9 % 3, at / 3 % 3, at % 3);
                sum += entry(i, j, k, l) * frame[a][i] * frame[b][j] * frame[c][k] * frame[d][l];
            }
            out[OF_PAIRS[p][q]] = sum;
        }
    }
    out
}

/// Means over the azimuth of cos⁴ / D², sin⁴ / D² and cos² sin² / D², D = b cos² + c sin².
fn azimuth(b: f64, c: f64) -> [f64; 3] {
    let (b, c) = (b.sqrt(), c.sqrt());
    let squared = (b + c) * (b + c);
    [
        (2.0 * b + c) / (2.0 * b.powi(3) * squared),
        (2.0 * c + b) / (2.0 * c.powi(3) * squared),
        1.0 / (2.0 * b * c * squared),
    ]
}

/// Mean, axial and radial kurtosis from eigenvalues, largest first and positive, and V in the
/// frame of the eigenvectors.
pub(crate) fn means(l: [f64; 3], v: &[f64; N_W]) -> [f64; 3] {
    let across = |b: f64, c: f64| {
        let [cos4, sin4, both] = azimuth(b, c);
        cos4 * v[10] + sin4 * v[14] + 6.0 * both * v[12]
    };
    let width = ((l[1] * l[2]).sqrt() / l[0]).sqrt();
    let last = (1.0 / width).atan();
    let mean: f64 = rule()
        .iter()
        .map(|(node, weight)| {
            let psi = last * node;
            let u2 = (width * psi.tan()).powi(2);
            let v2 = 1.0 - u2;
            let (b, c) = (l[0] * u2 + l[1] * v2, l[0] * u2 + l[2] * v2);
            let [cos4, sin4, both] = azimuth(b, c);
            let axial = (cos4 + sin4 + 2.0 * both) * v[0];
            let mixed = 6.0 * ((cos4 + both) * v[3] + (sin4 + both) * v[5]);
            let value = u2 * u2 * axial + u2 * v2 * mixed + v2 * v2 * across(b, c);
            weight * value * width * last / psi.cos().powi(2)
        })
        .sum();
    [mean, v[0] / (l[0] * l[0]), across(l[1], l[2])]
}

/// Gauss and Legendre's nodes between 0 and 1 with their weights, by Newton's method on the
/// Legendre polynomial.
fn rule() -> &'static [(f64, f64); N_NODES] {
    static RULE: OnceLock<[(f64, f64); N_NODES]> = OnceLock::new();
    RULE.get_or_init(|| {
        std::array::from_fn(|i| {
            let n = N_NODES as f64;
            let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 0.0;
            for _ in 0..10 {
                let (mut before, mut p) = (1.0, x);
                for k in 2..=N_NODES {
                    let k = k as f64;
                    (before, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k);
                }
                slope = n * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
        })
    })
}
