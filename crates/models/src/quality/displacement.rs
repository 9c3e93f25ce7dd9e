//! How far a volume lies from where its neighbours lie.
//!
//! A volume v that is a prediction p moved by the small displacement u(x) = t + w × x and brightened by a
//! factor a is v ≈ a p + c - a ∇p · u: linear in a, c, a t and a w, which least squares over the voxels give. Moves
//! beyond an edge of a voxel come out too small, but far from none.

use fimbria_compute::dense::lu;

/// p, 1, ∇p and x × ∇p.
const TERMS: usize = 8;

/// Sums over voxels of which the displacement follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    matrix: [[f64; TERMS]; TERMS],
    rhs: [f64; TERMS],
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
        for i in 0..3 {
            self.position[i] += other.position[i];
            for j in 0..3 {
                self.position2[i][j] += other.position2[i][j];
            }
        }
        self.voxels += other.voxels;
    }

    /// The displacement, mm, root mean square over the voxels; not a number where they do not determine it.
    pub(super) fn displacement_mm(&self) -> f64 {
        // Terms of one size, so that what is singular is so in any units.
        let size = |i: usize| self.matrix[i][i].sqrt();
        if (0..TERMS).any(|i| size(i).is_nan() || size(i) <= 0.0) {
            return f64::NAN;
        }
        let entry = |i: usize, j: usize| self.matrix[i.max(j)][i.min(j)] / (size(i) * size(j));
        let mut matrix: Vec<f64> =
            (0..TERMS * TERMS).map(|k| entry(k / TERMS, k % TERMS)).collect();
        let mut solved: Vec<f64> = (0..TERMS).map(|i| self.rhs[i] / size(i)).collect();
        if !lu::solve(&mut matrix, &mut solved) {
            return f64::NAN;
        }
        let brightness = solved[0] / size(0);
        if brightness.is_nan() || brightness <= 0.0 {
            return f64::NAN;
        }
        let of = |i: usize| -solved[i] / size(i) / brightness;
        let (t, w) = ([of(2), of(3), of(4)], [of(5), of(6), of(7)]);
        let mean = self.position.map(|x| x / self.voxels);
        let second = self.position2.map(|row| row.map(|x| x / self.voxels));
        let turned = [
            w[1] * mean[2] - w[2] * mean[1],
            w[2] * mean[0] - w[0] * mean[2],
            w[0] * mean[1] - w[1] * mean[0],
        ];
        let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|i| a[i] * b[i]).sum::<f64>();
        let trace: f64 = (0..3).map(|i| second[i][i]).sum();
        let along: f64 = (0..3).map(|i| w[i] * dot(second[i], w)).sum();
        // |t + w × x|² on average.
        let square = dot(t, t) + 2.0 * dot(t, turned) + dot(w, w) * trace - along;
        square.max(0.0).sqrt()
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
    fn what_is_flat_tells_nothing() {
        let mut moments = Moments::default();
        for x in 0..100 {
            moments.add([f64::from(x), 0.0, 0.0], 5.0, 5.0, [0.0; 3]);
        }
        assert!(moments.displacement_mm().is_nan());
    }
}
