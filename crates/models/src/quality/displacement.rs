//! How far a volume lies from where its neighbours lie.
//!
//! A volume v that is a prediction p moved by the small displacement u(x) = t + w × x and brightened by a
//! factor a is v ≈ a p + c - a ∇p · u: linear in a, c, a t and a w, which least squares over the voxels give. Moves
//! beyond an edge of a voxel come out too small, but far from none.

use fimbria_compute::dense::lu;

/// p, 1, ∇p and x × ∇p.
const TERMS: usize = 8;
/// The prediction is in a volume where its part is so many standard errors.
const SURE: f64 = 4.0;
/// Squared displacements up to so many times what noise makes of them are none: of six coefficients that are alike one in
/// seven thousand is more.
const CHANCE: f64 = 4.5;

/// Sums over voxels of which the displacement follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    matrix: [[f64; TERMS]; TERMS],
    rhs: [f64; TERMS],
    measured2: f64,
    position: [f64; 3],
    position2: [[f64; 3]; 3],
    voxels: f64,
}

impl Moments {
    /// Adds a voxel at `x`, mm from the middle along the axes of the array: what was measured, what is
    /// predicted and its gradient there, per mm.
    pub(super) fn add(&mut self, x: [f64; 3], measured: f64, predicted: f64, gradient: [f64; 3]) {
        let [gx, gy, gz] = gradient;
        let torque = [x[1] * gz - x[2] * gy, x[2] * gx - x[0] * gz, x[0] * gy - x[1] * gx];
        let terms = [predicted, 1.0, gx, gy, gz, torque[0], torque[1], torque[2]];
        if !(measured.is_finite() && terms.iter().all(|term| term.is_finite())) {
            return;
        }
        for (i, a) in terms.iter().enumerate() {
            for (j, b) in terms.iter().enumerate().take(i + 1) {
                self.matrix[i][j] += a * b;
            }
            self.rhs[i] += a * measured;
        }
        self.measured2 += measured * measured;
        for i in 0..3 {
            self.position[i] += x[i];
            for j in 0..3 {
                self.position2[i][j] += x[i] * x[j];
            }
        }
        self.voxels += 1.0;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for i in 0..TERMS {
            for j in 0..=i {
                self.matrix[i][j] += other.matrix[i][j];
            }
            self.rhs[i] += other.rhs[i];
        }
        self.measured2 += other.measured2;
        for i in 0..3 {
            self.position[i] += other.position[i];
            for j in 0..3 {
                self.position2[i][j] += other.position2[i][j];
            }
        }
        self.voxels += other.voxels;
    }

    /// The displacement, mm, root mean square over the voxels, without what noise makes of it; not a number where they do
    /// not determine it.
    pub(super) fn displacement_mm(&self) -> f64 {
        // Terms of one size, so that what is singular is so in any units.
        let size: [f64; TERMS] = std::array::from_fn(|i| self.matrix[i][i].sqrt());
        if size.iter().any(|size| size.is_nan() || *size <= 0.0) {
            return f64::NAN;
        }
        let entry = |i: usize, j: usize| self.matrix[i.max(j)][i.min(j)] / (size[i] * size[j]);
        let matrix: Vec<f64> = (0..TERMS * TERMS).map(|k| entry(k / TERMS, k % TERMS)).collect();
        let Some(inverse) = lu::inverse(&matrix, TERMS) else { return f64::NAN };
        let inverse = |i: usize, j: usize| inverse[TERMS * i + j] / (size[i] * size[j]);
        let solved: [f64; TERMS] =
            std::array::from_fn(|i| (0..TERMS).map(|j| inverse(i, j) * self.rhs[j]).sum());
        let explained: f64 = solved.iter().zip(&self.rhs).map(|(a, b)| a * b).sum();
        let variance = (self.measured2 - explained).max(0.0) / (self.voxels - TERMS as f64);
        let brightness = solved[0];
        // Without what is predicted, nothing in the volume shows where it lies.
        let least = SURE * (variance * inverse(0, 0)).sqrt();
        if brightness.is_nan() || least.is_nan() || brightness <= least {
            return f64::NAN;
        }
        let weights = self.weights();
        let over = |of: &dyn Fn(usize, usize) -> f64| -> f64 {
            let sum = (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
            sum.map(|(i, j)| weights[i][j] * of(i + 2, j + 2)).sum::<f64>() / brightness.powi(2)
        };
        let square = over(&|i, j| solved[i] * solved[j]);
        let noise = variance * over(&inverse);
        if square > CHANCE * noise { (square - noise).sqrt() } else { 0.0 }
    }

    /// Q of which |t + w × x|² is (t, w)ᵀ Q (t, w), on average over the voxels.
    fn weights(&self) -> [[f64; 6]; 6] {
        let [x, y, z] = self.position.map(|x| x / self.voxels);
        let second = self.position2.map(|row| row.map(|x| x / self.voxels));
        let trace: f64 = (0..3).map(|i| second[i][i]).sum();
        // t · (w × x)
        let across = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]];
        let mut weights = [[0.0; 6]; 6];
        for i in 0..3 {
            weights[i][i] = 1.0;
            for j in 0..3 {
                weights[i][3 + j] = across[i][j];
                weights[3 + j][i] = across[i][j];
                weights[3 + i][3 + j] = f64::from(u8::from(i == j)) * trace - second[i][j];
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball that fades outwards and its gradient, at x mm.
    fn ball(x: [f64; 3]) -> (f64, [f64; 3]) {
        let scaled = [x[0] / 9.0, x[1] / 11.0, x[2] / 8.0];
        let value =
            (-0.5 * scaled.iter().map(|x| x * x).sum::<f64>()).exp() + 0.02 * x[0] * x[1] / 99.0;
        let bell = (-0.5 * scaled.iter().map(|x| x * x).sum::<f64>()).exp();
        let gradient = [
            -bell * x[0] / 81.0 + 0.02 * x[1] / 99.0,
            -bell * x[1] / 121.0 + 0.02 * x[0] / 99.0,
            -bell * x[2] / 64.0,
        ];
        (value, gradient)
    }

    fn found(t: [f64; 3], w: [f64; 3], gain: f64) -> (f64, f64) {
        let mut moments = Moments::default();
        let mut square = 0.0;
        for index in 0..21 * 21 * 21 {
            let x = [index % 21, index / 21 % 21, index / 441].map(|i| f64::from(i) - 10.0);
            let (predicted, gradient) = ball(x);
            let u = [
                t[0] + w[1] * x[2] - w[2] * x[1],
                t[1] + w[2] * x[0] - w[0] * x[2],
                t[2] + w[0] * x[1] - w[1] * x[0],
            ];
            square += u.iter().map(|x| x * x).sum::<f64>();
            let measured = gain * ball([x[0] - u[0], x[1] - u[1], x[2] - u[2]]).0;
            moments.add(x, measured, predicted, gradient);
        }
        (moments.displacement_mm(), (square / 9261.0).sqrt())
    }

    #[test]
    fn small_moves_and_turns_are_found() {
        for (t, w) in [
            ([0.0; 3], [0.0; 3]),
            ([0.4, -0.2, 0.3], [0.0; 3]),
            ([0.0; 3], [0.02, -0.03, 0.04]),
            ([0.1, 0.3, -0.2], [0.03, 0.0, -0.02]),
        ] {
            let (found, moved) = found(t, w, 0.6);
            // The terms of second order are some 5 % of a bell of 9 mm at half a millimetre.
            assert!((found - moved).abs() < 0.06 * moved + 1e-9, "{found} mm of {moved}");
        }
    }

    #[test]
    fn noise_alone_moves_nothing() {
        let mut random = fimbria_testing::Noise(9);
        for edge in [0.0, 1.0] {
            let mut moments = Moments::default();
            for index in 0..21 * 21 * 21 {
                let x = [index % 21, index / 21 % 21, index / 441].map(|i| f64::from(i) - 10.0);
                let (value, gradient) = ball(x);
                // Of the gradient of what is predicted a good part is noise, too.
                let slope = gradient.map(|g| edge * g + 0.05 * random.normal());
                let noisy = |of: f64, noise: f64| edge * of + 0.1 * noise;
                let (measured, predicted) =
                    (noisy(value, random.normal()), noisy(value, random.normal()));
                moments.add(x, measured, predicted, slope);
            }
            let mm = moments.displacement_mm();
            assert!(if edge > 0.0 { mm == 0.0 } else { mm.is_nan() }, "{mm}");
        }
    }

    #[test]
    fn what_is_flat_tells_nothing() {
        let mut moments = Moments::default();
        for x in 0..100 {
            moments.add([f64::from(x), 0.0, 0.0], 5.0, 5.0, [0.0; 3]);
        }
        assert!(moments.displacement_mm().is_nan());
    }
}
