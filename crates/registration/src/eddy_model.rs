//! What fields of eddy currents have in common: they follow the gradients.

use fimbria_compute::dense::lu;

/// Coefficients of a shell's fields as functions of its gradients: each is an intercept, which the
/// others of the shell cannot tell from none, and three parts along g √b.
pub(crate) struct ShellFields {
    /// For each coefficient: intercept, then what belongs to each component of the gradient.
    pub models: Vec<[f64; 4]>,
}

/// Fewer volumes are not described by four numbers.
const FEWEST: usize = 8;

impl ShellFields {
    /// By least squares over volumes. `None` where they are too few or lie in a plane.
    pub(crate) fn new(gradients: &[[f64; 3]], coefficients: &[&[f64]]) -> Option<Self> {
        if gradients.len() < FEWEST {
            return None;
        }
        let rows: Vec<[f64; 4]> = gradients.iter().map(|[x, y, z]| [1.0, *x, *y, *z]).collect();
        let mut normal = vec![0.0; 16];
        for row in &rows {
            (0..16).for_each(|i| normal[i] += row[i / 4] * row[i % 4]);
        }
        let inverse = lu::inverse(&normal, 4)?;
        let model = |k: usize| {
            let mut rhs = [0.0; 4];
            for (row, volume) in rows.iter().zip(coefficients) {
                (0..4).for_each(|i| rhs[i] += row[i] * volume[k]);
            }
            std::array::from_fn(|i| (0..4).map(|j| inverse[4 * i + j] * rhs[j]).sum())
        };
        Some(Self { models: (0..coefficients[0].len()).map(model).collect() })
    }

    /// The part of coefficient `k` that follows the gradient.
    pub(crate) fn follows(&self, k: usize, gradient: [f64; 3]) -> f64 {
        (0..3).map(|i| self.models[k][i + 1] * gradient[i]).sum()
    }

    /// Draws coefficients towards what their gradients say, each as far as its own noise is larger than what the
    /// model leaves of all, and takes the intercept off.
    pub(crate) fn shrink(
        &self,
        gradients: &[[f64; 3]],
        coefficients: &mut [&mut Vec<f64>],
        variances: &[&[f64]],
    ) {
        let n = gradients.len() as f64;
        for k in 0..self.models.len() {
            let model = |i: usize| self.models[k][0] + self.follows(k, gradients[i]);
            let left: f64 =
                (0..gradients.len()).map(|i| (coefficients[i][k] - model(i)).powi(2)).sum::<f64>()
                    / (n - 4.0);
            let noise: f64 = variances.iter().map(|v| v[k]).sum::<f64>() / n;
            let own = (left - noise).max(0.0);
            for i in 0..gradients.len() {
                let part = if own > 0.0 { own / (own + variances[i][k]) } else { 0.0 };
                let drawn = model(i) + part * (coefficients[i][k] - model(i));
                coefficients[i][k] = drawn - self.models[k][0];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_follow_their_gradients_keep_only_that() {
        let gradients: Vec<[f64; 3]> = (0..12)
            .map(|i| {
                let t = f64::from(i);
                [t.sin(), (1.7 * t).cos(), (0.3 * t).sin()]
            })
            .collect();
        let wanted: Vec<f64> = gradients.iter().map(|[x, y, z]| 0.3 * x - 0.2 * y + z).collect();
        let mut coefficients: Vec<Vec<f64>> = wanted.iter().map(|w| vec![w + 0.7]).collect();
        let slices: Vec<&[f64]> = coefficients.iter().map(Vec::as_slice).collect();
        assert!(ShellFields::new(&gradients[..7], &slices[..7]).is_none());
        let fields = ShellFields::new(&gradients, &slices).unwrap();
        assert!((fields.models[0][0] - 0.7).abs() < 1e-12);
        let variances = vec![vec![0.1]; 12];
        let variances: Vec<&[f64]> = variances.iter().map(Vec::as_slice).collect();
        let mut each: Vec<&mut Vec<f64>> = coefficients.iter_mut().collect();
        fields.shrink(&gradients, &mut each, &variances);
        for (c, w) in coefficients.iter().zip(&wanted) {
            assert!((c[0] - w).abs() < 1e-12, "{} {w}", c[0]);
        }
    }
}
