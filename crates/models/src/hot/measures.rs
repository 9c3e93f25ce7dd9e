//! Generalised mean, variance and anisotropy of a form (Özarslan, Vemuri and Mareci 2005).
//!
//! Their generalised trace is gentr(D) = (3 / 2π) ∫ D over the half sphere, three times the mean of
//! D over all directions: the trace of a diffusion tensor. With D_N = D / gentr(D), whose mean is
//! 1/3, the variance is V = <D_N²> - <D_N>² and the anisotropy
//! GA = 1 - 1 / (1 + (250 V)^ε), ε = 1 + 1 / (1 + 5000 V), which lies in 0 to 1 for every order.

use fimbria_compute::dense::cholesky;

use super::form::Form;

/// Scale of the variance in GA.
pub(super) const GA_SCALE: f32 = 250.0;
/// Scale of the variance in the exponent of GA.
pub(super) const GA_EXPONENT_SCALE: f32 = 5000.0;

/// Tables that take unique entries to the measures.
#[derive(Clone, Debug)]
pub(super) struct MeasureTables {
    /// The mean is the product with these.
    pub(super) mean: Vec<f32>,
    /// The variance of D over the sphere is the sum of the squares of these sums: for each, the
    /// entries and their factors.
    pub(super) deviations: Vec<Vec<(usize, f32)>>,
}

impl MeasureTables {
    /// The mean of D² is ‖RD‖² with the Cholesky factor R of its quadratic form; of D less its mean
    /// the variance, so that nothing cancels where D is nearly isotropic.
    pub(super) fn new(form: &Form) -> Self {
        let n = form.len();
        let (mean, unit) = (form.mean_row(), form.unit());
        let lower = cholesky::factor(&form.square_mean(), n, 0.0)
            .expect("the mean of squares is positive definite");
        let deviations = (0..n).map(|r| {
            // Row r of R = Lᵀ, times (1 - unit meanᵀ).
            let row: Vec<f64> = (0..n).map(|k| lower[k * n + r]).collect();
            let of_unit: f64 = row.iter().zip(&unit).map(|(r, u)| r * u).sum();
            let terms = row.iter().zip(&mean).map(|(r, m)| r - of_unit * m).enumerate();
            terms.filter(|(_, t)| t.abs() > ROUNDING).map(|(k, t)| (k, t as f32)).collect()
        });
        Self { mean: mean.iter().map(|&m| m as f32).collect(), deviations: deviations.collect() }
    }
}

/// Factors below this are rounding of zero; others are above 1e-3.
const ROUNDING: f64 = 1e-12;

/// Mean (unit of `entries`), variance and anisotropy of a form, from their definitions; the latter
/// two are zero where the mean is not positive.
#[cfg(test)]
pub(super) fn measures(form: &Form, entries: &[f64]) -> [f64; 3] {
    let dot = |row: &[f64]| row.iter().zip(entries).map(|(r, d)| r * d).sum::<f64>();
    let mean = dot(&form.mean_row());
    if mean <= 0.0 {
        return [mean, 0.0, 0.0];
    }
    let rows = form.square_mean();
    let square: f64 = rows.chunks(form.len()).zip(entries).map(|(q, d)| d * dot(q)).sum();
    let trace = 3.0 * mean;
    // Not below zero by rounding.
    let variance = (square / (trace * trace) - 1.0 / 9.0).max(0.0);
    let exponent = 1.0 + 1.0 / (1.0 + f64::from(GA_EXPONENT_SCALE) * variance);
    let ga = 1.0 - 1.0 / (1.0 + (f64::from(GA_SCALE) * variance).powf(exponent));
    [mean, variance, ga]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of l g∥² + r (1 - g∥²), a tensor about x, as a form of any order.
    fn stick(form: &Form, axial: f64, radial: f64) -> Vec<f64> {
        // Multiplied by (x² + y² + z²) to the order: fitted, since the form is linear in entries.
        let directions = fimbria_tensors::starts::half_sphere(200);
        let rows: Vec<Vec<f64>> = directions.iter().map(|&g| form.row(g)).collect();
        let values: Vec<f64> =
            directions.iter().map(|g| radial + (axial - radial) * g[0] * g[0]).collect();
        let n = form.len();
        let mut gram = vec![0.0; n * n];
        let mut rhs = vec![0.0; n];
        for (row, value) in rows.iter().zip(&values) {
            for i in 0..n {
                rhs[i] += row[i] * value;
                for j in 0..n {
                    gram[i * n + j] += row[i] * row[j];
                }
            }
        }
        let l = cholesky::factor(&gram, n, 0.0).unwrap();
        for i in 0..n {
            rhs[i] = (rhs[i] - (0..i).map(|k| l[i * n + k] * rhs[k]).sum::<f64>()) / l[i * n + i];
        }
        for i in (0..n).rev() {
            let rest: f64 = (i + 1..n).map(|k| l[k * n + i] * rhs[k]).sum();
            rhs[i] = (rhs[i] - rest) / l[i * n + i];
        }
        rhs
    }

    #[test]
    fn measures_of_a_tensor_do_not_depend_on_the_order_it_is_written_in() {
        // Closed form: the variance of l cos² over its trace is 4/45 ((l - r) / (l + 2r))².
        let (axial, radial) = (1.7, 0.3);
        let contrast: f64 = (axial - radial) / (axial + 2.0 * radial);
        let variance = 4.0 / 45.0 * contrast * contrast;
        for order in [2, 4, 6, 8] {
            let form = Form::new(order);
            let [mean, v, ga] = measures(&form, &stick(&form, axial, radial));
            assert!((mean - (axial + 2.0 * radial) / 3.0).abs() < 1e-9, "{order}: {mean}");
            assert!((v - variance).abs() < 1e-9, "{order}: {v} {variance}");
            assert!((0.85..0.95).contains(&ga), "{ga}");
        }
    }

    #[test]
    fn an_isotropic_form_has_no_anisotropy_and_a_line_the_most() {
        for order in [4, 6, 8] {
            let form = Form::new(order);
            let [mean, variance, ga] = measures(&form, &form.unit());
            assert!((mean - 1.0).abs() < 1e-12 && variance.abs() < 1e-12 && ga < 1e-9);
            // x^m, the sharpest form that is nowhere negative.
            let mut line = vec![0.0; form.len()];
            line[0] = 1.0;
            let [_, variance, ga] = measures(&form, &line);
            let m = order as f64;
            let expected = (m + 1.0).powi(2) / (9.0 * (2.0 * m + 1.0)) - 1.0 / 9.0;
            assert!((variance - expected).abs() < 1e-12);
            assert!(ga > 0.97 && ga < 1.0, "{ga}");
        }
    }
}
