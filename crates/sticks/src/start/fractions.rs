//! Fractions of sticks of known direction and diffusivity.

use super::{LEAST_FRACTION, MOST_SUM};
use crate::protocol::Protocol;

/// The magnitudes of the least-squares fractions of sticks along `dirs`, `y` being signals over
/// S0; at least [`LEAST_FRACTION`] each, at most [`MOST_SUM`] together.
pub(super) fn least_squares(protocol: &Protocol, y: &[f64], d: f64, dirs: &[[f64; 3]]) -> Vec<f64> {
    let n = dirs.len();
    let mut normal = [[0.0; 4]; 3];
    for (i, y) in y.iter().enumerate() {
        let ball = (-d * protocol.b[i]).exp();
        let mut row = [0.0; 4];
        for (k, v) in dirs.iter().enumerate() {
            let along: f64 = (0..3).map(|a| protocol.root[i][a] * v[a]).sum();
            row[k] = (-d * along * along).exp() - ball;
        }
        row[3] = y - ball;
        for k in 0..n {
            for l in 0..4 {
                normal[k][l] += row[k] * row[l];
            }
        }
    }
    // Gauss-Jordan; the ridge keeps it regular where a stick looks like the ball.
    for k in 0..n {
        normal[k][k] = normal[k][k] * (1.0 + 1e-6) + 1e-9;
    }
    for k in 0..n {
        for l in 0..n {
            if l != k {
                let factor = normal[l][k] / normal[k][k];
                for m in 0..4 {
                    normal[l][m] -= factor * normal[k][m];
                }
            }
        }
    }
    let mut f: Vec<f64> =
        (0..n).map(|k| (normal[k][3] / normal[k][k]).abs().max(LEAST_FRACTION)).collect();
    let sum: f64 = f.iter().sum();
    if sum > MOST_SUM || sum.is_nan() {
        let shrink = if sum.is_finite() { MOST_SUM / sum } else { 0.0 };
        f.iter_mut().for_each(|f| *f = (*f * shrink).max(LEAST_FRACTION));
    }
    f
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::GradientTable;

    #[test]
    fn fractions_of_sticks_along_known_directions_are_found() {
        let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        let dir = |i: usize| {
            let z = (i as f64 + 0.5) / 30.0;
            let (s, c) = (golden * i as f64).sin_cos();
            [(1.0 - z * z).sqrt() * c, (1.0 - z * z).sqrt() * s, z]
        };
        let table = GradientTable {
            b_s_per_mm2: vec![1000.0; 30],
            dirs_ras: (0..30).map(dir).collect(),
            b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
        };
        let protocol = Protocol::new(&table);
        let dirs = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]];
        let signal = |i: usize| {
            let along = |v: [f64; 3]| (0..3).map(|a| protocol.root[i][a] * v[a]).sum::<f64>();
            let stick = |v| (-1.7 * along(v) * along(v)).exp();
            0.3 * (-1.7f64).exp() + 0.5 * stick(dirs[0]) + 0.2 * stick(dirs[1])
        };
        let y: Vec<f64> = (0..30).map(signal).collect();
        let f = least_squares(&protocol, &y, 1.7, &dirs);
        // The ridge leaves a few parts in a million.
        assert!((f[0] - 0.5).abs() < 1e-5 && (f[1] - 0.2).abs() < 1e-5, "{f:?}");
    }
}
